/** What a visit that thought again changed: why, how, and the queries before and after. */

import type { LoggedEvent, Told } from '../../lib/api/types';
import { same } from './difference';

/** A search as a table shows it. */
export interface Query {
  /** What is looked for, or where, if no words are. */
  text: string;
  /** Where it is looked for; empty if nothing says. */
  place: string;
  /** Everything else that it says, in words: filters, mode, limit. */
  terms: string[];
}

/** A line of the table: a query before, after, or both. */
export interface QueryRow {
  kind: 'kept' | 'changed' | 'added' | 'dropped';
  before: Query | null;
  after: Query | null;
  /** Terms that only the new one has. */
  added: string[];
  /** Terms that only the old one had. */
  dropped: string[];
}

/** What a reflection says of itself. */
export interface Reflection {
  reasoning: string;
  strategy: string;
  message: string;
  /** The new queries against the first plan. */
  rows: QueryRow[];
  /** The new queries against the plan just before; null where that is the first one. */
  previous: QueryRow[] | null;
}

type State = Record<string, unknown>;

/** The keys under which workflows keep what they search next; the first that is there counts. */
const QUERY_KEYS = ['planned_queries', 'new_queries', 'queries', 'query'];

/** The reflection of a visit, or null if it was none. */
export function reflectionOf(update: State | null, told: readonly Told[], before: State): Reflection | null {
  const thought = told.filter((one) => one.kind === 'thinking').at(-1);
  const wrote = update ?? {};
  // Empty ones are cleared at the start of a run, by a node that does not reflect.
  if (!thought && !words(wrote.reflection_reasoning) && !words(wrote.reflection_strategy)) return null;
  const data = thought?.data ?? {};
  const key = QUERY_KEYS.find((one) => one in wrote) ?? 'planned_queries';
  const last = before[key];
  const kept = [data.original_queries, before[`original_${key}`]].find((plan) => queriesOf(plan).length > 0);
  const first = queriesOf(kept ?? last);
  const fresh = queriesOf(data.new_queries ?? wrote[key]);
  return {
    reasoning: words(wrote.reflection_reasoning ?? data.reasoning),
    strategy: words(wrote.reflection_strategy ?? data.strategy),
    message: thought?.message ?? '',
    rows: fresh.length ? compareQueries(first, fresh) : [],
    previous: fresh.length && last !== undefined && !same(first, queriesOf(last)) ? compareQueries(queriesOf(last), fresh) : null,
  };
}

/** What a visit told: its own words, also those that came right after it ended. */
export function toldBy(events: readonly LoggedEvent[], node: string, startSeq: number): Told[] {
  const told: Told[] = [];
  for (const { seq, event } of events) {
    if (seq <= startSeq) continue;
    if (event.type === 'node_started' && event.node === node) break;
    if (event.type === 'told' && event.node === node) told.push(event);
  }
  return told;
}

function words(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Reads a plan: a list of queries, or one, each as a text or as an object. */
export function queriesOf(plan: unknown): Query[] {
  const list = Array.isArray(plan) ? plan : plan === undefined || plan === null ? [] : [plan];
  return list.map(queryOf);
}

function queryOf(query: unknown): Query {
  if (typeof query !== 'object' || query === null) return { text: String(query), place: '', terms: [] };
  const { query_text, query: other, text, table, filters, ...rest } = query as State;
  const asked = [query_text, other, text].find((one) => typeof one === 'string' && one !== '');
  return {
    text: typeof asked === 'string' ? asked : '',
    place: typeof table === 'string' ? table : '',
    terms: [...termsOf(filters), ...termsOf(rest)],
  };
}

function termsOf(fields: unknown): string[] {
  if (typeof fields !== 'object' || fields === null) return [];
  return Object.entries(fields)
    .filter(([, value]) => !empty(value))
    .map(([key, value]) => `${key.replaceAll('_', ' ')}: ${shown(value)}`);
}

function empty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.map(shown).join(', ');
  return typeof value === 'object' && value !== null ? termsOf(value).join('; ') : String(value);
}

/** Pairs the queries of two plans: equal ones first, then those that look for the same, then those in the same place. */
export function compareQueries(before: Query[], after: Query[]): QueryRow[] {
  const partner = new Map<number, number>();
  const taken = new Set<number>();
  const pair = (alike: (old: Query, now: Query) => boolean) => {
    after.forEach((now, index) => {
      if (partner.has(index)) return;
      const found = before.findIndex((old, place) => !taken.has(place) && alike(old, now));
      if (found < 0) return;
      partner.set(index, found);
      taken.add(found);
    });
  };
  pair(same);
  pair((old, now) => old.place === now.place && old.text === now.text);
  pair((old, now) => old.text !== '' && old.text === now.text);
  pair((old, now) => old.place !== '' && old.place === now.place);
  const rows = after.map((now, index) => rowOf(before[partner.get(index) ?? -1] ?? null, now));
  const dropped = before.filter((_, place) => !taken.has(place));
  return [...rows, ...dropped.map((old) => rowOf(old, null))];
}

function rowOf(before: Query | null, after: Query | null): QueryRow {
  const kind = !before ? 'added' : !after ? 'dropped' : same(before, after) ? 'kept' : 'changed';
  const old = before?.terms ?? [];
  const now = after?.terms ?? [];
  return {
    kind,
    before,
    after,
    added: before ? now.filter((term) => !old.includes(term)) : [],
    dropped: after ? old.filter((term) => !now.includes(term)) : [],
  };
}

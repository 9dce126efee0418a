/** A run as a turn of a conversation: what was asked, what was thought, what was written, and what was written before. */

import type { Json, LoggedEvent, RunRecord, Told } from '../../lib/api/types';
import { fieldsOf, type JsonSchema } from '../../lib/form/fields';

/** One text that was written in a visit of a node. */
export interface Attempt {
  node: string;
  visit: number;
  /** Names its visit; empty where that is not known. */
  task: string;
  text: string;
  /** Place in the log where its visit began, whose attempts do not change it. */
  began: number;
  /** Places in the log: where its visit, or the attempt of it, began and ended; null while it goes on. */
  from: number;
  to: number | null;
}

/** What one node wrote that is not the answer. */
export interface Aside {
  node: string;
  texts: Attempt[];
}

/** What a conversation shows of a run. */
export interface Turn {
  question: string;
  /** The uploads that stand beside the question. */
  uploads: string[];
  acknowledgment: string;
  thinking: Told[];
  progress: Told[];
  /** The texts that the node of the answer wrote anew, oldest first. */
  replaced: Attempt[];
  /** All other texts. */
  asides: Aside[];
  /** The answer as far as it is written. */
  answer: string;
  /** What came of the run beside the answer, or in its place; null for nothing. */
  details: Json | null;
}

const QUESTION_KEYS = ['message', 'question', 'query', 'prompt', 'input'];

/**
 * Makes the turn of a run.
 *
 * @param schema What its workflow takes; without it no input is known to be an upload.
 */
export function turnOf(record: RunRecord, events: readonly LoggedEvent[], schema?: JsonSchema): Turn {
  const told = { acknowledgment: [] as Told[], thinking: [] as Told[], progress: [] as Told[] };
  for (const { event } of events) if (event.type === 'told') told[event.kind].push(event);
  const attempts = attemptsOf(events);
  const final = record.outcome?.answer ?? '';
  // The outcome is what counts: it may be put together from what no model wrote.
  const current = final ? attempts.findLast((one) => sameText(one.text, final)) : attempts.at(-1);
  const own = attempts.filter((one) => one.node === current?.node);
  // By a later visit, or by a later attempt of the same one: a parallel visit's attempts say nothing of it.
  const replaced = own.filter((one) => one !== current && own.some((next) => (one.to ?? Infinity) <= (next.task === one.task ? next.from : next.began)));
  const asides = new Map<string, Attempt[]>();
  for (const one of attempts) {
    if (one === current || replaced.includes(one)) continue;
    const texts = asides.get(one.node) ?? [];
    asides.set(one.node, texts);
    texts.push(one);
  }
  return {
    question: questionOf(record),
    uploads: uploadsOf(record.input, schema),
    acknowledgment: told.acknowledgment.at(-1)?.message ?? '',
    thinking: told.thinking,
    progress: told.progress,
    replaced,
    asides: [...asides].map(([node, texts]) => ({ node, texts })),
    answer: final || (current?.text ?? ''),
    details: detailsOf(record, final),
  };
}

/** The texts that nodes wrote, each visit apart, also of a graph inside a node; a retried visit begins anew. */
export function attemptsOf(events: readonly LoggedEvent[]): Attempt[] {
  const attempts: Attempt[] = [];
  const visits = new Map<string, { node: string; visit: number; began: number; from: number; texts: Attempt[] }>();
  /** Node -> its last visit: logs of earlier versions tell no more. */
  const latest = new Map<string, string>();
  /** Innermost visit -> the text that it goes on with, and the visits around it. */
  const open = new Map<string, { text: Attempt; tasks: string[] }>();
  /** Visit -> where its last attempt began, if it was tried again. */
  const again = new Map<string, number>();
  const taskOf = ({ node, tasks = [] }: { node: string; tasks?: string[] }): string =>
    tasks.findLast((task) => visits.get(task)?.node === node) ?? latest.get(node) ?? '';
  const end = (task: string, at: number, anew: boolean): void => {
    const visit = visits.get(task);
    for (const text of visit?.texts ?? []) text.to ??= at;
    if (!anew) return;
    for (const [key, { text, tasks }] of open) {
      if (!tasks.includes(task) && !visit?.texts.includes(text)) continue;
      text.to ??= at;
      open.delete(key);
    }
    if (visit) Object.assign(visit, { from: at, texts: [] });
  };
  events.forEach(({ event }, at) => {
    if (event.type === 'node_started') {
      const { node, visit, task_id: task } = event;
      // A task that was cut off begins anew.
      end(task, at, true);
      visits.set(task, { node, visit, began: visits.get(task)?.began ?? at, from: at, texts: [] });
      latest.set(node, task);
    } else if (event.type === 'node_finished') {
      // That a node gave up may name no visit; this does.
      end(event.task_id, at, event.error !== null);
    } else if (event.type === 'node_retried') {
      const task = event.tasks?.at(-1) ?? taskOf(event);
      end(task, at, true);
      again.set(task, at);
    } else if (event.type === 'text') {
      const task = taskOf(event);
      const visit = visits.get(task);
      const key = event.tasks?.at(-1) ?? (task || event.node);
      const tasks = event.tasks ?? [];
      let attempt = open.get(key)?.text;
      if (!attempt) {
        const from = Math.max(visit?.from ?? 0, ...tasks.map((each) => again.get(each) ?? 0));
        attempt = { node: event.node, visit: visit?.visit ?? 1, task, text: '', began: visit?.began ?? 0, from, to: null };
        attempts.push(attempt);
        visit?.texts.push(attempt);
        open.set(key, { text: attempt, tasks });
      }
      attempt.text += event.text;
    }
  });
  return attempts.filter((attempt) => attempt.text.trim() !== '');
}

/** The end of an answer may be mended (marks, white space) after it was streamed; the beginning is the same then. */
function sameText(streamed: string, final: string): boolean {
  const plain = (text: string) => text.replaceAll(/\[[^\]]*\]|\s+/g, '');
  const a = plain(streamed);
  const b = plain(final);
  const shorter = Math.min(a.length, b.length, 80);
  return shorter > 0 && a.slice(0, shorter) === b.slice(0, shorter);
}

/** What the details of an outcome say beside its answer and its input. */
function detailsOf({ outcome, input }: RunRecord, answer: string): Json | null {
  const known: unknown[] = [null, '', answer, ...Object.values(input)];
  const more = Object.entries(outcome?.details ?? {}).filter(([, value]) => !known.includes(value));
  return more.length ? Object.fromEntries(more) : null;
}

function uploadsOf(input: Json, schema?: JsonSchema): string[] {
  const root = schema && fieldsOf(schema);
  const fields = root?.kind === 'object' ? root.fields : [];
  const given = fields.filter((field) => field.kind === 'upload').map((field) => input[field.key]);
  return given.filter((id): id is string => typeof id === 'string' && id !== '');
}

/** The key of the input that holds the question, if there is one. */
export function questionKey(input: Json): string | undefined {
  return QUESTION_KEYS.find((key) => typeof input[key] === 'string' && input[key] !== '');
}

function questionOf(record: RunRecord): string {
  const key = questionKey(record.input);
  return key ? String(record.input[key]) : record.title;
}

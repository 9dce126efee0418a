/** A run as its events tell it, now and at any event before; no part of this knows Svelte. */
import type { Json, LoggedEvent, RunRecord, ShownGraph } from '../api/types';
import { Reducer } from './reducer';
import { countBelow, isOpen, nodesOf, time, type Origin, type RunView } from './view';
import { goesOn } from '../status';

export * from './view';

/** Events between two copies of the reduction, from which the scrubber goes on. */
const EVERY = 250;

/** Takes a run's events as they come and makes views of it. */
export class RunViewBuilder {
  private readonly log: LoggedEvent[] = [];
  private readonly reducer: Reducer;
  private readonly copies: Reducer[] = [];
  private made: RunView | null = null;

  /** @param origin What the run takes over, where it was forked from another one. */
  constructor(private readonly origin?: Origin) {
    this.reducer = new Reducer(origin);
  }

  /** Take the next events; those that came before are passed over. */
  add(events: LoggedEvent[]): void {
    for (const logged of events) {
      if (logged.seq <= this.reducer.lastSeq) continue;
      this.reducer.add(logged);
      this.log.push(logged);
      if (this.log.length % EVERY === 0) this.copies.push(this.reducer.fork());
    }
    this.made = null;
  }

  /** The number of the last event; 0 for none. */
  get lastSeq(): number {
    return this.reducer.lastSeq;
  }

  /** The run as it is now. */
  get view(): RunView {
    return (this.made ??= this.reducer.view(this.log.slice()));
  }

  /** The run as it was at an event, that one included. */
  at(seq: number): RunView {
    if (seq >= this.reducer.lastSeq) return this.view;
    const count = countBelow(this.log, (each) => each.seq, seq + 1);
    const copies = Math.floor(count / EVERY);
    const reducer = this.copies[copies - 1]?.fork() ?? new Reducer(this.origin);
    for (const logged of this.log.slice(copies * EVERY, count)) reducer.add(logged);
    return reducer.view(this.log.slice(0, count));
  }
}

/** The whole state at a checkpoint; an index below 0 is before the first one. */
export function stateAt(view: Pick<RunView, 'states'>, index: number): Json {
  const state: Json = {};
  for (const step of view.states.slice(0, index + 1)) {
    Object.assign(state, step.changed);
    for (const key of step.removed) delete state[key];
  }
  return state;
}

/**
 * A view with what the events alone do not tell: nodes that never ran, and how a run ended that has no last event since
 * it was cancelled or its process ended.
 *
 * @param view The run at its last event, or at any event before.
 * @param graph Names the nodes.
 * @param record Says how it stands; null where the view is of an event before that.
 */
export function completed(view: RunView, graph: ShownGraph | null, record: RunRecord | null): RunView {
  const names = (graph?.nodes ?? []).filter((node) => node.kind === 'node').map((node) => node.name);
  const lost = view.status === 'running' && record !== null && !goesOn(record.status);
  // Before its next event, or its first, only the record tells that it waits its turn, or could not go on.
  const told = record !== null && (!view.lastSeq || (record.status !== 'running' && record.events === view.lastSeq));
  const status = lost || told ? record.status : view.status;
  // Before its events are there, the record alone has its figures, and nothing tells that a node was left out.
  const figures = record && !view.lastSeq ? figuresOf(record) : {};
  const unread = record !== null && !view.lastSeq && record.events > 0;
  const over = !unread && !goesOn(status) && status !== 'waiting' && status !== 'interrupted';
  const stopped = status === 'cancelled' ? status : 'interrupted';
  const visits = lost ? view.visits.map((visit) => (isOpen(visit) ? { ...visit, status: stopped } as const : visit)) : view.visits;
  return {
    ...view,
    ...figures,
    visits,
    status,
    ended: lost ? (record.ended_at ? time(record.ended_at) : view.lastAt) : view.ended,
    nodes: nodesOf(visits, names, over ? 'skipped' : 'waiting', view.inherited),
  };
}

const figuresOf = (record: RunRecord): Pick<RunView, 'spent' | 'passes' | 'asked' | 'ms'> => ({
  spent: { calls: record.model_calls, tokens: record.tokens, unmetered: record.unmetered_calls, cost: record.cost },
  passes: Object.values(record.passes).reduce((sum, count) => sum + count, 0),
  asked: record.asked,
  ms: (record.seconds ?? 0) * 1000,
});

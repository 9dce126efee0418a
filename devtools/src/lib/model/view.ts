/** What the page shows of a run, as made from its events. */
import type {
  BudgetSpent,
  Json,
  LoggedEvent,
  LoopDecided,
  ModelCalled,
  ModelFellBack,
  RunFinished,
  RunStatus,
  Told,
} from '../api/types';

/** `cancelled` and `interrupted`: the run ended, or waits for a person, before the visit ended. */
export type VisitStatus = 'running' | 'complete' | 'error' | 'retrying' | 'cancelled' | 'interrupted';
export type NodeStatus = 'waiting' | 'running' | 'complete' | 'error' | 'skipped' | 'cancelled' | 'interrupted';

/** An attempt that failed and was followed by another one. */
export interface Attempt {
  /** Milliseconds since the epoch. */
  at: number;
  kind: string;
  message: string;
  /** Seconds before the next attempt. */
  wait: number;
  attempt: number;
  /** How many attempts there are at most. */
  attempts: number;
}

/** One run of one node. */
export interface Visit {
  key: string;
  node: string;
  /** Which visit of this node it is, from 1; the visits before a resume count. */
  visit: number;
  status: VisitStatus;
  /** Milliseconds since the epoch. */
  started: number;
  ended: number | null;
  /** Wall time in milliseconds, retries included; null before the end. */
  durationMs: number | null;
  attempts: Attempt[];
  modelCalls: ModelCalled[];
  fallbacks: ModelFellBack[];
  /** What it wrote to the state, or what was written in its place. */
  update: Json | null;
  error: string | null;
  /** Where the run went on without it, if it did. */
  goto: string | null;
  tokens: number;
  /** US dollars; null where no call's price is known. */
  cost: number | null;
  startSeq: number;
  endSeq: number | null;
  /** The superstep in which it ran, as LangGraph counts; null where no checkpoint tells. */
  step: number | null;
  /** Indices into `states`. */
  stateBefore: number | null;
  stateAfter: number | null;
}

/** A checkpoint: what it changed against the one before. */
export interface StateStep {
  seq: number;
  at: number;
  step: number;
  checkpointId: string;
  next: string[];
  changed: Json;
  removed: string[];
}

export interface LoopEntry extends LoopDecided {
  seq: number;
}

export interface LoopView {
  name: string;
  /** Passes granted in the present scope. */
  passes: number;
  limit: number | null;
  decisions: LoopEntry[];
}

export interface NodeState {
  status: NodeStatus;
  visits: Visit[];
  durationMs: number;
  tokens: number;
  cost: number | null;
}

export interface RunView {
  events: LoggedEvent[];
  /** In the order in which they began; gates and other nodes of the engine are left out. */
  visits: Visit[];
  states: StateStep[];
  nodes: Record<string, NodeState>;
  loops: Record<string, LoopView>;
  budgets: BudgetSpent[];
  /** The text that was streamed since its node last began. */
  answer: string;
  /** The node that streams it. */
  writer: string | null;
  told: Told[];
  status: RunStatus;
  stopReason: RunFinished['stop_reason'];
  /** The error that ended the run. */
  failure: { kind: string; message: string } | null;
  modelCalls: number;
  tokens: number;
  cost: number | null;
  started: number;
  ended: number | null;
  /** The time of the last event. */
  lastAt: number;
  lastSeq: number;
}

/** Milliseconds since the epoch, with the microseconds that `Date` drops. */
export function time(at: string): number {
  const dot = at.indexOf('.');
  const rest = dot === -1 ? NaN : Number.parseInt(at.slice(dot + 4, dot + 7), 10);
  return Date.parse(at) + (Number.isNaN(rest) || at.length < dot + 8 ? 0 : rest / 1000);
}

/** Add a price that may be unknown. */
export const plus = (sum: number | null, more: number | null): number | null =>
  more === null ? sum : (sum ?? 0) + more;

/** Whether a visit goes on. */
export const isOpen = (visit: Visit): boolean => visit.status === 'running' || visit.status === 'retrying';

/** A node without a visit. */
const unvisited = (status: NodeStatus): NodeState => ({ status, visits: [], durationMs: 0, tokens: 0, cost: null });

/**
 * Node -> what its visits come to.
 *
 * @param visits The visits in the order in which they began.
 * @param names Nodes that are there also without a visit.
 * @param without The status of these.
 */
export function nodesOf(
  visits: readonly Visit[],
  names: readonly string[] = [],
  without: NodeStatus = 'waiting',
): Record<string, NodeState> {
  const nodes: Record<string, NodeState> = Object.fromEntries(names.map((name) => [name, unvisited(without)]));
  for (const visit of visits) {
    const node = (nodes[visit.node] ??= unvisited(without));
    const status = visit.status === 'retrying' ? 'running' : visit.status;
    // Of visits at the same time one that goes on counts more than one that ended.
    if (node.status !== 'running') node.status = status;
    node.visits.push(visit);
    node.durationMs += visit.durationMs ?? 0;
    node.tokens += visit.tokens;
    node.cost = plus(node.cost, visit.cost);
  }
  return nodes;
}

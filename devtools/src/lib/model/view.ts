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
  ShownGraph,
  Told,
} from '../api/types';

/** `cancelled` and `interrupted`: the run ended before the visit did; `asking`: the visit waits for a person. */
export type VisitStatus = 'running' | 'complete' | 'error' | 'retrying' | 'cancelled' | 'interrupted' | 'asking';
/** `waiting`: it did not run yet; `inherited`: it ran before the checkpoint that a fork began at. */
export type NodeStatus = Exclude<VisitStatus, 'retrying'> | 'waiting' | 'skipped' | 'inherited';

/** What was asked of models. */
export interface Spent {
  calls: number;
  /** Of the calls whose tokens are known. */
  tokens: number;
  /** Calls whose tokens are unknown. */
  unmetered: number;
  /** US dollars; null where the price of any call is unknown. */
  cost: number | null;
}
export const NOTHING: Spent = { calls: 0, tokens: 0, unmetered: 0, cost: 0 };

export const spentOn = (call: ModelCalled): Spent => ({
  calls: 1,
  tokens: (call.input_tokens ?? 0) + (call.output_tokens ?? 0),
  unmetered: call.input_tokens === null ? 1 : 0,
  cost: call.cost,
});
export const plus = (a: Spent, b: Spent): Spent => ({
  calls: a.calls + b.calls,
  tokens: a.tokens + b.tokens,
  unmetered: a.unmetered + b.unmetered,
  cost: a.cost === null || b.cost === null ? null : a.cost + b.cost,
});

/** What a fork takes over of the run that it was forked from. */
export interface Origin {
  /** Loop -> passes that its ledger had spent. */
  passes: Record<string, number>;
  /** The nodes that had run. */
  nodes: readonly string[];
}

/** A question that a visit put to a person. */
export interface Asked {
  node: string;
  /** The value that was given to `interrupt`. */
  value: unknown;
  /** Names it among several; null in logs of earlier versions. */
  id: string | null;
}

/** A time in which a run stood still, in milliseconds since the epoch. */
export interface Gap {
  from: number;
  to: number;
  /** For a person's answer, or cut off. */
  kind: 'waiting' | 'stopped';
}

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
  /** Wall time in milliseconds, retries included, without the time in which the run stood still; null before the end. */
  durationMs: number | null;
  /** When its present part began, and what the parts before took: it has several where the run was resumed in it. */
  since: number;
  earlierMs: number;
  /** Times between these parts, in which it did not work. */
  rests: { from: number; to: number }[];
  attempts: Attempt[];
  modelCalls: ModelCalled[];
  fallbacks: ModelFellBack[];
  /** What it wrote to the state, or what was written in its place. */
  update: Json | null;
  error: string | null;
  /** Where the run went on without it, if it did. */
  goto: string | null;
  spent: Spent;
  startSeq: number;
  endSeq: number | null;
  /** The task of the visit around it, where it is of a graph inside a node; else empty. */
  within: string;
  /** What a `Send` gave it; null where it read the state. */
  given: unknown;
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

/** A decision, and what the pass that it granted took: up to the next decision in its graph, without passes within it. */
export interface LoopEntry extends LoopDecided {
  seq: number;
  /** Whether its gate had ended, or a checkpoint holds it: a process that is killed before takes it back. */
  kept: boolean;
  ms: number;
  used: Spent;
}

export interface LoopView {
  name: string;
  /** Passes granted in this run. */
  passes: number;
  /** What the ledger has spent: of a fork with the passes before it, of a loop within a loop those of the present scope. */
  spent: number;
  /** The limit in force; null before it was asked. */
  limit: number | null;
  /** Why a further pass was refused last. */
  refused: Exclude<LoopDecided['decision'], 'granted'> | null;
  decisions: LoopEntry[];
}

/** Whether a decision granted a pass: a target's first visit may be granted, too, and is none. */
export const isPass = (entry: LoopDecided): boolean => entry.decision === 'granted' && entry.spent > 0;

/** Whether a loop is one of a graph inside a node; the graph tells it of one that was not asked, and of those in old logs. */
export const isInside = (loop: LoopView, graph: ShownGraph | null): boolean =>
  loop.decisions.some((each) => each.within !== '') ||
  Object.entries(graph?.inside ?? {}).some(([node, inner]) => inner.loops.some((each) => `${node}/${each.name}` === loop.name));

/** Milliseconds and spendings of all passes of a loop. */
export const passesTook = (loop: LoopView): { ms: number; used: Spent } =>
  loop.decisions.filter(isPass).reduce(({ ms, used }, each) => ({ ms: ms + each.ms, used: plus(used, each.used) }), { ms: 0, used: NOTHING });

export interface NodeState {
  status: NodeStatus;
  visits: Visit[];
  durationMs: number;
  spent: Spent;
}

export interface RunView {
  events: LoggedEvent[];
  /** In the order in which they began; gates and other nodes of the engine are left out. */
  visits: Visit[];
  states: StateStep[];
  nodes: Record<string, NodeState>;
  loops: Record<string, LoopView>;
  budgets: BudgetSpent[];
  told: Told[];
  status: RunStatus;
  stopReason: RunFinished['stop_reason'];
  /** The error that ended the run. */
  failure: { kind: string; message: string } | null;
  spent: Spent;
  /** Passes granted in this run, of all loops. */
  passes: number;
  /** What waits for a person's answer. */
  asked: Asked[];
  started: number;
  ended: number | null;
  /** Wall time in milliseconds, without the times in which it stood still. */
  ms: number;
  gaps: Gap[];
  /** The nodes that had run where it was forked. */
  inherited: readonly string[];
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

/** The node or the loop that an event is about; empty for none. */
export const placeOf = ({ event }: LoggedEvent): string => ('node' in event && event.node ? event.node : 'loop' in event ? event.loop : '');

/** Until when a visit that does not go on worked: one that asks a person ended its part before the run stood still. */
export const workedUntil = ({ ended, since, earlierMs, durationMs }: Visit): number => ended ?? since + (durationMs ?? earlierMs) - earlierMs;

/** Whether a visit goes on. */
export const isOpen = (visit: Visit): boolean => visit.status === 'running' || visit.status === 'retrying';

/** Things by their names, which are a stranger's: `constructor` is a name like any other. */
export const byName = <T>(entries: Iterable<readonly [string, T]> = []): Record<string, T> =>
  Object.assign(Object.create(null) as Record<string, T>, Object.fromEntries(entries));

/** How many at the beginning of a list come before a number; `of` rises along it. */
export function countBelow<T>(list: readonly T[], of: (item: T) => number, bound: number): number {
  let count = 0;
  for (let top = list.length; count < top; ) {
    const middle = (count + top) >> 1;
    if (of(list[middle] as T) < bound) count = middle + 1;
    else top = middle;
  }
  return count;
}

/** A node without a visit. */
const unvisited = (status: NodeStatus): NodeState => ({ status, visits: [], durationMs: 0, spent: NOTHING });

/**
 * Node -> what its visits come to.
 *
 * @param visits The visits in the order in which they began.
 * @param names Nodes that are there also without a visit.
 * @param without The status of these.
 * @param inherited Nodes that ran before the run was forked.
 */
export function nodesOf(
  visits: readonly Visit[],
  names: readonly string[] = [],
  without: NodeStatus = 'waiting',
  inherited: readonly string[] = [],
): Record<string, NodeState> {
  const nodes = byName(names.map((name) => [name, unvisited(inherited.includes(name) ? 'inherited' : without)]));
  for (const visit of visits) {
    const node = (nodes[visit.node] ??= unvisited(without));
    const status = visit.status === 'retrying' ? 'running' : visit.status;
    // Of visits at the same time one that goes on counts more than one that ended.
    if (node.status !== 'running') node.status = status;
    node.visits.push(visit);
    node.durationMs += visit.durationMs ?? 0;
    node.spent = plus(node.spent, visit.spent);
  }
  return nodes;
}

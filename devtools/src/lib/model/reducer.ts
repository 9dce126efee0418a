/** Turns a run's events into visits, loops, states and figures, one event at a time. */
import type {
  BudgetSpent,
  LoggedEvent,
  LoopDecided,
  ModelCalled,
  ModelFellBack,
  NodeFinished,
  NodeGaveUp,
  NodeRetried,
  NodeStarted,
  RunFinished,
  RunStatus,
  StateSaved,
  Told,
} from '../api/types';
import {
  byName,
  isOpen,
  isPass,
  nodesOf,
  NOTHING,
  plus,
  spentOn,
  time,
  workedUntil,
  type Asked,
  type Gap,
  type LoopEntry,
  type LoopView,
  type Origin,
  type RunView,
  type Spent,
  type StateStep,
  type Visit,
} from './view';

/** How the names of the engine's own nodes begin: gates are loops, not visits. */
const ENGINE = 'loop.';
/** Whether a node's name within its own graph begins so; a slash may be part of what follows. */
const begins = (node: string, how: string): boolean => node.startsWith(how) || node.includes(`/${how}`);
/** What the server calls the end of a run that somebody stopped, or that the server's own end stopped -> its status. */
const STOPPED: Record<string, RunStatus> = { Cancelled: 'cancelled', Shutdown: 'interrupted' };
/** How LangGraph names the task that stands in for a node that failed, before the node's name. */
const IN_PLACE = '__error_handler__';

/**
 * The state of the reduction. Visits and decisions that a view was given are never changed afterwards: one is replaced
 * by a copy, so that a page that compares by identity sees what is new, and `fork` is cheap.
 */
export class Reducer {
  private visits: Visit[] = [];
  private states: StateStep[] = [];
  /** Loop -> what it decided; a view has copies of these lists. */
  private decisions: Record<string, LoopEntry[]> = byName();
  private budgets: BudgetSpent[] = [];
  private told: Told[] = [];
  private status: RunStatus = 'running';
  private stopReason: RunFinished['stop_reason'] = null;
  private failure: RunView['failure'] = null;
  private spent: Spent = NOTHING;
  private asked: Asked[] = [];
  private gaps: Gap[] = [];
  private ms = 0;
  /** The loops whose last decision is a pass that goes on, each within the one before; what is used counts for the last. */
  private passes: string[] = [];
  private started = 0;
  private ended: number | null = null;
  private lastAt = 0;
  lastSeq = 0;
  /** Task -> index of its visit. */
  private tasks = new Map<string, number>();
  /** Node -> indices of its visits. */
  private byNode = new Map<string, number[]>();
  /** Keys of failed visits in whose place something was done. */
  private replaced = new Set<string>();
  /** Visits that ended since the last checkpoint. */
  private unsaved: number[] = [];

  /** @param origin What the run takes over, where it was forked from another one. */
  constructor(private readonly origin: Origin = { passes: {}, nodes: [] }) {
    for (const name of Object.keys(origin.passes)) this.decisions[name] = [];
  }

  /** A reducer that goes on from here by itself. */
  fork(): Reducer {
    const copy = Object.assign(new Reducer(this.origin), this);
    copy.visits = this.visits.slice();
    copy.states = this.states.slice();
    copy.decisions = byName(Object.entries(this.decisions).map(([name, all]) => [name, all.slice()]));
    copy.budgets = this.budgets.slice();
    copy.gaps = this.gaps.slice();
    copy.told = this.told.slice();
    copy.tasks = new Map(this.tasks);
    copy.byNode = new Map([...this.byNode].map(([node, all]) => [node, all.slice()]));
    copy.replaced = new Set(this.replaced);
    copy.unsaved = this.unsaved.slice();
    return copy;
  }

  add(logged: LoggedEvent): void {
    const { seq, event } = logged;
    const at = time(event.at);
    this.lastSeq = seq;
    const first = !this.started;
    if (first) this.started = this.lastAt = at;
    // While it stood still, no time passed in the run.
    if (event.type !== 'run_started' && this.ended === null) this.goOn(Math.max(0, at - this.lastAt), NOTHING);
    const before = this.lastAt;
    this.lastAt = Math.max(before, at);
    switch (event.type) {
      case 'run_started': return this.runStarted(first, before, at);
      case 'node_started': return this.nodeStarted(event, at, seq);
      case 'node_finished': return this.nodeFinished(event, at, seq);
      case 'node_retried': return this.nodeRetried(event, at);
      case 'node_gave_up': return this.nodeGaveUp(event);
      case 'model_fell_back': return this.modelFellBack(event);
      case 'model_called': return this.modelCalled(event, at);
      case 'text': return; // of the conversation
      case 'loop': return this.loop(event, seq);
      case 'budget': return void this.budgets.push(event);
      case 'state': return this.state(event, at, seq);
      case 'told': return this.tell(event);
      case 'run_finished':
        this.stopReason = event.stop_reason;
        // One that asks nobody was told to stop at a node.
        return this.end(!event.interrupted ? 'finished' : this.asked.length ? 'waiting' : 'interrupted', at);
      case 'run_failed':
        this.failure = { kind: event.kind, message: event.message };
        return this.end(STOPPED[event.kind] ?? 'failed', at);
    }
  }

  /** @param events Those that were added, for the view to keep. */
  view(events: LoggedEvent[]): RunView {
    const loops = Object.entries(this.decisions).map(([name, decisions]) => [name, this.loopOf(name, decisions.slice())] as const);
    return {
      events,
      visits: this.visits.slice(),
      states: this.states.slice(),
      nodes: nodesOf(this.visits, [], 'waiting', this.origin.nodes),
      loops: byName(loops),
      budgets: this.budgets.slice(),
      told: this.told.slice(),
      status: this.status,
      stopReason: this.stopReason,
      failure: this.failure,
      spent: this.spent,
      passes: loops.reduce((sum, [, loop]) => sum + loop.passes, 0),
      asked: this.asked,
      ms: this.ms,
      gaps: this.gaps.slice(),
      inherited: this.origin.nodes,
      started: this.started,
      ended: this.ended,
      lastAt: this.lastAt,
      lastSeq: this.lastSeq,
    };
  }

  /** Time passed and models were asked, in the run and in the pass that goes on. */
  private goOn(ms: number, used: Spent): void {
    this.ms += ms;
    this.spent = plus(this.spent, used);
    this.changeLast(this.passes.at(-1) ?? '', (last) => ({ ms: last.ms + ms, used: plus(last.used, used) }));
  }

  private runStarted(first: boolean, before: number, at: number): void {
    // A run that waited for an answer, or was killed before its first checkpoint, does not say that it is resumed.
    if (!first) {
      this.gaps.push({ from: before, to: Math.max(before, at), kind: this.status === 'waiting' ? 'waiting' : 'stopped' });
      this.stopOpen('interrupted', before);
      this.takeBack();
    }
    this.asked = [];
    this.status = 'running';
    this.ended = null;
    this.failure = null;
    this.stopReason = null;
  }

  private nodeStarted(event: NodeStarted, at: number, seq: number): void {
    const { node, within = '' } = event;
    if (begins(node, ENGINE) || begins(node, IN_PLACE)) return;
    // A task that was cut off, failed or waited for a person is the same visit when it runs again.
    const known = this.tasks.get(event.task_id);
    const again = known === undefined ? undefined : this.visits[known];
    if (known !== undefined && again) {
      const earlierMs = again.durationMs ?? again.earlierMs;
      const rests = [...again.rests, { from: workedUntil(again), to: at }];
      const fresh = { status: 'running', ended: null, endSeq: null, durationMs: null, update: null, error: null, goto: null } as const;
      this.replaced.delete(again.key);
      return this.change(known, { ...fresh, since: at, earlierMs, rests });
    }
    const earlier = this.byNode.get(node) ?? [];
    const before = this.states.at(-1);
    const visit: Visit = {
      key: `${node}#${earlier.length + 1}`,
      node,
      visit: earlier.length + 1,
      status: 'running',
      started: at,
      ended: null,
      durationMs: null,
      since: at,
      earlierMs: 0,
      rests: [],
      attempts: [],
      modelCalls: [],
      fallbacks: [],
      update: null,
      error: null,
      goto: null,
      spent: NOTHING,
      startSeq: seq,
      endSeq: null,
      within,
      given: event.given ?? null,
      // The log has the checkpoints of the run's own graph.
      step: before && !within ? before.step + 1 : null,
      stateBefore: before && !within ? this.states.length - 1 : null,
      stateAfter: null,
    };
    const index = this.visits.push(visit) - 1;
    this.tasks.set(event.task_id, index);
    earlier.push(index);
    this.byNode.set(node, earlier);
  }

  private nodeFinished(event: NodeFinished, at: number, seq: number): void {
    if (begins(event.node, IN_PLACE)) {
      const index = this.failed(event.node.replace(IN_PLACE, ''), (visit) => !this.replaced.has(visit.key));
      const visit = index === undefined ? undefined : this.visits[index];
      if (index !== undefined && visit) {
        this.replaced.add(visit.key);
        this.change(index, { update: event.update, ended: at, endSeq: seq, durationMs: at - visit.started });
      }
      return;
    }
    if (begins(event.node, ENGINE)) return this.keep((entry) => ENGINE + entry.loop === event.node);
    const index = this.tasks.get(event.task_id);
    const visit = index === undefined ? undefined : this.visits[index];
    if (index === undefined || !visit) return;
    // With its visit, a graph inside a node ends, and the pass that goes on in it.
    this.passes = this.passes.filter((loop) => this.decisions[loop]?.at(-1)?.within !== event.task_id);
    if (!visit.within) this.unsaved.push(index);
    this.change(index, {
      status: event.error === null ? 'complete' : 'error',
      ended: at,
      durationMs: visit.earlierMs + event.seconds * 1000,
      update: event.update,
      error: event.error,
      endSeq: seq,
    });
  }

  private nodeRetried(event: NodeRetried, at: number): void {
    // In older logs it names no task: of visits at the same time it is one that failed as often before.
    const open = this.openVisits(event.node);
    const index = this.asker(event) ?? open.find((each) => this.visits[each]?.attempts.length === event.attempt - 1) ?? open.at(-1);
    const visit = index === undefined ? undefined : this.visits[index];
    if (index === undefined || !visit) return;
    const { kind, message, wait, attempt, attempts } = event;
    this.change(index, { status: 'retrying', attempts: [...visit.attempts, { at, kind, message, wait, attempt, attempts }] });
  }

  private nodeGaveUp(event: NodeGaveUp): void {
    // In older logs it names no task.
    const left = (visit: Visit): boolean => visit.goto === null;
    const index = this.asker(event) ?? this.failed(event.node, (visit) => left(visit) && (visit.error ?? '').includes(event.message)) ?? this.failed(event.node, left);
    if (index === undefined) return;
    const error = this.visits[index]?.error ?? `${event.kind}: ${event.message}`;
    this.change(index, { status: 'error', goto: event.goto, error });
  }

  private modelFellBack(event: ModelFellBack): void {
    const index = this.named(event).at(-1) ?? (event.node === null ? undefined : this.openVisits(event.node).at(-1));
    const visit = index === undefined ? undefined : this.visits[index];
    if (index !== undefined && visit) this.change(index, { fallbacks: [...visit.fallbacks, event] });
  }

  private modelCalled(event: ModelCalled, at: number): void {
    const used = spentOn(event);
    this.goOn(0, used);
    const named = this.named(event);
    // Around a graph with `checkpointer=True`, and in older logs, the node's own visit has no name.
    const own = event.node === null || named.some((index) => this.visits[index]?.node === event.node);
    const guess = own || event.node === null ? undefined : this.visitAt(event.node, at - event.seconds * 500);
    // A visit's calls are those of the graphs inside it, too.
    for (const index of guess === undefined ? named : [guess, ...named]) {
      const visit = this.visits[index];
      if (!visit) continue;
      this.change(index, {
        modelCalls: [...visit.modelCalls, event],
        spent: plus(visit.spent, used),
        status: visit.status === 'retrying' ? 'running' : visit.status,
      });
    }
  }

  private loop(event: LoopDecided, seq: number): void {
    const { loop: name, step, within = '' } = event;
    // A gate that was cut off decides again in the same superstep: that is one decision.
    const decisions = (this.decisions[name] ??= []);
    const at = decisions.findIndex((each) => each.step === step && each.within === within);
    const [same] = at === -1 ? [] : decisions.splice(at, 1);
    decisions.push({ ...event, within, seq, kept: event.kept ?? false, ms: same?.ms ?? 0, used: same?.used ?? NOTHING });
    const others = this.passes.filter((loop) => within && loop !== name && this.decisions[loop]?.at(-1)?.within !== within);
    this.passes = isPass(event) ? [...others, name] : others;
  }

  private loopOf(name: string, decisions: LoopEntry[]): LoopView {
    const last = decisions.at(-1);
    const refusal = decisions.findLast((each) => each.decision !== 'granted')?.decision;
    return {
      name,
      decisions,
      passes: decisions.filter(isPass).length,
      spent: last?.spent ?? this.origin.passes[name] ?? 0,
      limit: last?.limit ?? null,
      refused: refusal === undefined || refusal === 'granted' ? null : refusal,
    };
  }

  /** Take note that decisions outlive the process. */
  private keep(which: (entry: LoopEntry) => boolean): void {
    for (const name of Object.keys(this.decisions)) this.changeLast(name, (last) => (!last.kept && which(last) ? { kept: true } : {}));
  }

  /** Change the last decision of a loop, by a copy of it. */
  private changeLast(name: string, values: (last: LoopEntry) => Partial<LoopEntry>): void {
    const last = this.decisions[name]?.pop();
    if (last) this.decisions[name]?.push({ ...last, ...values(last) });
  }

  /** Forget decisions that no checkpoint holds: the ledger does not know them either. */
  private takeBack(): void {
    for (const [name, decisions] of Object.entries(this.decisions)) {
      const last = decisions.at(-1);
      // That a graph inside a node keeps it is not told: what such a one decides again replaces what it decided before.
      if (!last || last.kept || last.within) continue;
      decisions.pop();
      this.passes = this.passes.filter((each) => each !== name);
    }
  }

  private tell(event: Told): void {
    this.told.push(event);
    if (!('interrupt' in event.data)) return;
    const { interrupt: value, id } = event.data;
    this.asked = [...this.asked, { node: event.node, value, id: typeof id === 'string' ? id : null }];
    const index = this.asker(event) ?? this.byNode.get(event.node)?.at(-1);
    if (index === undefined) return;
    this.unsaved = this.unsaved.filter((each) => each !== index);
    // Of a graph inside a node, the one that asks is the one that ended last in there.
    const inside = this.visits.findLastIndex((each) => each.within !== '' && this.around(each).includes(index));
    for (const each of inside > index ? [index, inside] : [index]) {
      this.change(each, { status: 'asking', ended: null, endSeq: null, update: null });
    }
  }

  private state(event: StateSaved, at: number, seq: number): void {
    const last = this.states.at(-1);
    // A resumed run tells of the checkpoint that it goes on from once more.
    if (last?.checkpointId === event.checkpoint_id) return;
    const { step, next, changed, removed } = event;
    const after = this.states.push({ seq, at, step, checkpointId: event.checkpoint_id, next, changed, removed }) - 1;
    this.keep((entry) => !entry.within && entry.step <= step);
    for (const index of this.unsaved) this.change(index, { stateAfter: after, step });
    this.unsaved = [];
  }

  /** The visits that an event names, the innermost last; none in logs of earlier versions. */
  private named({ tasks = [] }: { tasks?: string[] }): number[] {
    return tasks.map((task) => this.tasks.get(task)).filter((index) => index !== undefined);
  }

  /** The visit of its own node that an event names. */
  private asker(event: { node: string; tasks?: string[] }): number | undefined {
    return this.named(event).findLast((index) => this.visits[index]?.node === event.node);
  }

  /** The visits around a visit, of a graph inside a node, the nearest first. */
  private around({ within }: Visit): number[] {
    const index = this.tasks.get(within);
    const visit = index === undefined ? undefined : this.visits[index];
    return index === undefined || !visit ? [] : [index, ...this.around(visit)];
  }

  /** The first visit of a node that failed, of those that fit; where none has, the first that still runs. */
  private failed(node: string, fits: (visit: Visit) => boolean): number | undefined {
    const first = (is: (visit: Visit) => boolean): number | undefined =>
      this.byNode.get(node)?.find((index) => {
        const visit = this.visits[index];
        return visit !== undefined && is(visit) && fits(visit);
      });
    return first((visit) => visit.status === 'error') ?? first(isOpen);
  }

  private openVisits(node: string): number[] {
    return (this.byNode.get(node) ?? []).filter((index) => {
      const visit = this.visits[index];
      return visit !== undefined && isOpen(visit);
    });
  }

  /** The visit of a node that went on at a time; of several the one with the fewest calls so far. */
  private visitAt(node: string, at: number): number | undefined {
    const fits = (index: number): boolean => {
      const visit = this.visits[index];
      return visit !== undefined && visit.started <= at && (visit.ended ?? Infinity) >= at;
    };
    const calls = (index: number): number => this.visits[index]?.modelCalls.length ?? 0;
    const all = this.byNode.get(node) ?? [];
    const during = all.filter(fits);
    return during.length ? during.reduce((best, each) => (calls(each) < calls(best) ? each : best)) : all.at(-1);
  }

  private end(status: RunStatus, at: number): void {
    this.status = status;
    this.ended = at;
    // Nobody answers what a cancelled run asked.
    this.visits.forEach((visit, index) => status === 'cancelled' && visit.status === 'asking' && this.change(index, { status }));
    this.stopOpen(status === 'waiting' || status === 'interrupted' ? 'interrupted' : 'cancelled', at);
  }

  private stopOpen(status: 'cancelled' | 'interrupted', at: number): void {
    this.visits.forEach((visit, index) => {
      if (!isOpen(visit)) return;
      this.change(index, { status, earlierMs: visit.earlierMs + Math.max(0, at - visit.since), since: at });
    });
  }

  private change(index: number, values: Partial<Visit>): void {
    const visit = this.visits[index];
    if (visit) this.visits[index] = { ...visit, ...values };
  }
}

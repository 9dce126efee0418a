/** Event logs of runs that never were: an engine in small, which keeps a ledger of its own and is killed, resumed and forked. */
import type { LoggedEvent, RunEvent } from '../../src/lib/api/types';

/** What the ledger, the meter and the clock say after an event. */
export interface Truth {
  seq: number;
  /** Loop -> passes granted in this run, what the ledger has spent, and of each source how many it was granted. */
  loops: Record<string, { passes: number; spent: number; limit: number | null; bySource: Record<string, number> }>;
  calls: number;
  tokens: number;
  unmetered: number;
  cost: number | null;
  /** Node -> its visits. */
  visits: Record<string, number>;
  /** Nodes that wait for a person. */
  asked: string[];
  status: string;
  /** Milliseconds in which the run went on. */
  ms: number;
}

export interface RandomLoop {
  name: string;
  sources: string[];
  target: string;
  limit: number;
  /** The loop whose passes it counts within. */
  within: string | null;
  firstFree: boolean;
}

export interface RandomLog {
  loops: RandomLoop[];
  events: LoggedEvent[];
  truths: Truth[];
  /** What it took over, where it is a fork. */
  origin: { passes: Record<string, number>; nodes: string[] };
}

interface Task {
  id: string;
  node: string;
  loop: RandomLoop | null;
  sources: string[];
}

class Killed extends Error {}

/** A generator of numbers from 0 to 1 that always gives the same ones for a seed. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const NODES = ['plan', 'search', 'write', 'grade', 'team'];
type Spend = Record<string, number>;

class Engine {
  readonly events: LoggedEvent[] = [];
  readonly truths: Truth[] = [];
  private clock = 1_700_000_000_000;
  private ms = 0;
  private status = 'running';
  /** Whether time passes in the run. */
  private goesOn = false;
  /** As this process knows them, and as the saver keeps them. */
  private spent: Spend;
  private kept: Spend;
  /** Loop -> superstep -> sources that were granted a pass; by process and by saver. */
  private granted: Record<string, Map<number | string, string[]>> = {};
  private grantedKept: Record<string, Map<number | string, string[]>> = {};
  private limits: Record<string, number> = {};
  private limitsKept: Record<string, number> = {};
  private step: number;
  private tasks = new Map<string, string>();
  private calls = { calls: 0, tokens: 0, unmetered: 0, cost: 0 as number | null };
  private asked: string[] = [];
  private started = 0;
  private saved = 0;
  /** Task -> where the graph inside it stands, as the saver keeps it. */
  private inside = new Map<string, { step: number; spent: number }>();

  constructor(
    private readonly next: () => number,
    private readonly loops: RandomLoop[],
    private readonly origin: RandomLog['origin'],
    private readonly seed: number,
    forkedAt: number,
  ) {
    this.spent = { ...origin.passes };
    this.kept = { ...origin.passes };
    this.step = forkedAt;
  }

  get visited(): string[] {
    return [...new Set([...this.origin.nodes, ...this.tasks.values()])];
  }
  get ledger(): Spend {
    return Object.fromEntries(Object.entries(this.kept).filter(([name]) => !name.includes('/')));
  }
  get lastStep(): number {
    return this.step;
  }

  private chance(share: number): boolean {
    return this.next() < share;
  }
  private pick<T>(all: readonly T[]): T {
    return all[Math.floor(this.next() * all.length)] as T;
  }

  private emit(event: Record<string, unknown>, passing = this.goesOn): void {
    const ms = Math.floor(this.next() * 50);
    this.clock += ms;
    if (passing) this.ms += ms;
    const seq = this.events.length + 1;
    this.events.push({ seq, event: { at: new Date(this.clock).toISOString(), ...event } as RunEvent });
    const names = new Set([...Object.keys(this.origin.passes), ...Object.keys(this.granted)]);
    this.truths.push({
      seq,
      loops: Object.fromEntries(
        [...names].map((name) => {
          const passes = [...(this.granted[name]?.values() ?? [])];
          const sources = this.loops.find((each) => each.name === name)?.sources ?? [];
          return [
            name,
            {
              passes: passes.length,
              spent: this.spent[name] ?? 0,
              limit: this.limits[name] ?? null,
              bySource: Object.fromEntries(sources.map((source) => [source, passes.filter((each) => each.includes(source)).length])),
            },
          ];
        }),
      ),
      ...this.calls,
      visits: [...this.tasks.values()].reduce<Record<string, number>>((all, node) => ({ ...all, [node]: (all[node] ?? 0) + 1 }), {}),
      asked: [...this.asked],
      status: this.status,
      ms: this.ms,
    });
  }

  /** Run to some end, through kills, cancellations and waits. */
  run(supersteps: number): void {
    const forked = this.step > -1;
    this.begin(forked);
    let done = 0;
    while (done < supersteps) {
      const step = this.step + 1;
      const tasks = this.plan(step);
      const finished = new Set<string>();
      while (finished.size < tasks.length || this.step < step) {
        try {
          this.superstep(step, tasks, finished);
        } catch (reason) {
          if (!(reason instanceof Killed)) throw reason;
          this.resume(step, tasks, finished);
        }
      }
      done += 1;
    }
    this.status = 'finished';
    this.emit({ type: 'run_finished', seconds: 1, stop_reason: null, interrupted: false });
  }

  private begin(resumed: boolean): void {
    this.status = 'running';
    this.asked = [];
    this.emit({ type: 'run_started', graph: 'g', thread_id: 't', resumed }, false);
    this.goesOn = true;
  }

  private plan(step: number): Task[] {
    const id = (node: string, index: number): string => `${this.seed}-${step}-${node}-${index}`;
    const tasks: Task[] = [];
    const asking = this.loops.filter(() => this.chance(0.35));
    for (const loop of asking) {
      const sources = loop.sources.filter(() => this.chance(0.6));
      tasks.push({ id: id(`loop.${loop.name}`, 0), node: `loop.${loop.name}`, loop, sources: sources.length ? sources : loop.sources });
    }
    const count = 1 + Math.floor(this.next() * 3);
    // The same node several times: a Send to each worker.
    for (let index = 0; index < count; index += 1) tasks.push({ id: id('n', index), node: this.pick(NODES), loop: null, sources: [] });
    return tasks;
  }

  private killable(): void {
    if (this.chance(0.03)) throw new Killed();
  }

  private superstep(step: number, tasks: Task[], finished: Set<string>): void {
    const open = tasks.filter((task) => !finished.has(task.id));
    for (const task of open) {
      if (!task.loop) this.tasks.set(task.id, task.node);
      this.started += 1;
      this.emit({ type: 'node_started', node: task.node, task_id: task.id, visit: this.started });
      this.killable();
    }
    let asks: Task[] = [];
    for (const task of open) {
      if (task.loop) this.decide(task.loop, step, task.sources);
      else if (this.chance(0.4)) this.call(task.node);
      if (task.node === 'team') this.goInside(task);
      this.killable();
      if (!task.loop && this.chance(0.05)) {
        asks = [...asks, task];
        this.emit({ type: 'node_finished', node: task.node, task_id: task.id, visit: 1, seconds: 0.01, update: {}, error: null });
        continue;
      }
      // What a task wrote is kept before the log tells that it ended.
      finished.add(task.id);
      if (task.loop) this.persist(task.loop.name, step);
      if (this.chance(0.02)) throw new Killed();
      this.emit(this.end(task));
      this.killable();
    }
    if (asks.length) return this.wait(asks, step, tasks, finished);
    if (this.chance(0.03)) return this.cancel(step, tasks, finished);
    this.step = step;
    if (this.chance(0.02)) throw new Killed();
    this.save();
    this.killable();
  }

  /** A graph inside a node, with a loop of its own: each visit has a ledger of its own, and supersteps of its own. */
  private goInside(task: Task): void {
    const loop = 'team/again';
    const at = this.inside.get(task.id) ?? { step: 0, spent: 0 };
    const inner = { visit: 1, within: task.id, node: 'team/look' };
    for (;;) {
      const id = `${task.id}:${at.step}`;
      this.tasks.set(id, inner.node);
      this.emit({ type: 'node_started', task_id: id, ...inner });
      if (this.chance(0.4)) this.call(task.node);
      this.killable();
      this.emit({ type: 'node_finished', task_id: id, node: inner.node, visit: 1, seconds: 0.01, update: {}, error: null });
      if (this.chance(0.4)) return;
      const granted = at.spent < 2;
      const [step, spent] = [at.step + 1, at.spent + (granted ? 1 : 0)];
      this.granted[loop] ??= new Map();
      this.grantedKept[loop] ??= new Map();
      for (const each of granted ? [this.granted, this.grantedKept] : []) each[loop]?.set(`${task.id}:${step}`, []);
      for (const each of [this.spent, this.kept]) each[loop] = spent;
      for (const each of [this.limits, this.limitsKept]) each[loop] = 2;
      const decision = granted ? 'granted' : 'exhausted';
      this.emit({ type: 'loop', loop, decision, spent, limit: 2, reason: '', goto: [], step, waited: 0, why: '', sources: [], within: task.id });
      // Where the saver has not kept it, it is decided again.
      this.killable();
      this.inside.set(task.id, Object.assign(at, { step: step + 1, spent }));
      this.killable();
      if (!granted) return;
    }
  }

  private end(task: Task): Record<string, unknown> {
    return { type: 'node_finished', node: task.node, task_id: task.id, visit: 1, seconds: 0.01, update: {}, error: null };
  }
  private save(): void {
    this.saved = this.step;
    this.emit({ type: 'state', step: this.step, checkpoint_id: `${this.seed}-${this.step}`, next: [], changed: {}, removed: [] });
  }

  private decide(loop: RandomLoop, step: number, sources: string[]): void {
    // A loop within another one begins anew with each of its passes.
    const anew = loop.within !== null && (this.granted[loop.within]?.size ?? 0) > 0 && this.chance(0.3);
    const inScope = anew ? 0 : (this.kept[loop.name] ?? 0);
    const free = loop.firstFree && inScope === 0 && !this.granted[loop.name];
    const granted = free || (inScope < loop.limit && this.chance(0.9));
    this.granted[loop.name] ??= new Map();
    this.granted[loop.name]?.delete(step);
    this.limits[loop.name] = loop.limit;
    this.spent[loop.name] = inScope + (granted && !free ? 1 : 0);
    if (granted && !free) this.granted[loop.name]?.set(step, sources);
    const decision = granted ? 'granted' : inScope < loop.limit ? 'over_budget' : 'exhausted';
    this.tell(loop, step, sources, decision);
  }

  private told = new Map<string, Record<string, unknown>>();
  private tell(loop: RandomLoop, step: number, sources: string[], decision: string): void {
    const event = {
      type: 'loop', loop: loop.name, decision, spent: this.spent[loop.name], limit: loop.limit, reason: 'poor', goto: [loop.target],
      step, waited: 0, why: '', sources,
    };
    this.told.set(`${loop.name}-${step}`, event);
    this.emit(event);
  }

  private persist(name: string, step: number): void {
    this.kept[name] = this.spent[name] ?? 0;
    this.limitsKept[name] = this.limits[name] ?? 0;
    const all = (this.grantedKept[name] ??= new Map());
    const now = this.granted[name]?.get(step);
    if (now) all.set(step, now);
    else all.delete(step);
  }

  private call(node: string): void {
    const known = this.chance(0.7);
    const [input_tokens, output_tokens] = known ? [Math.floor(this.next() * 900), Math.floor(this.next() * 90)] : [null, null];
    const cost = known && this.chance(0.9) ? Math.floor(this.next() * 100) / 1024 : null;
    this.calls = {
      calls: this.calls.calls + 1,
      tokens: this.calls.tokens + (input_tokens ?? 0) + (output_tokens ?? 0),
      unmetered: this.calls.unmetered + (known ? 0 : 1),
      cost: this.calls.cost === null || cost === null ? null : this.calls.cost + cost,
    };
    const where = this.pick([node, node, null, 'a node of a graph inside']);
    this.emit({ type: 'model_called', node: where, model: 'm', messages: [], reply: '', tool_calls: [], seconds: 0.001, input_tokens, output_tokens, cost, error: null, prompt: null, prompt_version: null });
  }

  private wait(asks: Task[], step: number, tasks: Task[], finished: Set<string>): void {
    for (const task of asks) {
      this.asked = [...this.asked, task.node];
      this.emit({ type: 'told', kind: 'progress', node: task.node, message: 'May I?', data: { interrupt: 'May I?', id: task.id } });
    }
    this.status = 'waiting';
    this.emit({ type: 'run_finished', seconds: 1, stop_reason: null, interrupted: true });
    this.resume(step, tasks, finished, false);
  }

  private cancel(step: number, tasks: Task[], finished: Set<string>): void {
    const [kind, status] = this.pick([['Cancelled', 'cancelled'], ['Shutdown', 'interrupted'], ['ValueError', 'failed']] as const);
    this.status = status;
    this.emit({ type: 'run_failed', kind, message: 'it ended' });
    this.resume(step, tasks, finished);
  }

  /** Go on from what the saver keeps; what it keeps and the log misses is told first. */
  private resume(step: number, tasks: Task[], finished: Set<string>, resumed = true): void {
    const ended = this.status !== 'running';
    if (ended) this.goesOn = false;
    const known = new Set(this.events.flatMap(({ event }) => (event.type === 'node_finished' ? [event.task_id] : [])));
    for (const task of tasks) {
      if (!finished.has(task.id) || known.has(task.id)) continue;
      const decided = task.loop && this.told.get(`${task.loop.name}-${step}`);
      if (decided) this.emit(decided);
      this.emit(this.end(task));
    }
    if (this.step === step && this.saved !== step) this.save();
    this.goesOn = false;
    this.clock += Math.floor(this.next() * 2_000_000);
    // The process knows of the ledger what the saver kept.
    this.spent = { ...this.kept };
    this.limits = { ...this.limitsKept };
    const names = Object.keys(this.granted);
    this.granted = Object.fromEntries(names.map((name) => [name, new Map(this.grantedKept[name])]));
    this.begin(resumed);
  }
}

/** A run, and sometimes a fork of it. */
export function randomLogs(seed: number): RandomLog[] {
  const next = random(seed);
  const loops: RandomLoop[] = ['outer', 'inner', 'third'].slice(0, 1 + Math.floor(next() * 3)).map((name, index) => ({
    name,
    sources: next() < 0.5 ? ['grade'] : ['grade', 'search'],
    target: 'write',
    limit: 1 + Math.floor(next() * 4),
    within: name === 'inner' && next() < 0.5 ? 'outer' : null,
    firstFree: index === 2 && next() < 0.5,
  }));
  const none = { passes: {}, nodes: [] };
  const first = new Engine(next, loops, none, seed, -1);
  first.run(2 + Math.floor(next() * 5));
  const logs: RandomLog[] = [{ loops, events: first.events, truths: first.truths, origin: none }];
  if (next() < 0.4) {
    const origin = { passes: first.ledger, nodes: first.visited };
    const fork = new Engine(next, loops, origin, seed + 1_000_000, first.lastStep);
    fork.run(1 + Math.floor(next() * 4));
    logs.push({ loops, events: fork.events, truths: fork.truths, origin });
  }
  return logs;
}

import { describe, expect, it } from 'vitest';

import type { RunEvent, RunRecord } from '../../src/lib/api/types';
import { completed, RunViewBuilder, stateAt, time, type RunView } from '../../src/lib/model/run-view';
import { logOf, longRun, recorded, run, viewOf } from './logs';

const path = (view: RunView): string => view.visits.map((visit) => visit.node).join(' ');
const taskOf = (event: RunEvent | undefined): string => (event?.type === 'node_started' ? event.task_id : '');

it('a run whose events are not there yet is what its record tells', () => {
  const { graph } = recorded('own-retries');
  const told = { status: 'finished', events: 9, model_calls: 3, tokens: 50, unmetered_calls: 1, cost: 0.5, passes: { a: 2, b: 1 }, seconds: 4, asked: [], ended_at: null } as unknown as RunRecord;
  const view = completed(new RunViewBuilder().view, graph, told);
  expect(view).toMatchObject({ status: 'finished', passes: 3, ms: 4000, spent: { calls: 3, tokens: 50, unmetered: 1, cost: 0.5 } });
  expect(Object.values(view.nodes).map((node) => node.status)).toEqual(Object.keys(view.nodes).map(() => 'waiting'));
});

describe('visits of a recorded run', () => {
  it('are the path without gates and error handlers', () => {
    expect(path(run('assistant-reflect').view)).toBe(
      'fetch_data generate_acknowledgment plan_queries execute_queries check_results reflect_and_replan ' +
        'execute_queries check_results reflect_and_replan execute_queries check_results generate_response evaluate',
    );
    expect(path(run('own-failing').view)).toBe('one two');
  });

  it('have their true start times and durations', () => {
    const { events } = recorded('own-retries');
    const view = run('own-retries').view;
    for (const visit of view.visits) {
      const start = events.find((logged) => logged.seq === visit.startSeq);
      expect(visit.started).toBe(time(start?.event.at ?? ''));
      const end = events.find(({ event }) => event.type === 'node_finished' && event.task_id === taskOf(start?.event));
      if (end?.event.type !== 'node_finished') throw new Error('no end');
      if (visit.goto === null) expect(visit.durationMs).toBe(end.event.seconds * 1000);
    }
    const [left, right] = ['left', 'right'].map((node) => view.visits.find((visit) => visit.node === node));
    expect(left && right && left.started < (right.ended ?? 0) && right.started < (left.ended ?? 0)).toBe(true);
  });

  it('hold the attempts that failed before', () => {
    const flaky = run('own-retries').view.nodes['flaky'];
    expect(flaky?.visits.map((visit) => visit.attempts.length)).toEqual([2, 1, 0]);
    expect(flaky?.visits[0]?.attempts[0]).toMatchObject({ kind: 'ConnectionError', attempt: 1, attempts: 3, wait: 0.02 });
    expect(flaky?.status).toBe('complete');
  });

  it('take on what was done in their place', () => {
    const doomed = run('own-retries').view.visits.filter((visit) => visit.node === 'doomed');
    expect(doomed).toHaveLength(3);
    for (const visit of doomed) {
      expect(visit).toMatchObject({ status: 'error', goto: 'judge' });
      expect(visit.update).toEqual({ error: 'doomed: ConnectionError: no answer from the archive (attempt 2)' });
      expect(visit.error).toContain('no answer from the archive');
    }
  });

  it('hold their model calls, with tokens and cost', () => {
    const view = run('assistant-answered').view;
    const called = view.visits.filter((visit) => visit.modelCalls.length);
    expect(called.map((visit) => [visit.node, visit.modelCalls.length])).toEqual([
      ['generate_acknowledgment', 3],
      ['generate_response', 1],
    ]);
    expect(view.spent.calls).toBe(4);
    expect(view.spent.tokens).toBe(called.reduce((sum, visit) => sum + visit.spent.tokens, 0));
    expect(view.spent.cost).toBeCloseTo(4 * 0.00012);
  });

  it('stand between the states before and after them', () => {
    const view = run('own-retries').view;
    for (const visit of view.visits) {
      const [before, after] = [view.states[visit.stateBefore ?? -1], view.states[visit.stateAfter ?? -1]];
      expect(before?.next).toContain(visit.node);
      expect(after?.step).toBe(visit.step);
      expect((after?.step ?? 0) - (before?.step ?? 0)).toBe(1);
    }
    const [first] = view.nodes['flaky']?.visits ?? [];
    expect(stateAt(view, first?.stateBefore ?? -1)).toMatchObject({ n: 0, found: [] });
    expect(stateAt(view, first?.stateAfter ?? -1)).toMatchObject({ n: 1, found: ['a0'], left: 'l', right: 'r' });
  });
});

describe('a recorded run', () => {
  it('counts the passes of its loops and says which bound was reached', () => {
    const view = run('assistant-reflect').view;
    expect(view.loops['reflect']).toMatchObject({ passes: 2, limit: 2 });
    expect(view.loops['reflect']?.decisions.map((each) => each.decision)).toEqual(['granted', 'granted', 'exhausted']);
    expect(view.stopReason).toMatchObject({ loop: 'reflect', outcome: 'exhausted' });
    expect(view.status).toBe('finished');
  });

  it('names the nodes that never ran', () => {
    const statuses = Object.entries(run('assistant-reflect').view.nodes).filter(([, node]) => node.status === 'skipped');
    expect(statuses.map(([name]) => name)).toEqual(['update_profile']);
    expect(run('own-failing').view.nodes['three']?.status).toBe('skipped');
  });

  it('tells the error that ended it', () => {
    const view = run('own-failing').view;
    expect(view).toMatchObject({ status: 'failed', failure: { kind: 'NodeFailed' } });
    expect(view.nodes['two']?.status).toBe('error');
  });

  it('is the same however its events come, and takes no event twice', () => {
    const { events } = recorded('own-retries');
    const whole = new RunViewBuilder();
    whole.add(events);
    const single = new RunViewBuilder();
    for (const event of events) {
      single.add([event]);
      single.add(events.slice(0, 5));
    }
    expect(single.view).toEqual(whole.view);
  });
});

describe('visits at the same time', () => {
  const start = (id: string): Record<string, unknown> => ({ type: 'node_started', node: 'read', task_id: id, visit: 1 });
  const failed = (attempt: number): Record<string, unknown> => ({
    type: 'node_retried', node: 'read', attempt, attempts: 3, kind: 'E', message: '', rule: 'r', wait: 0,
  });

  it('of one node each keep their own attempts', () => {
    const view = viewOf(logOf(start('a'), start('b'), failed(1), failed(1), failed(2)));
    expect(view.visits.map((visit) => visit.attempts.map((each) => each.attempt))).toEqual([[1, 2], [1]]);
  });

  const called = (...tasks: string[]): Record<string, unknown> => ({
    type: 'model_called', node: 'read', tasks, model: 'm', messages: [], reply: '', seconds: 0.01, input_tokens: 1, output_tokens: 1, cost: 0, error: null,
  });
  const finished = (id: string): Record<string, unknown> => ({ type: 'node_finished', node: 'read', task_id: id, visit: 1, seconds: 0.1, update: {}, error: null });

  it('of one node are told apart by the task that an event names', () => {
    const fell = { type: 'model_fell_back', node: 'read', tasks: ['a'], from_model: 'x', to_model: 'y', kind: 'E', failure: '', message: '' };
    const asked = { type: 'told', kind: 'progress', node: 'read', tasks: ['a'], message: '', data: { interrupt: '?', id: 'i' } };
    const [a, b, c] = viewOf(logOf(start('a'), start('b'), start('c'), { ...failed(1), tasks: ['b'] }, fell, called('c'), called('c'), finished('a'), asked)).visits;
    expect([a, b, c].map((visit) => [visit?.status, visit?.attempts.length, visit?.modelCalls.length, visit?.fallbacks.length])).toEqual([
      ['asking', 0, 0, 1],
      ['retrying', 1, 0, 0],
      ['running', 0, 2, 0],
    ]);
  });

  it('have the calls of the graphs inside them, and these their own', () => {
    const inner = (id: string, within: string) => ({ type: 'node_started', node: 'read/model', task_id: id, visit: 1, within });
    const builder = new RunViewBuilder();
    builder.add(logOf(start('a'), start('b'), inner('x', 'a'), inner('y', 'b'), called('b', 'y'), called('b', 'unseen')));
    expect(builder.view.visits.map((visit) => visit.modelCalls.length)).toEqual([0, 2, 0, 1]);
    expect(builder.view.spent.calls).toBe(2);
    // A graph with `checkpointer=True` leaves the visit around it without a name.
    builder.add(logOf(...builder.view.events.map(({ event }) => event), called('y')).slice(-1));
    expect(builder.view.visits.map((visit) => visit.modelCalls.length)).toEqual([1, 2, 0, 2]);
  });

  it('that failed are each left once', () => {
    const lost = (id: string, why: string) => ({ ...finished(id), error: `read: ${why}` });
    const gaveUp = (why: string) => ({ type: 'node_gave_up', node: 'read', kind: 'E', message: why, goto: 'end' });
    const instead = (id: string) => ({ ...finished(id), node: '__error_handler__read', update: { by: id } });
    const view = viewOf(logOf(start('a'), start('b'), start('c'), lost('a', 'no'), lost('b', 'never'), gaveUp('never'), gaveUp('no'), instead('h1'), instead('h2')));
    expect(view.visits.map((visit) => [visit.goto, visit.update])).toEqual([['end', { by: 'h1' }], ['end', { by: 'h2' }], [null, null]]);
  });

  it('that still run are not left where another one gave up, and one that runs again can be left again', () => {
    const lost = (id: string) => ({ ...finished(id), error: 'read: no' });
    const gaveUp = { type: 'node_gave_up', node: 'read', kind: 'E', message: '', goto: 'end' };
    const instead = (by: string) => ({ ...finished(by), node: '__error_handler__read', update: { by } });
    const view = viewOf(logOf(start('a'), start('b'), lost('b'), gaveUp, instead('h1'), start('b'), lost('b'), { ...gaveUp, message: 'odd' }, instead('h2')));
    expect(view.visits.map((visit) => [visit.status, visit.goto, visit.update])).toEqual([['running', null, null], ['error', 'end', { by: 'h2' }]]);
  });

  it('that go on keep their node running', () => {
    const done = { type: 'node_finished', node: 'read', task_id: 'b', visit: 2, seconds: 0.1, update: {}, error: null };
    expect(viewOf(logOf(start('a'), start('b'), done)).nodes['read']?.status).toBe('running');
  });
});

describe('a run without a last event', () => {
  const log = logOf(
    { type: 'run_started', graph: 'g', thread_id: 't', resumed: false },
    { type: 'node_started', node: 'one', task_id: 'a', visit: 1 },
  );

  it('ended as its record says', () => {
    const view = viewOf(log);
    const record = { status: 'cancelled', ended_at: '2023-11-14T22:13:25Z' } as RunRecord;
    expect(completed(view, null, record)).toMatchObject({
      status: 'cancelled',
      ended: Date.parse('2023-11-14T22:13:25Z'),
      nodes: { one: { status: 'cancelled' } },
    });
    expect(completed(view, null, { ...record, status: 'running' }).nodes['one']?.status).toBe('running');
    expect(completed(view, null, { ...record, status: 'queued', events: 2 }).status).toBe('queued');
  });

  it('waits for nobody where it was told to stop at a node', () => {
    expect(viewOf(logOf(log[0]!.event, { type: 'run_finished', seconds: 1, stop_reason: null, interrupted: true })).status).toBe('interrupted');
  });

  it('stands as its record says where it could not go on after its last event', () => {
    const view = viewOf(logOf(log[0]!.event, { type: 'run_failed', kind: 'E', message: 'it broke' }));
    const record = { status: 'interrupted', error: 'another graph', events: 2 } as RunRecord;
    expect(completed(view, null, record).status).toBe('interrupted');
    expect(completed(view, null, { ...record, events: 1 }).status).toBe('failed');
  });

  it('takes a decision back when it is resumed, unless what is kept of the run holds it', () => {
    for (const kept of [undefined, false, true]) {
      const decided = { type: 'loop', loop: 'a', decision: 'granted', spent: 1, limit: 3, reason: '', goto: ['x'], step: 4, kept };
      const view = viewOf(logOf({ type: 'run_started', graph: 'g', thread_id: 't', resumed: false }, decided, { type: 'run_started', graph: 'g', thread_id: 't', resumed: true }));
      expect(view.loops['a']?.passes).toBe(kept ? 1 : 0);
    }
  });

  it('goes on when it is resumed', () => {
    const builder = new RunViewBuilder();
    builder.add(log);
    const [resumed, again] = logOf(
      { type: 'run_started', graph: 'g', thread_id: 't', resumed: true },
      { type: 'node_started', node: 'one', task_id: 'a', visit: 1 },
    );
    if (!resumed || !again) throw new Error('no events');
    builder.add([{ ...resumed, seq: 3 }, { ...again, seq: 4 }]);
    expect(builder.view).toMatchObject({ status: 'running', ended: null });
    expect(builder.view.visits.map((visit) => [visit.key, visit.status])).toEqual([
      ['one#1', 'running'],
    ]);
  });
});

describe('the run at an event', () => {
  it('is what the events up to it alone would give', () => {
    const { events } = recorded('own-retries');
    const whole = new RunViewBuilder();
    whole.add(events);
    for (let seq = 0; seq <= events.length; seq += 1) {
      expect(whole.at(seq)).toEqual(viewOf(events.slice(0, seq)));
    }
  });

  it('is right across the copies of a long run', () => {
    const events = longRun(1700);
    const whole = new RunViewBuilder();
    whole.add(events);
    for (const seq of [249, 250, 251, 2600, 4999, 5000, events.length]) {
      expect(whole.at(seq)).toEqual(viewOf(events.slice(0, seq)));
    }
  });

  it('leaves earlier views as they were', () => {
    const { events } = recorded('own-retries');
    const builder = new RunViewBuilder();
    builder.add(events.slice(0, 30));
    const early = structuredClone(builder.view);
    const kept = builder.view;
    builder.add(events.slice(30));
    expect(builder.view.visits.length).toBeGreaterThan(early.visits.length);
    expect(kept).toEqual(early);
  });
});

describe('a run that did not end by itself', () => {
  it('was stopped by a person or with its server, and did not fail', () => {
    for (const [kind, status] of [['Cancelled', 'cancelled'], ['Shutdown', 'interrupted'], ['ValueError', 'failed']] as const) {
      const begun = { type: 'run_started', graph: 'g', thread_id: 't', resumed: false };
      const view = viewOf(logOf(begun, { type: 'node_started', node: 'write', task_id: 'a', visit: 1 }, { type: 'run_failed', kind, message: 'it ended' }));
      expect(view.status).toBe(status);
      expect(view.nodes.write?.status).toBe(status === 'interrupted' ? 'interrupted' : 'cancelled');
    }
  });
});

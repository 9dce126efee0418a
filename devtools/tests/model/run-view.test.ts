import { describe, expect, it } from 'vitest';

import type { RunEvent, RunRecord } from '../../src/lib/api/types';
import { completed, RunViewBuilder, stateAt, time, type RunView } from '../../src/lib/model/run-view';
import { logOf, longRun, recorded, type LogName } from './logs';

function viewOf(name: LogName): RunView {
  const { graph, events } = recorded(name);
  const builder = new RunViewBuilder();
  builder.add(events);
  return completed(builder.view, graph, null);
}
const path = (view: RunView): string => view.visits.map((visit) => visit.node).join(' ');
const taskOf = (event: RunEvent | undefined): string => (event?.type === 'node_started' ? event.task_id : '');

describe('visits of a recorded run', () => {
  it('are the path without gates and error handlers', () => {
    expect(path(viewOf('assistant-reflect'))).toBe(
      'fetch_data generate_acknowledgment plan_queries execute_queries check_results reflect_and_replan ' +
        'execute_queries check_results reflect_and_replan execute_queries check_results generate_response evaluate',
    );
    expect(path(viewOf('own-failing'))).toBe('one two');
  });

  it('have their true start times and durations', () => {
    const { events } = recorded('own-retries');
    const view = viewOf('own-retries');
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
    const flaky = viewOf('own-retries').nodes['flaky'];
    expect(flaky?.visits.map((visit) => visit.attempts.length)).toEqual([2, 1, 0]);
    expect(flaky?.visits[0]?.attempts[0]).toMatchObject({ kind: 'ConnectionError', attempt: 1, attempts: 3, wait: 0.02 });
    expect(flaky?.status).toBe('complete');
  });

  it('take on what was done in their place', () => {
    const doomed = viewOf('own-retries').visits.filter((visit) => visit.node === 'doomed');
    expect(doomed).toHaveLength(3);
    for (const visit of doomed) {
      expect(visit).toMatchObject({ status: 'error', goto: 'judge' });
      expect(visit.update).toEqual({ error: 'doomed: ConnectionError: no answer from the archive (attempt 2)' });
      expect(visit.error).toContain('no answer from the archive');
    }
  });

  it('hold their model calls, with tokens and cost', () => {
    const view = viewOf('assistant-answered');
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
    const view = viewOf('own-retries');
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
    const view = viewOf('assistant-reflect');
    expect(view.loops['reflect']).toMatchObject({ passes: 2, limit: 2 });
    expect(view.loops['reflect']?.decisions.map((each) => each.decision)).toEqual(['granted', 'granted', 'exhausted']);
    expect(view.stopReason).toMatchObject({ loop: 'reflect', outcome: 'exhausted' });
    expect(view.status).toBe('finished');
  });

  it('names the nodes that never ran', () => {
    const statuses = Object.entries(viewOf('assistant-reflect').nodes).filter(([, node]) => node.status === 'skipped');
    expect(statuses.map(([name]) => name)).toEqual(['update_profile']);
    expect(viewOf('own-failing').nodes['three']?.status).toBe('skipped');
  });

  it('tells the error that ended it', () => {
    const view = viewOf('own-failing');
    expect(view).toMatchObject({ status: 'failed', failure: { kind: 'NodeFailed' } });
    expect(view.nodes['two']?.status).toBe('error');
  });

  it('has the streamed answer', () => {
    const view = viewOf('assistant-answered');
    expect(view.writer).toBe('generate_response');
    expect(view.answer).toBe('A hall full of talks waits for you [1].');
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

describe('the answer', () => {
  const text = (words: string): Record<string, unknown> => ({ type: 'text', node: 'write', text: words });
  const start = (id: string): Record<string, unknown> => ({ type: 'node_started', node: 'write', task_id: id, visit: 1 });
  const after = (...events: Record<string, unknown>[]): string => {
    const builder = new RunViewBuilder();
    builder.add(logOf(...events));
    return builder.view.answer;
  };

  it('begins anew when its node begins anew', () => {
    expect(after(start('a'), text('poor'), start('b'), text('bet'), text('ter'))).toBe('better');
    expect(after(start('a'), text('poor'), start('b'))).toBe('');
  });

  it('drops what a failed attempt wrote', () => {
    const retried = { type: 'node_retried', node: 'write', attempt: 1, attempts: 2, kind: 'E', message: '', rule: 'r', wait: 0 };
    expect(after(start('a'), text('half an'), retried, text('whole'))).toBe('whole');
    const gaveUp = { type: 'node_gave_up', node: 'write', kind: 'E', message: '', goto: 'end' };
    expect(after(start('a'), text('half an'), gaveUp, text('by rules'))).toBe('by rules');
  });
});

describe('visits at the same time', () => {
  const start = (id: string): Record<string, unknown> => ({ type: 'node_started', node: 'read', task_id: id, visit: 1 });
  const failed = (attempt: number): Record<string, unknown> => ({
    type: 'node_retried', node: 'read', attempt, attempts: 3, kind: 'E', message: '', rule: 'r', wait: 0,
  });

  it('of one node each keep their own attempts', () => {
    const builder = new RunViewBuilder();
    builder.add(logOf(start('a'), start('b'), failed(1), failed(1), failed(2)));
    expect(builder.view.visits.map((visit) => visit.attempts.map((each) => each.attempt))).toEqual([[1, 2], [1]]);
  });

  it('that go on keep their node running', () => {
    const builder = new RunViewBuilder();
    const done = { type: 'node_finished', node: 'read', task_id: 'b', visit: 2, seconds: 0.1, update: {}, error: null };
    builder.add(logOf(start('a'), start('b'), done));
    expect(builder.view.nodes['read']?.status).toBe('running');
  });
});

describe('a run without a last event', () => {
  const log = logOf(
    { type: 'run_started', graph: 'g', thread_id: 't', resumed: false },
    { type: 'node_started', node: 'one', task_id: 'a', visit: 1 },
  );

  it('ended as its record says', () => {
    const builder = new RunViewBuilder();
    builder.add(log);
    const record = { status: 'cancelled', ended_at: '2023-11-14T22:13:25Z' } as RunRecord;
    expect(completed(builder.view, null, record)).toMatchObject({
      status: 'cancelled',
      ended: Date.parse('2023-11-14T22:13:25Z'),
      nodes: { one: { status: 'cancelled' } },
    });
    expect(completed(builder.view, null, { ...record, status: 'running' }).nodes['one']?.status).toBe('running');
    expect(completed(builder.view, null, { ...record, status: 'queued', events: 2 }).status).toBe('queued');
  });

  it('waits for nobody where it was told to stop at a node', () => {
    const builder = new RunViewBuilder();
    builder.add(logOf(log[0]!.event, { type: 'run_finished', seconds: 1, stop_reason: null, interrupted: true }));
    expect(builder.view.status).toBe('interrupted');
  });

  it('stands as its record says where it could not go on after its last event', () => {
    const builder = new RunViewBuilder();
    builder.add(logOf(log[0]!.event, { type: 'run_failed', kind: 'E', message: 'it broke' }));
    const record = { status: 'interrupted', error: 'another graph', events: 2 } as RunRecord;
    expect(completed(builder.view, null, record).status).toBe('interrupted');
    expect(completed(builder.view, null, { ...record, events: 1 }).status).toBe('failed');
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
      const part = new RunViewBuilder();
      part.add(events.slice(0, seq));
      expect(whole.at(seq)).toEqual(part.view);
    }
  });

  it('is right across the copies of a long run', () => {
    const events = longRun(1700);
    const whole = new RunViewBuilder();
    whole.add(events);
    for (const seq of [249, 250, 251, 2600, 4999, 5000, events.length]) {
      const part = new RunViewBuilder();
      part.add(events.slice(0, seq));
      expect(whole.at(seq)).toEqual(part.view);
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
      const builder = new RunViewBuilder();
      builder.add(
        logOf(
          { type: 'run_started', graph: 'g', thread_id: 't', resumed: false },
          { type: 'node_started', node: 'write', task_id: 'a', visit: 1 },
          { type: 'run_failed', kind, message: 'it ended' },
        ),
      );
      expect(builder.view.status).toBe(status);
      expect(builder.view.nodes.write?.status).toBe(status === 'interrupted' ? 'interrupted' : 'cancelled');
    }
  });
});

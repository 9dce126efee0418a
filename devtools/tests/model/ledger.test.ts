/** One truth: every figure of a run, at every event of it, is the ledger's. */
import { writeFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import type { ShownEdge, ShownGraph } from '../../src/lib/api/types';
import { edgeId, edgeViews } from '../../src/lib/model/routes-taken';
import { RunViewBuilder, type RunView } from '../../src/lib/model/run-view';
import { passesTook } from '../../src/lib/model/view';
import { randomLogs, type RandomLog, type RandomLoop, type Truth } from './random-logs';

/** `./test --all` takes a thousand. */
const LOGS = Number(process.env.LOOPWRIGHT_RANDOM_RUNS ?? 200);

function graphOf(loops: RandomLoop[]): ShownGraph {
  const edges: ShownEdge[] = loops.flatMap(({ name, sources, target }) =>
    sources.map((source): ShownEdge => ({ source, target, loop: name, label: name, dotted: true }) as ShownEdge),
  );
  return { nodes: [], edges, loops: [] } as unknown as ShownGraph;
}

/** What the page shows, in the terms of the truth. */
function shown(view: RunView, loops: RandomLoop[]): Omit<Truth, 'seq'> {
  const arrows = edgeViews(graphOf(loops), view);
  return {
    loops: Object.fromEntries(
      Object.values(view.loops).map(({ name, passes, spent, limit }) => {
        const sources = loops.find((each) => each.name === name)?.sources ?? [];
        const arrow = (source: string) => arrows[edgeId({ source, target: 'write', loop: name })];
        for (const source of sources) expect(arrow(source)?.passes).toBe(spent);
        return [name, { passes, spent, limit, bySource: Object.fromEntries(sources.map((source) => [source, arrow(source)?.taken ?? -1])) }];
      }),
    ),
    ...view.spent,
    visits: Object.fromEntries(Object.entries(view.nodes).map(([node, each]) => [node, each.visits.length])),
    asked: view.asked.map((each) => each.node),
    status: view.status,
    ms: view.ms,
  };
}

/** What must hold of any view by itself. */
function sound(view: RunView): void {
  const loops = Object.values(view.loops);
  expect(view.passes).toBe(loops.reduce((sum, loop) => sum + loop.passes, 0));
  const inPasses = loops.reduce((sum, loop) => sum + passesTook(loop).ms, 0);
  expect(inPasses).toBeLessThanOrEqual(view.ms);
  for (const node of Object.values(view.nodes)) {
    expect(node.spent.calls).toBe(node.visits.reduce((sum, visit) => sum + visit.modelCalls.length, 0));
  }
  if (view.status !== 'running') expect(view.visits.filter((visit) => visit.status === 'running')).toEqual([]);
}

function agrees({ loops, events, truths }: RandomLog, at: (seq: number) => RunView): void {
  for (const { seq } of events) {
    const view = at(seq);
    const { seq: _, ...truth } = truths[seq - 1] as Truth;
    expect(shown(view, loops)).toEqual(truth);
    sound(view);
  }
}

describe('every figure', () => {
  const logs = Array.from({ length: LOGS }, (_, seed) => randomLogs(seed)).flat();

  it('is the ledger’s at every event, as the events come', () => {
    for (const log of logs) {
      const builder = new RunViewBuilder(log.origin);
      agrees(log, (seq) => {
        builder.add(log.events.slice(seq - 1, seq));
        return builder.view;
      });
    }
  }, 120_000);

  it('is the ledger’s at every place of the scrubber', () => {
    for (const log of logs.filter((_, index) => index % 20 === 0)) {
      const builder = new RunViewBuilder(log.origin);
      builder.add(log.events);
      agrees(log, (seq) => builder.at(seq));
    }
  });

  it('was looked at in runs that were killed, waited, were stopped and forked', () => {
    const types = (kind: (log: RandomLog) => boolean): number => logs.filter(kind).length;
    const starts = (log: RandomLog): number => log.events.filter(({ event }) => event.type === 'run_started').length;
    expect(types((log) => starts(log) > 2)).toBeGreaterThan(LOGS / 5);
    expect(types((log) => log.truths.some((truth) => truth.asked.length > 0))).toBeGreaterThan(LOGS / 10);
    expect(types((log) => Object.keys(log.origin.passes).length > 0)).toBeGreaterThan(LOGS / 10);
    expect(types((log) => log.truths.some((truth) => (truth.loops['team/again']?.passes ?? 0) > 1))).toBeGreaterThan(LOGS / 10);
    // Where a kill took back what a gate had decided.
    expect(
      types((log) => log.truths.some((truth, index) => Object.keys(truth.loops).some((name) => (log.truths[index - 1]?.loops[name]?.passes ?? 0) > (truth.loops[name]?.passes ?? 0)))),
    ).toBeGreaterThan(LOGS / 50);
    // For the server's own tally, which is held to the same truth.
    if (process.env.LOOPWRIGHT_LOGS) writeFileSync(process.env.LOOPWRIGHT_LOGS, JSON.stringify(logs.slice(0, 200)));
  });
});

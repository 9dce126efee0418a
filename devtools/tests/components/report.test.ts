import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, describe, expect, it, vi } from 'vitest';

import Histogram from '../../src/components/report/Histogram.svelte';
import LoopCard from '../../src/components/report/LoopCard.svelte';
import LoopPasses from '../../src/components/run/LoopPasses.svelte';
import GainCurve from '../../src/components/run/GainCurve.svelte';
import type { LoopReport, LoopRow, RunStatus } from '../../src/lib/api/types';
import { cutsOf } from '../../src/lib/model/gain';
import { reportOf } from '../../src/lib/report';
import { router } from '../../src/lib/stores/router.svelte';
import ReportPage from '../../src/pages/ReportPage.svelte';
import { recordOf, serve } from '../form/replies';
import { run } from '../model/logs';

const report = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'fixtures', 'loop-report.json'), 'utf8')) as LoopReport;
const row = report.loops[0] as LoopRow;
const { view } = run('assistant-reflect');
const LOOP = view.loops['reflect']!;
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

describe('the report of a loop', () => {
  it('says how often it ran, how it ended, what that cost and gained, and which limit suits it and why', () => {
    const { container } = render(LoopCard, { row, workflow: report.workflow, own: true, onmore: () => {} });
    const words = container.textContent;
    expect(words).toContain('45 passes in 28 of 60 runs; limit 3');
    expect(words).toMatch(/51 ended by themselves.*6 exhausted.*3 stalled/s);
    expect(words).not.toContain('over budget');
    expect(screen.getByRole('row', { name: /^Time 1 min 03 s 26 % of all/ })).toBeTruthy();
    expect(words).toMatch(/Of 12 runs that ran again without it,\s*5 came out better with it, 5 as good, 2 worse/);
    expect(words).toContain('+5.8 points of quality on average over 12 pairs');
    expect(screen.getByText(row.suggestion.why).previousElementSibling?.textContent).toBe('2');
  });

  it('says what to do where nothing is known', () => {
    const suggestion = { limit: null, runs: 2, why: 'too few runs' };
    render(LoopCard, { row: { ...row, gain: null, suggestion }, workflow: report.workflow, own: true, onmore: () => {} });
    expect(screen.getByText(/no run was run again without it/)).toBeTruthy();
    expect(screen.getByText('none yet')).toBeTruthy();
  });
});

describe('runs without a loop', () => {
  const parent = (run_id: string, kept = 0) => ({ run_id, checkpoint_id: 'c', step: 1, kind: 'counterfactual' as const, thread: null, loop: row.loop, kept, edited: [], passes: {}, nodes: [] });

  it('tell something once they came to their end', () => {
    const cut = (id: string, status: RunStatus, minute: number) => recordOf({ id, status, started_at: `2026-03-07T10:0${minute}:00Z`, parent: parent('r1') });
    const cuts = cutsOf([cut('done', 'finished', 1), cut('running', 'running', 2), cut('stopped', 'cancelled', 3)], row.loop);
    expect([...cuts.values()].map((run) => run.id)).toEqual(['done']);
  });

  it('can be had also where the graph cannot', async () => {
    router.go('/loops/demo');
    await waitFor(() => expect(router.route.id).toBe('demo'));
    const graph = { name: 'demo', nodes: [], edges: [], loops: [] };
    const replies = { 'GET /workflows/demo/report': { ...report, loops: [row] } };
    const button = (): Promise<HTMLElement> => screen.findByRole('button', { name: /again without it/ });
    serve(replies);
    render(ReportPage);
    expect(await button()).toBeTruthy();
    cleanup();
    serve({ ...replies, 'GET /workflows/demo/topology': graph });
    render(ReportPage);
    await screen.findByText(/45 passes in/);
    expect(screen.queryByRole('button', { name: /again without it/ })).toBeNull();
    cleanup();
    serve({ ...replies, 'GET /workflows/demo/topology': { ...graph, loops: [{ name: row.loop }] } });
    render(ReportPage);
    expect(await button()).toBeTruthy();
  });

  it('are made again where they were cut off', async () => {
    const runs = [recordOf({ id: 'a', passes: { [row.loop]: 1 } }), recordOf({ id: 'b', passes: { [row.loop]: 1 } })];
    const without = [recordOf({ status: 'cancelled', parent: parent('a') }), recordOf({ parent: parent('b') })];
    const sent = serve({ 'GET /runs': { runs: [...runs, ...without] }, 'POST /runs/a/counterfactual': recordOf() });
    const onmore = vi.fn();
    render(LoopCard, { row, workflow: report.workflow, own: true, onmore });
    await fireEvent.click(screen.getByRole('button', { name: /again without it/ }));
    await waitFor(() => expect(onmore).toHaveBeenCalled());
    expect(sent.filter(({ method }) => method === 'POST').map(({ path }) => path)).toEqual(['/runs/a/counterfactual']);
  });
});

it('the histogram draws bars as high as their runs, and says them', () => {
  const { container } = render(Histogram, { histogram: row.histogram, suggested: 2 });
  const heights = [...container.querySelectorAll('rect.fill-good')].map((bar) => Number(bar.getAttribute('height')));
  expect(heights[0]).toBe(96);
  expect(heights[1]).toBe(48);
  expect(screen.getByRole('img').getAttribute('aria-label')).toMatch(/^0 passes: 32 runs, of these 32 ended by themselves; 1 pass: 17 runs/);
});

it('a loop of a run that was cut says after how many passes, and not of how many', () => {
  const decisions = [{ ...LOOP.decisions[0]!, decision: 'exhausted' as const, spent: 4, limit: 0 }];
  const loop = { ...LOOP, decisions, passes: 0, spent: 4, limit: 0, refused: 'exhausted' as const };
  const { container } = render(LoopPasses, {
    record: recordOf(), graph: null, view, loop, shown: loop, passes: [], children: [], chosen: null, onchoose: () => {}, onfork: () => {}, onmore: async () => {},
  });
  expect(container.querySelector('p')?.textContent).toMatch(/cut after 4 passes, 0 in this run\s*$/);
});

it('many passes are shown a part at a time: the newest, those around the chosen one, and those before and behind', async () => {
  const passes = Array.from({ length: 100 }, (_, at) => ({
    entry: { ...LOOP.decisions[0]!, seq: at + 1, spent: at + 1, limit: 200 }, until: null, nodes: [], changed: [], partly: false, state: at,
  }));
  const loop = { ...LOOP, passes: 100, spent: 100, limit: 200 };
  const props = { record: recordOf(), graph: null, view, loop, shown: loop, passes, children: [], onchoose: () => {}, onfork: () => {}, onmore: async () => {}, part: 30 };
  const { container, rerender } = render(LoopPasses, { ...props, chosen: null });
  const numbers = (): number[] => [...container.querySelectorAll<HTMLElement>('[data-pass]')].map((each) => Number(each.dataset.pass));
  const seen = (): unknown[] => [numbers()[0], numbers().at(-1), numbers().length];
  expect(seen()).toEqual([76, 100, 25]);
  expect(container.querySelectorAll('[data-pass]')[0]?.textContent).toContain('pass 76 of 200');
  // What is read does not move away with each further pass.
  const fewer = (count: number): object => ({ ...props, chosen: null, passes: passes.slice(0, count) });
  for (const count of [96, 100]) {
    await rerender(fewer(count));
    expect(numbers()[0]).toBe(76);
  }
  // A link leads to an event: the passes before it are there, the last of them in the middle.
  await rerender({ ...props, chosen: null, shown: { ...loop, decisions: passes.slice(0, 50).map(({ entry }) => entry) } });
  expect(seen()).toEqual([35, 64, 30]);
  await rerender({ ...props, chosen: null, shown: null });
  expect(seen()).toEqual([1, 30, 30]);
  await rerender({ ...props, chosen: 3 });
  expect(seen()).toEqual([1, 30, 30]);
  await fireEvent.click(screen.getByRole('button', { name: 'Later' }));
  expect(seen()).toEqual([31, 60, 30]);
  // As the run goes on, what is looked at stays.
  await rerender({ ...props, chosen: 3, passes: passes.slice(0, 90) });
  expect(seen()).toEqual([31, 60, 30]);
});

it('a run saved as a page says in which time zone it began', () => {
  expect(reportOf(recordOf({ started_at: '2026-11-30T12:00:00Z' }), view)).toMatch(/<dt>Began<\/dt><dd>[^<]*:00:00[^<]*(UTC|GMT|[A-Z]{2,4}T)[^<]*<\/dd>/);
});

it('a curve of a key that is called quality stands beside that of the runs', () => {
  const points = [{ passes: 0, value: 0.5 }];
  const { container } = render(GainCurve, { curves: [true, false].map((measured) => ({ name: 'quality', measured, points })), passes: 1 });
  expect(container.querySelector('figcaption')?.textContent).toMatch(/quality of the run, cut.*“quality” in the state/s);
});

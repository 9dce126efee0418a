import { describe, expect, it } from 'vitest';

import { bandsOf, drawn, drawnBands, endOf, marksOf, rowsOf, ticks } from '../../src/lib/model/timeline';
import { logOf, longRun, run, viewOf } from './logs';

describe('rows', () => {
  it('hold a bar for each visit, from its true start to its end, in the order given', () => {
    const view = run('own-retries').view;
    const rows = rowsOf(view, ['fetch', 'never', 'right', 'left'], 0);
    expect(rows.map((row) => row.node)).toEqual(['fetch', 'right', 'left', 'flaky', 'doomed', 'judge', 'refine', 'answer']);
    const [flaky] = rows.filter((row) => row.node === 'flaky');
    expect(flaky?.bars.map((bar) => [bar.from, bar.to])).toEqual(
      view.nodes['flaky']?.visits.map((visit) => [visit.started, visit.ended]),
    );
  });

  it('lay visits at the same time into lanes, and use free lanes again', () => {
    const start = (id: string) => ({ type: 'node_started', node: 'read', task_id: id, visit: 1 });
    const end = (id: string) => ({ type: 'node_finished', node: 'read', task_id: id, visit: 1, seconds: 0.1, update: {}, error: null });
    const [row] = rowsOf(viewOf(logOf(start('a'), start('b'), end('a'), start('c'), end('c'), end('b'))), [], 0);
    expect(row?.bars.map((bar) => bar.lane)).toEqual([0, 1, 0]);
    expect(row?.lanes).toBe(2);
  });
});

describe('marks', () => {
  it('tell retries and model calls within the visit', () => {
    const flaky = run('own-retries').view.nodes['flaky']?.visits[0];
    if (!flaky) throw new Error('no visit');
    const marks = marksOf(flaky);
    expect(marks.map((mark) => mark.kind)).toEqual(['retry', 'retry']);
    for (const mark of marks) expect(mark.at > flaky.started && mark.at < (flaky.ended ?? 0)).toBe(true);
    const asked = run('assistant-answered').view.nodes['generate_acknowledgment']?.visits[0];
    expect(asked && marksOf(asked).map((mark) => mark.kind)).toEqual(['model', 'model', 'model']);
  });
});

describe('a visit that waits', () => {
  const node = (type: string, name: string, more = {}) => ({ type, node: name, task_id: name, visit: 1, update: {}, error: null, ...more });
  const beside = [node('node_started', 'ask'), node('node_started', 'crawl'), node('node_finished', 'ask', { seconds: 0.15 })];
  const ended = node('node_finished', 'crawl', { seconds: 0.4 });
  const asks = { type: 'told', kind: 'progress', node: 'ask', tasks: ['ask'], message: '?', data: { interrupt: '?' } };
  const waits = { type: 'run_finished', seconds: 1, stop_reason: null, interrupted: true };
  const failed = { type: 'run_failed', kind: 'Cancelled', message: '' };
  const again = [{ type: 'run_started', graph: 'g', thread_id: 't', resumed: true }, node('node_started', 'ask'), node('node_finished', 'ask', { seconds: 0.1 })];

  it.each([
    ['asks', [...beside, ended, asks, waits], [[0, 150]]],
    ['asks, and is not answered', [...beside, ended, asks, waits, failed], [[0, 150]]],
    ['was answered', [...beside, ended, asks, waits, ...again], [[0, 150], [600, 700]]],
    ['runs again after one beside it failed', [...beside, ended, { ...failed, kind: 'E' }, ...again], [[0, 200], [500, 600]]],
  ])('for others or a person as it %s works in what its label counts', (_, events, worked) => {
    const view = viewOf(logOf(...events));
    const bar = rowsOf(view, [], 0).find((row) => row.node === 'ask')?.bars[0];
    expect(bar?.worked.map(({ from, to }) => [from - view.started, to - view.started])).toEqual(worked);
  });
});

describe('bands', () => {
  it('go from each decision of a loop to the next', () => {
    const view = run('assistant-reflect').view;
    const bands = bandsOf(view, endOf(view, 0));
    expect(bands.map((band) => `${band.loop} ${band.spent}/${band.limit} ${band.decision}`)).toEqual([
      'reflect 1/2 granted', 'reflect 2/2 granted', 'reflect 2/2 exhausted',
    ]);
    expect(bands[0]?.to).toBe(bands[1]?.from);
    expect(bands[2]?.to).toBe(view.ended);
  });
});

describe('what is drawn', () => {
  const view = viewOf(longRun(1700));
  const rows = rowsOf(view, [], 0);
  const span = endOf(view, 0) - view.started;

  it('of a long run is no more than can be told apart, and loses no visit', () => {
    for (const row of rows) {
      const shown = drawn(row, view.started, 800 / span, 800, null);
      expect(shown.length).toBeLessThan(300);
      expect(shown.reduce((sum, each) => sum + each.count, 0)).toBe(row.bars.length);
    }
  });

  it('draws the chosen visit by itself', () => {
    const [row] = rows;
    const chosen = row?.bars[200]?.visit.key ?? '';
    const shown = row ? drawn(row, view.started, 800 / span, 800, chosen) : [];
    expect(shown.find((each) => each.key === chosen)?.count).toBe(1);
  });

  it('leaves out what lies beside the window', () => {
    const [row] = rows;
    if (!row) throw new Error('no row');
    const shown = drawn(row, view.started + span / 2, 1, 1000, null);
    expect(shown.length).toBeGreaterThan(0);
    for (const each of shown) expect(each.left + each.width >= 0 && each.left <= 1000).toBe(true);
  });
});

describe('bands that are drawn', () => {
  const band = (spent: number, from: number, to: number, decision: 'granted' | 'exhausted' = 'granted') =>
    ({ seq: 0, loop: 'mend', decision, spent, limit: 5, reason: '', from, to });

  it('are one where passes are too narrow, and say how many passes they stand for', () => {
    const shown = drawnBands([band(1, 0, 3), band(2, 3, 6), band(3, 6, 40), band(3, 40, 50, 'exhausted')], 0, 1, 100);
    expect(shown.map(({ left, width, count, spent }) => [left, width, count, spent])).toEqual([[0, 6, 2, 2], [6, 34, 1, 3], [40, 10, 1, 3]]);
  });

  it('have their names end where the next one begins, that of a graph inside too', () => {
    const shown = drawnBands([band(1, 0, 60), band(1, 20, 40), band(2, 60, 90)], 0, 1, 100);
    expect(shown.map(({ room }) => room)).toEqual([20, 20, 30]);
  });

  it('are those in sight', () => {
    const shown = drawnBands([band(1, 0, 30), band(2, 30, 60), band(3, 60, 90)], 40, 1, 10);
    expect(shown.map(({ spent, left }) => [spent, left])).toEqual([[2, -10]]);
  });
});

describe('ticks', () => {
  it('are round and not too close', () => {
    expect(ticks(0, 1000, 800)).toEqual([0, 200, 400, 600, 800, 1000]);
    expect(ticks(950, 100, 450)).toEqual([960, 980, 1000, 1020, 1040]);
    expect(ticks(0, 1000, 0)).toEqual([]);
  });
});

describe('a time in which a run stood still', () => {
  it('is folded away: bars, bands and the end lie that much earlier', () => {
    const minutes = 23 * 60_000;
    const at = (ms: number): string => new Date(1_700_000_000_000 + ms).toISOString();
    const events = [
      { type: 'run_started', graph: 'g', thread_id: 't', resumed: false, at: at(0) },
      { type: 'loop', loop: 'again', decision: 'granted', spent: 1, limit: 2, reason: '', goto: [], step: 1, waited: 0, why: '', sources: [], at: at(5) },
      { type: 'node_finished', node: 'loop.again', task_id: 'g', visit: 1, seconds: 0.01, update: {}, error: null, at: at(6) },
      { type: 'node_started', node: 'ask', task_id: 'a', visit: 1, at: at(10) },
      { type: 'node_finished', node: 'ask', task_id: 'a', visit: 1, seconds: 0.01, update: {}, error: null, at: at(20) },
      { type: 'told', kind: 'progress', node: 'ask', message: '?', data: { interrupt: '?' }, at: at(20) },
      { type: 'run_finished', seconds: 1, stop_reason: null, interrupted: true, at: at(20) },
      { type: 'run_started', graph: 'g', thread_id: 't', resumed: false, at: at(20 + minutes) },
      { type: 'node_started', node: 'ask', task_id: 'a', visit: 1, at: at(30 + minutes) },
      { type: 'node_finished', node: 'ask', task_id: 'a', visit: 1, seconds: 0.01, update: {}, error: null, at: at(40 + minutes) },
      { type: 'run_finished', seconds: 1, stop_reason: null, interrupted: false, at: at(40 + minutes) },
    ];
    const view = viewOf(logOf(...events));
    expect(view.gaps).toMatchObject([{ kind: 'waiting', to: view.started + 20 + minutes }]);
    expect(view.ms).toBe(40);
    expect(view.visits).toMatchObject([{ status: 'complete', durationMs: 20 }]);
    const [row] = rowsOf(view, [], 0);
    expect(row?.bars.map((bar) => [bar.from - view.started, bar.to - view.started])).toEqual([[10, 40]]);
    expect(row?.bars[0]?.worked.map((part) => [part.from - view.started, part.to - view.started])).toEqual([[10, 20], [30, 40]]);
    expect(bandsOf(view, endOf(view, 0)).map((band) => band.to - view.started)).toEqual([40]);
  });
});

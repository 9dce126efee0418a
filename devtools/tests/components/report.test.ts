import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { cleanup, render, screen } from '@testing-library/svelte';
import { afterEach, describe, expect, it } from 'vitest';

import Histogram from '../../src/components/report/Histogram.svelte';
import LoopCard from '../../src/components/report/LoopCard.svelte';
import GainCurve from '../../src/components/run/GainCurve.svelte';
import type { LoopReport, LoopRow } from '../../src/lib/api/types';

const report = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'fixtures', 'loop-report.json'), 'utf8')) as LoopReport;
const row = report.loops[0] as LoopRow;
afterEach(cleanup);

describe('the report of a loop', () => {
  it('says how often it ran, how it ended and what that cost', () => {
    const { container } = render(LoopCard, { row, workflow: report.workflow, onmore: () => {} });
    const words = container.textContent;
    expect(words).toContain('45 passes in 28 of 60 runs; limit 3');
    expect(words).toMatch(/51 ended by themselves.*6 exhausted.*3 stalled/s);
    expect(words).not.toContain('over budget');
    expect(screen.getByRole('row', { name: /^Time 1 min 03 s 26 % of all/ })).toBeTruthy();
  });

  it('says what it gained, and which limit suits it and why', () => {
    const { container } = render(LoopCard, { row, workflow: report.workflow, onmore: () => {} });
    expect(container.textContent).toMatch(/Of 12 runs that ran again without it,\s*5 came out better with it, 5 as good, 2 worse/);
    expect(container.textContent).toContain('+5.8 points of quality on average over 12 pairs');
    expect(screen.getByText(row.suggestion.why).previousElementSibling?.textContent).toBe('2');
  });

  it('says what to do where nothing is known', () => {
    const suggestion = { limit: null, runs: 2, why: 'too few runs' };
    render(LoopCard, { row: { ...row, gain: null, suggestion }, workflow: report.workflow, onmore: () => {} });
    expect(screen.getByText(/no run was run again without it/)).toBeTruthy();
    expect(screen.getByText('none yet')).toBeTruthy();
  });
});

describe('the histogram', () => {
  it('draws bars as high as their runs, and says them', () => {
    const { container } = render(Histogram, { histogram: row.histogram, suggested: 2 });
    const heights = [...container.querySelectorAll('rect.fill-good')].map((bar) => Number(bar.getAttribute('height')));
    expect(heights[0]).toBe(96);
    expect(heights[1]).toBe(48);
    expect(screen.getByRole('img').getAttribute('aria-label')).toMatch(/^0 passes: 32 runs, of these 32 ended by themselves; 1 pass: 17 runs/);
  });

});

it('a curve of a key that is called quality stands beside that of the runs', () => {
  const points = [{ passes: 0, value: 0.5 }];
  const { container } = render(GainCurve, { curves: [true, false].map((measured) => ({ name: 'quality', measured, points })), passes: 1 });
  expect(container.querySelector('figcaption')?.textContent).toMatch(/quality of the run, cut.*“quality” in the state/s);
});

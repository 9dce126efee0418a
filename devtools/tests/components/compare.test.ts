import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import Figures from '../../src/components/compare/Figures.svelte';
import { turnOf } from '../../src/lib/model/comparison';
import type { Comparison } from '../../src/lib/api/types';
import { router } from '../../src/lib/stores/router.svelte';
import ComparePage from '../../src/pages/ComparePage.svelte';
import { Refusal, serve, type Sent } from '../form/replies';
import { recorded } from '../model/logs';

const comparison = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'fixtures', 'comparison.json'), 'utf8')) as Comparison;
const [A, B] = [comparison.a.id, comparison.b.id];

beforeEach(() => {
  serve({
    'GET /compare': ({ path }: Sent) => (path.includes(`a=${A}`) ? comparison : new Refusal(404, 'there is no run "gone"')),
    ...Object.fromEntries([A, B].map((id) => [`GET /runs/${id}/graph`, recorded(id as 'assistant-answered').graph])),
    [`GET /runs/${A}`]: comparison.a,
    'GET /runs': { runs: [comparison.a, comparison.b], total: 2, next: null },
  });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const go = async (to: string): Promise<void> => {
  router.go(to);
  await waitFor(() => expect(`#${to}`).toContain(router.route.page));
  await waitFor(() => expect(router.route.query.toString()).toBe(to.split('?')[1] ?? ''));
};

/** The cells of the row whose first one says this. */
const row = (first: string): (string | null)[] => {
  const rows = [...document.querySelectorAll('tr')].map((each) => [...each.children].map((cell) => cell.textContent));
  return rows.find((cells) => cells[0] === first) ?? [];
};

describe('the comparison', () => {
  it('says whether the loop helped, and why', async () => {
    await go(`/compare?a=${A}&b=${B}`);
    render(ComparePage);
    expect((await screen.findByText(/Did “reflect” help/)).textContent).toMatch(/help\?\s+yes/);
    expect(screen.getByText(comparison.loop_effect?.says ?? '')).toBeTruthy();
  });

  it('lays both paths side by side, by the names that people know', async () => {
    await go(`/compare?a=${A}&b=${B}`);
    render(ComparePage);
    await screen.findByText('Relax & Retry');
    expect(row('6')).toEqual(['6', 'Reflect & Replan', '']);
    expect(row('8')).toEqual(['8', '', 'Relax & Retry']);
    expect(row('9')).toEqual(['9', 'Check Results (visit 2)', 'Check Results (visit 2)']);
  });

  it('shows figures with differences, and says which are for the better', async () => {
    await go(`/compare?a=${A}&b=${B}`);
    render(ComparePage);
    await screen.findByText('quality');
    expect(row('quality')).toEqual(['quality', '81 %', '64 %', '−17 %, worse']);
    expect(row('tokens').at(-1)).toBe('−2,563, better');
    expect(row('↻ reflect')).toEqual(['↻ reflect', '2/2', '–', '−2']);
  });

  it('marks what one answer alone says', async () => {
    await go(`/compare?a=${A}&b=${B}`);
    const { container } = render(ComparePage);
    await screen.findByText(/Figures and loops/);
    expect([...container.querySelectorAll('del')].map((each) => each.textContent).join('')).toContain('Sunday');
    expect([...container.querySelectorAll('ins')].map((each) => each.textContent).join('')).toContain('Saturday');
  });

  it('says so when a run is not there, and offers to choose others', async () => {
    await go(`/compare?a=gone&b=${B}`);
    render(ComparePage);
    expect(await screen.findByText('there is no run "gone"')).toBeTruthy();
    expect(screen.getByRole('button', { name: 'Choose others' })).toBeTruthy();
  });

  it('lets one choose the run to compare with, and does not offer the same one', async () => {
    await go(`/compare?a=${A}`);
    render(ComparePage);
    const choices = await screen.findAllByRole('button', { name: /quantum knitting/ });
    expect(choices).toHaveLength(1);
    await fireEvent.click(choices[0] as HTMLElement);
    await waitFor(() => expect(router.route.query.get('b')).toBe(B));
    await screen.findByText('Relax & Retry');
  });
});

describe('figures and verdicts', () => {
  const row = { name: 'x', a: 1, b: 2, difference: 1 };

  it('may be called as a score is', () => {
    const figures = [0.5, 2].map((a) => ({ ...row, name: 'cost', a, better: null }));
    render(Figures, { figures, loops: [] });
    expect(screen.getAllByRole('row', { name: /^cost/ })).toHaveLength(2);
  });

  it('of a run that was cut tell so, and no limit that is below its passes', () => {
    const side = { loop: 'mend', passes: 4, limit: 0, refused: 'exhausted' as const, seconds: 0, tokens: 0, cost: null };
    render(Figures, { figures: [], loops: [{ loop: 'mend', a: { ...side, passes: 11, limit: 20, refused: null }, b: side }] });
    expect(screen.getAllByRole('cell').map((cell) => cell.textContent)).toEqual(['11/20', '4, cut', '−7']);
  });

  it('turn for the better or the worse as the figure says', () => {
    expect(turnOf({ ...row, better: 'higher' })).toBe('better');
    expect(turnOf({ ...row, better: 'lower' })).toBe('worse');
    expect(turnOf({ ...row, better: null })).toBe('same');
    expect(turnOf({ ...row, difference: null, better: 'higher' })).toBe('same');
  });
});

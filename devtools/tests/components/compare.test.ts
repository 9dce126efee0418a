import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import Figures from '../../src/components/compare/Figures.svelte';
import { turnOf } from '../../src/lib/model/comparison';
import type { Comparison } from '../../src/lib/api/types';
import { router } from '../../src/lib/stores/router.svelte';
import ComparePage from '../../src/pages/ComparePage.svelte';
import { recorded } from '../model/logs';

const comparison = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'fixtures', 'comparison.json'), 'utf8')) as Comparison;
const [A, B] = [comparison.a.id, comparison.b.id];

/** A server on loopback that compares as the real one did when the comparison was recorded. */
let server: Server;
let calls: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://here');
    calls.push(`${request.method} ${url.pathname}${url.search}`);
    const reply = (value: unknown, status = 200): void => {
      response.writeHead(status, { 'Content-Type': 'application/json', 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Methods': '*', 'Access-Control-Allow-Headers': '*' });
      response.end(JSON.stringify(value));
    };
    if (request.method === 'OPTIONS') return reply(null);
    if (url.pathname === '/compare') {
      if (url.searchParams.get('a') !== A) return reply({ error: 'there is no run "gone"', error_type: 'UnknownNameError', can_retry: false }, 404);
      return reply(comparison);
    }
    const graph = /^\/runs\/(assistant-\w+)\/graph$/.exec(url.pathname)?.[1];
    if (graph) return reply(recorded(graph as 'assistant-answered').graph);
    if (url.pathname === `/runs/${A}`) return reply(comparison.a);
    if (url.pathname === '/runs') return reply({ runs: [comparison.a, comparison.b], total: 2, next: null });
    reply({ error: 'not found', error_type: '', can_retry: false }, 404);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = document.createElement('base');
  base.href = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  document.head.append(base);
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  calls = [];
});
afterEach(cleanup);

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

  it('turn for the better or the worse as the figure says', () => {
    expect(turnOf({ ...row, better: 'higher' })).toBe('better');
    expect(turnOf({ ...row, better: 'lower' })).toBe('worse');
    expect(turnOf({ ...row, better: null })).toBe('same');
    expect(turnOf({ ...row, difference: null, better: 'higher' })).toBe('same');
  });
});

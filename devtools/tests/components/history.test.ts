import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { tick } from 'svelte';
import { afterEach, expect, it, vi } from 'vitest';

import { router } from '../../src/lib/stores/router.svelte';
import HistoryPage from '../../src/pages/HistoryPage.svelte';
import { recordOf, serve } from '../form/replies';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  history.replaceState(null, '', '#/runs');
});

it('a run that was cut, or forked, says so in the list and names the run that it came from', async () => {
  const parent = { run_id: 'whole', checkpoint_id: 'c', step: 1, thread: null, edited: [], nodes: [] };
  const cut = recordOf({ id: 'r2', parent: { ...parent, kind: 'counterfactual', loop: 'mend', kept: 2, passes: { mend: 2 } } });
  const fork = recordOf({ id: 'r3', parent: { ...parent, kind: 'fork', loop: null, kept: 0, passes: {} } });
  serve({ 'GET /runs': { runs: [cut, fork], total: 2, next: null } });
  const { container } = render(HistoryPage);
  await waitFor(() => expect(container.querySelectorAll('[data-run]')).toHaveLength(2));
  expect([...container.querySelectorAll('[title$="forked from whole"]')].map((each) => each.textContent?.trim())).toEqual(['“mend” cut after 2 passes', 'forked']);
});

it('Back to another part of the list has the parts before it again, and selects what is still there', async () => {
  serve({ 'GET /runs': { runs: [], total: 0, next: null }, 'GET /runs/r1': recordOf() });
  const arrive = async (address: string, state: unknown): Promise<void> => {
    history.replaceState(state, '', address);
    window.dispatchEvent(new Event('hashchange'));
    await tick();
  };
  const older = { kept: { chosen: ['gone', 'r1'], newer: [null, 'y'], top: 0 } };
  await arrive('#/runs?before=x', older);
  render(HistoryPage);
  await waitFor(() => expect(router.kept()).toMatchObject({ chosen: ['r1'] }));
  await arrive('#/runs?tag=a', null);
  expect(router.kept()).toMatchObject({ newer: [], chosen: ['r1'] });
  await arrive('#/runs?before=x', older);
  await waitFor(() => expect(router.kept()).toMatchObject({ newer: [null, 'y'], chosen: ['r1'] }));
  await fireEvent.click(screen.getByRole('button', { name: 'Newer' }));
  await waitFor(() => expect(router.route.query.get('before')).toBe('y'));
});

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

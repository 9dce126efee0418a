import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, describe, expect, it, vi } from 'vitest';

import ForkDialog from '../../src/components/ForkDialog.svelte';
import type { LoggedEvent } from '../../src/lib/api/types';
import { router } from '../../src/lib/stores/router.svelte';
import { recordOf, Refusal, serve, type Sent } from '../form/replies';
import { logOf, viewOf } from '../model/logs';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const state = (step: number, next: string[]) => ({ type: 'state', step, checkpoint_id: `c${step}`, next, changed: {}, removed: [] });
const LOG: LoggedEvent[] = logOf(state(0, ['plan']), state(1, ['search']), state(2, []));
const REPLIES = {
  'GET /runs/r1/checkpoints/c0': { values: { question: 'Who?' } },
  'GET /runs/r1/checkpoints/c1': { values: { question: 'Who?', plan: ['a', 'b'], limit: 3 } },
  'GET /workflows/demo/models': { nodes: [{ node: 'plan', model: null, configured: null, chosen: false, used_by_default: false }], offered: ['a:small'] },
  'GET /workflows/demo/prompts': [],
  'POST /runs/r1/fork': recordOf({ id: 'forked' }),
};

async function opened(replies: Record<string, unknown> = REPLIES): Promise<Sent[]> {
  const sent = serve(replies);
  render(ForkDialog, { open: true, record: recordOf(), graph: null, view: viewOf(LOG), index: 1 });
  await screen.findByRole('button', { name: 'Edit plan' });
  return sent;
}
const edit = async (key: string, value: string): Promise<void> => {
  await fireEvent.click(screen.getByRole('button', { name: `Edit ${key}` }));
  await fireEvent.input(screen.getByLabelText(`New value of ${key}`), { target: { value } });
};
const fork = (): HTMLButtonElement => screen.getByRole('button', { name: 'Fork' });

describe('forking a run', () => {
  it('counts what runs many times at once', async () => {
    serve(REPLIES);
    render(ForkDialog, { open: true, record: recordOf(), graph: null, view: viewOf(logOf(state(0, ['plan', 'work', 'work', 'work']))), index: 0 });
    expect(await screen.findByRole('option', { name: 'step 0, before plan, work ×3' })).toBeTruthy();
  });

  it('sends the keys alone whose value changed, and goes to the new run', async () => {
    const go = vi.spyOn(router, 'go');
    const sent = await opened();
    await edit('plan', '["a", "c"]');
    await edit('question', '"Who?"');
    await fireEvent.click(fork());
    await waitFor(() => expect(go).toHaveBeenCalledWith('#/runs/forked'));
    expect(sent.at(-1)).toEqual({
      method: 'POST', path: '/runs/r1/fork', body: { checkpoint_id: 'c1', state: { plan: ['a', 'c'] }, models: {}, prompts: {} },
    });
  });

  it('keeps what is being changed while the run makes further checkpoints', async () => {
    const sent = serve(REPLIES);
    const view = viewOf(LOG);
    const given = { open: true, record: recordOf(), graph: null };
    const { rerender } = render(ForkDialog, { ...given, view, index: 0 });
    await screen.findByRole('button', { name: 'Edit question' });
    await edit('question', '"Why?"');
    await rerender({ ...given, view: { ...view, states: view.states.map((each) => ({ ...each })) }, index: 1 });
    await fireEvent.click(fork());
    await waitFor(() => expect(sent.at(-1)?.body).toMatchObject({ checkpoint_id: 'c0', state: { question: 'Why?' } }));
  });

  it('offers the steps after which something runs', async () => {
    await opened();
    const step = screen.getByLabelText('Start from') as HTMLSelectElement;
    expect([...step.options].map((option) => option.textContent)).toEqual(['step 0, before plan', 'step 1, before search']);
  });

  it('offers the steps around the one that is shown where there are thousands', async () => {
    serve(REPLIES);
    const view = viewOf(logOf(...Array.from({ length: 3000 }, (_, at) => state(at, ['plan']))));
    render(ForkDialog, { open: true, record: recordOf(), graph: null, view, index: 1500 });
    const select = screen.getByLabelText('Start from') as HTMLSelectElement;
    const steps = [...select.options, ...select.selectedOptions].map((option) => option.textContent!.split(',')[0]);
    expect([steps[0], ...steps.slice(-2)]).toEqual(['step 1400', 'step 1600', 'step 1500']);
    expect(screen.getByText(/of 3,000/)).toBeTruthy();
  });

  it('starts nothing while a value is no JSON', async () => {
    const sent = await opened();
    await edit('limit', '3,');
    expect(screen.getByRole('alert').textContent).toContain('This is not JSON');
    expect(fork().disabled).toBe(true);
    await fireEvent.input(screen.getByLabelText('New value of limit'), { target: { value: '' } });
    expect(fork().disabled).toBe(true);
    await fireEvent.input(screen.getByLabelText('New value of limit'), { target: { value: '4' } });
    expect(fork().disabled).toBe(false);
    await fireEvent.click(screen.getByRole('button', { name: 'Keep limit' }));
    await fireEvent.click(fork());
    await waitFor(() => expect(sent.at(-1)?.body).toMatchObject({ state: {} }));
  });

  it('can change a model', async () => {
    const sent = await opened();
    await fireEvent.click(screen.getByRole('tab', { name: /Models and prompts/ }));
    await fireEvent.change(await screen.findByLabelText('plan'), { target: { value: 'model:a:small' } });
    await fireEvent.click(fork());
    await waitFor(() => expect(sent.at(-1)?.body).toMatchObject({ checkpoint_id: 'c1', state: {}, models: { plan: 'a:small' } }));
  });

  it('shows why the server refuses', async () => {
    await opened({ ...REPLIES, 'POST /runs/r1/fork': new Refusal(400, 'plan: input should be a valid list') });
    await edit('plan', '7');
    await fireEvent.click(fork());
    expect(await screen.findByText('plan: input should be a valid list')).toBeTruthy();
    expect(fork().disabled).toBe(false);
  });
});

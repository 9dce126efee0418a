import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { createRawSnippet, tick } from 'svelte';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import EventTable from '../src/components/run/EventTable.svelte';
import Versions from '../src/components/scores/Versions.svelte';
import TokenDialog from '../src/components/TokenDialog.svelte';
import Guard from '../src/components/ui/Guard.svelte';
import DiffText from '../src/components/ui/DiffText.svelte';
import JsonTree from '../src/components/ui/JsonTree.svelte';
import Tabs from '../src/components/ui/Tabs.svelte';
import RunHeader from '../src/components/run/RunHeader.svelte';
import { connection } from '../src/lib/stores/connection.svelte';
import { router } from '../src/lib/stores/router.svelte';
import { shortcuts } from '../src/lib/stores/shortcuts.svelte';
import ModelsPage from '../src/pages/ModelsPage.svelte';
import { recordOf, serve } from './form/replies';
import { logOf, viewOf } from './model/logs';

beforeEach(() => {
  document.body.innerHTML = '';
});

it('what fails says so and why in its place, and is shown when it can be', async () => {
  const reported = vi.fn();
  vi.stubGlobal('reportError', reported);
  let reason: Error | null = new Error('no such figure');
  const children = createRawSnippet(() => {
    if (reason) throw reason;
    return { render: () => '<p>all figures</p>' };
  });
  const { container } = render(Guard, { what: 'timeline', children });
  expect(container.textContent).toContain('This timeline cannot be shown');
  expect(container.textContent).toContain('no such figure');
  expect(reported).toHaveBeenCalledWith(reason);
  reason = null;
  await fireEvent.click(screen.getByRole('button', { name: 'Try again' }));
  expect(container.textContent).toBe('all figures');
  vi.unstubAllGlobals();
});

describe('JsonTree', () => {
  it('builds what is inside only when it is opened', async () => {
    const { container } = render(JsonTree, { value: { outer: { inner: 'deep' } }, depth: 1 });
    expect(container.textContent).not.toContain('deep');
    await fireEvent.click(screen.getByRole('button', { name: /^outer/ }));
    expect(container.textContent).toContain('deep');
    await fireEvent.click(screen.getByRole('button', { name: /^outer/ }));
    expect(container.textContent).not.toContain('deep');
  });

  it('shows a long list in parts, and a long text in full when asked', async () => {
    const long = 'x'.repeat(1000);
    const { container } = render(JsonTree, { value: Array.from({ length: 250 }, (_, index) => (index === 0 ? long : index)), depth: 1 });
    expect(container.textContent).not.toContain(long);
    await fireEvent.click(screen.getByRole('button', { name: 'all' }));
    expect(container.textContent).toContain(long);
    expect(container.textContent).not.toContain('249:249');
    await fireEvent.click(screen.getByRole('button', { name: '150 more' }));
    await fireEvent.click(screen.getByRole('button', { name: '50 more' }));
    expect(container.textContent).toContain('249:249');
  });

  it.each([
    [null, 'null'],
    [0, '0'],
    [false, 'false'],
    ['', '""'],
    [[], '[]'],
    [{}, '{}'],
  ])('shows %j', (value, shown) => {
    expect(render(JsonTree, { value }).container.textContent?.trim()).toBe(shown);
  });

  it('follows a value that changes', async () => {
    const { container, rerender } = render(JsonTree, { value: { a: 1 } });
    await rerender({ value: { a: 2, b: 3 } });
    expect(container.textContent).toContain('a:2');
    expect(container.textContent).toContain('b:3');
  });
});

it('tabs are walked through with the arrow keys, round the ends too', async () => {
  const tabs = ['one', 'two', 'three'].map((name) => ({ name, label: name }));
  render(Tabs, { tabs, chosen: 'one', label: 'Parts' });
  const chosen = (): string | null => screen.getByRole('tab', { selected: true }).textContent;
  for (const [key, name] of [['ArrowRight', 'two'], ['End', 'three'], ['ArrowRight', 'one'], ['ArrowLeft', 'three'], ['Home', 'one']] as const) {
    await fireEvent.keyDown(screen.getByRole('tablist'), { key });
    await tick();
    expect(chosen()).toBe(name);
    expect(document.activeElement?.textContent).toBe(name);
  }
});

it.each([
  ['[', {}, true],
  ['[', { altKey: true }, true],
  ['[', { altKey: true, ctrlKey: true }, true],
  ['[', { ctrlKey: true }, false],
  ['[', { altKey: true, metaKey: true }, false],
  ['p', { altKey: true }, false],
  ['p', { altKey: true, ctrlKey: true }, false],
])('shortcut %s with %j', (key, held, taken) => {
  const run = vi.fn();
  const away = shortcuts.add([{ keys: key, text: '', run }]);
  shortcuts.press(new KeyboardEvent('keydown', { key, ...held }));
  away();
  expect(run).toHaveBeenCalledTimes(taken ? 1 : 0);
});

it('events are sorted by what they tell, of each of them made once', async () => {
  let made = 0;
  const view = viewOf(logOf(...Array.from({ length: 300 }, (_, index) => ({ type: 'told', kind: 'progress', node: 'a', data: {}, message: `m${(index * 7) % 300}` }))));
  for (const { event } of view.events) {
    const said = (event as { message: string }).message;
    Object.defineProperty(event, 'message', { enumerable: true, get: () => ((made += 1), said) });
  }
  render(EventTable, { live: view, cursor: null, onseek: () => {} });
  made = 0;
  await fireEvent.click(screen.getByRole('button', { name: 'tells' }));
  expect(screen.getAllByRole('row')[1]?.textContent).toContain('message m0');
  expect(made).toBeLessThan(400);
});

it('an address that names a set of questions that is gone shows the first', async () => {
  router.go('/scores/demo?questions=gone');
  await waitFor(() => expect(router.route.query.get('questions')).toBe('gone'));
  const answer = { id: 'q', kind: '', input: {}, status: 'answered', answer: 'So.', cited: [], scores: {}, passes: {}, model_calls: 0, seconds: 1, people: null, ranked: {}, error: null };
  const kept = { workflow: 'demo', questions: 'kept', version: 'v1', created_at: '2026-03-07T10:00:00Z', prompts: {}, models: {}, figures: {}, answers: [answer] };
  render(Versions, { workflow: 'demo', evaluations: [kept], onchange: () => {} });
  expect((screen.getByLabelText('Set of questions') as HTMLSelectElement).value).toBe('kept');
});

it('what is shown stays while it is asked for again', async () => {
  router.go('/models/demo');
  await waitFor(() => expect(router.route.id).toBe('demo'));
  const models = { nodes: [{ node: 'plan', model: 'a:small', configured: 'a:small', chosen: false, used_by_default: false }], offered: ['b:big'] };
  const replies: Record<string, unknown> = { 'GET /workflows/demo/models': models, 'PUT /workflows/demo/models/plan': {} };
  const sent = serve(replies);
  render(ModelsPage);
  await fireEvent.change(await screen.findByLabelText('Model of plan'), { target: { value: 'b:big' } });
  await waitFor(() => expect(sent.map(({ method }) => method)).toEqual(['GET', 'PUT', 'GET']));
  expect(screen.getByLabelText('Model of plan')).toBeTruthy();
  router.go('/models/other');
  expect(await screen.findByText('there is nothing here')).toBeTruthy();
  expect(screen.queryByLabelText('Model of plan')).toBeNull();
  vi.unstubAllGlobals();
});

it('a Dialog that must be answered comes back when the browser closes it', () => {
  connection.asking = true;
  const dialog = render(TokenDialog).container.querySelector('dialog');
  dialog?.close();
  expect(dialog?.open).toBe(true);
});

it('DiffText marks what is gone and what is new for screen readers too', () => {
  const { container } = render(DiffText, { before: 'a red house', after: 'a blue house' });
  expect(container.querySelector('del')?.textContent).toBe('red');
  expect(container.querySelector('ins')?.textContent).toBe('blue');
});

it('an age goes on where it is shown, also of a run that has ended', async () => {
  cleanup();
  await tick();
  vi.useFakeTimers();
  const record = recordOf({ started_at: new Date().toISOString() });
  const { container, unmount } = render(RunHeader, { record, view: viewOf([]), earlier: true, actions: (() => {}) as never });
  const age = (): string | null | undefined => container.querySelector('time')?.textContent;
  // Screen readers are told how the run stands, as soon as that changes.
  expect(container.querySelector('[role="status"]')?.textContent?.trim()).toBe('Running');
  expect(age()).toBe('just now');
  await vi.advanceTimersByTimeAsync(600_000);
  expect(age()).toBe('10 min ago');
  unmount();
  await vi.advanceTimersByTimeAsync(2000);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

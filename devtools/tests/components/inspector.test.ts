import { cleanup, fireEvent, render, screen, within } from '@testing-library/svelte';
import { tick } from 'svelte';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { splitError, saidOf, stopWords, plainError } from '../../src/components/chat/words';
import Inspector from '../../src/components/Inspector.svelte';
import ChangeTree from '../../src/components/inspector/ChangeTree.svelte';
import { differences } from '../../src/components/inspector/difference';
import { compareQueries, queriesOf } from '../../src/components/inspector/reflection';
import type { RunRecord } from '../../src/lib/api/types';
import { completed } from '../../src/lib/model/run-view';
import { recordOf } from '../form/replies';
import { logOf, recorded, viewOf, type LogName } from '../model/logs';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function shown(name: LogName, key: string | null, record: Partial<RunRecord> = {}) {
  const { graph, events } = recorded(name);
  const view = viewOf(events);
  return { runId: 'r1', record: recordOf(record), graph, view, visit: view.visits.find((visit) => visit.key === key) ?? null, cursor: null };
}

const tab = (name: RegExp): HTMLElement => screen.getByRole('tab', { name });
const panel = (): HTMLElement => screen.getByRole('tabpanel');

describe('differences', () => {
  it('name what was added, changed and removed, inside objects and lists too', () => {
    const before = { same: 1, gone: true, plan: { words: 'old', limit: 5 }, hits: [{ id: 'a', score: 1 }, { id: 'b', score: 1 }] };
    const after = { same: 1, plan: { words: 'new', limit: 5 }, hits: [{ id: 'b', score: 2 }, { id: 'c', score: 1 }], fresh: [] };
    expect(differences(before, after)).toMatchObject([
      { key: 'gone', kind: 'removed', before: true },
      { key: 'plan', kind: 'changed', inside: [{ key: 'words', kind: 'changed', before: 'old', after: 'new' }] },
      {
        key: 'hits', kind: 'changed',
        inside: [
          { key: '0', kind: 'removed', before: { id: 'a' } },
          { key: '0', kind: 'changed', inside: [{ key: 'score', before: 1, after: 2 }] },
          { key: '1', kind: 'added', after: { id: 'c' } },
        ],
      },
      { key: 'fresh', kind: 'added', after: [] },
    ]);
  });

  it('are none where the order of keys alone differs', () => {
    expect(differences({ a: { x: 1, y: null } }, { a: { y: null, x: 1 } })).toEqual([]);
  });

  it('of long lists are found place by place', () => {
    const long = Array.from({ length: 5000 }, (_, index) => index);
    const [change] = differences({ long }, { long: [...long.slice(0, -1), -1] });
    expect(change?.inside).toEqual([{ key: '4999', kind: 'changed', before: 4999, after: -1, inside: [] }]);
  });
});

describe('queries before and after', () => {
  it('are paired, with the conditions that were added and dropped', () => {
    const rows = compareQueries(
      queriesOf([{ table: 'sessions', query_text: 'a', filters: { days: ['2025-02-01'] }, limit: 5 }, 'kept', { table: 'speakers', query_text: 'gone' }]),
      queriesOf([{ table: 'sessions', query_text: 'a', filters: { days: [] }, limit: 9 }, 'kept', { table: 'exhibitors', query_text: 'new' }]),
    );
    expect(rows.map((row) => [row.kind, row.before?.text, row.after?.text])).toEqual([
      ['changed', 'a', 'a'], ['kept', 'kept', 'kept'], ['added', undefined, 'new'], ['dropped', 'gone', undefined],
    ]);
    expect(rows[0]).toMatchObject({ added: ['limit: 9'], dropped: ['days: 2025-02-01', 'limit: 5'] });
  });
});

describe('words', () => {
  it('say what a stop reason means', () => {
    expect(stopWords({ loop: 'retry', outcome: 'exhausted', limit: 2, spent: 2, reason: 'no sessions found' })).toEqual([
      'The loop “retry” reached its limit of 2 passes. It still wanted another pass: no sessions found',
    ]);
    expect(stopWords([{ loop: 'run', outcome: 'over_budget', resource: 'tokens', limit: 1000, spent: 1003.5 }])).toEqual([
      'The run’s budget was spent: 1003.5 of 1000 tokens.',
    ]);
    expect(stopWords({ loop: 'a', outcome: 'stalled', limit: 3, spent: 1, reason: '' })[0]).toContain('would have changed nothing');
    expect(stopWords({ loop: 'a', outcome: 'exhausted', limit: 0, spent: 4, reason: '' })).toEqual(['The loop “a” may not go round again in this run.']);
    expect(stopWords(null)).toEqual([]);
    expect(stopWords('retry')).toEqual(['The bound of “retry” was reached.']);
  });

  it('say how a run ended, also in a word of its own', () => {
    expect(saidOf('finished', 'best_effort')).toMatchObject({ label: 'Best effort', tone: 'warn' });
    expect(saidOf('finished', 'half_done')).toMatchObject({ label: 'Half done', tone: 'plain' });
    expect(saidOf('interrupted', 'answered').label).toBe('Interrupted');
  });

  it('find the class of an error in its text', () => {
    expect(splitError('ValueError: no')).toEqual({ kind: 'ValueError', message: 'no' });
    expect(splitError("node 'a' failed: openai.RateLimitError: slow")).toEqual({
      kind: 'openai.RateLimitError', message: "node 'a' failed: openai.RateLimitError: slow",
    });
    expect(splitError('it broke').kind).toBe('');
    expect(plainError('NodeTimeout')).toBe('It took longer than it may.');
  });

  it.each([
    ['httpx.ReadTimeout', 'It took longer than it may.'],
    ['asyncio.TimeoutError', 'It took longer than it may.'],
    ['openai.APIConnectionError', 'A server could not be reached.'],
    ['ConnectionResetError', 'A server could not be reached.'],
    ['GraphRecursionError', 'A bound of the run was reached.'],
    ['Shutdown', 'The server ended before the run did.'],
    // As LangChain, LangGraph, Pillow, psycopg, aiohttp, websockets, Azure and the standard library have them.
    ['ModelRateLimitError', 'A service takes no more requests for the moment.'],
    ['github.RateLimitExceededException', 'A service takes no more requests for the moment.'],
    ['ModelAuthenticationError', 'A service refused the key.'],
    ['ClientAuthenticationError', 'A service refused the key.'],
    ['EmptyInputError', 'The input could not be used.'],
    ['PIL.UnidentifiedImageError', 'The input could not be used.'],
    ['TimeoutExpired', 'It took longer than it may.'],
    ['ClientConnectorDNSError', 'A server could not be reached.'],
    ['ConnectionClosedError', 'A server could not be reached.'],
    ['RemoteDisconnected', 'A server could not be reached.'],
    ['psycopg.errors.ConnectionFailure', 'A server could not be reached.'],
    ['httpx.NetworkError', 'A server could not be reached.'],
    // What a part of a stranger's name would say is not so.
    ['RecursionError', ''],
    ['PackageLostError', ''],
    ['BudgetReportError', ''],
    ['networkx.NetworkXNoPath', ''],
    ['TimeoutTableMissing', ''],
    ['KeyStoreErrorCode', ''],
    ['NeuralNetworkError', ''],
    ['PermissionError', ''],
    ['ConnectionPoolTooSmall', ''],
    ['RateLimitTableMissing', ''],
  ])('say of %s what its class means, or nothing', (kind, words) => {
    expect(plainError(kind)).toBe(words);
  });
});

describe('the inspector', () => {
  it('shows a node that never ran', () => {
    const { graph, view: known } = shown('assistant-reflect', 'check_results#3');
    const view = completed(known, graph, null);
    const node = graph.nodes.find(({ name }) => view.nodes[name]?.status === 'skipped')!;
    render(Inspector, { runId: 'r1', record: null, graph, view, visit: null, selected: node.name, cursor: null });
    expect(screen.getByRole('heading', { level: 2 }).textContent).toContain(node.label);
    expect(screen.getByText('It did not run: the run took another way.')).toBeTruthy();
    cleanup();
    render(Inspector, { runId: 'r1', record: null, graph, view, visit: null, selected: 'check_results', cursor: 3 });
    expect(screen.getByText('This visit had not begun yet.')).toBeTruthy();
  });

  it.each(['check_results', null])('leads from a node back to the run, and the focus with it', async (visited) => {
    const props = shown('assistant-reflect', `${visited}#3`);
    const { rerender } = render(Inspector, { ...props, selected: 'check_results', onwhole: () => void rerender({ visit: null, selected: null }) });
    await fireEvent.click(screen.getByRole('button', { name: 'The whole run' }));
    await tick();
    expect(document.activeElement).toBe(screen.getByRole('region', { name: 'The whole run' }));
    expect(screen.queryByRole('button', { name: 'The whole run' })).toBeNull();
  });

  it('shows the visit, and the loops that it asked', () => {
    render(Inspector, shown('assistant-reflect', 'check_results#3'));
    expect(screen.getByRole('heading', { level: 2 }).textContent).toMatch(/Check Results\s+visit 3/);
    expect(panel().textContent).toMatch(/3 of 3/);
    expect(panel().textContent).toMatch(/reflect\s+Refused: all 2 passes are spent\.\s+Wanted because: the sessions found fit only loosely/);
  });

  it('shows an error with its node in plain words', () => {
    render(Inspector, shown('assistant-reflect', 'generate_acknowledgment#1'));
    const error = screen.getByRole('group', { name: 'Error' });
    expect(error.textContent).toContain('The model’s reply did not have the form that was asked for');
    expect(error.textContent).toContain('generate_acknowledgment');
    expect(error.textContent).toContain('StructuredReplyError');
    expect(panel().textContent).toMatch(/the run went on at\s+plan_queries/);
  });

  it('shows failed attempts with their kind and the wait', () => {
    const props = shown('own-retries', null);
    const visit = props.view.visits.find((one) => one.attempts.length > 0) ?? null;
    render(Inspector, { ...props, visit });
    const [attempt] = visit?.attempts ?? [];
    expect(panel().textContent).toContain(`Attempt ${attempt?.attempt} of ${attempt?.attempts}: ${attempt?.kind}`);
    expect(panel().textContent).toContain('of waiting');
  });

  it('shows a reflection: strategy, reasoning, and the queries before and after', async () => {
    const props = shown('assistant-reflect', 'reflect_and_replan#2');
    render(Inspector, props);
    await fireEvent.click(tab(/Reflection/));
    expect(panel().textContent).toMatch(/Strategy\s*relax/);
    expect(panel().textContent).toContain(String(props.visit?.update?.['reflection_reasoning']).slice(0, 40));
    const [row] = within(screen.getByRole('table')).getAllByRole('row').slice(1);
    expect(row?.textContent).toContain('changed');
    expect(row?.querySelector('.line-through')?.textContent).toMatch(/^days: /);
    const rows = (): number => within(screen.getByRole('table')).getAllByRole('row').length;
    const first = rows();
    await fireEvent.change(screen.getByLabelText(/against/), { target: { value: 'previous' } });
    expect(rows()).not.toBe(first);
  });

  it('tells nothing of a reflection where a node only cleared it', () => {
    render(Inspector, shown('assistant-reflect', 'fetch_data#1'));
    expect(screen.queryByRole('tab', { name: /Reflection/ })).toBeNull();
  });

  it('shows the state before, after, and what differs', async () => {
    render(Inspector, shown('assistant-reflect', 'reflect_and_replan#2'));
    await fireEvent.click(tab(/State/));
    expect(panel().textContent).toMatch(/retry_count:\s*1\s*→\s*2/);
    expect(panel().textContent).not.toContain('messages');
    await fireEvent.click(screen.getByRole('button', { name: 'Before' }));
    expect(panel().textContent).toContain('messages');
    expect(panel().textContent).toMatch(/retry_count:\s*1/);
    await fireEvent.click(screen.getByRole('button', { name: 'After' }));
    expect(panel().textContent).toMatch(/retry_count:\s*2/);
  });

  it('shows what models were asked, with a link to the version of the prompt', async () => {
    const props = shown('assistant-reflect', 'generate_acknowledgment#1');
    render(Inspector, { ...props, record: recordOf({ workflow: 'assistant' }) });
    await fireEvent.click(tab(/Model/));
    expect(tab(/Model/).textContent).toMatch(/3/);
    const [link] = within(panel()).getAllByRole('link') as HTMLAnchorElement[];
    expect(link?.textContent).toMatch(/Prompt generate_acknowledgment, version 1/);
    expect(link?.getAttribute('href')).toBe('#/prompts/assistant?prompt=generate_acknowledgment&version=1');
    expect(panel().textContent).toContain(props.visit?.modelCalls[0]?.reply);
  });

  it('explains the error of a model by its class, not by what stands in its message', async () => {
    const call = { type: 'model_called', node: 'a', model: 'm', messages: [], reply: '', tool_calls: [], seconds: 0.05, input_tokens: null, output_tokens: null, cost: null, prompt: null, prompt_version: null };
    const log = logOf(
      { type: 'run_started', graph: 'g', thread_id: 't', resumed: false }, { type: 'node_started', node: 'a', task_id: 't', visit: 1 },
      { ...call, error: 'BadRequestError: 40132 tokens are too many' }, { ...call, error: 'openai.RateLimitError: slow' },
    );
    const view = viewOf(log);
    render(Inspector, { ...shown('own-failing', null), view, visit: view.visits[0] ?? null });
    await fireEvent.click(tab(/Model/));
    expect(panel().textContent).not.toContain('refused the key');
    expect(panel().textContent).toContain('takes no more requests');
  });

  it('is worked with the keyboard', async () => {
    render(Inspector, shown('assistant-reflect', 'reflect_and_replan#1'));
    tab(/Overview/).focus();
    await fireEvent.keyDown(tab(/Overview/), { key: 'ArrowRight' });
    expect(tab(/Reflection/).getAttribute('aria-selected')).toBe('true');
    expect(document.activeElement).toBe(tab(/Reflection/));
    await fireEvent.keyDown(tab(/Reflection/), { key: 'End' });
    expect(tab(/Model/).getAttribute('aria-selected')).toBe('true');
    expect(panel().tabIndex).toBe(0);
  });

  it('shows hostile values as texts, and long ones in part', async () => {
    const hostile = '<img src=x onerror=alert(1)><script>alert(1)</script><a href="javascript:alert(1)">x</a>';
    const long = 'word '.repeat(40_000);
    const call = { type: 'model_called', node: 'a', model: hostile, messages: [{ role: 'human', content: hostile }, { role: 'human', content: long }], reply: hostile, tool_calls: [{ name: hostile }], seconds: 0.05, input_tokens: 1, output_tokens: 1, cost: null, error: null, prompt: hostile, prompt_version: null };
    const events = logOf(
      { type: 'run_started', graph: 'g', thread_id: 't', resumed: false },
      { type: 'state', step: 0, checkpoint_id: 'c0', next: ['a'], changed: {}, removed: [] },
      { type: 'node_started', node: 'a', task_id: 't', visit: 1 },
      call,
      { type: 'node_finished', node: 'a', task_id: 't', visit: 1, seconds: 0.2, update: { [hostile]: hostile, long }, error: `${hostile}: ${hostile}` },
      { type: 'state', step: 1, checkpoint_id: 'c1', next: [], changed: { [hostile]: hostile, long }, removed: [] },
      { type: 'told', kind: 'thinking', node: 'a', message: hostile, data: { reasoning: hostile, strategy: hostile, new_queries: [hostile] } },
    );
    const view = viewOf(events);
    const { container } = render(Inspector, { runId: 'r1', record: recordOf(), graph: null, view, visit: view.visits[0] ?? null, cursor: null });
    for (const name of [/Overview/, /Reflection/, /State/, /Model/]) {
      await fireEvent.click(tab(name));
      expect(container.querySelector('img, script, a[href^="javascript"]')).toBeNull();
      expect(panel().textContent).toContain('<img src=x onerror=alert(1)>');
      expect((panel().textContent ?? '').length).toBeLessThan(8000);
    }
    await fireEvent.click(screen.getByRole('button', { name: /Show all 200,000 characters/ }));
    expect((panel().textContent ?? '').length).toBeGreaterThan(200_000);
  });

  it('says of what is kept in part that it may have changed, and not that nothing did', async () => {
    const big = ['a', 'b', '… 8,500 more'];
    const view = viewOf(logOf(
      { type: 'run_started' },
      { type: 'state', step: -1, checkpoint_id: 'a', next: ['edit'], changed: { big, key: '***', n: 1 }, removed: [] },
      { type: 'node_started', node: 'edit', task_id: 't', visit: 1 },
      { type: 'node_finished', node: 'edit', task_id: 't', visit: 1, seconds: 1, update: { big, key: '***', n: 1 }, error: null },
      { type: 'state', step: 0, checkpoint_id: 'b', next: [], changed: {}, removed: [] },
    ));
    render(Inspector, { runId: 'r1', record: recordOf({}), graph: null, view, visit: view.visits[0]!, cursor: null });
    await fireEvent.click(tab(/State/));
    expect(panel().textContent).toContain('It wrote big, key too, of which not all is kept: whether that changed is not known.');
    expect(panel().textContent).not.toContain('changed nothing');
  });

  it('copies what is shown', async () => {
    const writeText = vi.fn(async (_text: string) => {});
    vi.stubGlobal('navigator', Object.create(navigator, { clipboard: { value: { writeText } } }));
    render(Inspector, shown('assistant-reflect', 'reflect_and_replan#2'));
    await fireEvent.click(tab(/State/));
    await fireEvent.click(screen.getByRole('button', { name: 'Before' }));
    await fireEvent.click(screen.getByRole('button', { name: 'Copy before as JSON' }));
    expect(JSON.parse(writeText.mock.calls[0]?.[0] ?? '')).toMatchObject({ retry_count: 1 });
  });
});

it('of a text that is cut off, what changed behind the cut is not shown as if it were all', () => {
  const cut = (left: string): string => `${'one two three '.repeat(9)}… (${left} more characters)`;
  const { container } = render(ChangeTree, { changes: differences({ text: cut('3,100,000') }, { text: cut('3,100,003') }) });
  expect(container.querySelectorAll('ins, del')).toHaveLength(0);
  expect(container.textContent).toContain('What follows is not kept, nor what changed in it: 3,100,000 more characters before, 3,100,003 after.');
});

describe('the run as a whole', () => {
  it('says where a fork comes from', () => {
    const parent = { run_id: 'r0', checkpoint_id: 'c', step: 4, kind: 'fork' as const, thread: null, loop: null, kept: 0, edited: ['planned_queries'], passes: {}, nodes: [] };
    render(Inspector, shown('assistant-reflect', null, { parent }));
    expect(screen.getByText(/Forked from/).textContent).toMatch(/Forked from\s+another run\s+at step 4, with “planned_queries” edited\./);
    expect(screen.getByRole('link', { name: 'another run' }).getAttribute('href')).toBe('#/runs/r0');
    cleanup();
    render(Inspector, shown('assistant-reflect', null, { parent: { ...parent, kind: 'counterfactual', loop: 'reflect', kept: 1, edited: [] } }));
    expect(screen.getByText(/The same,/).textContent).toMatch(/The same, “reflect” cut after 1 pass, forked from\s+another run\s+at step 4\./);
  });

  it.each(['interrupted', 'queued'] as const)('says why one that is %s did not go on', (status) => {
    const record = recordOf({ status, error: 'the graph has another structure', error_type: 'InputError' });
    render(Inspector, { runId: 'r1', record, graph: null, view: completed(viewOf([]), null, record), visit: null, cursor: null });
    expect(screen.getByRole('group', { name: 'Error' }).textContent).toMatch(/^It did not go on\..*another structure/s);
    expect(screen.queryByText(/The server ended/)).toBeNull();
  });

  it('shows the error of a failed run', () => {
    render(Inspector, shown('own-failing', null, { status: 'failed', error: 'no <b>luck</b>', error_type: 'ConfigError', error_node: 'mend' }));
    expect(screen.getByRole('group', { name: 'Error' }).textContent).toMatch(/The configuration does not fit\..*mend.*no <b>luck<\/b>/s);
  });
});


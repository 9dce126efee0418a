import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/svelte';
import { afterEach, describe, expect, it, vi } from 'vitest';

import ChatPanel from '../../src/components/ChatPanel.svelte';
import { attemptsOf, turnOf } from '../../src/components/chat/conversation';
import type { Citation, Outcome } from '../../src/lib/api/types';
import type { JsonSchema } from '../../src/lib/form/fields';
import { RunViewBuilder } from '../../src/lib/model/run-view';
import { recordOf, Refusal, serve } from '../form/replies';
import { logOf, viewOf } from '../model/logs';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const outcomeOf = (answer: string, more: Partial<Outcome> = {}): Outcome => ({
  answer, status: 'answered', citations: [], evidence: [], quality: null, scores: {}, details: {}, error: null, error_node: null, ...more,
});
const citation = (mark: string, more: Partial<Citation> = {}): Citation => ({
  mark, title: `Source ${mark}`, quote: '', url: null, details: {}, ...more,
});

const START = { type: 'run_started', graph: 'g', thread_id: 't', resumed: false };
const started = (node: string, visit = 1) => ({ type: 'node_started', node, task_id: `${node}${visit}`, visit });
const finished = (node: string, visit = 1) => ({ type: 'node_finished', node, task_id: `${node}${visit}`, visit, seconds: 0.1, update: {}, error: null });
const text = (words: string) => ({ type: 'text', node: 'write', text: words });
const told = (kind: string, message: string, data = {}) => ({ type: 'told', kind, node: 'think', message, data });

describe('the texts of a run', () => {
  it('are one for each visit, and a retried visit begins anew', () => {
    const events = logOf(
      started('write'), text('Never '), { type: 'node_retried', node: 'write', attempt: 1, attempts: 2, kind: 'E', message: '', rule: '', wait: 0 },
      text('First '), text('draft'), finished('write'), started('write', 2), text('Second'),
    );
    expect(attemptsOf(events).map((attempt) => [attempt.visit, attempt.text])).toEqual([[1, 'Never '], [1, 'First draft'], [2, 'Second']]);
  });

  it('of parallel visits, and of visits inside one visit, are each their own', () => {
    const by = (words: string, ...tasks: string[]) => ({ ...text(words), tasks });
    const events = logOf(
      started('plan'), { ...text('A plan'), node: 'plan' }, finished('plan'), started('write'), started('write', 2),
      by('One ', 'write1', 'x'), by('Two ', 'write2', 'y'), by('is 1', 'write1', 'x'), by('is 2', 'write2', 'y'), by('and more', 'write2', 'z'),
      finished('write'), finished('write', 2), started('write', 3), by('Three', 'write3'),
    );
    expect(attemptsOf(events).map((attempt) => [attempt.visit, attempt.text])).toEqual([[1, 'A plan'], [1, 'One is 1'], [2, 'Two is 2'], [2, 'and more'], [3, 'Three']]);
    const before = turnOf(recordOf({ status: 'running' }), events.slice(0, -2));
    expect([before.answer, before.replaced]).toEqual(['and more', []]);
    expect(before.asides.map(({ node, texts }) => [node, texts.length])).toEqual([['plan', 1], ['write', 2]]);
    const after = turnOf(recordOf({ status: 'running' }), events);
    expect([after.answer, after.replaced.length, after.asides.map(({ node }) => node)]).toEqual(['Three', 3, ['plan']]);
  });

  it('of a parallel visit are not replaced where another visit is tried again, nor where that begins anew', () => {
    const by = (words: string, task: string) => ({ ...text(words), tasks: [task] });
    const retried = { type: 'node_retried', node: 'write', tasks: ['write1'], attempt: 1, attempts: 2, kind: 'E', message: '', rule: '', wait: 0 };
    for (const again of [retried, started('write')]) {
      const events = logOf(started('write'), started('write', 2), by('Two', 'write2'), by('On', 'write1'), finished('write', 2), again, by('One', 'write1'));
      const turn = turnOf(recordOf({ status: 'running' }), events);
      expect([turn.answer, turn.replaced.map((one) => one.text), turn.asides.map(({ texts }) => texts.map((one) => one.text))]).toEqual(['One', ['On'], [['Two']]]);
    }
  });

  it('of a graph that is a node begin anew where a node in there is tried again', () => {
    const by = (words: string, ...tasks: string[]) => ({ ...text(words), tasks });
    const retried = { type: 'node_retried', node: 'write/deep', tasks: ['write1', 'x'], attempt: 1, attempts: 2, kind: 'E', message: '', rule: '', wait: 0 };
    const deep = { type: 'node_started', node: 'write/deep', task_id: 'x', visit: 1, within: 'write1' };
    const events = logOf(started('write'), deep, by('Hel', 'write1', 'x'), by('Other', 'write1', 'y'), retried, by('Hello world', 'write1', 'x'), by('s', 'write1', 'y'));
    expect(attemptsOf(events).map((attempt) => attempt.text)).toEqual(['Hel', 'Others', 'Hello world']);
    expect(turnOf(recordOf({ status: 'running' }), events)).toMatchObject({ answer: 'Hello world', replaced: [{ text: 'Hel' }] });
  });

  it('of a visit stay whole where another visit of its node gives up', () => {
    const by = (words: string, task: string) => ({ ...text(words), tasks: [task] });
    const gaveUp = { type: 'node_gave_up', node: 'write', kind: 'E', message: '', goto: 'end', tasks: [] };
    const events = logOf(started('write'), started('write', 2), by('No', 'write1'), by('Whole ', 'write2'), { ...finished('write'), error: 'E' }, gaveUp, by('text', 'write2'));
    expect(attemptsOf(events).map((attempt) => [attempt.text, attempt.to !== null])).toEqual([['No', true], ['Whole text', false]]);
  });

  it('are beside the answer where the outcome is another one, and current where it is the same with other marks', () => {
    const events = logOf(started('write'), text('A hall [sessions:1] of talks.'));
    expect(turnOf(recordOf({ outcome: outcomeOf('A hall [1] of talks.') }), events)).toMatchObject({ replaced: [], answer: 'A hall [1] of talks.' });
    expect(turnOf(recordOf({ outcome: outcomeOf('Nothing fits.') }), events)).toMatchObject({ replaced: [], asides: [{ node: 'write' }] });
    expect(turnOf(recordOf({ status: 'running' }), events)).toMatchObject({ replaced: [], answer: 'A hall [sessions:1] of talks.' });
  });
});

describe('a conversation', () => {
  it('streams the answer and folds the ones before', async () => {
    const builder = new RunViewBuilder();
    const log = logOf(
      START, told('acknowledgment', 'Let me look.'), started('think'), told('thinking', 'I try other words.', { strategy: 'rewrite', reasoning: 'No hits.' }),
      finished('think'), started('write'), text('The **first**'), finished('write'), started('write', 2), text('The **second**'), text(' answer'),
    );
    const record = recordOf({ status: 'running', seconds: null });
    builder.add(log.slice(0, 7));
    const { rerender, container } = render(ChatPanel, { record, graph: null, view: builder.view });
    expect(screen.getByText('Let me look.')).toBeTruthy();
    expect(container.querySelector('.prose strong')?.textContent).toBe('first');
    expect(container.querySelector('del')).toBeNull();
    builder.add(log.slice(7));
    await rerender({ record, graph: null, view: builder.view });
    expect(container.querySelector('.prose')?.textContent?.trim()).toBe('The second answer');
    const folded = screen.getByText('An earlier answer was replaced').closest('details');
    expect(folded?.open).toBe(false);
    expect(folded?.querySelector('del')?.textContent).toContain('The **first**');
    const thinking = screen.getByText('I try other words.').closest('details');
    expect(thinking?.textContent).toMatch(/rewrite.*No hits\./s);
  });

  it('opens a source from its mark in the text, and closes it with Escape', async () => {
    const source = citation('sessions:7', { title: 'Bread', quote: 'Without yeast.', url: 'https://example.org/7', details: { room: 'Janson' } });
    const record = recordOf({ outcome: outcomeOf('Go there [sessions:7].', { citations: [source] }) });
    render(ChatPanel, { record, graph: null, view: viewOf(logOf(START)) });
    const mark = screen.getByRole('link', { name: 'Source sessions:7' });
    mark.focus();
    await fireEvent.click(mark);
    const card = screen.getByRole('complementary', { name: 'Source sessions:7' });
    expect(card.textContent).toMatch(/Bread.*Without yeast\..*room.*Janson/s);
    const link = within(card).getByRole('link') as HTMLAnchorElement;
    expect([link.href, link.rel]).toEqual(['https://example.org/7', 'noopener noreferrer']);
    expect(document.activeElement).toBe(card);
    await fireEvent.keyDown(card, { key: 'Escape' });
    expect(screen.queryByRole('complementary')).toBeNull();
    expect(document.activeElement).toBe(mark);
  });

  it('of a run between two nodes does not say that it begins', () => {
    const record = recordOf({ status: 'running' });
    for (const [events, words] of [[[START], 'Starting …'], [[START, started('write')], 'write …'], [[START, started('write'), finished('write')], 'Going on …']] as const) {
      serve({});
      render(ChatPanel, { record, graph: null, view: viewOf(logOf(...events)) });
      expect(screen.getByRole('status').textContent).toBe(words);
      cleanup();
    }
  });

  it('shows what comes twice twice', () => {
    const input = { query: 'Are they the same?', image: 'up1', reference: 'up1' };
    const record = recordOf({ input, outcome: outcomeOf('Yes [1].', { citations: [citation('1'), citation('1')] }) });
    serve({});
    render(ChatPanel, { record, graph: null, view: viewOf(logOf(START)) });
    expect(screen.getAllByRole('button', { name: 'Source 1' })).toHaveLength(2);
  });

  it('injects no HTML, whatever is said', async () => {
    const hostile = '<script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) ![y](http://evil.test/y.png)';
    const source = citation('1', { title: hostile, quote: hostile, url: 'javascript:alert(1)', details: { [hostile]: hostile } });
    const record = recordOf({
      title: hostile, input: { message: hostile }, error: hostile, error_type: hostile, status: 'failed',
      outcome: outcomeOf(`${hostile} [1]`, { status: hostile, citations: [source] }),
    });
    const events = logOf(START, told('acknowledgment', hostile), told('thinking', hostile, { reasoning: hostile, strategy: hostile }), started('write'), text('other'));
    const { container } = render(ChatPanel, { record, graph: null, view: viewOf(events) });
    await fireEvent.click(screen.getByRole('link', { name: 'Source 1' }));
    expect(container.querySelector('script, img, [onerror], a[href^="javascript"]')).toBeNull();
    expect(container.textContent).toContain('<script>alert(1)</script>');
  });

  it('shows what came of a run without words, and beside words folds it', async () => {
    const { container } = render(ChatPanel, { record: recordOf({ outcome: outcomeOf('', { details: { total: 41.5 } }) }), graph: null, view: viewOf(logOf(START)) });
    expect(container.textContent).toContain('41.5');
    cleanup();
    const record = recordOf({ outcome: outcomeOf('One\ntwo **three**', { details: { text: 'One\ntwo **three**', total: 41.5 } }) });
    render(ChatPanel, { record, graph: null, view: viewOf(logOf(START)) });
    expect(screen.getByRole('button', { name: /details/ }).getAttribute('aria-expanded')).toBe('false');
    expect(screen.queryByText('41.5')).toBeNull();
    expect(screen.queryByText(/\*\*three/)).toBeNull();
    await fireEvent.click(screen.getByRole('button', { name: 'As written' }));
    expect(screen.getByText(/\*\*three/).textContent).toBe('One\ntwo **three**');
    expect(screen.getByRole('button', { name: 'Copy the answer' })).toBeTruthy();
    cleanup();
    render(ChatPanel, { record: recordOf({ outcome: outcomeOf('Words', { details: { text: 'Words', none: null } }) }), graph: null, view: viewOf(logOf(START)) });
    expect(screen.queryByRole('button', { name: /details/ })).toBeNull();
  });

  it('shows as pictures only what its workflow takes as uploads', () => {
    const schema: JsonSchema = { type: 'object', properties: { photo: { type: 'string', format: 'loopwright-upload' }, image: { type: 'string' } } };
    const record = recordOf({ input: { photo: 'up1', image: 'nginx:latest' } });
    expect(turnOf(record, [], schema).uploads).toEqual(['up1']);
    expect(turnOf(record, []).uploads).toEqual([]);
  });

  it('says in plain words how it ended and why', () => {
    const record = recordOf({ outcome: outcomeOf('So it is.', { status: 'best_effort' }), cost: 0.5 });
    const stop_reason = { loop: 'reflect', outcome: 'exhausted', limit: 1, spent: 1, reason: 'too few', step: 4 };
    const view = viewOf(logOf(START, { type: 'run_finished', seconds: 2, stop_reason, interrupted: false }));
    render(ChatPanel, { record, graph: null, view });
    expect(screen.getByText('Best effort')).toBeTruthy();
    expect(screen.getByText(/the best there is/)).toBeTruthy();
    expect(screen.getByText('The loop “reflect” reached its limit of 1 pass. It still wanted another pass: too few')).toBeTruthy();
  });

  it('is stopped while it runs', async () => {
    const sent = serve({ 'POST /runs/r1/cancel': recordOf({ status: 'cancelled' }) });
    const onchange = vi.fn();
    render(ChatPanel, { record: recordOf({ status: 'running' }), graph: null, view: viewOf(logOf(START, started('write'))), onchange });
    await fireEvent.click(screen.getByRole('button', { name: 'Stop' }));
    await waitFor(() => expect(onchange).toHaveBeenCalledWith(expect.objectContaining({ status: 'cancelled' })));
    expect(sent.map((call) => call.path)).toEqual(['/runs/r1/cancel']);
  });

  it('goes on with a follow-up question under the same name', async () => {
    const sent = serve({ 'POST /runs': recordOf({ id: 'r2' }) });
    const onstart = vi.fn();
    const input = { message: 'What is on?', user_context: { conversation_id: 'c1', user_id: 'u' } };
    render(ChatPanel, { record: recordOf({ input, workflow: 'assistant' }), graph: null, view: viewOf(logOf(START)), onstart });
    const box = screen.getByLabelText('Follow-up question');
    await fireEvent.input(box, { target: { value: 'And on Sunday?' } });
    await fireEvent.keyDown(box, { key: 'Enter' });
    await waitFor(() => expect(onstart).toHaveBeenCalledWith(expect.objectContaining({ id: 'r2' })));
    expect(sent[0]?.body).toEqual({
      workflow: 'assistant', input: { message: 'And on Sunday?', user_context: { conversation_id: 'c1', user_id: 'u' } }, models: {}, prompts: {},
    });
    await waitFor(() => expect((box as HTMLTextAreaElement).value).toBe(''));
  });

  it('takes no follow-up question outside of a conversation', () => {
    render(ChatPanel, { record: recordOf(), graph: null, view: viewOf(logOf(START)) });
    expect(screen.queryByLabelText('Follow-up question')).toBeNull();
  });

  it('shows an error, and tries again with the same input', async () => {
    const sent = serve({ 'POST /runs': new Refusal(503, 'no further run can start now', 'Busy'), 'POST /runs/r1/resume': recordOf({ status: 'running' }) });
    const record = recordOf({ status: 'failed', error: 'no reply', error_type: 'NodeTimeout', error_node: 'write', changes: { models: { a: null }, prompts: {}, pause_before: [], pause_after: [] } });
    const onchange = vi.fn();
    render(ChatPanel, { record, graph: null, view: viewOf(logOf(START)), onchange });
    expect(screen.getByRole('alert').textContent).toMatch(/It took longer than it may\..*write.*no reply/s);
    await fireEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByText('no further run can start now')).toBeTruthy();
    expect(sent[0]?.body).toEqual({ workflow: 'demo', input: record.input, models: { a: null }, prompts: {} });
    await fireEvent.click(screen.getByRole('button', { name: 'Go on from the last step' }));
    await waitFor(() => expect(onchange).toHaveBeenCalled());
  });

  it('lets a person answer a run that waits, and says which question is answered', async () => {
    const id = '0a'.repeat(16);
    const ASKED = { type: 'told', kind: 'progress', node: 'ask', message: 'May I?', data: { interrupt: 'May I?', id } };
    const sent = serve({ 'POST /runs/r1/resume': recordOf({ status: 'running' }) });
    render(ChatPanel, { record: recordOf({ status: 'waiting' }), graph: null, view: viewOf(logOf(START, ASKED)) });
    expect(screen.getByText('May I?')).toBeTruthy();
    await fireEvent.input(screen.getByLabelText('Answer in words'), { target: { value: '{"approved": true}' } });
    await fireEvent.click(screen.getByRole('button', { name: 'Answer' }));
    await waitFor(() => expect(sent.length).toBeGreaterThan(0));
    expect(sent[0]?.body).toEqual({ answer: { [id]: { approved: true } } });
  });

  it('is what it was at the event that is shown', () => {
    const log = logOf(START, started('write'), text('The first'), { type: 'run_failed', kind: 'ValueError', message: 'it broke' });
    const record = recordOf({ outcome: outcomeOf('The end [1].', { citations: [citation('1')] }), stop_reason: 'reflect' });
    const { container } = render(ChatPanel, { record, graph: null, view: viewOf(log.slice(0, 3)), replayed: true });
    expect(container.querySelector('.prose')?.textContent?.trim()).toBe('The first');
    expect(screen.getByText('Running')).toBeTruthy();
    expect(screen.queryByRole('group', { name: 'Sources' })).toBeNull();
    expect(screen.queryByText(/reflect/)).toBeNull();
    cleanup();
    render(ChatPanel, { record, graph: null, view: viewOf(log), replayed: true });
    expect(screen.getByRole('alert').textContent).toMatch(/it broke/);
  });
});

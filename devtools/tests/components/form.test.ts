import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/svelte';
import { afterEach, describe, expect, it, vi } from 'vitest';

import RunForm from '../../src/components/RunForm.svelte';
import type { JsonSchema } from '../../src/lib/form/fields';
import { hasHidden, withoutHidden } from '../../src/lib/form/hidden';
import { inConversation, hasConversations, outOfConversation } from '../../src/lib/form/conversation';
import { connection } from '../../src/lib/stores/connection.svelte';
import { router } from '../../src/lib/stores/router.svelte';
import WorkflowPage from '../../src/pages/WorkflowPage.svelte';
import { recordOf, Refusal, serve, workflowOf } from '../form/replies';
import { ASSISTANT, IQA, OWN, RAG } from '../form/schemas';

afterEach(() => {
  cleanup();
  sessionStorage.clear();
  vi.unstubAllGlobals();
});

const started = { 'POST /runs': recordOf({ id: 'new' }) };
const run = (): Promise<boolean> => fireEvent.click(screen.getByRole('button', { name: 'Run' }));
const type = (label: string | RegExp, value: string): Promise<boolean> =>
  fireEvent.input(screen.getByLabelText(label), { target: { value } });

describe('the form of a run', () => {
  it('starts a run with what was filled in', async () => {
    const sent = serve(started);
    const onstart = vi.fn();
    render(RunForm, { workflow: workflowOf(RAG), onstart });
    await type(/^Question/, 'Who built the bridge?');
    await type(/^Max retry count/, '3');
    await run();
    await waitFor(() => expect(onstart).toHaveBeenCalledOnce());
    expect(onstart.mock.calls[0]?.[0]).toMatchObject({ id: 'new' });
    expect(sent).toEqual([
      { method: 'POST', path: '/runs', body: { workflow: 'demo', input: { question: 'Who built the bridge?', max_retry_count: 3 }, models: {}, prompts: {} } },
    ]);
  });

  it('says at the field what is wrong, and sends nothing', async () => {
    const sent = serve(started);
    render(RunForm, { workflow: workflowOf(RAG) });
    await type(/^Max retry count/, '99');
    await run();
    const question = screen.getByLabelText(/^Question/);
    expect(question.getAttribute('aria-invalid')).toBe('true');
    expect(document.getElementById(question.getAttribute('aria-describedby') ?? '')?.textContent).toBe('This is needed.');
    expect(screen.getByText('At most 10.')).toBeTruthy();
    expect(sent).toEqual([]);
  });

  it('shows no secret while it is typed, within another neither', async () => {
    const texts = { type: 'array', items: { type: 'string' } } as const;
    const within = { access_keys: { type: 'array', items: texts }, credentials: { type: 'object', properties: { user: { type: 'string' }, code: { type: 'integer' } } } } as const;
    const schema: JsonSchema = { type: 'object', required: ['credentials'], properties: { name: { type: 'string' }, api_key: { type: 'string' }, pin: { type: 'string', format: 'password' }, ...within, tags: texts } };
    render(RunForm, { workflow: workflowOf(schema, { examples: [{ title: 'All', input: { access_keys: [['k']], credentials: { user: 'u', code: 1 }, tags: ['t'] } }] }) });
    await fireEvent.click(screen.getByRole('button', { name: 'All' }));
    const typeOf = (path: string): string | null | undefined => document.querySelector(`[data-path="${path}"]`)?.getAttribute('type');
    expect(['/name', '/tags/0'].map(typeOf)).toEqual(['text', 'text']);
    expect(['/api_key', '/pin', '/access_keys/0/0', '/credentials/user', '/credentials/code'].map(typeOf)).toEqual(Array(5).fill('password'));
  });

  it('goes to the item of a list that was added, and to what stands there once one is gone', async () => {
    render(RunForm, { workflow: workflowOf({ type: 'object', properties: { history: RAG.properties?.history ?? {}, docs: { type: 'array', items: { type: 'object' } } } }) });
    const [add, more] = screen.getAllByRole('button', { name: 'Add' });
    const at = (): string | null | undefined => document.activeElement?.getAttribute('data-path') ?? document.activeElement?.textContent;
    await fireEvent.click(more as HTMLElement);
    await waitFor(() => expect(document.activeElement).toBe(screen.getByLabelText('Docs 1')));
    for (const path of ['/history/0', '/history/1']) {
      await fireEvent.click(add as HTMLElement);
      await waitFor(() => expect(at()).toBe(path));
    }
    for (const path of ['/history/0', 'Add']) {
      await fireEvent.click(screen.getByRole('button', { name: 'Remove History 1' }));
      await waitFor(() => expect(at()).toBe(path));
    }
  });

  it('shows what the server says of the input', async () => {
    serve({ 'POST /runs': new Refusal(400, 'the question is unusable') });
    render(RunForm, { workflow: workflowOf(RAG) });
    await type(/^Question/, 'x');
    await run();
    expect((await screen.findByRole('alert')).textContent).toBe('the question is unusable');
  });

  it('is filled by an example, nested objects too', async () => {
    const sent = serve(started);
    const input = { message: 'What is on?', user_context: { profile: { interests: ['soil', 'repair'] } } };
    render(RunForm, { workflow: workflowOf(ASSISTANT, { examples: [{ title: 'With a profile', input }] }) });
    expect(screen.queryByLabelText('Interests 1')).toBeNull();
    await fireEvent.click(screen.getByRole('button', { name: 'With a profile' }));
    expect((screen.getByLabelText('Interests 2') as HTMLInputElement).value).toBe('repair');
    await fireEvent.click(screen.getByRole('button', { name: 'Remove Interests 1' }));
    expect((screen.getByLabelText('Interests 1') as HTMLInputElement).value).toBe('repair');
    await run();
    await waitFor(() => expect(sent).toHaveLength(1));
    expect(sent[0]?.body).toMatchObject({ input: { message: 'What is on?', user_context: { profile: { interests: ['repair'] } } } });
  });

  it('leaves out an optional object until it is wanted', async () => {
    serve({});
    render(RunForm, { workflow: workflowOf(ASSISTANT) });
    expect(screen.queryByLabelText(/^User id/)).toBeNull();
    await fireEvent.click(screen.getByLabelText(/^User context/));
    expect(screen.getByLabelText(/^User id/)).toBeTruthy();
  });

  it('takes raw JSON and gives it back to the fields', async () => {
    const sent = serve(started);
    render(RunForm, { workflow: workflowOf(OWN) });
    await fireEvent.click(screen.getByRole('button', { name: 'As JSON' }));
    await type('Input as JSON', '{"topic": ');
    await run();
    expect((await screen.findByRole('alert')).textContent).toContain('This is not JSON');
    await fireEvent.click(screen.getByRole('button', { name: 'As form' }));
    expect(screen.getByLabelText('Input as JSON')).toBeTruthy();
    await type('Input as JSON', '{"topic": "t", "strict": true, "unknown": [1]}');
    await fireEvent.click(screen.getByRole('button', { name: 'As form' }));
    expect((screen.getByLabelText(/^Topic/) as HTMLInputElement).value).toBe('t');
    await run();
    await waitFor(() => expect(sent).toHaveLength(1));
    expect(sent[0]?.body).toMatchObject({ input: { topic: 't', strict: true, unknown: [1] } });
  });

  it('changes models and prompts for this run only', async () => {
    const sent = serve({
      ...started,
      'GET /workflows/demo/models': {
        nodes: [{ node: 'plan', model: 'a:small', configured: 'a:small', chosen: false, used_by_default: false }],
        offered: ['a:small', 'b:big'],
      },
      'GET /workflows/demo/prompts': [{ prompt: 'plan', nodes: ['plan'], version: 2, versions: 2, names: ['question'] }],
      'GET /workflows/demo/prompts/plan': { prompt: 'plan', names: ['question'], versions: [{ version: 2, text: 'Plan {{question}}' }, { version: 1, text: 'x' }] },
    });
    const { container } = render(RunForm, { workflow: workflowOf(RAG) });
    await type(/^Question/, 'x');
    const details = container.querySelector('details') as HTMLDetailsElement;
    details.open = true;
    await fireEvent(details, new Event('toggle'));
    const [model, prompt] = (await within(details).findAllByRole('combobox')) as HTMLSelectElement[];
    await fireEvent.change(model as HTMLSelectElement, { target: { value: 'none' } });
    await fireEvent.change(prompt as HTMLSelectElement, { target: { value: 'draft' } });
    const draft = (await screen.findByLabelText('Draft of plan')) as HTMLTextAreaElement;
    expect(draft.value).toBe('Plan {{question}}');
    await fireEvent.input(draft, { target: { value: 'Plan well: {{question}}' } });
    await run();
    await waitFor(() => expect(sent.at(-1)?.method).toBe('POST'));
    expect(sent.at(-1)?.body).toMatchObject({ models: { plan: null }, prompts: { plan: 'Plan well: {{question}}' } });
  });

  it('shows hostile texts of a schema as texts', () => {
    serve({});
    const hostile = '<img src=x onerror=alert(1)><script>alert(1)</script>';
    const schema: JsonSchema = { type: 'object', properties: { a: { type: 'string', title: hostile, description: hostile, default: hostile } } };
    const { container } = render(RunForm, { workflow: workflowOf(schema, { title: hostile }) });
    expect(container.querySelector('img, script')).toBeNull();
    expect(container.textContent).toContain(hostile);
  });
});

describe('an upload', () => {
  /** The browser's request, as far as an upload needs it. */
  class Request {
    static all: Request[] = [];
    upload: { onprogress?: (event: { lengthComputable: boolean; loaded: number; total: number }) => void } = {};
    onload?: () => void;
    onerror?: () => void;
    onabort?: () => void;
    status = 0;
    responseText = '';
    body?: FormData;
    open = vi.fn();
    setRequestHeader = vi.fn();
    send(body: FormData): void {
      this.body = body;
      Request.all.push(this);
    }
    abort(): void {
      this.onabort?.();
    }
    reply(status: number, body: unknown): void {
      this.status = status;
      this.responseText = JSON.stringify(body);
      this.onload?.();
    }
  }
  const picture = new File(['picture'], 'dark.png', { type: 'image/png' });

  it('is dropped, shows how far it is, and its id is the value', async () => {
    Request.all = [];
    vi.stubGlobal('XMLHttpRequest', Request);
    const sent = serve(started);
    const examples = [{ title: 'A cup', input: { query: 'Sharp?', image: 'sample:cup.png' } }];
    render(RunForm, { workflow: workflowOf(IQA, { examples }) });
    await type(/^Query/, 'How sharp is it?');
    await fireEvent.drop(screen.getByRole('group', { name: 'Image' }), { dataTransfer: { files: [picture] } });
    const [request] = Request.all;
    expect(request?.open).toHaveBeenCalledWith('POST', expect.stringMatching(/\/uploads$/));
    expect((request?.body?.get('file') as File).name).toBe('dark.png');
    request?.upload.onprogress?.({ lengthComputable: true, loaded: 1, total: 4 });
    await waitFor(() => expect((screen.getByRole('progressbar') as HTMLProgressElement).value).toBe(0.25));
    request?.reply(201, { id: 'up1', name: 'dark.png', content_type: 'image/png', bytes: 7, width: 640, height: 480 });
    expect(await screen.findByText(/640 × 480 px/)).toBeTruthy();
    expect(screen.queryByRole('progressbar')).toBeNull();
    await run();
    await waitFor(() => expect(sent).toHaveLength(1));
    expect(sent[0]?.body).toMatchObject({ input: { query: 'How sharp is it?', image: 'up1' } });
    await fireEvent.click(screen.getByRole('button', { name: 'A cup' }));
    expect(await screen.findByText('cup.png, a sample')).toBeTruthy();
  });

  it('that the server refuses says why, and is not sent along', async () => {
    Request.all = [];
    vi.stubGlobal('XMLHttpRequest', Request);
    const sent = serve(started);
    render(RunForm, { workflow: workflowOf(IQA) });
    await type(/^Query/, 'x');
    await fireEvent.change(screen.getByLabelText('Image', { selector: 'input' }), { target: { files: [picture] } });
    Request.all[0]?.reply(413, { error: 'the file is too large', error_type: 'InputError', can_retry: false });
    expect((await screen.findByRole('alert')).textContent).toBe('the file is too large');
    await run();
    expect(screen.getByText('This is needed.')).toBeTruthy();
    expect(sent).toEqual([]);
  });

  it('that is still being sent is waited for, also where none is needed, and let go with its form', async () => {
    Request.all = [];
    vi.stubGlobal('XMLHttpRequest', Request);
    const sent = serve(started);
    const schema: JsonSchema = { type: 'object', properties: { image: IQA.properties!['reference']! } };
    render(RunForm, { workflow: workflowOf(schema, { examples: [{ title: 'Nothing', input: {} }] }) });
    const choose = (): Promise<boolean> => fireEvent.change(screen.getByLabelText('Image', { selector: 'input' }), { target: { files: [picture] } });
    await choose();
    await run();
    expect((await screen.findByRole('alert')).textContent).toBe('A file is still being sent.');
    Request.all[0]?.reply(201, { id: 'up1', name: 'dark.png', content_type: 'image/png', bytes: 7, width: 640, height: 480 });
    await waitFor(() => expect(screen.queryByRole('alert')).toBeNull());
    await run();
    await waitFor(() => expect(sent.at(-1)?.body).toMatchObject({ input: { image: 'up1' } }));
    await choose();
    const stopped = vi.spyOn(Request.all[1]!, 'abort');
    await fireEvent.click(screen.getByRole('button', { name: 'Nothing' }));
    expect(stopped).toHaveBeenCalledOnce();
    await run();
    await waitFor(() => expect(sent.at(-1)?.body).toMatchObject({ input: {} }));
    await choose();
    for (const name of ['As JSON', 'As form']) await fireEvent.click(screen.getByRole('button', { name }));
    await run();
    expect(screen.queryByRole('alert')).toBeNull();
  });
});

it('a page that is open while its workflow changes has the form of the new one', async () => {
  router.go('/workflows/demo');
  await waitFor(() => expect(router.route.id).toBe('demo'));
  const replies: Record<string, unknown> = { 'GET /workflows/demo': workflowOf(RAG), 'GET /workflows/demo/topology': { name: 'demo', nodes: [], edges: [], loops: [] }, 'GET /runs': { runs: [], total: 0, next: null } };
  serve(replies);
  render(WorkflowPage);
  await fireEvent.input(await screen.findByLabelText(/^Question/), { target: { value: 'Who?' } });
  connection.returns += 1;
  await screen.findByText('No runs yet');
  expect((screen.getByLabelText(/^Question/) as HTMLInputElement).value).toBe('Who?');
  replies['GET /workflows/demo'] = workflowOf(OWN);
  connection.returns += 1;
  expect(await screen.findByLabelText(/^Topic/)).toBeTruthy();
});

describe('what was typed', () => {
  const question = (): HTMLInputElement => screen.getByLabelText(/^Question/, { selector: 'textarea' });

  it('is there again, for the same schema and beside the same run, until it is sent', async () => {
    serve(started);
    render(RunForm, { workflow: workflowOf(RAG) });
    await type(/^Question/, 'Who built the bridge?');
    cleanup();
    render(RunForm, { workflow: workflowOf(RAG) });
    expect(question().value).toBe('Who built the bridge?');
    cleanup();
    render(RunForm, { workflow: workflowOf(RAG), run: 'r1', given: { question: 'Another?' } });
    expect(question().value).toBe('Another?');
    cleanup();
    render(RunForm, { workflow: workflowOf(RAG) });
    expect(question().value).toBe('Who built the bridge?');
    cleanup();
    render(RunForm, { workflow: workflowOf(OWN) });
    expect(screen.getByLabelText(/^Topic/)).toBeTruthy();
    cleanup();
    const onstart = vi.fn();
    render(RunForm, { workflow: workflowOf(RAG), onstart });
    await type(/^Question/, 'Who?');
    await run();
    await waitFor(() => expect(onstart).toHaveBeenCalledOnce());
    expect(question().value).toBe('Who?');
    cleanup();
    render(RunForm, { workflow: workflowOf(RAG) });
    expect(question().value).toBe('');
  });

  it('is kept without secrets, with the keys of the person, and not where there is no room', async () => {
    serve(started);
    const schema: JsonSchema = { type: 'object', properties: { topic: { type: 'string' }, api_key: { type: 'string' }, pin: { type: 'string', format: 'password' }, more: { type: 'object' } } };
    const again = (): void => {
      cleanup();
      render(RunForm, { workflow: workflowOf(schema) });
    };
    const keeps = (): string => sessionStorage.getItem('loopwright-form-demo') ?? '';
    const shown = (label: RegExp): string => (screen.getByLabelText(label) as HTMLInputElement).value;
    again();
    await type(/^Topic/, 'soil');
    await type(/^Api key/, 'hush1');
    await type(/^Pin/, 'hush2');
    await type(/^More/, '{"password": "hush3"}');
    expect(keeps()).toContain('soil');
    expect(keeps()).not.toContain('hush');
    again();
    expect([shown(/^Topic/), shown(/^Api key/), shown(/^Pin/)]).toEqual(['soil', '', '']);
    await fireEvent.click(screen.getByRole('button', { name: 'As JSON' }));
    await type('Input as JSON', '{"topic": "t", "share": 0.5}');
    expect(keeps()).toContain('0.5');
    for (const secret of ['{"topic": "t", "own": {"token": "hush"}}', '{"pin": "hush"}', '{"pin": "hush']) {
      await type('Input as JSON', secret);
      expect(keeps()).toBe('');
    }
    await type('Input as JSON', '{"topic": "t", "share": 0.5}');
    await fireEvent.click(screen.getByRole('button', { name: 'As form' }));
    await type(/^Topic/, 'tea');
    expect(keeps()).toContain('"share":0.5');
    const removeItem = vi.fn();
    const setItem = (): void => {
      throw new Error('full');
    };
    vi.stubGlobal('sessionStorage', { getItem: () => null, removeItem, setItem, clear: () => {} });
    await type(/^Topic/, 'too long');
    expect(removeItem).toHaveBeenCalledWith('loopwright-form-demo');
    vi.unstubAllGlobals();
  });

  it('of a run that the address names is in the form, without what is not kept of it', async () => {
    router.go('/workflows/demo?run=r1');
    await waitFor(() => expect(router.route.query.get('run')).toBe('r1'));
    const record = recordOf({ input: { question: 'Who built it?', max_retry_count: 2, token: '***' } });
    serve({
      'GET /workflows/demo': workflowOf(RAG), 'GET /workflows/demo/topology': { name: 'demo', nodes: [], edges: [], loops: [] },
      'GET /runs/r1': record, 'GET /runs/r1/graph': { name: 'demo', nodes: [], edges: [], loops: [] }, 'GET /runs/r1/log': { events: [], total: 0, next: null },
    });
    render(WorkflowPage);
    await waitFor(() => expect(question().value).toBe('Who built it?'));
    expect(hasHidden(record.input)).toBe(true);
    // The beginning of a list is not the list.
    expect(withoutHidden({ a: '***', b: ['x', '… 5 more'], c: { d: 'a… (1,200 more characters)', e: 1 }, f: '****', g: { '…': '3 more' }, h: [{ i: '***', j: 1 }], k: ['x'] })).toEqual({
      c: { e: 1 }, f: '****', h: [{ j: 1 }], k: ['x'],
    });
    const talk = { message: 'x', user_context: { user_id: 'u' } };
    expect(outOfConversation(inConversation(talk))).toEqual(talk);
    router.go('/workflows/demo');
  });
});

describe('a conversation', () => {
  it('is named where the workflow has conversations and the input names none', () => {
    expect(hasConversations(ASSISTANT)).toBe(true);
    expect(hasConversations(RAG)).toBe(false);
    const named = inConversation({ message: 'x', user_context: { user_id: 'u' } });
    expect(named).toMatchObject({ message: 'x', user_context: { user_id: 'u', conversation_id: expect.stringMatching(/^[0-9a-f]{24}$/) } });
    expect(inConversation(named)).toBe(named);
  });
});

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { api, keepRun, keptRun, ranOnce, shot, useBrowser } from './harness';

const browser = useBrowser({ all: true });

/** Each would set the global if the page took it for more than text. */
const SET = 'window.__ran=1';
const PAYLOAD = [
  `<script>${SET}</script>`,
  `<img src=x onerror="${SET}">`,
  `<svg onload=${SET}><a href="javascript:${SET}">svg</a></svg>`,
  `<iframe srcdoc="<script>parent.__ran=1</script>"></iframe>`,
  `[link](javascript:${SET})`,
  `[entity](&#106;avascript:${SET})`,
  `[data](data:text/html,<script>${SET}</script>)`,
  `![picture](https://elsewhere.invalid/x.png "onerror=${SET}")`,
  `<javascript:${SET}>`,
  `[reference][r]`,
  '',
  `[r]: javascript:${SET} "title"`,
  '',
  `\`\`\`html" onmouseover="${SET}`,
  `</code></pre><script>${SET}</script>`,
  '```',
].join('\n');
const LINE = PAYLOAD.replaceAll('\n', ' ');
const ID = 'hostile-run';

type Json = Record<string, unknown>;
interface RunFile {
  record: Json & { outcome: Json & { citations: Json[] } };
  graph: Json & { nodes: Json[] };
  events: { data: string }[];
  client: { data: string }[];
}

/** Keep a run in which everything that can be a text is hostile. */
function keepHostile(): void {
  const file = keptRun<RunFile>(browser.server(), 'demo-assistant-thought-over-twice');
  const { record, graph } = file;
  Object.assign(record, { id: ID, title: LINE, error: null, input: { message: PAYLOAD }, children: [] });
  Object.assign(record.outcome, { answer: `${PAYLOAD}\n\n[sessions:1]`, details: { [LINE]: PAYLOAD } });
  record.outcome.citations = [{ mark: 'sessions:1', title: LINE, quote: PAYLOAD, url: `https://elsewhere.invalid/"onmouseover="${SET}`, details: { [LINE]: PAYLOAD } }];
  for (const node of graph.nodes) Object.assign(node, { label: LINE.slice(0, 80), icon: '<b>x</b>', description: LINE });
  for (const kept of file.events) {
    const event = JSON.parse(kept.data) as Json;
    if (event.type === 'told') Object.assign(event, { message: LINE, data: { ...(event.data as Json), reasoning: PAYLOAD, strategy: LINE } });
    if (event.type === 'text') event.text = PAYLOAD;
    if (event.type === 'loop') event.reason = LINE;
    if (event.type === 'state') event.changed = { ...(event.changed as Json), [LINE]: PAYLOAD, response_text: PAYLOAD };
    kept.data = JSON.stringify(event);
  }
  keepRun(browser.server(), file);
}

/** What only a text that was taken for more than a text leaves behind. */
async function harmless(page: Page): Promise<void> {
  await page.waitForTimeout(300);
  const found = await page.evaluate(() => ({
    ran: '__ran' in window,
    elements: [...document.querySelectorAll('iframe, object, embed, script:not([src]), a[href^="javascript" i], a[href^="data" i], [onerror], [onload], [onmouseover]')].map(
      (element) => element.outerHTML,
    ),
    pictures: [...document.images].map((image) => image.src).filter((source) => !/^blob:|\/assets\//.test(source)),
  }));
  expect(found).toEqual({ ran: false, elements: [], pictures: [] });
}

/** A page that fails the test when it asks anybody but the server. */
async function guarded(hash: string): Promise<{ page: Page; strangers: string[] }> {
  const strangers: string[] = [];
  const page = await browser.open('#/models');
  page.on('request', (request) => {
    if (!request.url().startsWith(browser.url()) && !request.url().startsWith('blob:')) strangers.push(request.url());
  });
  page.on('dialog', (dialog) => strangers.push(dialog.message()));
  await page.goto(`${browser.url()}/${hash}`);
  return { page, strangers };
}

describe('text that wants to be a script stays a text', () => {
  beforeAll(keepHostile);

  it('because the server lets no other script run at all', async () => {
    const policy = (await fetch(`${browser.url()}/`)).headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/script-src[^;]*unsafe/);
    browser.expected.push(/Content Security Policy/);
    const page = await browser.open();
    await page.evaluate((code) => document.body.append(Object.assign(document.createElement('script'), { textContent: code })), SET);
    expect(await page.evaluate(() => '__ran' in window)).toBe(false);
  });

  it('in the list of runs', async () => {
    const { page, strangers } = await guarded('#/runs');
    await page.getByRole('row', { name: /<script>/ }).first().waitFor();
    await harmless(page);
    await shot(page, 'hostile-history-light');
    expect(strangers).toEqual([]);
  });

  it('in a run: its graph, its events, its states', async () => {
    const { page, strangers } = await guarded(`#/runs/${ID}`);
    await page.getByText(/<script>/).first().waitFor();
    await harmless(page);
    for (const tab of await page.getByRole('tab').all()) {
      await tab.click();
      await harmless(page);
    }
    expect(strangers).toEqual([]);
  });

  it('in a conversation: question, thoughts, answer, sources', async () => {
    const { page, strangers } = await guarded(`#/workflows/assistant?run=${ID}`);
    const turn = page.getByRole('log').getByRole('article').last();
    await turn.getByText('Thinking again').first().click();
    await turn.getByRole('link', { name: 'Source sessions:1' }).first().click();
    const card = turn.getByRole('complementary');
    await card.getByText(/<script>/).first().waitFor();
    await expect.poll(() => card.getByRole('link').getAttribute('rel')).toContain('noopener');
    await harmless(page);
    await shot(page, 'hostile-chat-light');
    expect(strangers).toEqual([]);
  });

  it('in a comparison', async () => {
    const { page, strangers } = await guarded(`#/compare?a=${ID}&b=demo-assistant-thought-over-twice`);
    await page.getByRole('region', { name: 'Answers' }).getByText(/<script>/).first().waitFor();
    await harmless(page);
    await page.getByRole('button', { name: 'Side by side' }).click();
    await page.getByRole('group', { name: 'Answer of run A' }).getByText(/<script>/).first().waitFor();
    for (const summary of await page.locator('main summary').all()) await summary.click();
    await harmless(page);
    expect(strangers).toEqual([]);
  });

  it('in what a model writes', async () => {
    const { page, strangers } = await guarded('#/workflows/parrot');
    await page.getByRole('textbox', { name: 'Message' }).fill(PAYLOAD);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const turn = page.getByRole('log').getByRole('article').last();
    await turn.getByText('Finished', { exact: true }).waitFor();
    await turn.locator('.prose').getByText(/<script>/).first().waitFor();
    await harmless(page);
    const links = await turn.locator('.prose a').evaluateAll((all) => all.map((link) => [link.getAttribute('href'), link.getAttribute('rel')]));
    expect(links).toEqual([['https://elsewhere.invalid/x.png', 'noopener noreferrer']]);
    expect(strangers).toEqual([]);
  });

  it('in documents that somebody gave', async () => {
    const body = new FormData();
    const text = `# Zeppelin ${LINE}\n\nThe zeppelin Gurnard landed in Brindlemere in 1931. ${LINE}\n`;
    body.append('files', new File([text], `zeppelin <img src=x onerror=${SET}>.md`, { type: 'text/markdown' }));
    const kept = await fetch(`${browser.url()}/rag/ingest`, { method: 'POST', body });
    expect(await kept.json()).toMatchObject({ stored: 1, problems: [] });
    const { page, strangers } = await guarded('#/workflows/rag');
    await page.getByRole('textbox', { name: 'Question' }).fill('When did the zeppelin Gurnard land in Brindlemere?');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const turn = page.getByRole('log').getByRole('article').last();
    await turn.getByRole('group', { name: 'Sources' }).getByRole('button', { name: /Zeppelin/i }).first().click({ timeout: 30_000 });
    await turn.getByRole('complementary').getByText(/1931/).first().waitFor();
    await harmless(page);
    expect(strangers).toEqual([]);
  });

  it('in the name of an uploaded file', async () => {
    const { page, strangers } = await guarded('#/workflows/iqa');
    await page.getByLabel('Picture', { exact: true }).and(page.locator('input')).setInputFiles({ name: `<img src=x onerror=${SET}>.png`, mimeType: 'image/png', buffer: Buffer.from('no picture') });
    await page.getByRole('group', { name: 'Picture' }).getByRole('alert').waitFor();
    await harmless(page);
    expect(strangers).toEqual([]);
  });

  it('in prompts and their versions', async () => {
    const path = '/workflows/assistant/prompts/reflect_and_replan';
    const { versions } = await api<{ versions: { version: number; text: string }[] }>(browser.url(), path);
    const newest = versions[0]!;
    await api(browser.url(), path, { text: `${newest.text}\n${PAYLOAD}`, author: LINE.slice(0, 60), note: LINE.slice(0, 400), base_version: newest.version });
    const { page, strangers } = await guarded('#/prompts/assistant?prompt=reflect_and_replan');
    await page.getByRole('complementary').getByText(/<script>/).first().waitFor();
    await harmless(page);
    expect(strangers).toEqual([]);
  });

  it('in the loop report, after all of it', async () => {
    await ranOnce(browser.url(), 'assistant', { message: PAYLOAD });
    const { page, strangers } = await guarded('#/loops/assistant');
    await page.getByRole('region', { name: 'Loop reflect' }).waitFor();
    await harmless(page);
    expect(strangers).toEqual([]);
  });
});

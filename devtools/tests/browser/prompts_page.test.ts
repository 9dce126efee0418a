import { describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';

import { api, ranOnce, useBrowser } from './harness';

const browser = useBrowser();
const NAME = 'reflect_and_replan';
const PATH = `/workflows/assistant/prompts/${NAME}`;

interface History {
  names: string[];
  versions: { version: number; text: string; author: string; note: string }[];
}

const history = (): Promise<History> => api<History>(browser.url(), PATH);

/** Write something at the end of the text. */
async function write(page: Page, text: string): Promise<void> {
  const editor = page.getByRole('textbox', { name: `Text of ${NAME}` });
  await editor.click();
  await page.keyboard.press('Control+End');
  await page.keyboard.insertText(text);
}

const openPrompt = (): Promise<Page> => browser.open(`#/prompts/assistant?prompt=${NAME}`);

describe('the prompts', () => {
  it('are listed with their steps, and their text is shown with its values', async () => {
    const { names } = await history();
    const page = await openPrompt();
    await page.getByRole('heading', { name: NAME }).waitFor();
    await expect.poll(() => page.getByRole('navigation', { name: 'Prompts' }).getByRole('link').count()).toBeGreaterThan(3);
    for (const name of names) await page.locator('.cm-name', { hasText: name }).first().waitFor();
  });

  it('are saved as a new version with author and note, compared, and restored', async () => {
    const before = (await history()).versions[0]!;
    const page = await openPrompt();
    await write(page, '\nBe brief.');
    await page.getByLabel('Author').fill('Ada');
    await page.getByLabel('Note').fill('Shorter replies');
    await page.getByRole('button', { name: `Save as version ${before.version + 1}` }).click();
    await page.getByText(`Saved version ${before.version + 1}`).waitFor();
    const saved = (await history()).versions[0]!;
    expect(saved).toMatchObject({ version: before.version + 1, author: 'Ada', note: 'Shorter replies' });
    expect(saved.text).toBe(`${before.text}\nBe brief.`);

    const versions = page.getByRole('complementary', { name: 'Versions' });
    await versions.getByText('Shorter replies').waitFor();
    await versions.getByRole('button', { name: `Compare with version ${before.version}` }).click();
    await page.locator('.cm-merge-b .cm-changedLine', { hasText: 'Be brief.' }).waitFor();
    await page.getByRole('button', { name: 'Back to the editor' }).click();

    await versions.getByRole('button', { name: `Restore version ${before.version}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    await page.getByText(`Version ${before.version} is in use again.`).waitFor();
    expect((await history()).versions[0]).toMatchObject({ version: before.version + 2, text: before.text });
  });

  it('keep a draft until it is saved or discarded', async () => {
    const page = await openPrompt();
    await write(page, '\nAn idea.');
    await page.getByText('draft', { exact: true }).waitFor();
    await page.reload();
    await page.getByText('draft', { exact: true }).waitFor();
    await write(page, ' And another.');
    await page.locator('.cm-line', { hasText: 'An idea. And another.' }).waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByText('draft', { exact: true }).waitFor({ state: 'detached' });
  });

  it('are not saved with a value too few or too many', async () => {
    const page = await openPrompt();
    await write(page, '\n{{nonsense}}');
    await page.getByText('nonsense is not known').waitFor();
    await page.locator('.cm-name-unknown').waitFor();
    expect(await page.getByRole('button', { name: /^Save as version/ }).isDisabled()).toBe(true);
  });

  it('never overwrite what somebody else saved meanwhile', async () => {
    browser.expected.push(/status of 409/);
    const page = await openPrompt();
    await write(page, '\nMine.');
    const newest = (await history()).versions[0]!;
    await api(browser.url(), PATH, { text: `${newest.text}\nTheirs.`, author: 'Bob', note: '', base_version: newest.version });
    await page.reload();
    await page.getByText('draft', { exact: true }).waitFor();
    await page.getByRole('button', { name: /^Save as version/ }).click();
    await page.getByText(`Version ${newest.version + 1} by Bob was saved while you were writing.`).waitFor();
    expect((await history()).versions[0]!.version).toBe(newest.version + 1);
    await page.locator('.cm-merge-a', { hasText: 'Theirs.' }).waitFor();
    await page.getByRole('button', { name: `Save on top of version ${newest.version + 1}` }).click();
    await page.getByText(`Saved version ${newest.version + 2}`).waitFor();
    expect((await history()).versions[0]!.text).toBe(`${newest.text}\nMine.`);
  });

  it('are tried on a recorded step before they are saved', async () => {
    await ranOnce(browser.url(), 'assistant', { message: 'Are there talks about gardening on Saturday morning?' });
    const versions = (await history()).versions.length;
    const page = await openPrompt();
    await write(page, '\nTry this.');
    await page.getByRole('button', { name: 'Try on a recorded step' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('radio', { name: `${NAME}, visit 1` }).check();
    await dialog.getByRole('button', { name: 'Run from here' }).click();
    await page.waitForURL(/#\/runs\/.+/);
    const id = decodeURIComponent(page.url().replace(/^.*#\/runs\/([^?]+).*$/, '$1'));
    const run = await api<{ parent: { kind: string }; changes: { prompts: Record<string, string> } }>(browser.url(), `/runs/${id}`);
    expect(run.parent.kind).toBe('fork');
    expect(run.changes.prompts[NAME]).toMatch(/Try this\.$/);
    expect((await history()).versions.length).toBe(versions);
  });
});

describe('the models', () => {
  it('are chosen for a step, and taken back', async () => {
    const models = (): Promise<{ nodes: { node: string; model: string | null; chosen: boolean }[] }> => api(browser.url(), '/workflows/assistant/models');
    const page = await browser.open('#/models/assistant');
    const row = page.getByRole('row', { name: new RegExp(NAME) });
    await row.getByLabel(`Model of ${NAME}`).selectOption({ label: 'no model' });
    await row.getByText('chosen here').waitFor();
    expect((await models()).nodes.find((one) => one.node === NAME)).toMatchObject({ model: null, chosen: true });
    await row.getByRole('button', { name: 'Take back' }).click();
    await row.getByText('chosen here').waitFor({ state: 'detached' });
    expect((await models()).nodes.find((one) => one.node === NAME)?.chosen).toBe(false);
  });

  it('are not of a provider that nobody knows', async () => {
    browser.expected.push(/status of 4\d\d/);
    const page = await browser.open('#/models/assistant');
    const row = page.getByRole('row', { name: new RegExp(NAME) });
    await row.getByLabel(`Model of ${NAME}`).selectOption({ label: 'another one…' });
    await row.getByLabel(`Model of ${NAME}`).fill('nobody:model');
    await row.getByRole('button', { name: 'Use' }).click();
    await page.getByRole('status').getByText(/nobody/).waitFor();
    await expect.poll(() => row.getByText('chosen here').count()).toBe(0);
  });
});

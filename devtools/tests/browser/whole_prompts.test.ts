import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { api, ranOnce, shot, useBrowser } from './harness';

const browser = useBrowser();
const NAME = 'reflect_and_replan';

interface History {
  versions: { version: number; text: string; author: string; note: string }[];
}
interface Models {
  nodes: { node: string; model: string | null; chosen: boolean }[];
}

/** Press Tab until a control has the focus. */
async function tabTo(page: Page, label: RegExp): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    const here = await page.evaluate(() => {
      const element = document.activeElement as HTMLElement & { labels?: NodeListOf<HTMLLabelElement> };
      return [element.getAttribute('aria-label'), ...[...(element.labels ?? [])].map((one) => one.textContent), element.textContent].find((one) => one?.trim())?.trim() ?? '';
    });
    if (label.test(here)) return;
  }
  throw new Error(`Tab never came to ${label}`);
}

describe('prompts, with the keyboard alone', () => {
  it('are written, saved, and taken back to the first version', async () => {
    const first = (await api<History>(browser.url(), `/workflows/assistant/prompts/${NAME}`)).versions[0]!;
    const page = await browser.open(`#/prompts/assistant?prompt=${NAME}`, { colorScheme: 'dark' });
    await page.getByRole('heading', { name: NAME }).waitFor();
    await tabTo(page, new RegExp(`^Text of ${NAME}`));
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' Be brief.');
    await tabTo(page, /^Author/);
    await page.keyboard.type('Ada');
    await tabTo(page, /^Note/);
    await page.keyboard.type('shorter answers');
    await tabTo(page, /^Save as version/);
    await page.keyboard.press('Enter');
    await page.getByText(`Saved version ${first.version + 1}.`).waitFor();
    await shot(page, 'prompts-dark');
    await page.keyboard.press('Shift+Tab');
    await tabTo(page, new RegExp(`^Restore version ${first.version}`));
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await tabTo(page, /^Restore/);
    await page.keyboard.press('Enter');
    await page.getByText(`Version ${first.version} is in use again.`).waitFor();
    const { versions } = await api<History>(browser.url(), `/workflows/assistant/prompts/${NAME}`);
    expect(versions.map(({ version, author }) => [version, author]).slice(0, 2)).toEqual([[first.version + 2, 'Ada'], [first.version + 1, 'Ada']]);
    expect(versions[0]!.text).toBe(first.text);
    expect(versions[1]).toMatchObject({ note: 'shorter answers', text: expect.stringMatching(/Be brief\.$/) });
  });
});

describe('a model, with the keyboard alone', () => {
  it('is chosen for a step, serves the next run, and is taken back', async () => {
    const page = await browser.open('#/models/assistant');
    const row = page.getByRole('row', { name: new RegExp(NAME) });
    await row.waitFor();
    await tabTo(page, new RegExp(`^Model of ${NAME}`));
    await page.keyboard.type('no model');
    await page.keyboard.press('Enter');
    await row.getByText('chosen here').waitFor();
    await shot(page, 'models-light');
    const without = await ranOnce(browser.url(), 'assistant', { message: 'Are there talks about gardening on Saturday morning?' });
    expect((await api<{ model_calls: number }>(browser.url(), `/runs/${without.id}`)).model_calls).toBe(0);
    await tabTo(page, /^Take back/);
    await page.keyboard.press('Enter');
    await row.getByText('chosen here').waitFor({ state: 'detached' });
    expect((await api<Models>(browser.url(), '/workflows/assistant/models')).nodes.find((one) => one.node === NAME)?.chosen).toBe(false);
    const again = await ranOnce(browser.url(), 'assistant', { message: 'Are there talks about gardening on Saturday morning?' });
    expect((await api<{ model_calls: number }>(browser.url(), `/runs/${again.id}`)).model_calls).toBeGreaterThan(0);
  });
});

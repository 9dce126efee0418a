/** One test of each kind: what ./test runs of this folder, on one server and in one browser. */
import { join } from 'node:path';

import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { api, SCHEMES, shot, useBrowser } from './harness';

const browser = useBrowser({ all: true });
const PICTURE = join(import.meta.dirname, '../../../src/loopwright/workflows/iqa/data/sample/harbour-blurred.png');

interface Run {
  id: string;
  status: string;
}
interface Log {
  events: { event: { type: string } }[];
}

const is = (id: string, status: string): Promise<void> =>
  expect.poll(async () => (await api<Run>(browser.url(), `/runs/${id}`)).status, { timeout: 20_000 }).toBe(status) as Promise<void>;
const node = (page: Page, name: string): Locator => page.locator(`button[data-node="${name}"]`);
const graph = (page: Page): Locator => page.getByRole('group', { name: /^Graph of/ });
const bar = (page: Page, label: string): Locator => page.getByRole('option', { name: new RegExp(`^${label}, visit`) });
const label = (page: Page, name: string): Promise<string | null> => node(page, name).getAttribute('aria-label');
const question = (page: Page, name: string): Locator => page.getByRole('region', { name: `Question of ${name}` });
const runForm = (page: Page): Locator => page.getByRole('form');
const turn = (page: Page): Locator => page.getByRole('log').getByRole('article').last();

describe('a run that goes on', () => {
  it('lights up its nodes and fills its loop', async () => {
    for (const colorScheme of SCHEMES) {
      const page = await browser.open('#/workflows', { colorScheme });
      const { id } = await api<{ id: string }>(browser.url(), '/runs', { workflow: 'essay', input: { topic: 'boats, held at the outline' } });
      await page.goto(`${browser.url()}/#/runs/${id}`);
      await page.locator('button[data-node][aria-label*="running"]').first().waitFor();
      expect(await label(page, 'grade')).not.toContain('complete');
      await graph(page).getByText('improve0/1').waitFor();
      await shot(page, `run-live-${colorScheme}`);
      browser.server().goOn();
      await graph(page).getByText('improve1/1').waitFor();
      await page.getByText('Finished', { exact: true }).first().waitFor();
      await expect.poll(() => label(page, 'write')).toMatch(/^Write, complete, 2 visits, /);
      await expect.poll(() => page.locator('button[data-node][aria-label*="running"]').count()).toBe(0);
      const [first, second] = [await bar(page, 'Collect').boundingBox(), await bar(page, 'Outline').boundingBox()];
      expect(Math.abs(first!.x - second!.x), 'what ran at once stands at one place').toBeLessThan(first!.width / 2);
      browser.server().hold();
    }
  });
});

describe('a run that asks a person', () => {
  it('shows the question and what belongs to it, is answered by a button and by a form, and says how long it waited', async () => {
    for (const colorScheme of SCHEMES) {
      const { id } = await api<Run>(browser.url(), '/runs', { workflow: 'permit', input: { parcel: 'a piano' } });
      await is(id, 'waiting');
      const page = await browser.open(`#/runs/${id}`, { colorScheme });
      const ask = question(page, 'ask');
      await ask.getByText('May I send a piano?').waitFor();
      expect(await ask.locator('strong').textContent()).toBe('send');
      await ask.getByText('12.5').waitFor();
      await expect.poll(() => label(page, 'ask')).toMatch(/waits for you/);
      // Nothing is pressed but the button that has the focus.
      await expect.poll(() => page.evaluate(() => document.activeElement?.textContent?.trim())).toBe('yes');
      await shot(page, `people-buttons-${colorScheme}`);
      await page.keyboard.press('Enter');

      const where = question(page, 'locate');
      await where.getByText('Where does it go?').waitFor();
      await expect.poll(() => label(page, 'ask')).toMatch(/complete, 1 visit/);
      await where.getByLabel('Street').fill('Elm Street 3');
      await where.getByLabel('Boxes').fill('0');
      await page.keyboard.press('Control+Enter');
      await where.getByText('At least 1.').waitFor();
      await where.getByLabel('Boxes').fill('9');
      await shot(page, `people-form-${colorScheme}`);
      await page.keyboard.press('Control+Enter');

      // Many boxes: the loop goes round and asks again; the wait is no part of any visit or pass.
      await question(page, 'ask').getByText('May I send a piano?').waitFor();
      expect(await label(page, 'ask')).toMatch(/waits for you, 2 visits/);
      await page.locator('[data-gap="waiting"]').nth(1).waitFor();
      await shot(page, `people-timeline-${colorScheme}`);
      await question(page, 'ask').getByRole('button', { name: 'no', exact: true }).click();
      await page.locator('main header').getByText('Finished', { exact: true }).waitFor();
      expect(await question(page, 'ask').count()).toBe(0);
      await is(id, 'finished');
    }
  });
});

describe('a question to the assistant', () => {
  it('is acknowledged, thought over, answered as a stream, and its sources open as cards', async () => {
    const page = await browser.open('#/workflows/assistant', { colorScheme: 'dark' });
    await runForm(page).getByRole('textbox', { name: 'Message' }).fill('Is there a talk about privacy on Sunday?');
    await runForm(page).getByRole('button', { name: 'Run', exact: true }).click();
    await turn(page).getByText('Let me look through the programme').waitFor();
    const thought = turn(page).locator('summary', { hasText: 'Thinking again' });
    await thought.first().waitFor();
    await turn(page).getByText('Answered in part', { exact: true }).waitFor();
    await thought.first().click();
    await turn(page).getByText(/hits, best/).first().waitFor();
    await turn(page).getByText(/The bound|still wanted another pass/).first().waitFor();

    const id = new URLSearchParams(page.url().split('?', 2)[1]).get('run');
    const log = await api<Log>(browser.url(), `/runs/${id}/log`);
    expect(log.events.filter(({ event }) => event.type === 'text').length).toBeGreaterThan(1);

    const mark = turn(page).getByRole('link', { name: /^Source sessions:/ }).first();
    const name = await mark.getAttribute('aria-label');
    await mark.click();
    const card = turn(page).getByRole('complementary', { name: name ?? '' });
    await card.getByText('room', { exact: true }).waitFor();
    expect(await card.evaluate((element) => element === document.activeElement)).toBe(true);
    await shot(page, 'chat-dark');
    await page.keyboard.press('Escape');
    await card.waitFor({ state: 'detached' });
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe(name);
  });
});

describe('the form', () => {
  it('takes a picture from the disk, shows it, and the run measures it', async () => {
    const page = await browser.open('#/workflows/iqa', { colorScheme: 'dark' });
    await runForm(page).getByRole('textbox', { name: 'Question' }).fill('How is the quality of this image?');
    const [picker] = await Promise.all([
      page.waitForEvent('filechooser'),
      runForm(page).getByRole('group', { name: 'Picture' }).getByRole('button', { name: 'Choose a file' }).click(),
    ]);
    await picker.setFiles(PICTURE);
    await runForm(page).getByText(/harbour-blurred\.png, .+ 320 × 240 px/).waitFor();
    const preview = runForm(page).getByRole('img', { name: 'harbour-blurred.png' });
    await expect.poll(() => preview.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(320);
    await runForm(page).getByRole('button', { name: 'Run', exact: true }).click();
    await turn(page).getByText(/^(Answered|Best effort|Answered in part)$/).waitFor({ timeout: 60_000 });
    await expect.poll(() => turn(page).getByRole('img').evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(320);
    await shot(page, 'iqa-dark');
  });
});

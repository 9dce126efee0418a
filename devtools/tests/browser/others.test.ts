/** A graph that nobody here wrote: seen into, answered, watched, cut short. */
import { describe, expect, it } from 'vitest';

import { api, ranOnce, SCHEMES, shot, useBrowser } from './harness';

const browser = useBrowser();

interface Run {
  id: string;
  status: string;
  quality: number | null;
  passes: Record<string, number>;
  path: string[];
}
const runOf = (id: string): Promise<Run> => api<Run>(browser.url(), `/runs/${id}`);
const is = (id: string, status: string): Promise<void> =>
  expect.poll(async () => (await runOf(id)).status, { timeout: 20_000 }).toBe(status) as Promise<void>;

/** A run whose question was answered. */
async function answered(topic: string): Promise<string> {
  const { id } = await ranOnce(browser.url(), 'desk', { topic });
  await api(browser.url(), `/runs/${id}/resume`, { answer: { ok: true } });
  await is(id, 'finished');
  return id;
}

describe('a graph of somebody else', () => {
  it('opens the graph inside a node in place, with its visits and passes, and by the keyboard', async () => {
    const id = await answered('lakes');
    expect((await runOf(id)).passes).toEqual({ 'research/look': 2, write: 2 });
    for (const colorScheme of SCHEMES) {
      const page = await browser.open(`#/runs/${id}`, { colorScheme });
      const opens = page.getByRole('button', { name: 'Open Research: 2 nodes, 2 passes' });
      await opens.focus();
      await page.keyboard.press('Enter');
      const focused = (): Promise<string | null | undefined> => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
      await expect.poll(focused).toBe('Close Research');
      const look = page.locator('button[data-node="research/look"]');
      await expect.poll(() => look.getAttribute('aria-label')).toMatch(/^Look, complete, 3 visits/);
      await expect.poll(() => page.locator('.svelte-flow').getByText(/^research\/look/).textContent()).toBe('research/look');
      await page.locator('.svelte-flow').getByRole('button', { name: /research\/look/ }).filter({ hasText: '2/10' }).waitFor();
      await shot(page, `others-inside-${colorScheme}`);
      await look.press('Enter');
      await page.getByRole('heading', { name: 'Look visit 3' }).waitFor();
      await page.getByRole('button', { name: 'Close Research' }).press('Enter');
      await opens.waitFor();
      await expect.poll(focused).toMatch(/^Open Research/);
      await page.getByTestId('timeline-area').getByRole('option', { name: /^› Look/ }).first().waitFor();
    }
  });

  it('tells what a Send gave each worker', async () => {
    const id = await answered('ponds');
    const page = await browser.open(`#/runs/${id}`);
    await page.locator('button[data-node="work"]').click();
    const workers = page.getByTestId('timeline-area').getByRole('option', { name: /^Work, visit/ });
    await expect.poll(() => workers.count()).toBe(6);
    const sent = page.getByRole('region', { name: 'What it was sent' });
    for (const at of [1, 4]) {
      await page.getByTestId('timeline-area').getByRole('option', { name: `Work, visit ${at},` }).click();
      await sent.getByText(`section ${at - 1}`).waitFor();
    }
  });

  it('is started by a form of its input, streams what its model says, and its question is answered in the inbox', async () => {
    const page = await browser.open('#/workflows/desk');
    const fields = async (): Promise<string[]> => (await page.locator('main form label').allTextContents()).map((each) => each.replace(/optional/, '').trim());
    await expect.poll(fields).toEqual(['Topic', 'Size']);
    await page.getByLabel('Topic').fill('rivers');
    await page.getByRole('textbox', { name: 'Size' }).fill('1000000');
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.locator('article .prose').getByText('All that is known of rivers').waitFor();
    await page.goto(`${browser.url()}/#/inbox`);
    const question = page.getByRole('region', { name: 'Question of ask' }).filter({ hasText: 'rivers' });
    await question.getByLabel('Publish it').press('Space');
    await page.keyboard.press('Control+Enter');
    await question.waitFor({ state: 'detached' });
    const { runs } = await api<{ runs: Run[] }>(browser.url(), '/runs?workflow=desk&text=rivers');
    await is(runs[0]?.id ?? '', 'finished');
    expect((await runOf(runs[0]?.id ?? '')).path).toContain('publish');
  });

  it('shows what each pass gained, and goes on without one as the graph itself would have', async () => {
    const id = await answered('seas');
    const page = await browser.open(`#/runs/${id}`);
    const loop = page.getByRole('region', { name: 'Loop write' });
    await loop.getByRole('img', { name: 'score: 0.5 after 0 passes, 0.7 after 1 pass, 0.9 after 2 passes' }).waitFor();
    expect(await loop.getByText('gained +0.2 score').count()).toBe(2);
    await page.getByRole('region', { name: 'Loop research/look' }).getByText(/No gain can be drawn.*the state inside a node is not kept/).waitFor();
    await shot(page, 'others-gain');
    await loop.locator('[data-pass]').nth(1).getByRole('button', { name: 'Stop here instead' }).click();
    await page.waitForURL((url) => !url.hash.includes(id));
    const other = new URL(page.url()).hash.replace('#/runs/', '');
    await is(other, 'waiting');
    const { path, passes } = await runOf(other);
    expect(path).toEqual(['ballast', 'ask']);
    // The fork's own passes; that of the other run stands before it.
    expect(passes.write).toBe(0);
    await api(browser.url(), `/runs/${other}/resume`, { answer: { ok: true } });
    await is(other, 'finished');
    expect((await runOf(other)).quality).toBeCloseTo(0.7);
  });

  it('of 300 passes is shown and walked through', async () => {
    const { id } = await ranOnce(browser.url(), 'laps', { rounds: 300 });
    const page = await browser.open(`#/runs/${id}`);
    await expect.poll(() => page.locator('[data-pass]').count()).toBe(299);
    await page.locator('main header').getByText('299', { exact: true }).waitFor();
  }, 180_000);

  it('has its events searched, sorted and read in full, by the keyboard too', async () => {
    const id = await answered('bays');
    const page = await browser.open(`#/runs/${id}`);
    await page.getByRole('tab', { name: 'Events' }).click();
    await page.getByRole('combobox', { name: 'Type' }).selectOption('loop');
    await page.getByRole('status').getByText(/^4 of \d+ events$/).waitFor();
    await page.getByRole('combobox', { name: 'Type' }).selectOption('');
    await page.getByRole('searchbox', { name: 'Search in events' }).fill('section 3');
    await page.getByRole('button', { name: 'node', exact: true }).click();
    await expect.poll(() => page.getByRole('columnheader', { name: /^node/ }).getAttribute('aria-sort')).toBe('ascending');
    const events = page.getByRole('region', { name: 'Events', exact: true });
    await events.focus();
    await page.keyboard.press('ArrowDown');
    const whole = page.getByRole('region', { name: /^Event \d+/ });
    await whole.waitFor();
    const seq = (await whole.getAttribute('aria-label'))?.replace('Event ', '');
    await expect.poll(() => page.getByRole('slider', { name: 'Event' }).inputValue()).toBe(seq);
    await shot(page, 'others-events');
  });
});

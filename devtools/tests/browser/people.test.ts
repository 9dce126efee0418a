/** A run that asks a person: the question where it is seen, and the ways to answer it. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { api, SCHEMES, shot, useBrowser } from './harness';

const browser = useBrowser();

interface Run {
  id: string;
  status: string;
  outcome: { answer: string } | null;
}

/** Start a run and wait until it asks. */
async function asking(parcel: string): Promise<string> {
  const { id } = await api<Run>(browser.url(), '/runs', { workflow: 'permit', input: { parcel } });
  await is(id, 'waiting');
  return id;
}
const is = (id: string, status: string): Promise<void> =>
  expect.poll(async () => (await api<Run>(browser.url(), `/runs/${id}`)).status, { timeout: 20_000 }).toBe(status) as Promise<void>;
const label = (page: Page, node: string): Promise<string | null> => page.locator(`button[data-node="${node}"]`).getAttribute('aria-label');
const question = (page: Page, node: string) => page.getByRole('region', { name: `Question of ${node}` });

describe('a run that asks a person', () => {
  it('shows the question and what belongs to it, is answered by a button and by a form, and says how long it waited', async () => {
    for (const colorScheme of SCHEMES) {
      const id = await asking('a piano');
      const page = await browser.open(`#/runs/${id}`, { colorScheme });
      const ask = question(page, 'ask');
      await ask.getByText('May I send a piano?').waitFor();
      expect(await ask.locator('strong').textContent()).toBe('send');
      await ask.getByText('12.5').waitFor();
      expect(await label(page, 'ask')).toMatch(/waits for you/);
      // Nothing is pressed but the button that has the focus.
      await expect.poll(() => page.evaluate(() => document.activeElement?.textContent?.trim())).toBe('yes');
      await shot(page, `people-buttons-${colorScheme}`);
      await page.keyboard.press('Enter');

      const where = question(page, 'locate');
      await where.getByText('Where does it go?').waitFor();
      expect(await label(page, 'ask')).toMatch(/complete, 1 visit/);
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

  it('stands in the inbox of every page until somebody answers there', async () => {
    const [one, two] = [await asking('a harp'), await asking('a drum')];
    const page = await browser.open('#/runs');
    const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /^Waiting/ });
    await expect.poll(() => link.textContent()).toMatch(/2/);
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await page.getByRole('heading', { name: 'Waiting for you' }).waitFor();
    const harp = page.getByRole('listitem').filter({ hasText: 'May I send a harp?' });
    await shot(page, 'people-inbox-light');
    await harp.getByRole('button', { name: 'no', exact: true }).click();
    await harp.waitFor({ state: 'detached' });
    await is(one, 'finished');
    await page.getByRole('listitem').filter({ hasText: 'May I send a drum?' }).getByRole('button', { name: 'no', exact: true }).click();
    await page.getByText('Nothing waits').waitFor();
    await is(two, 'finished');
  });
});

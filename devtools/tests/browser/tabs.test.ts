/** Several tabs show one run; an address names an event of it. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { api, ranOnce, useBrowser } from './harness';

const browser = useBrowser();
/** What may pass until another tab shows it, in milliseconds. */
const SOON = 2000;

const status = (page: Page, word: string) => page.locator('main header').getByText(word, { exact: true });
const slider = (page: Page) => page.getByRole('slider', { name: 'Event' });
const at = (page: Page): Promise<string> => slider(page).inputValue();

describe('a second tab', () => {
  it('follows what is done to the run in the first one', async () => {
    const { id } = await api<{ id: string }>(browser.url(), '/runs', { workflow: 'essay', input: { topic: 'tides, held at the draft' } });
    const [here, there] = [await browser.open(`#/runs/${id}`), await browser.open(`#/runs/${id}`)];
    for (const page of [here, there]) await status(page, 'Running').waitFor();
    await here.getByRole('button', { name: 'Cancel', exact: true }).click();
    await status(here, 'Stopped').waitFor();
    await status(there, 'Stopped').waitFor({ timeout: SOON });
    await here.getByRole('button', { name: 'Resume' }).click();
    await status(here, 'Running').waitFor();
    await status(there, 'Running').waitFor({ timeout: SOON });
    browser.server().goOn();
    for (const page of [here, there]) await status(page, 'Finished').waitFor();
    expect(await slider(there).getAttribute('max')).toBe(await slider(here).getAttribute('max'));
  });

  it('follows an answer that was given in the first one', async () => {
    const { id } = await ranOnce(browser.url(), 'permit', { parcel: 'a kite' });
    const [here, there] = [await browser.open(`#/runs/${id}`), await browser.open(`#/runs/${id}`)];
    for (const page of [here, there]) await page.getByRole('button', { name: 'no', exact: true }).waitFor();
    await here.getByRole('button', { name: 'no', exact: true }).click();
    await status(here, 'Finished').waitFor();
    await status(there, 'Finished').waitFor({ timeout: SOON });
    await there.getByRole('button', { name: 'no', exact: true }).waitFor({ state: 'detached' });
  });
});

describe('an address', () => {
  it('of an event leads there on the page that is open, and Back leads back', async () => {
    const { id } = await ranOnce(browser.url(), 'essay', { topic: 'clouds' });
    const page = await browser.open(`#/runs/${id}`);
    await expect.poll(() => slider(page).getAttribute('max')).toBe('25');
    for (const seq of [7, 12]) {
      await page.evaluate((hash) => void (location.hash = hash), `#/runs/${id}?seq=${seq}`);
      await expect.poll(() => at(page)).toBe(String(seq));
    }
    await page.goBack();
    await expect.poll(() => at(page)).toBe('7');
    await page.goBack();
    await expect.poll(() => at(page)).toBe('25');
    await page.goForward();
    await expect.poll(() => at(page)).toBe('7');
    await page.getByRole('link', { name: /^event 7 of 25/ }).waitFor();
  });

  it('gives the tab a title that names the run', async () => {
    const { id } = await ranOnce(browser.url(), 'essay', { topic: 'clouds' });
    const page = await browser.open(`#/runs/${id}`);
    await expect.poll(() => page.title()).toBe('clouds · Finished · Loopwright');
    await page.goto(`${browser.url()}/#/workflows/essay`);
    await expect.poll(() => page.title()).toBe('Essay · Loopwright');
  });
});

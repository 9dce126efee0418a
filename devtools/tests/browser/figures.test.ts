/** One truth: what stands in the header, on the arrows and in the boxes of loops is what the ledger says at the event shown. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { api, ranOnce, useBrowser } from './harness';

const browser = useBrowser();

interface Checkpoint {
  checkpoint_id: string;
  next: string[];
}

const figure = (page: Page, name: string): Promise<string | null> => page.locator(`main header dt:text-is("${name}") + dd`).textContent();
const label = (page: Page, node: string): Promise<string | null> => page.locator(`button[data-node="${node}"]`).getAttribute('aria-label');
const arrow = (page: Page, loop: string) => page.locator('.svelte-flow').getByText(new RegExp(`^${loop}\\s*\\d`));

describe('the figures of a run', () => {
  it('are those of the event that is shown', async () => {
    const { id } = await ranOnce(browser.url(), 'essay', { topic: 'bees' });
    const page = await browser.open(`#/runs/${id}`);
    await expect.poll(() => figure(page, 'passes')).toBe('1');
    await expect.poll(() => arrow(page, 'improve').textContent()).toMatch(/1\/1$/);
    await page.getByRole('slider', { name: 'Event' }).focus();
    await page.keyboard.press('Home');
    await expect.poll(() => figure(page, 'passes')).toBe('0');
    await expect.poll(() => arrow(page, 'improve').textContent()).toMatch(/0\/1$/);
    expect(await figure(page, 'time')).toBe('0 ms');
    await page.locator('main header').getByText('Running', { exact: true }).waitFor();
    expect(await page.locator('main header').getByText(/exhausted/).count()).toBe(0);
    await page.keyboard.press('End');
    await page.locator('main header').getByText(/improve exhausted/).waitFor();
  });

  it('of a fork go on where the other run stood', async () => {
    const { id } = await ranOnce(browser.url(), 'essay', { topic: 'wasps' });
    const checkpoints = await api<Checkpoint[]>(browser.url(), `/runs/${id}/checkpoints`);
    const again = checkpoints.filter(({ next }) => next.includes('write')).at(-1);
    const fork = await api<{ id: string }>(browser.url(), `/runs/${id}/fork`, { checkpoint_id: again?.checkpoint_id });
    await expect.poll(async () => (await api<{ status: string }>(browser.url(), `/runs/${fork.id}`)).status).toBe('finished');
    const page = await browser.open(`#/runs/${fork.id}`);
    await expect.poll(() => label(page, 'outline')).toMatch(/before the fork/);
    await expect.poll(() => arrow(page, 'improve').textContent()).toMatch(/1\/1$/);
    expect(await figure(page, 'passes')).toBe('0');
    await page.getByText('1 of 1 pass, 0 in this run').waitFor();
    // At its first event, before its own gate decided anything.
    await page.getByRole('slider', { name: 'Event' }).focus();
    await page.keyboard.press('Home');
    await expect.poll(() => arrow(page, 'improve').textContent()).toMatch(/1\/1$/);
    await expect.poll(() => label(page, 'grade')).toMatch(/before the fork/);
  });
});

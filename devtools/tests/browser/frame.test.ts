import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { useBrowser } from './harness';

const TOKEN = 'a-token-for-the-tests-of-the-page-0123456789';
const DEMO = 'demo-assistant-thought-over-twice';
const browser = useBrowser({ token: TOKEN });

/** Open a page and give the token. */
async function signedIn(more: BrowserContextOptions = {}): Promise<Page> {
  browser.expected.push(/status of 401/);
  const page = await browser.open('#/runs', more);
  await page.getByRole('textbox', { name: 'Token' }).fill(TOKEN);
  await page.keyboard.press('Enter');
  await page.getByRole('table').waitFor();
  return page;
}

describe('the frame of all pages', () => {
  it('asks for the token once, says that a wrong one is wrong, and keeps it for the tab', async () => {
    browser.expected.push(/status of 401/);
    const page = await browser.open();
    const dialog = page.getByRole('dialog', { name: 'This server wants a token' });
    await dialog.waitFor();
    await dialog.getByRole('textbox', { name: 'Token' }).fill('wrong');
    await page.keyboard.press('Enter');
    await dialog.getByText('The server did not take that token.').waitFor();
    await page.keyboard.press('Escape');
    expect(await dialog.isVisible()).toBe(true);
    await dialog.getByRole('textbox', { name: 'Token' }).fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('table').waitFor();
    await page.reload();
    await page.getByRole('table').waitFor();
    expect(await dialog.isVisible()).toBe(false);
  });

  it('shows the keyboard shortcuts, and goes where they say', async () => {
    const page = await signedIn();
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await dialog.getByText('Go to Prompts').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    for (const [key, title] of [['w', 'Workflows'], ['m', 'Models'], ['p', 'Prompts']] as const) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.getByRole('heading', { name: title, level: 1 }).waitFor({ state: 'attached' });
      expect(await page.title()).toContain(title);
    }
  });

  it('is light or dark as the system has it, until somebody chooses', async () => {
    const page = await signedIn({ colorScheme: 'dark' });
    const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(ground).not.toBe(dark);
    const light = await ground();
    await page.getByRole('button', { name: 'Theme: system' }).click();
    await page.getByRole('button', { name: 'Theme: light' }).click();
    await expect.poll(ground).toBe(dark);
    await page.reload();
    await expect.poll(ground).toBe(dark);
    expect(light).not.toBe(dark);
  });

  it('says that a page does not exist', async () => {
    browser.expected.push(/status of 401/);
    const page = await browser.open('#/nowhere');
    await page.getByText('There is no page nowhere').waitFor({ state: 'attached' });
  });
});

describe('a page that fails', () => {
  it('says so and why, and the others go on', async () => {
    browser.expected.push(/status of 4\d\d/, /of null/);
    const page = await signedIn();
    await page.route(/\/workflows\/[^/]+\/report/, (route) => route.fulfill({ json: { runs: 1, loops: [null] } }));
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await page.getByRole('heading', { name: 'This page cannot be shown', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('table').waitFor();
    // A run that is not there is a page with a heading, too.
    await page.goto(`${browser.url()}/#/runs/nowhere`);
    await page.getByRole('heading', { name: 'This run cannot be shown', level: 1 }).waitFor();
    // A part of a run that fails leaves the others, also where the address names it.
    await page.route(/\/graph$/, async (route) => {
      const graph = (await (await route.fetch()).json()) as { certificate: object };
      await route.fulfill({ json: { ...graph, certificate: { ...graph.certificate, assumptions: null } } });
    });
    await page.goto(`${browser.url()}/#/runs/${DEMO}?tab=certificate`);
    await page.getByText('This part of the run cannot be shown').waitFor();
    await page.getByRole('tab', { name: 'Events' }).click();
    await page.getByText('This part of the run cannot be shown').waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: 'Passes' }).click();
    await page.locator('[data-pass]').first().waitFor();
  });
});

describe('a server that goes away', () => {
  it('is missed at once, and the page goes on when it is back', async () => {
    browser.expected.push(/ERR_|Failed to load/);
    const page = await signedIn();
    await browser.server().kill();
    const banner = page.getByRole('alert').filter({ hasText: 'The server cannot be reached' });
    await banner.waitFor();
    await page.getByRole('table').waitFor();
    // A page that was not opened before is there as soon as the server is.
    await page.getByRole('link', { name: 'Models' }).click();
    await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor();
    await browser.server().again();
    await banner.waitFor({ state: 'detached', timeout: 30_000 });
    await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor();
  });
});

import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { useBrowser } from './harness';

const TOKEN = 'a-token-for-the-tests-of-the-page-0123456789';
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

describe('a server that goes away', () => {
  it('is missed at once, and the page goes on when it is back', async () => {
    browser.expected.push(/ERR_|Failed to load/);
    const page = await signedIn();
    await browser.server().kill();
    const banner = page.getByRole('alert').filter({ hasText: 'The server cannot be reached' });
    await banner.waitFor();
    await page.getByRole('table').waitFor();
    await browser.server().again();
    await banner.waitFor({ state: 'detached', timeout: 30_000 });
  });
});

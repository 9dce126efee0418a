import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { api, ranOnce, shot, startServer, useBrowser } from './harness';

const browser = useBrowser({ all: true });
const STATIC = join(import.meta.dirname, '../../../src/loopwright/server/static');
const MOST_BYTES = 400_000;
const PLACES = ['runs', 'workflows', 'workflows/rag', 'workflows/assistant?run=demo-assistant-answered-at-once', 'compare', 'prompts', 'models', 'loops'];

interface Found {
  runs: { id: string; title: string }[];
  total: number;
}

const titles = (page: Page): Promise<string[]> => page.locator('[data-open]').allTextContents();

/** A page of the browser on a server that nobody used yet. */
async function onNewServer(test: (page: Page, server: Awaited<ReturnType<typeof startServer>>) => Promise<void>, hash: string): Promise<void> {
  const server = await startServer();
  try {
    const page = await browser.open('#/models');
    await page.goto(`${server.url}/${hash}`);
    await test(page, server);
  } finally {
    await server.close();
  }
}

describe('a first visit', () => {
  it('is told how to begin where nothing has run', async () => {
    await onNewServer(async (page, server) => {
      const { runs } = await api<{ runs: { id: string }[] }>(server.url, '/runs');
      for (const run of runs) await fetch(`${server.url}/runs/${run.id}`, { method: 'DELETE' });
      await page.getByText('No runs yet').waitFor();
      await shot(page, 'first-visit-light');
      await page.getByRole('link', { name: 'Essay' }).last().click();
      await page.getByRole('form', { name: 'Run Essay' }).waitFor();
      await page.close(); // before its server
    }, '#/runs');
  });
});

describe('a long history', () => {
  const MANY = 56;
  beforeAll(async () => {
    for (let at = 0; at < MANY; at += 8) {
      await Promise.all(Array.from({ length: 8 }, (_, index) => ranOnce(browser.url(), 'parrot', { message: `parrot number ${at + index}` })));
    }
    await ranOnce(browser.url(), 'parrot', { message: 'ห้องประชุมใหญ่อยู่ที่ไหน' });
    await ranOnce(browser.url(), 'parrot', { message: '周日上午有关于园艺的讲座吗？' });
  });

  it('is shown in parts of fifty, each run once', async () => {
    const page = await browser.open('#/runs?workflow=parrot');
    await page.getByText(`${MANY + 2} runs`).waitFor();
    const first = await titles(page);
    expect(first.length).toBe(50);
    await page.getByRole('button', { name: 'Older' }).click();
    await expect.poll(async () => (await titles(page)).length).toBe(MANY + 2 - 50);
    const second = await titles(page);
    expect(new Set([...first, ...second]).size).toBe(MANY + 2);
    expect(await page.getByRole('button', { name: 'Older' }).isDisabled()).toBe(true);
    await shot(page, 'history-older-light');
    await page.getByRole('button', { name: 'Newer' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => titles(page)).toEqual(first);
  });

  it('is searched in Thai and in Chinese, also by a part of a text without spaces', async () => {
    const page = await browser.open();
    for (const [words, title] of [['ประชุม', 'ห้องประชุมใหญ่อยู่ที่ไหน'], ['园艺', '周日上午有关于园艺的讲座吗？']] as const) {
      await page.getByRole('searchbox').fill(words);
      await expect.poll(() => titles(page), { timeout: 15_000 }).toEqual([title]);
    }
    await shot(page, 'history-chinese-light');
    const found = await api<Found>(browser.url(), `/runs?text=${encodeURIComponent('园艺')}`);
    expect(found.total).toBe(1);
  });

  it('forgets a run, by the keyboard alone', async () => {
    await ranOnce(browser.url(), 'parrot', { message: 'a wandering albatross' });
    const page = await browser.open('#/runs?text=albatross', { colorScheme: 'dark' });
    const row = page.getByRole('row', { name: /albatross/ });
    await row.getByRole('link').focus();
    await row.getByRole('button', { name: 'Delete' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Delete this run?' });
    await dialog.waitFor();
    await shot(page, 'delete-dark');
    await dialog.getByRole('button', { name: 'Delete' }).press('Enter');
    await page.getByText('No run fits this search').waitFor();
  });
});

describe('a server that comes back', () => {
  it('is asked again for the prompts, and a draft stays', async () => {
    browser.expected.push(/ERR_|Failed to load/);
    await onNewServer(async (page, server) => {
      const editor = page.getByRole('textbox', { name: 'Text of reflect_and_replan' });
      await editor.click();
      await page.keyboard.press('Control+End');
      await page.keyboard.insertText(' My own words.');
      await page.getByText('draft', { exact: true }).waitFor();
      await server.kill();
      await page.getByRole('link', { name: /^evaluate/ }).click();
      await page.getByRole('alert').filter({ hasText: 'The server cannot be reached' }).waitFor();
      await expect.poll(() => page.getByRole('heading', { name: 'evaluate' }).count()).toBe(0);
      await server.again();
      await page.getByRole('heading', { name: 'evaluate' }).waitFor({ timeout: 40_000 });
      await page.getByRole('link', { name: /^reflect_and_replan/ }).click();
      await page.locator('.cm-line', { hasText: 'My own words.' }).waitFor();
    }, '#/prompts/assistant?prompt=reflect_and_replan');
  });
});

const CONTROLS = 'a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary';

/** Wait until what is loaded has come: controls that come later would be missed by whoever went past their place. */
async function settled(page: Page): Promise<void> {
  const shown = (): Promise<number> => page.evaluate((controls) => document.querySelectorAll(controls).length, CONTROLS);
  for (let before = -1, now = await shown(), same = 0; same < 4; [before, now] = [now, await shown()]) {
    same = now === before ? same + 1 : 0;
    await page.waitForTimeout(200);
  }
}

/** What the keyboard's way through a page came by, and what it missed or could not be seen or named. */
async function walk(page: Page): Promise<{ missed: string[]; unseen: string[]; unnamed: string[]; count: number }> {
  await page.evaluate((wantedControls) => {
    const shown = (element: HTMLElement): boolean => element.checkVisibility() && element.tabIndex >= 0 && !element.closest('[inert]');
    const controls = [...document.querySelectorAll<HTMLElement>(wantedControls)];
    // A group of radio buttons is one stop, and so is what only leads past the navigation.
    const wanted = controls.filter((element) => shown(element) && !(element instanceof HTMLInputElement && element.type === 'radio'));
    wanted.forEach((element) => (element.dataset.wanted = ''));
    (document.activeElement as HTMLElement | null)?.blur();
  }, CONTROLS);
  const unseen: string[] = [];
  const unnamed: string[] = [];
  let count = 0;
  for (; count < 300; count += 1) {
    await page.keyboard.press('Tab');
    const here = await page.evaluate(async () => {
      const element = document.activeElement as HTMLElement | null;
      if (!element || element === document.body) return null;
      // A field for a date is one control with a stop for each of its parts.
      if (element.dataset.here !== undefined) return 'again';
      if (element.dataset.visited !== undefined) return null;
      document.querySelector<HTMLElement>('[data-here]')?.removeAttribute('data-here');
      element.dataset.visited = element.dataset.here = '';
      const ringed = (one: Element | null | undefined): boolean => {
        if (!one) return false;
        const style = getComputedStyle(one);
        return (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
      };
      const marked = (): boolean => [element, element.parentElement, element.querySelector('*'), element.closest('.cm-editor')].some(ringed);
      // The editor notices its focus a moment later.
      for (let waits = 0; waits < 20 && !marked(); waits += 1) await new Promise((resolve) => setTimeout(resolve, 25));
      const box = element.getBoundingClientRect();
      const labels = element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement ? [...(element.labels ?? [])] : [];
      const name = [element.getAttribute('aria-label'), element.getAttribute('aria-labelledby'), ...labels.map((label) => label.textContent), element.textContent, element.title];
      return {
        what: element.outerHTML.slice(0, 160),
        seen: marked() && box.bottom > 0 && box.top < innerHeight && box.width > 0,
        named: name.some((one) => one?.trim()),
      };
    });
    if (here === 'again') continue;
    if (!here) break;
    if (!here.seen) unseen.push(here.what);
    if (!here.named) unnamed.push(here.what);
  }
  const missed = await page.evaluate(() => [...document.querySelectorAll('[data-wanted]:not([data-visited])')].map((element) => element.outerHTML.slice(0, 160)));
  return { missed, unseen, unnamed, count };
}

describe('the page as a whole', () => {
  it('is walked through with Tab, each control with a name and a focus that is seen', async () => {
    for (const place of PLACES) {
      const page = await browser.open(`#/${place}`, { colorScheme: 'dark' });
      await page.locator('main :is(h1, table)').first().waitFor({ state: 'attached' });
      await settled(page);
      const { missed, unseen, unnamed, count } = await walk(page);
      expect(missed.join('\n'), `${place}: missed`).toBe('');
      expect(unseen.join('\n'), `${place}: not seen`).toBe('');
      expect(unnamed.join('\n'), `${place}: without a name`).toBe('');
      expect(count, place).toBeGreaterThan(8);
      await page.context().close();
    }
  });

  it('has landmarks, one main heading, and no id twice', async () => {
    for (const place of PLACES) {
      const page = await browser.open(`#/${place}`);
      await page.locator('main h1').first().waitFor({ state: 'attached' });
      expect(await page.getByRole('main').count(), place).toBe(1);
      expect(await page.getByRole('navigation', { name: 'Pages' }).count(), place).toBe(1);
      expect(await page.getByRole('heading', { level: 1 }).count(), place).toBe(1);
      expect(await page.evaluate(() => document.documentElement.lang), place).not.toBe('');
      const twice = await page.evaluate(() => {
        const all = [...document.querySelectorAll('[id]')].map((element) => element.id);
        return all.filter((id, index) => all.indexOf(id) !== index);
      });
      expect(twice, place).toEqual([]);
      await page.context().close();
    }
  });

  it('scrolls sideways nowhere at 1280 x 800', async () => {
    const page = await browser.open('#/models');
    for (const place of PLACES) {
      await page.goto(`${browser.url()}/#/${place}`);
      await page.locator('main h1').first().waitFor({ state: 'attached' });
      await page.waitForTimeout(300);
      const wide = await page.evaluate(() => {
        const main = document.querySelector('main') as HTMLElement;
        return [document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth];
      });
      expect(wide, place).toEqual([0, 0]);
    }
  });

  it('keeps still for those who want no motion', async () => {
    const page = await browser.open('#/workflows/parrot', { reducedMotion: 'reduce' });
    await page.getByRole('textbox', { name: 'Message' }).fill(`slowly ${'word '.repeat(40)}`);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const pulse = page.locator('.animate-pulse').first();
    await pulse.waitFor();
    const [duration, count] = await pulse.evaluate((element) => {
      const style = getComputedStyle(element);
      return [parseFloat(style.animationDuration), style.animationIterationCount];
    });
    expect(duration).toBeLessThan(0.001);
    expect(count).toBe('1');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped', { exact: true }).waitFor();
  });

  it('is small: all its files together, compressed', async () => {
    const sizes = readdirSync(STATIC, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => gzipSync(readFileSync(join(entry.parentPath, entry.name))).length);
    expect(sizes.length).toBeGreaterThan(5);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_BYTES);
  });
});

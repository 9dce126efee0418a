/** The report of image quality: a file that is opened from the disk, offline. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { ARGUMENTS, CHROMIUM, PYTHON, SCRIPTS, shot } from './harness';

// The rows of tests/browser/write_report.py, worst first; beside them one of hostile texts, and one that failed.
const WORST_FIRST = ['photo 10.png', 'photo 9.png', 'hostile', 'photo 2.png', 'Ärger.png', 'harbour.png', 'caf\\udce9.png'];

let folder: string;
let browser: Browser;
const wrong: string[] = [];

async function open(file: string, more: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, offline: true, ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.on('console', (message) => wrong.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('dialog', (dialog) => wrong.push(dialog.message()));
  page.on('request', (request) => {
    if (!/^(file|data):/.test(request.url())) wrong.push(request.url());
  });
  await page.goto(pathToFileURL(join(folder, file)).href);
  return page;
}

/** The names of the rows that are to be seen, from top to bottom. */
const names = (page: Page): Promise<string[]> =>
  page.$$eval('article', (articles) =>
    articles
      .filter((article) => (article as HTMLElement).offsetHeight > 0)
      .map((article) => article.querySelector('h2 bdi')?.textContent ?? '')
      .map((name) => (name.includes('<script>') ? 'hostile' : name)),
  );

/** Texts whose contrast with what lies behind them is below 4.5, WCAG 2.2. */
const pale = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const channels = (colour: string): number[] => (colour.match(/[\d.]+/g) ?? []).map(Number);
    const luminance = (colour: string): number => {
      const [red, green, blue] = channels(colour).map((value) => (value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
    };
    const ground = (element: Element | null): string => {
      if (!element) return 'rgb(255, 255, 255)';
      const colour = getComputedStyle(element).backgroundColor;
      return channels(colour)[3] === 0 ? ground(element.parentElement) : colour;
    };
    return [...document.querySelectorAll('body *')]
      .filter((element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim()))
      .filter((element) => element.checkVisibility())
      .flatMap((element) => {
        const [low, high] = [luminance(getComputedStyle(element).color), luminance(ground(element))].sort((a, b) => a - b) as [number, number];
        const ratio = (high + 0.05) / (low + 0.05);
        return ratio < 4.5 ? [`${element.tagName} ${element.textContent?.slice(0, 30)}: ${ratio.toFixed(2)}`] : [];
      });
  });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'report-'));
  execFileSync(PYTHON, [join(SCRIPTS, 'write_report.py'), folder]);
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
});
afterEach(async () => {
  await Promise.all(browser.contexts().map((context) => context.close()));
  expect(wrong.splice(0)).toEqual([]);
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the report', () => {
  it('runs no text of a file name, a question or a model', async () => {
    const page = await open('large.html');
    expect(await page.evaluate(() => '__ran' in window)).toBe(false);
    await expect.poll(() => page.locator('article').count()).toBe(14);
    expect(await page.locator('.counts dd').first().innerText()).toBe('100,000');
  });

  it('shows every picture and map', async () => {
    const page = await open('small.html');
    const widths = await page.$$eval('article img:not(.ramp)', (images) => images.map((image) => (image as HTMLImageElement).naturalWidth));
    expect(widths).toEqual(Array(7).fill(320));
    await expect.poll(() => page.locator('figure.map').count()).toBe(1);
  });

  it('shows the worst first, also on paper', async () => {
    const page = await open('small.html');
    expect(await names(page)).toEqual(WORST_FIRST);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    await expect.poll(() => page.locator('article:visible').count()).toBe(7);
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe('rgb(255, 255, 255)');
  });

  it('is reached by keyboard', async () => {
    const page = await open('small.html');
    const reached: string[] = [];
    for (let step = 0; step < 10; step += 1) {
      await page.keyboard.press('Tab');
      reached.push(await page.evaluate(() => {
        const focused = document.activeElement as HTMLElement;
        const seen = focused.matches(':focus-visible') && getComputedStyle(focused).outlineStyle !== 'none';
        return seen ? focused.id || focused.tagName : `unseen ${focused.tagName}`;
      }));
    }
    expect(reached.slice(0, 2)).toEqual(['DIV', 'SUMMARY']);
    expect(reached.filter((name) => name.startsWith('unseen'))).toEqual([]);
  });

  it.each([
    ['light', 400],
    ['light', 1600],
    ['dark', 400],
    ['dark', 1600],
  ] as const)('can be read in the %s scheme at %i pixels', async (colorScheme, width) => {
    for (const file of ['small', 'large']) {
      const page = await open(`${file}.html`, { colorScheme, viewport: { width, height: 900 } });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      expect(await pale(page)).toEqual([]);
      await shot(page, `report-${file}-${colorScheme}-${width}`);
    }
  });
});

/** What a screen reader and the keyboard meet: axe finds nothing on any view. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { PYTHON, ranOnce, SCRIPTS, useBrowser } from './harness';

const browser = useBrowser();
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const DEMO = 'demo-assistant-thought-over-twice';

interface Finding {
  id: string;
  nodes: { html: string }[];
}

/** What axe finds, each as its rule and the element. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: (options: unknown) => Promise<{ violations: Finding[] }> } };
    return (await axe.run({ rules: { 'label-content-name-mismatch': { enabled: true } } })).violations;
  });
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}

describe('axe', () => {
  it('finds nothing on any view, light and dark, wide and narrow', async () => {
    const { id } = await ranOnce(browser.url(), 'permit', { parcel: 'a piano' });
    const desk = await ranOnce(browser.url(), 'desk', { topic: 'bays' });
    const [c, d] = [await ranOnce(browser.url(), 'laps', { rounds: 20 }), await ranOnce(browser.url(), 'laps', { rounds: 4 })];
    const [a, b] = [await ranOnce(browser.url(), 'essay', { topic: 'bees' }), await ranOnce(browser.url(), 'essay', { topic: 'bees' })];
    const views = [
      '#/runs', `#/runs/${DEMO}`, `#/runs/${id}`, '#/inbox', '#/workflows', '#/workflows/assistant', `#/compare?a=${a.id}&b=${b.id}`,
      `#/compare?a=${c.id}&b=${d.id}`,
      `#/runs/${desk.id}`, '#/prompts/assistant', '#/models/assistant', '#/loops/essay', '#/scores/essay', '#/nowhere',
    ];
    await fetch(`${browser.url()}/runs/${a.id}/tags`, { method: 'PUT', body: '{"tags": ["baseline"]}', headers: { 'Content-Type': 'application/json' } });
    execFileSync(PYTHON, [join(SCRIPTS, 'keep_evaluations.py'), browser.server().data], { stdio: 'pipe' });
    for (const [colorScheme, width] of [['light', 1280], ['dark', 390]] as const) {
      const page = await browser.open('#/runs', { colorScheme, viewport: { width, height: 800 } });
      for (const hash of views) {
        await page.goto(`${browser.url()}/${hash}`);
        await page.locator('main :is(h1, h2, a)').first().waitFor();
        await page.waitForTimeout(300);
        const inside = page.getByRole('button', { name: /^Open Research/ });
        if (await inside.count()) await inside.click();
        expect.soft(await findings(page), `${hash} ${colorScheme} ${width}`).toEqual([]);
        for (const tab of hash === `#/runs/${DEMO}` || hash.includes(desk.id) ? await page.getByRole('tab').all() : []) {
          await tab.click();
          expect.soft(await findings(page), `${hash} ${await tab.textContent()} ${colorScheme} ${width}`).toEqual([]);
        }
      }
      await page.context().close();
    }
  }, 240_000);

  it('finds nothing in a visit’s inspector and in dialogs, and a dialog gives its field the focus', async () => {
    const { id } = await ranOnce(browser.url(), 'essay', { topic: 'bees' });
    const page = await browser.open(`#/runs/${id}`);
    await page.locator('button[data-node="grade"]').click();
    for (const tab of await page.getByRole('tablist', { name: 'Parts of the visit' }).getByRole('tab').all()) {
      await tab.click();
      expect.soft(await findings(page), `${await tab.textContent()}`).toEqual([]);
    }
    await page.getByRole('button', { name: 'Fork …' }).click();
    await page.getByRole('dialog').waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('SELECT');
    expect.soft(await findings(page), 'fork').toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    expect.soft(await findings(page), 'shortcuts').toEqual([]);
  });

  it('has every node within reach of the arrow keys', async () => {
    const page = await browser.open(`#/runs/${DEMO}`);
    await page.locator('button[data-node]').first().waitFor();
    const names = await page.locator('button[data-node]').evaluateAll((all) => all.map((each) => each.getAttribute('data-node') ?? ''));
    const reached = new Set<string>();
    const here = (): Promise<string> => page.evaluate(() => document.activeElement?.getAttribute('data-node') ?? '');
    const queue = [names[0] ?? ''];
    while (queue.length) {
      const from = queue.pop() ?? '';
      if (reached.has(from)) continue;
      reached.add(from);
      for (const key of ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']) {
        await page.locator(`button[data-node="${from}"]`).focus();
        await page.keyboard.press(key);
        queue.push(await here());
      }
    }
    expect([...reached].sort()).toEqual([...names].sort());
  });
});

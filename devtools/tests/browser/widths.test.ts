/** The page on a phone, on a small laptop and on a wide screen: nothing is wider than the window, and titles can be read. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { api, ranOnce, SCHEMES, shot, useBrowser } from './harness';

const browser = useBrowser();
const SIZES = { 390: 844, 820: 1180, 1024: 768, 1280: 800, 1440: 900 };
const DEMO = 'demo-assistant-thought-over-twice';

let views: Record<string, string> = {};
beforeAll(async () => {
  const long = { topic: 'a very long title about the history of letters that were never sent, and of those who waited for them' };
  const [a, b] = [await ranOnce(browser.url(), 'essay', long), await ranOnce(browser.url(), 'essay', { topic: 'ships' })];
  await api(browser.url(), `/runs/${a.id}/counterfactual`, { loop: 'improve', kept: 0 });
  const desk = await ranOnce(browser.url(), 'desk', { topic: 'a graph that nobody here wrote' });
  const { id } = await ranOnce(browser.url(), 'permit', { parcel: 'a piano' });
  views = {
    runs: '#/runs',
    run: `#/runs/${DEMO}`,
    long: `#/runs/${a.id}`,
    asks: `#/runs/${id}`,
    others: `#/runs/${desk.id}`,
    inbox: '#/inbox',
    workflows: '#/workflows',
    workflow: '#/workflows/assistant',
    compare: `#/compare?a=${a.id}&b=${b.id}`,
    prompts: '#/prompts/assistant',
    models: '#/models/assistant',
    loops: '#/loops/essay',
    scores: '#/scores/essay',
    missing: '#/nowhere',
  };
});

/** What stands beyond the window's right border, and cannot be scrolled to within something. */
const beyond = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const within = (element: Element | null): boolean => {
      for (let each = element?.parentElement; each; each = each.parentElement) {
        if (getComputedStyle(each).overflowX !== 'visible' && each.getBoundingClientRect().right <= innerWidth + 1) return true;
      }
      return false;
    };
    const seen = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility());
    const out = seen.filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && element.getBoundingClientRect().width > 1 && !within(element));
    const wide = document.scrollingElement?.scrollWidth ?? 0;
    const panes = [...document.querySelectorAll('main, main *:not(pre, code, [role=tablist], .cm-scroller, .svelte-flow *)')].filter(
      (each) => each.scrollWidth > each.clientWidth + 1 && ['auto', 'scroll'].includes(getComputedStyle(each).overflowX),
    );
    return [...out, ...panes].map((each) => `${each.tagName}.${String(each.getAttribute('class')).slice(0, 60)}`).concat(wide > innerWidth ? [`document ${wide}`] : []);
  });

/** Titles of which so little is seen that they tell nothing. */
const cut = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('h1, h2, h3, [data-open], [data-node] .truncate, dt, th')]
      .filter((each) => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1 && each.clientWidth < 90 && getComputedStyle(each).textOverflow === 'ellipsis')
      .map((each) => each.textContent ?? ''),
  );

describe('every view', () => {
  it('fits at each width, light and dark', { timeout: 400_000 }, async () => {
    for (const [width, height] of Object.entries(SIZES)) {
      for (const colorScheme of SCHEMES) {
        const page = await browser.open('#/runs', { viewport: { width: Number(width), height }, colorScheme });
        for (const [name, hash] of Object.entries(views)) {
          await page.goto(`${browser.url()}/${hash}`);
          await page.locator('main :is(h1, h2, a)').first().waitFor();
          await page.waitForTimeout(400);
          await shot(page, `width-${width}-${name}-${colorScheme}`);
          expect.soft(await beyond(page), `${name} at ${width}`).toEqual([]);
          expect.soft(await cut(page), `${name} at ${width}`).toEqual([]);
        }
        await page.context().close();
      }
    }
  });
});

import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { api, ranOnce, shot, useBrowser } from './harness';

const browser = useBrowser({ all: true });
/** Two runs of the demonstration: the loop of one found what the other did not. */
const DEMO = { whole: 'demo-assistant-thought-over-twice', without: 'demo-assistant-thought-over-twice-without' };
const TEXT = 'The harbour of Brindlemere was rebuilt in 1912 after the great flood. It opened in May.';

interface Counterfactual {
  id: string;
  status: string;
}

const section = (page: Page, heading: string) => page.locator('section', { has: page.getByRole('heading', { name: heading }) });

/** The same run again, without its loop. */
async function runWithout(loop: string, whole: string): Promise<string> {
  const { id } = await api<Counterfactual>(browser.url(), `/runs/${whole}/counterfactual`, { loop });
  await expect.poll(async () => (await api<Counterfactual>(browser.url(), `/runs/${id}`)).status, { timeout: 20_000 }).toBe('finished');
  return id;
}

describe('two runs side by side', () => {
  it('differ in path, plan, state, answer, citations and figures, and say whether the loop helped', async () => {
    const page = await browser.open(`#/compare?a=${DEMO.without}&b=${DEMO.whole}`, { colorScheme: 'dark' });
    const verdict = page.getByRole('region', { name: 'Verdict' });
    await verdict.getByRole('heading', { name: 'Did “reflect” help? yes' }).waitFor();
    await verdict.getByText(/With the loop reflect: \+2 passes, .*quality .*It helped\./).waitFor();
    await page.getByRole('region', { name: 'Run A' }).getByText('without “reflect”').waitFor();
    await page.getByRole('region', { name: 'Run B' }).getByText('better', { exact: true }).waitFor();

    for (const figure of ['quality', 'seconds', 'tokens', 'cost', 'model calls', '↻ reflect']) {
      const cells = page.getByRole('row', { name: new RegExp(`^${figure} `) }).getByRole('cell');
      for (const cell of [0, 1]) expect(await cells.nth(cell).textContent(), figure).toMatch(/\d/);
    }
    const path = section(page, 'Path');
    await path.getByText('Forked here: what stands above ran once, for both').waitFor();
    await path.getByRole('cell', { name: 'Reflect & Replan (visit 2)' }).waitFor();
    await section(page, 'Plan and queries').getByText('planned_queries').waitFor();
    const state = section(page, 'Final state');
    await state.getByRole('listitem').filter({ hasText: 'retry_count' }).getByText('2', { exact: true }).waitFor();
    await section(page, 'Citations').getByText('B alone').waitFor();
    await page.getByRole('region', { name: 'Answers' }).locator('ins').first().waitFor();
    await shot(page, 'compare-dark');

    await page.getByRole('button', { name: 'Side by side' }).click();
    const answers = page.getByRole('region', { name: 'Answers' });
    await answers.getByRole('group', { name: 'Answer of run B' }).getByText('A bell buoy in my garden').waitFor();
    expect(await answers.getByRole('group', { name: 'Answer of run A' }).textContent()).not.toContain('bell buoy');
  });

  it('are chosen from the history with the keyboard alone', async () => {
    await ranOnce(browser.url(), 'parrot', { message: 'one bird' });
    await ranOnce(browser.url(), 'parrot', { message: 'two birds' });
    const page = await browser.open('#/runs?workflow=parrot');
    await page.getByText('two birds').waitFor();
    for (const key of ['j', 'x', 'j', 'x', 'c']) await page.keyboard.press(key);
    await page.getByRole('region', { name: 'Run A' }).getByText('one bird').waitFor();
    await page.getByRole('region', { name: 'Run B' }).getByText('two birds').waitFor();
    await page.getByRole('region', { name: 'Answers' }).locator('ins', { hasText: 'two birds' }).waitFor();
  });

  it('are chosen by their words where none is given', async () => {
    await ranOnce(browser.url(), 'parrot', { message: 'a lone heron' });
    const page = await browser.open('#/compare');
    await page.getByRole('searchbox', { name: 'Run A' }).fill('heron');
    // The list beside it offers the same runs, and may be there first.
    const first = page.locator('section', { has: page.getByRole('searchbox', { name: 'Run A' }) });
    await first.getByRole('button', { name: /a lone heron/ }).click();
    await page.getByText('Compare a lone heron with another run:').waitFor();
    await page.getByRole('searchbox', { name: 'Run B' }).fill('keynotes');
    await page.getByRole('button', { name: /Which keynotes are there/ }).first().click();
    await page.getByRole('region', { name: 'Verdict' }).waitFor();
  });
});

describe('the loop report', () => {
  it('tells of gain only where runs were compared, and gives its reasons', async () => {
    const page = await browser.open('#/loops/rag', { colorScheme: 'dark' });
    const hops = page.getByRole('region', { name: 'Loop hops' });
    await hops.getByText(/^Not known: no run was run again without it/).waitFor();
    await hops.getByText('none yet').waitFor();
    await hops.getByText(/at least 5 are needed to suggest a limit/).waitFor();
    await hops.getByText('1 exhausted').waitFor();
    const transform = page.getByRole('region', { name: 'Loop transform' });
    await transform.getByText(/Of 1 run that ran again without it/).waitFor();
    await transform.getByRole('img', { name: /3 passes: 1 run/ }).waitFor();
    await shot(page, 'loops-dark');
  });

  it('suggests a limit as soon as enough runs ended by themselves, with what the passes cost', async () => {
    const runs = await Promise.all(Array.from({ length: 5 }, () => ranOnce(browser.url(), 'headline', { text: TEXT, most: 60 })));
    await ranOnce(browser.url(), 'headline', { text: TEXT, most: 10 });
    await runWithout('shorter', runs[0]!.id);
    const page = await browser.open('#/loops/headline');
    const shorter = page.getByRole('region', { name: 'Loop shorter' });
    await shorter.getByText(/^5 of 5 runs that went round and ended by themselves did so within 2 passes\./).waitFor();
    const suggested = shorter.locator('div', { has: page.getByRole('heading', { name: 'Suggested limit' }) }).last();
    expect(await suggested.locator('p').first().textContent()).toBe('2');
    expect(await shorter.getByRole('row', { name: /^Time / }).textContent()).toMatch(/\d+ % of all/);
    await shorter.getByText(/came out better with it/).waitFor();
    await shot(page, 'loops-light');
    await shorter.getByRole('link', { name: 'Runs that were refused' }).click();
    await page.waitForURL(/#\/runs\?workflow=headline&stop_reason=shorter/);
    await page.getByText('stopped: shorter').first().waitFor();
  });
});

import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { api, ranOnce, SCHEMES, shot, useBrowser } from './harness';

const browser = useBrowser();
const QUESTION = 'Are there talks about gardening on Saturday morning?';
const NODE = 'reflect_and_replan';

interface Run {
  id: string;
  status: string;
  path: string[];
  parent: { run_id: string; kind: string; step: number; loop: string | null; edited: string[] } | null;
  changes: { prompts: Record<string, string> };
}

let origin = '';
beforeAll(async () => {
  origin = (await ranOnce(browser.url(), 'assistant', { message: QUESTION })).id;
});

const node = (page: Page, name: string): Locator => page.locator(`button[data-node="${name}"]`);
const header = (page: Page): Locator => page.locator('main header');

/** The run to which the page went, once it has ended. */
async function wentTo(page: Page, from: string): Promise<Run> {
  await page.waitForURL((url) => /#\/runs\/.+/.test(url.hash) && !url.hash.includes(from));
  const id = decodeURIComponent(new URL(page.url()).hash.replace(/^#\/runs\/([^?]+).*$/, '$1'));
  const run = (): Promise<Run> => api<Run>(browser.url(), `/runs/${id}`);
  await expect.poll(async () => (await run()).status, { timeout: 20_000 }).toBe('finished');
  return run();
}

describe('a fork', () => {
  it('starts from a step with edited state, by the keyboard alone, and knows its parent', async () => {
    for (const colorScheme of SCHEMES) {
      const page = await browser.open(`#/runs/${origin}`, { colorScheme });
      // It is off until the run's steps are there, and what is off takes no focus.
      await page.getByRole('button', { name: 'Fork …', disabled: false }).focus();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Fork this run' });
      const steps = dialog.getByLabel('Start from');
      await steps.focus();
      await page.keyboard.press('Home');
      for (let step = 0; step < 12; step += 1) {
        const shown = await steps.locator('option:checked').textContent();
        if (shown?.includes('the gate of loop reflect')) break;
        await page.keyboard.press('ArrowDown');
      }
      await dialog.getByRole('button', { name: 'Edit retry_wanted' }).focus();
      await page.keyboard.press('Enter');
      const value = dialog.getByRole('textbox', { name: 'New value of retry_wanted' });
      await value.focus();
      await page.keyboard.press('Control+a');
      await page.keyboard.type('perhaps');
      expect(await dialog.getByRole('button', { name: 'Fork', exact: true }).isDisabled()).toBe(true);
      await page.keyboard.press('Control+a');
      await page.keyboard.type('null');
      await dialog.getByText('1 changed').waitFor();
      await shot(page, `fork-state-${colorScheme}`);
      await dialog.getByRole('button', { name: 'Fork', exact: true }).focus();
      await page.keyboard.press('Enter');

      const run = await wentTo(page, origin);
      expect(run.parent).toMatchObject({ run_id: origin, kind: 'fork', edited: ['retry_wanted'] });
      expect((await api<Run>(browser.url(), `/runs/${origin}`)).path).toContain(NODE);
      expect(run.path).not.toContain(NODE);
      await page.getByText('with “retry_wanted” edited').waitFor();
      await expect.poll(() => node(page, NODE).getAttribute('aria-label')).toMatch(/skipped/);
      await shot(page, `fork-done-${colorScheme}`);
      await header(page).getByRole('link', { name: `forked at step ${run.parent?.step}` }).click();
      await page.waitForURL((url) => url.hash === `#/runs/${origin}`);
      await page.getByRole('tab', { name: 'Inspector' }).click();
      await page.getByRole('link', { name: /^fork \d/ }).first().waitFor();
    }
  });

  it('says what is wrong with a state that does not fit, and stays open', async () => {
    browser.expected.push(/status of 400/);
    const page = await browser.open(`#/runs/${origin}`);
    await node(page, 'check_results').click();
    await page.getByRole('button', { name: 'Fork from here …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Fork this run' });
    await dialog.getByRole('button', { name: 'Edit retry_wanted' }).click();
    await dialog.getByRole('textbox', { name: 'New value of retry_wanted' }).fill('{"no": "wish"}');
    await dialog.getByRole('button', { name: 'Fork', exact: true }).click();
    await dialog.getByRole('alert').filter({ hasText: 'retry_wanted' }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
  });

  it('tries another prompt draft', async () => {
    const page = await browser.open(`#/runs/${origin}`);
    await node(page, NODE).click();
    await page.getByRole('button', { name: 'Fork from here …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Fork this run' });
    await dialog.getByRole('tab', { name: /Models and prompts/ }).click();
    const choice = dialog.getByRole('combobox', { name: NODE }).last();
    await choice.focus();
    await choice.selectOption({ label: 'a draft, not kept as a version …' });
    const draft = dialog.getByRole('textbox', { name: `Draft of ${NODE}` });
    await draft.fill(`Think of the children.\n${await draft.inputValue()}`);
    await shot(page, 'fork-prompt');
    await dialog.getByRole('button', { name: 'Fork', exact: true }).click();
    const run = await wentTo(page, origin);
    expect(run.parent).toMatchObject({ run_id: origin, kind: 'fork' });
    expect(run.changes.prompts[NODE]).toMatch(/^Think of the children\./);
    await node(page, NODE).click();
    await page.getByRole('region', { name: 'Inspector' }).getByRole('tab', { name: /^Model/ }).click();
    await page.getByText(`Prompt ${NODE}, a draft`).first().waitFor();
    await page.getByText('Think of the children.').first().waitFor();
  });
});

it('a counterfactual runs again without a loop, and is compared with what it comes from', async () => {
  const { id } = await ranOnce(browser.url(), 'assistant', { message: QUESTION });
  const page = await browser.open(`#/runs/${id}`);
  await page.getByRole('button', { name: 'What if “reflect” had not gone round?' }).click();
  const run = await wentTo(page, id);
  expect(run.parent).toMatchObject({ run_id: id, kind: 'counterfactual', loop: 'reflect' });
  expect(run.path).not.toContain(NODE);
  await header(page).getByRole('link', { name: 'without “reflect”' }).waitFor();
  await page.getByRole('link', { name: 'Compare both' }).click();
  await page.waitForURL((url) => url.hash.startsWith('#/compare?') && url.hash.includes(id) && url.hash.includes(run.id));
  await page.goto(`${browser.url()}/#/runs/${id}`);
  await page.getByRole('link', { name: 'Compare with the run without it' }).click();
  await page.waitForURL((url) => url.hash.startsWith('#/compare?') && url.hash.includes(run.id));
});

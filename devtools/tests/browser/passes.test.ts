/** The passes of a loop: why, what changed, what it took; selected from their list, the arrow's label and the timeline's band. */
import { describe, expect, it } from 'vitest';

import { ranOnce, SCHEMES, shot, useBrowser } from './harness';

const browser = useBrowser();
const DEMO = 'demo-assistant-thought-over-twice';

describe('the passes of a run', () => {
  it('each have a card, and are selected there, by the arrow and by the band', async () => {
    for (const colorScheme of SCHEMES) {
      const page = await browser.open(`#/runs/${DEMO}`, { colorScheme });
      const card = (number: number) => page.locator('[data-pass]').filter({ hasText: `pass ${number} of 2` });
      const pressed = (number: number) => card(number).getByRole('button', { name: /^↻/ }).getAttribute('aria-pressed');
      await page.locator('.svelte-flow').getByRole('button', { name: /reflect/ }).filter({ hasText: '2/2' }).click();
      await expect.poll(() => pressed(2)).toBe('true');
      await card(1).getByText(/Reflect & Replan → Execute queries → Check results; changed /).waitFor();
      // Selected, the run is shown as it was when that pass had ended.
      await card(1).getByRole('button', { name: /^↻/ }).press('Enter');
      await expect.poll(() => page.locator('main header dt:text-is("passes") + dd').textContent()).toBe('1');
      expect(await pressed(1)).toBe('true');
      await shot(page, `passes-${colorScheme}`);
      await page.getByRole('button', { name: 'End', exact: true }).click();
      await page.getByTestId('timeline-area').getByText('2/2 reflect').click();
      await expect.poll(() => pressed(2)).toBe('true');
    }
  });

  it('can be begun anew from where they began', async () => {
    const { id } = await ranOnce(browser.url(), 'essay', { topic: 'bees' });
    const page = await browser.open(`#/runs/${id}`);
    await page.getByRole('tab', { name: /^Passes/ }).click();
    await page.locator('[data-pass]').getByText('graded 0.4').waitFor();
    await page.locator('[data-pass]').getByRole('button', { name: 'Fork here …' }).click();
    const steps = page.getByRole('dialog', { name: 'Fork this run' }).getByLabel('Start from');
    expect(await steps.locator('option:checked').textContent()).toMatch(/the gate of loop improve/);
  });
});

import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { api, ranOnce, SCHEMES, shot, useBrowser } from './harness';

const browser = useBrowser();
const DEMO = 'demo-assistant-thought-over-twice';
const QUESTION = 'Are there talks about gardening on Saturday morning?';

interface Logged {
  seq: number;
  event: { type: string; at: string; node?: string; seconds?: number };
}
const logOf = async (run: string): Promise<Logged[]> => (await api<{ events: Logged[] }>(browser.url(), `/runs/${run}/log`)).events;

/** How long visits of less than a second took together, as the page says it. */
const took = (ends: Logged[]): string => `${Math.round(ends.reduce((sum, { event }) => sum + event.seconds! * 1000, 0))} ms`;

const node = (page: Page, name: string): Locator => page.locator(`button[data-node="${name}"]`);
const graph = (page: Page): Locator => page.getByRole('group', { name: /^Graph of/ });
const inspector = (page: Page): Locator => page.getByRole('region', { name: 'Inspector' });
const timeline = (page: Page): Locator => page.getByRole('listbox', { name: /^Visits/ });
const bars = (page: Page, label: string): Locator => timeline(page).getByRole('option', { name: new RegExp(`^${label}, visit`) });
const slider = (page: Page): Locator => page.getByRole('slider', { name: 'Event' });
const indicator = (page: Page): Locator => page.getByTestId('retry-indicator');

/** Wait until all events of a run are shown. */
async function shown(page: Page, events: number): Promise<void> {
  await expect.poll(() => slider(page).getAttribute('max'), { timeout: 20_000 }).toBe(String(events));
}
/** Step with the keyboard alone until something has the focus. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let step = 0; step < 60; step += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error('Tab does not lead there');
}

describe('a run that goes on', () => {
  it('is stopped, and goes on where it stood', async () => {
    const { id } = await api<{ id: string }>(browser.url(), '/runs', { workflow: 'essay', input: { topic: 'tea, held at the outline' } });
    const page = await browser.open(`#/runs/${id}`);
    await page.locator('button[data-node][aria-label*="running"]').first().waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    const resume = page.getByRole('button', { name: 'Resume' });
    await resume.waitFor();
    expect((await api<{ status: string }>(browser.url(), `/runs/${id}`)).status).toBe('cancelled');
    await expect.poll(() => page.locator('header').getByText('Stopped').count()).toBe(1);
    await expect.poll(() => page.locator('button[data-node][aria-label*="running"]').count()).toBe(0);
    browser.server().goOn();
    await resume.click();
    await page.locator('header').getByText('Finished').waitFor();
    await expect.poll(() => node(page, 'outline').getAttribute('aria-label')).toMatch(/complete/);
  });
});

describe('a run with two reflections', () => {
  it('has three visits of its search in graph, timeline and inspector, at their true times', async () => {
    const events = await logOf(DEMO);
    const of = (type: string): Logged[] => events.filter(({ event }) => event.type === type && event.node === 'execute_queries');
    const [starts, ends] = [of('node_started'), of('node_finished')];
    expect(starts.length).toBe(3);
    const page = await browser.open(`#/runs/${DEMO}`);
    await shown(page, events.length);
    await expect.poll(() => node(page, 'execute_queries').getAttribute('aria-label')).toContain(`complete, 3 visits, ${took(ends)}`);
    await expect.poll(() => bars(page, 'Execute queries').count()).toBe(3);

    const begin = Date.parse(events[0]!.event.at);
    const after = (logged: Logged): number => Date.parse(logged.event.at) - begin;
    const area = (await page.getByTestId('timeline-area').boundingBox())!;
    const whole = after(events.at(-1)!) * 1.01;
    for (const [index, start] of starts.entries()) {
      const bar = bars(page, 'Execute queries').nth(index);
      const end = ends[index]!;
      await expect.poll(() => bar.getAttribute('aria-label')).toContain(`visit ${index + 1}, complete, ${took([end])}`);
      const box = (await bar.boundingBox())!;
      expect(Math.abs(box.x - area.x - (after(start) / whole) * area.width)).toBeLessThan(4);
      expect(Math.abs(box.width - ((end.event.seconds! * 1000) / whole) * area.width)).toBeLessThan(4);
      await bar.click();
      await inspector(page).getByRole('heading', { name: `visit ${index + 1}` }).waitFor();
      await inspector(page).getByText(took([end])).waitFor();
      await inspector(page).getByText(`${index + 1} of 3`).waitFor();
    }
    await graph(page).getByText('reflect2/2').waitFor();
  });

  it('shows the reflection that it made, and what it changed', async () => {
    const ends = (await logOf(DEMO)).filter(({ event }) => event.type === 'node_finished' && event.node === 'reflect_and_replan');
    for (const colorScheme of SCHEMES) {
      const page = await browser.open(`#/runs/${DEMO}`, { colorScheme });
      await indicator(page).getByRole('button', { name: `Reflect & Replan ×2 (${took(ends)})` }).click();
      await expect.poll(() => node(page, 'reflect_and_replan').getAttribute('aria-pressed')).toBe('true');
      const panel = inspector(page);
      await panel.getByRole('tab', { name: 'Reflection' }).click();
      await panel.getByText('relax', { exact: true }).waitFor();
      await panel.getByText(/\d+ sessions at another time/).waitFor();
      await panel.getByText('I found nothing on “gardening” yet, so I look at other times and places.').waitFor();
      const table = panel.getByRole('table');
      await table.getByRole('columnheader', { name: 'Original query' }).waitFor();
      await expect.poll(() => table.getByRole('row').count()).toBeGreaterThan(2);
      await shot(page, `run-reflection-${colorScheme}`);
      await panel.getByLabel('against').selectOption('the plan just before');
      await table.getByRole('columnheader', { name: 'Query before' }).waitFor();
    }
  });

  it('shows the state before, after, and what is different', async () => {
    const page = await browser.open(`#/runs/${DEMO}`);
    await node(page, 'reflect_and_replan').click();
    const panel = inspector(page);
    await panel.getByRole('tab', { name: 'State' }).click();
    await panel.getByText('planned_queries').first().waitFor();
    await panel.locator('del', { hasText: 'faceted' }).first().waitFor();
    await panel.locator('ins', { hasText: 'master' }).first().waitFor();
    await shot(page, 'run-state');
    const retries = async (part: string): Promise<string | null> => {
      await panel.getByRole('button', { name: part, exact: true }).click();
      return panel.locator('div', { hasText: /^\s*retry_count/ }).last().textContent();
    };
    expect(await retries('Before')).toMatch(/1\s*$/);
    expect(await retries('After')).toMatch(/2\s*$/);
    await panel.getByRole('button', { name: 'What it wrote' }).click();
    await panel.getByText('reflection_reasoning').first().waitFor();
  });

  it('shows the last visit of a node that was selected before the events were there', async () => {
    const page = await browser.open();
    let arrive = (): void => undefined;
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    await page.route(`**/runs/${DEMO}/log?*`, async (route) => {
      await arrived;
      await route.continue();
    });
    await page.goto(`${browser.url()}/#/runs/${DEMO}`);
    await node(page, 'execute_queries').click();
    expect(await node(page, 'execute_queries').getAttribute('aria-label')).not.toContain('visits');
    arrive();
    await inspector(page).getByRole('heading', { name: 'visit 3' }).waitFor();
    await expect.poll(() => bars(page, 'Execute queries').nth(2).getAttribute('aria-selected')).toBe('true');
    // The way back to the run, where a reload leaves it.
    await expect.poll(() => page.url()).toContain('node=execute_queries');
    await inspector(page).getByRole('button', { name: 'The whole run' }).click();
    await expect.poll(() => page.url()).not.toContain('node=');
    await page.reload();
    await inspector(page).getByRole('region', { name: 'The whole run' }).waitFor();
  });

  it('is proved to stop: the certificate says what it may use and has used', async () => {
    const page = await browser.open(`#/runs/${DEMO}`);
    await page.getByRole('tab', { name: 'Certificate' }).click();
    const certificate = page.getByRole('region', { name: 'Certificate' });
    await certificate.getByText('This graph stops.').waitFor();
    await certificate.getByRole('row', { name: 'Supersteps 17 15' }).waitFor();
    await certificate.getByText('limit 2, 2 used').waitFor();
    await shot(page, 'run-certificate');
  });

  it('is replayed by the keyboard alone', async () => {
    const events = await logOf(DEMO);
    const page = await browser.open(`#/runs/${DEMO}`);
    await shown(page, events.length);
    await tabTo(page, slider(page));
    await page.keyboard.press('Home');
    await expect.poll(() => slider(page).inputValue()).toBe('1');
    await expect.poll(() => node(page, 'execute_queries').getAttribute('aria-label')).toBe('Execute queries, waiting');
    await expect.poll(() => indicator(page).count()).toBe(0);
    const second = events.filter(({ event }) => event.type === 'node_started' && event.node === 'execute_queries')[1]!.seq;
    for (let seq = 1; seq < second; seq += 1) await page.keyboard.press('ArrowRight');
    await expect.poll(() => node(page, 'execute_queries').getAttribute('aria-label')).toMatch(/^Execute queries, running, 2 visits/);
    await graph(page).getByText('reflect1/2').waitFor();
    await shot(page, 'run-replay');
    await tabTo(page, page.getByRole('button', { name: 'End', exact: true }));
    await page.keyboard.press('Enter');
    await expect.poll(() => slider(page).inputValue()).toBe(String(events.length));
    await indicator(page).getByText('×2').waitFor();
  });

  it('is replayed with Play', async () => {
    const events = await logOf(DEMO);
    const page = await browser.open(`#/runs/${DEMO}?seq=${events.length - 6}`);
    await expect.poll(() => slider(page).inputValue()).toBe(String(events.length - 6));
    await page.getByLabel('Speed').selectOption('20 events/s');
    await page.getByRole('button', { name: 'Play' }).click();
    await expect.poll(() => slider(page).inputValue()).toBe(String(events.length));
    await page.getByRole('button', { name: 'Play' }).waitFor();
  });

  it('is walked through by the keyboard alone, node by node and visit by visit', async () => {
    const page = await browser.open(`#/runs/${DEMO}`);
    await timeline(page).waitFor();
    await tabTo(page, node(page, 'fetch_data'));
    for (const next of ['generate_acknowledgment', 'plan_queries', 'execute_queries']) {
      await page.keyboard.press('ArrowDown');
      await expect.poll(() => node(page, next).evaluate((element) => element === document.activeElement)).toBe(true);
    }
    await page.keyboard.press('Enter');
    await inspector(page).getByRole('heading', { name: 'Execute queries visit 3' }).waitFor();
    await tabTo(page, timeline(page));
    await page.keyboard.press('ArrowLeft');
    await inspector(page).getByRole('heading', { name: 'Reflect & Replan visit 2' }).waitFor();
    await page.keyboard.press('ArrowUp');
    await inspector(page).getByRole('heading', { name: /^\S*\s*Check results visit/ }).waitFor();
  });
});

describe('the retry indicator', () => {
  it('names the mechanical retry in a graph without reflection', async () => {
    const { id } = await ranOnce(browser.url(), 'mechanical', { message: QUESTION });
    const page = await browser.open(`#/runs/${id}`);
    await indicator(page).waitFor();
    await expect.poll(() => indicator(page).getAttribute('data-node')).toBe('relax_and_retry');
    await expect.poll(() => node(page, 'reflect_and_replan').count()).toBe(0);
    await indicator(page).getByRole('button').click();
    await expect.poll(() => node(page, 'relax_and_retry').getAttribute('aria-pressed')).toBe('true');
    await shot(page, 'run-mechanical');
  });

  it('is absent where nothing was tried again', async () => {
    const page = await browser.open('#/runs/demo-assistant-answered-at-once');
    await timeline(page).waitFor();
    await expect.poll(() => indicator(page).count()).toBe(0);
  });
});

describe('the inspector', () => {
  it('shows what a model was asked and what it replied', async () => {
    const { id } = await ranOnce(browser.url(), 'assistant', { message: QUESTION });
    const page = await browser.open(`#/runs/${id}`);
    await bars(page, 'Reflect & Replan').first().click();
    const panel = inspector(page);
    await panel.getByRole('tab', { name: /^Model/ }).click();
    await panel.getByText('scripted').first().waitFor();
    await panel.getByRole('heading', { name: 'Person' }).or(panel.getByRole('heading', { name: 'System' })).first().waitFor();
    await panel.getByText('I look for related topics.').first().waitFor();
    await panel.getByRole('link', { name: /^Prompt reflect_and_replan, version/ }).first().waitFor();
    await shot(page, 'run-model');
    await panel.getByRole('tab', { name: 'Reflection' }).click();
    await panel.getByText('No session has all of these words.').waitFor();
    await panel.getByText('rewrite', { exact: true }).waitFor();
    await panel.getByText('repair').first().waitFor();
  });

  it('shows failed attempts, and the error with its node', async () => {
    for (const colorScheme of SCHEMES) {
      const good = await ranOnce(browser.url(), 'parcel', { address: `Mill Lane ${colorScheme}` });
      const page = await browser.open(`#/runs/${good.id}`, { colorScheme });
      await node(page, 'send').click();
      const panel = inspector(page);
      await panel.getByText('Attempt 1 of 3').waitFor();
      await panel.getByText('Attempt 2 of 3').waitFor();
      await panel.getByText(`nobody answers at Mill Lane ${colorScheme}`).first().waitFor();
      await expect.poll(() => bars(page, 'Send').getAttribute('aria-label')).toContain('2 failed before');

      const bad = await ranOnce(browser.url(), 'parcel', { address: `nowhere ${colorScheme}` });
      expect(bad.status).toBe('failed');
      await page.goto(`${browser.url()}/#/runs/${bad.id}`);
      const note = panel.getByRole('group', { name: 'Error' });
      await note.getByText('send', { exact: true }).waitFor();
      await note.getByText(/nobody answers at nowhere/).waitFor();
      await expect.poll(() => node(page, 'send').getAttribute('aria-label')).toContain('error');
      await note.getByText(/run_page_graphs\.py:\d+ in send/).waitFor();
      const code = note.getByRole('region', { name: 'Code of send' });
      expect(await code.locator('[aria-current]').textContent()).toContain('raise ConnectionError(');
      await node(page, 'send').click();
      await panel.getByRole('region', { name: 'Code of send' }).waitFor();
      await shot(page, `run-failed-${colorScheme}`);
    }
  });
});

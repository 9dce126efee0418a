import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { keepRun, keptRun, ranOnce, shot, useBrowser } from './harness';

const browser = useBrowser();
const LEAST = 5000;

interface KeptEvent {
  seq: number;
  name: string;
  data: string;
}
interface RunFile {
  record: Record<string, unknown> & { path: string[] };
  events: KeptEvent[];
}

let run = '';
let total = 0;
let visits = 0;

const slider = (page: Page): Locator => page.getByRole('slider', { name: 'Event' });
const timeline = (page: Page): Locator => page.getByRole('listbox', { name: /^Visits/ });

/** The events of a run again and again, each time as much later as the run took: a long run without the wait for it. */
function prolonged(events: KeptEvent[]): KeptEvent[] {
  const [first, last] = [events[0]!, events.at(-1)!];
  const at = (event: KeptEvent): number => Date.parse((JSON.parse(event.data) as { at: string }).at);
  const took = at(last) - at(first);
  const body = events.slice(1, -1);
  const all = [first];
  let round = 0;
  const again = (event: KeptEvent): KeptEvent => {
    const { at: then, task_id, checkpoint_id, ...rest } = JSON.parse(event.data) as Record<string, string>;
    const moved = new Date(Date.parse(then!) + round * took).toISOString();
    const ids = { ...(task_id && { task_id: `${task_id}-${round}` }), ...(checkpoint_id && { checkpoint_id: `${checkpoint_id}-${round}` }) };
    return { ...event, data: JSON.stringify({ at: moved, ...rest, ...ids }) };
  };
  for (; all.length + 1 < LEAST; round += 1) all.push(...body.map(again));
  round -= 1;
  all.push(again(last));
  return all.map((event, index) => ({ ...event, seq: index + 1 }));
}

/** Do something, and tell how long the browser's long tasks took meanwhile, in milliseconds. */
async function tasks(page: Page, what: string, act: () => Promise<void>): Promise<void> {
  const taken = (): Promise<number[]> => page.evaluate(() => (window as unknown as { tasks: number[] }).tasks.splice(0));
  await taken();
  await act();
  await page.waitForTimeout(300);
  const all = await taken();
  console.log(`${what}: ${all.length} tasks above 50 ms${all.length ? `, the longest ${Math.max(...all)} ms: ${all.join(' ')}` : ''}`);
}

beforeAll(async () => {
  const { id } = await ranOnce(browser.url(), 'laps', { rounds: 20 });
  const file = keptRun<RunFile>(browser.server(), id);
  const events = prolonged(file.events);
  total = events.length;
  visits = events.filter(({ data }) => data.includes('"type":"node_started"') && data.includes('"node":"rest"')).length;
  run = 'long';
  keepRun(browser.server(), { ...file, record: { ...file.record, id: run, events: total }, events });
}, 180_000);

describe('a run of 5,000 events', () => {
  it('is shown whole, zoomed into, scrolled and stepped through', async () => {
    const page = await browser.open('#/runs');
    await page.evaluate(() => {
      const kept = ((window as unknown as { tasks: number[] }).tasks = []) as number[];
      new PerformanceObserver((list) => list.getEntries().forEach((entry) => kept.push(Math.round(entry.duration)))).observe({ type: 'longtask' });
    });
    await tasks(page, 'loading', async () => {
      await page.evaluate((hash) => (location.hash = hash), `#/runs/${run}`);
      await expect.poll(() => slider(page).getAttribute('max').catch(() => ''), { timeout: 30_000 }).toBe(String(total));
      await timeline(page).waitFor();
    });
    await shot(page, 'run-long');
    await expect.poll(() => page.locator('button[data-node="rest"]').getAttribute('aria-label')).toContain(`complete, ${visits} visits`);
    // What is too narrow to be told apart is drawn as one.
    expect(await timeline(page).getByRole('option').count()).toBeLessThan(500);

    await timeline(page).focus();
    await tasks(page, 'stepping from visit to visit', async () => {
      for (let step = 1; step <= 12; step += 1) {
        await page.keyboard.press('ArrowRight');
        await expect.poll(() => timeline(page).getAttribute('aria-activedescendant')).not.toBeNull();
      }
    });
    await page.getByRole('heading', { name: 'Count visit 4' }).or(page.getByRole('heading', { name: 'Rest visit 4' })).waitFor();
    await tasks(page, 'zooming', async () => {
      for (let step = 0; step < 6; step += 1) await page.keyboard.press('+');
    });
    await timeline(page).getByRole('option', { selected: true }).waitFor();
    await page.getByTestId('timeline-area').hover();
    await tasks(page, 'scrolling', async () => {
      await page.keyboard.down('Shift');
      for (let step = 0; step < 20; step += 1) await page.mouse.wheel(0, 240);
      await page.keyboard.up('Shift');
    });
    await timeline(page).getByRole('option', { selected: true }).waitFor({ state: 'detached' });
    await shot(page, 'run-long-zoomed');

    await slider(page).focus();
    await tasks(page, 'stepping from event to event', async () => {
      for (let step = 0; step < 12; step += 1) await page.keyboard.press('ArrowLeft');
    });
    await expect.poll(() => slider(page).inputValue()).toBe(String(total - 12));
    const box = (await slider(page).boundingBox())!;
    await tasks(page, 'dragging through the run', async () => {
      await page.mouse.move(box.x + box.width * 0.9, box.y + box.height / 2);
      await page.mouse.down();
      for (let step = 1; step <= 20; step += 1) await page.mouse.move(box.x + box.width * (0.9 - step * 0.04), box.y + box.height / 2);
      await page.mouse.up();
    });
    expect(Number(await slider(page).inputValue())).toBeLessThan(total / 3);
  });
});

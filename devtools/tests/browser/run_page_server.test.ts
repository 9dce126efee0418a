import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';

import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { api, PYTHON, SCRIPTS, shot, startServer, useBrowser } from './harness';

const browser = useBrowser();

interface Logged {
  seq: number;
  event: { type: string; node?: string | null; loop?: string };
}
const logOf = async (url: string, run: string): Promise<Logged[]> => (await api<{ events: Logged[] }>(url, `/runs/${run}/log`)).events;

const node = (page: Page, name: string): Locator => page.locator(`button[data-node="${name}"]`);
const slider = (page: Page): Locator => page.getByRole('slider', { name: 'Event' });
const banner = (page: Page): Locator => page.getByRole('alert').filter({ hasText: 'The server cannot be reached' });
const status = (page: Page, word: string): Locator => page.locator('main header').getByText(word, { exact: true });

const start = async (topic: string, url = browser.url()): Promise<string> =>
  (await api<{ id: string }>(url, '/runs', { workflow: 'essay', input: { topic } })).id;

/** Step through the page's events one by one: each is the one that the server's log has in its place. */
async function hasEveryEvent(page: Page, run: string, url = browser.url()): Promise<void> {
  const events = await logOf(url, run);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  await expect.poll(() => slider(page).getAttribute('max')).toBe(String(events.length));
  await slider(page).focus();
  await page.keyboard.press('Home');
  for (const { seq, event } of events) {
    const place = event.node ?? event.loop;
    const words = `event ${seq} of ${events.length}: ${event.type.replaceAll('_', ' ')}${place ? ` ${place}` : ''}`;
    await expect.poll(() => slider(page).getAttribute('aria-valuetext')).toBe(words);
    await page.keyboard.press('ArrowRight');
  }
}

/** A way to the server that can be cut. */
async function cable(): Promise<{ url: string; cut: () => void; mend: () => void; close: () => void }> {
  const sockets = new Set<Socket>();
  let whole = true;
  const proxy = createServer((near) => {
    if (!whole) return void near.destroy();
    const far = connect(Number(new URL(browser.url()).port), '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => (sockets.delete(socket), near.destroy(), far.destroy()));
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  const cut = (): void => {
    whole = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    cut,
    mend: () => (whole = true),
    close: () => (cut(), void proxy.close()),
  };
}

describe('a run whose connection breaks', () => {
  it('goes on in the page without a lost event', async () => {
    browser.expected.push(/ERR_|Failed to load|Failed to fetch|network error/);
    const way = await cable();
    try {
      const page = await browser.open();
      const run = await start('letters, held at the outline');
      await page.goto(`${way.url}/#/runs/${run}`);
      await page.locator('button[data-node][aria-label*="running"]').first().waitFor();
      way.cut();
      await banner(page).waitFor();
      await new Promise((resolve) => setTimeout(resolve, 1500));
      way.mend();
      browser.server().goOn();
      await banner(page).waitFor({ state: 'detached', timeout: 30_000 });
      await status(page, 'Finished').waitFor({ timeout: 30_000 });
      await hasEveryEvent(page, run);
    } finally {
      way.close();
    }
  });
});

describe('a run whose server is killed', () => {
  it('goes on by itself once the server is back, on the page that was open, and has each event once', async () => {
    browser.expected.push(/ERR_|Failed to load|Failed to fetch|network error/);
    const run = await start('ships, held at the draft');
    const page = await browser.open(`#/runs/${run}`);
    await expect.poll(() => node(page, 'write').getAttribute('aria-label'), { timeout: 20_000 }).toMatch(/running/);
    await browser.server().kill();
    await banner(page).waitFor();
    await shot(page, 'run-server-gone');
    await browser.server().again();
    await banner(page).waitFor({ state: 'detached', timeout: 30_000 });
    browser.server().goOn();
    await status(page, 'Finished').waitFor({ timeout: 30_000 });
    await expect.poll(() => node(page, 'outline').getAttribute('aria-label')).toMatch(/complete, 1 visit,/);
    await hasEveryEvent(page, run);
    await page.reload();
    await hasEveryEvent(page, run);
  });
});

describe('two servers on one PostgreSQL', () => {
  it('show a run to its end, each event once, whichever of them is killed', async () => {
    const postgres = spawn(PYTHON, [join(SCRIPTS, 'serve_postgres.py')], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [address] = (await once(postgres.stdout, 'data')) as [Buffer];
    const runs = address.toString().trim();
    const one = await startServer({ runs });
    const other = await startServer({ runs, data: one.data });
    try {
      for (const [stays, dies] of [[one, other], [other, one]] as const) {
        const run = await start('bridges, held at the draft', dies.url);
        const page = await browser.open();
        await page.goto(`${stays.url}/#/runs/${run}`);
        await expect.poll(() => node(page, 'write').getAttribute('aria-label')).toMatch(/running/);
        await dies.kill();
        one.goOn();
        await status(page, 'Finished').waitFor({ timeout: 30_000 });
        await hasEveryEvent(page, run, stays.url);
        expect(await banner(page).count()).toBe(0);
        await page.context().close();
        one.hold();
        await dies.again();
      }
    } finally {
      await other.close();
      await one.close();
      postgres.stdin.end();
    }
  }, 240_000);
});

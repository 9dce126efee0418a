/** A real server, and a real browser that looks at its page. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';

const REPOSITORY = join(import.meta.dirname, '../../..');
export const PYTHON = process.env.LOOPWRIGHT_PYTHON ?? join(REPOSITORY, '.venv/bin/python');
export const SCRIPTS = join(REPOSITORY, 'tests/browser');
export const CHROMIUM = process.env.LOOPWRIGHT_CHROMIUM ?? '/usr/bin/chromium';
export const ARGUMENTS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];
/** The colour schemes of tests that keep pictures; nothing else of theirs depends on the scheme. */
export const SCHEMES = process.env.LOOPWRIGHT_SCREENSHOTS ? (['light', 'dark'] as const) : (['light'] as const);
const START = 90_000;

export interface Server {
  url: string;
  data: string;
  /** Kill it as a power cut would; its data stays. */
  kill: () => Promise<void>;
  /** Start it again on the same address with the same data. */
  again: () => Promise<void>;
  /** Let runs of the essay that are held go on: a test that only waits would miss them on a busy machine. */
  goOn: () => void;
  /** Hold them again. */
  hold: () => void;
  /** End it and delete its data. */
  close: () => Promise<void>;
}

const ended = (child: ChildProcess): Promise<void> =>
  child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : new Promise((resolve) => child.once('exit', () => resolve()));

export interface ServerOptions {
  token?: string;
  /** Whether it serves every workflow, in place of the assistant and small graphs. */
  all?: boolean;
  /** Where runs are kept, for several servers together, and the folder that they share. */
  runs?: string;
  data?: string;
}

/** Start a server of its own. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const data = options.data ?? mkdtempSync(join(tmpdir(), 'devtools-'));
  let child: ChildProcess;

  async function start(port: number): Promise<string> {
    const given = [join(SCRIPTS, 'serve_for_browser.py'), data, '--port', String(port)];
    if (options.all) given.push('--all');
    if (options.token) given.push('--token', options.token);
    if (options.runs) given.push('--runs', options.runs);
    const started = spawn(PYTHON, given, { stdio: ['pipe', 'pipe', 'pipe'] });
    child = started;
    let said = '';
    started.stderr.on('data', (text) => (said += text));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the server did not start:\n${said}`)), START);
      started.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${said}`)));
      createInterface({ input: started.stdout }).once('line', (line) => {
        clearTimeout(timer);
        resolve(line);
      });
    });
  }

  async function kill(): Promise<void> {
    child.kill('SIGKILL');
    await ended(child);
  }

  const url = await start(0);
  return {
    url,
    data,
    kill,
    goOn: () => writeFileSync(join(data, 'go on'), ''),
    hold: () => rmSync(join(data, 'go on'), { force: true }),
    again: async () => void (await start(Number(new URL(url).port))),
    close: async () => {
      await kill();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** A reply of the server's API. */
export async function api<T>(url: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(url + path, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

interface Run {
  id: string;
  status: string;
}

/** Keep a picture of the page where LOOPWRIGHT_SCREENSHOTS names a folder for people to look at. */
export async function shot(page: Page, name: string): Promise<void> {
  const folder = process.env.LOOPWRIGHT_SCREENSHOTS;
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** A kept run with its graph and all its events. */
export const keptRun = <T>(server: Server, id: string): T =>
  JSON.parse(execFileSync(PYTHON, [join(SCRIPTS, 'keep_run.py'), server.data, id], { encoding: 'utf-8' })) as T;

/** Keep such a run: one that did not run here. */
export const keepRun = (server: Server, run: unknown): void =>
  void execFileSync(PYTHON, [join(SCRIPTS, 'keep_run.py'), server.data], { input: JSON.stringify(run) });

/** Start a run and wait for its end. */
export async function ranOnce(url: string, workflow: string, input: Record<string, unknown>): Promise<Run> {
  let run = await api<Run>(url, '/runs', { workflow, input });
  while (run.status === 'running' || run.status === 'queued') {
    await new Promise((resolve) => setTimeout(resolve, 50));
    run = await api<Run>(url, `/runs/${run.id}`);
  }
  return run;
}

/**
 * One server and one browser for a file's tests, and a page for each test. A test fails where the page logs an error
 * that it does not expect.
 */
export function useBrowser(options: ServerOptions = {}): {
  url: () => string;
  server: () => Server;
  open: (hash?: string, more?: BrowserContextOptions) => Promise<Page>;
  /** Errors of the page that belong to the test. */
  expected: RegExp[];
} {
  let server: Server;
  let browser: Browser;
  const expected: RegExp[] = [];
  const errors: string[] = [];

  beforeAll(async () => {
    if (!existsSync(CHROMIUM)) throw new Error(`there is no ${CHROMIUM}; set LOOPWRIGHT_CHROMIUM`);
    [server, browser] = await Promise.all([
      startServer(options),
      chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS }),
    ]);
  });
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    const unexpected = errors.filter((error) => !expected.some((pattern) => pattern.test(error)));
    errors.length = expected.length = 0;
    server.hold();
    expect(unexpected.join('\n')).toBe('');
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  return {
    url: () => server.url,
    server: () => server,
    expected,
    async open(hash = '#/runs', more = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', ...more });
      const page = await context.newPage();
      page.setDefaultTimeout(30_000);
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(message.text());
      });
      page.on('pageerror', (error) => errors.push(error.message));
      await page.goto(`${server.url}/${hash}`);
      return page;
    },
  };
}

import { readFileSync } from 'node:fs';

import { beforeAll, describe, expect, it } from 'vitest';

import { api, ranOnce, useBrowser } from './harness';

const browser = useBrowser();

interface Page {
  runs: { id: string; title: string; status: string }[];
  total: number;
}

beforeAll(async () => {
  for (const topic of ['first lamps', 'second bridges', 'third broken rivers']) await ranOnce(browser.url(), 'essay', { topic });
});

describe('the list of runs', () => {
  it('shows runs, newest first, with how they ended', async () => {
    const page = await browser.open();
    const row = page.getByRole('row', { name: /second bridges/ });
    await row.waitFor();
    expect(await row.textContent()).toContain('finished');
    expect(await row.textContent()).toContain('improve 1×');
    expect(await page.getByRole('row', { name: /third broken rivers/ }).textContent()).toContain('failed');
    const titles = await page.locator('[data-open]').allTextContents();
    expect(titles.indexOf('third broken rivers')).toBeLessThan(titles.indexOf('first lamps'));
  });

  it('finds runs by words, and filters by workflow, status and bound', async () => {
    const page = await browser.open();
    await page.getByRole('searchbox').fill('bridges');
    await page.getByText('1 run', { exact: true }).waitFor();
    expect(await page.locator('[data-open]').allTextContents()).toEqual(['second bridges']);
    expect(page.url()).toContain('text=bridges');

    await page.getByRole('searchbox').fill('');
    await page.getByLabel('Workflow').selectOption('essay');
    await page.getByLabel('Status').selectOption('failed');
    await expect.poll(() => page.locator('[data-open]').allTextContents()).toEqual(['third broken rivers']);

    await page.getByLabel('Status').selectOption('');
    await page.getByLabel('Stop reason').selectOption('improve');
    await page.getByText('stopped: improve').first().waitFor();
    await expect.poll(() => page.getByText('third broken rivers').count()).toBe(0);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByText('third broken rivers').waitFor();
  });

  it('says so where nothing fits', async () => {
    const page = await browser.open('#/runs?text=nothing-has-this-word');
    await page.getByText('No run fits this search').waitFor();
  });

  it('shows a run that begins elsewhere, and how it goes on, without being asked', async () => {
    const page = await browser.open();
    await page.getByText('first lamps').waitFor();
    await api(browser.url(), '/runs', { workflow: 'essay', input: { topic: 'clouds, held at the draft' } });
    const row = page.getByRole('row', { name: /clouds, held/ });
    await row.getByText('running').waitFor();
    browser.server().goOn();
    await row.getByText('finished').waitFor();
  });

  it('is walked through by keyboard', async () => {
    const page = await browser.open('#/runs?workflow=essay');
    await page.getByText('first lamps').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const second = await page.locator('[data-open]').nth(1).textContent();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(second);
    await page.keyboard.press('x');
    await page.getByText('Select one more to compare').waitFor();
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/runs\/.+/);
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.waitForURL(/#\/runs$/);
    await page.getByText('first lamps').waitFor();
    await page.keyboard.press('/');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('type'))).toBe('search');
  });

  it('takes two runs to the comparison, the older one on the left', async () => {
    const runs = (await api<Page>(browser.url(), '/runs?workflow=essay')).runs;
    const id = (title: string): string => runs.find((run) => run.title === title)?.id ?? '';
    const page = await browser.open('#/runs?workflow=essay');
    await page.getByLabel('Select second bridges').check();
    expect(await page.getByRole('button', { name: 'Compare', exact: true }).isDisabled()).toBe(true);
    await page.getByLabel('Select first lamps').check();
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.waitForURL(/#\/compare/);
    expect(page.url()).toContain(`a=${id('first lamps')}&b=${id('second bridges')}`);
  });

  it('orders runs by a figure, and finds them by date, duration and cost', async () => {
    const page = await browser.open('#/runs');
    const titles = (): Promise<string[]> => page.locator('[data-open]').allTextContents();
    await page.getByRole('button', { name: 'Duration' }).click();
    await expect.poll(() => page.getByRole('columnheader', { name: /Duration/ }).getAttribute('aria-sort')).toBe('descending');
    const slowest = (await api<{ runs: { title: string; seconds: number | null }[] }>(browser.url(), '/runs?order=seconds&limit=3')).runs;
    await expect.poll(async () => (await titles()).slice(0, 3)).toEqual(slowest.map(({ title }) => title));
    await page.getByText('Date, time, cost').click();
    await page.getByLabel('At least seconds').fill('3600');
    await page.getByLabel('At least seconds').press('Tab');
    await page.getByText('No run fits this search').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    const tomorrow = new Date(Date.now() + 48 * 3_600_000).toISOString().slice(0, 10);
    await page.getByLabel('From').fill(tomorrow);
    await page.getByText('No run fits this search').waitFor();
    await page.getByLabel('From').fill('');
    await page.getByText('first lamps').first().waitFor();
    await page.getByRole('button', { name: 'Started' }).click();
    await expect.poll(() => page.getByRole('columnheader', { name: /Started/ }).getAttribute('aria-sort')).toBe('descending');
  });

  it('calls runs by tags, several at once, and finds them by these', async () => {
    const page = await browser.open('#/runs?workflow=essay');
    await page.getByLabel('Select first lamps').check();
    await page.getByLabel('Select second bridges').check();
    await page.getByRole('button', { name: 'Tags …' }).click();
    await page.keyboard.type('baseline, prompt 2');
    await page.keyboard.press('Enter');
    const tagged = page.getByRole('row', { name: /first lamps/ }).getByRole('link', { name: 'baseline' });
    await tagged.click();
    await expect.poll(() => page.locator('[data-open]').allTextContents()).toEqual(['second bridges', 'first lamps']);
    expect(page.url()).toContain('tag=baseline');
    await page.getByRole('link', { name: 'first lamps' }).click();
    await page.getByRole('button', { name: 'More ▾' }).click();
    await page.getByRole('button', { name: 'Tags …' }).click();
    await page.getByRole('dialog').getByLabel('baseline').uncheck();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('link', { name: 'baseline' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'prompt 2' }).waitFor();
    await page.goto(`${browser.url()}/#/runs`);
    await page.getByLabel('Tag').selectOption('baseline');
    await expect.poll(() => page.locator('[data-open]').allTextContents()).toEqual(['second bridges']);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByText('first lamps').waitFor();
  });

  it('deletes several runs at once', async () => {
    for (const topic of ['one to go', 'two to go', 'three to stay']) await ranOnce(browser.url(), 'essay', { topic });
    const page = await browser.open('#/runs?text=to+go');
    await page.getByLabel('Select one to go').check();
    await page.getByLabel('Select two to go').check();
    await page.getByRole('button', { name: 'Delete 2 …' }).click();
    await page.getByRole('dialog', { name: 'Delete 2 runs?' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No run fits this search').waitFor();
    expect((await api<Page>(browser.url(), '/runs?text=three+to+stay')).total).toBe(1);
  });

  it('saves a run as one page that runs nothing, whatever the run said', async () => {
    const { id } = await ranOnce(browser.url(), 'essay', { topic: '<img src=x onerror=alert(1)> bees' });
    const page = await browser.open(`#/runs/${id}`);
    await page.locator('[data-pass]').first().waitFor();
    await page.getByRole('button', { name: 'More ▾' }).click();
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as one page (HTML)' }).click()]);
    expect(file.suggestedFilename()).toBe(`essay-${id}.html`);
    const shown = await browser.open('#/runs');
    await shown.goto('about:blank'); // the page of the runs would go on asking the server, which the file forbids
    await shown.setContent(readFileSync(await file.path(), 'utf8'));
    expect(await shown.locator('h1').textContent()).toContain('<img src=x');
    expect(await shown.locator('img, script').count()).toBe(0);
    await shown.getByRole('cell', { name: /^improve 1 of 1/ }).waitFor();
    expect(await shown.locator('details').count()).toBe((await api<{ total: number }>(browser.url(), `/runs/${id}/log`)).total);
  });

  it('saves a run as a test for pytest, or says why there is none', async () => {
    const run = await ranOnce(browser.url(), 'assistant', { message: 'Is there a "solar" talk?' });
    const page = await browser.open(`#/runs/${run.id}`);
    const save = page.getByRole('button', { name: 'Save as a test (pytest)' });
    await page.getByRole('button', { name: 'More ▾' }).click();
    const [file] = await Promise.all([page.waitForEvent('download'), save.click()]);
    expect(file.suggestedFilename()).toBe('test_assistant.py');
    const written = readFileSync(await file.path(), 'utf8');
    expect(written).toContain("registry.load('assistant').open()");
    expect(written).toMatch(/def test_assistant_\w+\(\):/);
    const essay = await ranOnce(browser.url(), 'essay', { topic: 'no place' });
    await page.goto(`${browser.url()}/#/runs/${essay.id}`);
    browser.expected.push(/400/);
    await page.getByRole('button', { name: 'More ▾' }).click();
    await save.click();
    await page.getByText(/nothing says where the graph of 'essay' is/).waitFor();
  });

  it('deletes a run only when that is confirmed', async () => {
    const run = await ranOnce(browser.url(), 'essay', { topic: 'to be deleted' });
    const page = await browser.open();
    const row = page.getByRole('row', { name: /to be deleted/ });
    await row.hover();
    await row.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click();
    await row.hover();
    await row.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
    expect((await fetch(`${browser.url()}/runs/${run.id}`)).status).toBe(404);
  });
});

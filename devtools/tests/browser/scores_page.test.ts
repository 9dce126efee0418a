import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { beforeAll, describe, expect, it } from 'vitest';

import { api, PYTHON, ranOnce, SCHEMES, SCRIPTS, shot, useBrowser } from './harness';

const browser = useBrowser();
const SIZES = { 390: 844, 1024: 768, 1440: 900 };

interface Kept {
  version: string;
}

beforeAll(async () => {
  for (const topic of ['first lamps', 'second bridges', 'third broken rivers']) await ranOnce(browser.url(), 'essay', { topic });
  execFileSync(PYTHON, [join(SCRIPTS, 'keep_evaluations.py'), browser.server().data], { stdio: 'pipe' });
});

describe('the scores', () => {
  it('are drawn over the dates of the runs, and lead to each by the keyboard', async () => {
    const page = await browser.open('#/scores/essay');
    await page.getByText('2 of 3 runs told a score').waitFor();
    const dots = page.getByRole('group', { name: 'Score of each run by its date' }).getByRole('link');
    expect(await dots.count()).toBe(2);
    expect(await dots.first().getAttribute('aria-label')).toMatch(/^first lamps, 60 %, /);
    await dots.last().focus();
    await page.keyboard.press('ArrowLeft');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toMatch(/^first lamps/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/runs\/.+/);
    await page.getByRole('heading', { name: 'first lamps' }).waitFor();
  });

  it('of versions stand beside each other for each question, as shares, and in full by the keyboard', async () => {
    const page = await browser.open('#/scores/essay');
    const row = page.getByRole('row', { name: /bees/ });
    await row.waitFor();
    expect(await page.getByRole('columnheader').allTextContents()).toEqual([
      'Question', expect.stringMatching(/^written twice.*mean 33 %, 95 %: 0 % to 100 %/), expect.stringMatching(/^written once.*mean 33 %/),
    ]);
    expect((await row.getByRole('cell').allTextContents()).map((text) => /\d+ %/.exec(text)?.[0])).toEqual(['100 %', '0 %']);
    expect(await page.getByRole('row', { name: /broken pens/ }).getByText('Failed', { exact: true }).count()).toBe(2);
    await page.getByLabel('Only where they differ').check();
    await page.getByText('2 of 3 questions').waitFor();
    expect(await page.getByRole('row', { name: /broken pens/ }).count()).toBe(0);
    await row.getByRole('button').focus();
    await page.keyboard.press('Enter');
    await row.getByText('Draft 2 about bees.').waitFor();
    await row.getByText('Draft 1 about bees.').waitFor();
    await page.getByLabel('Score', { exact: true }).selectOption('f1');
    expect(page.url()).toContain('score=f1');
    await page.getByText('2 of 2 versions').click();
    await page.getByRole('checkbox', { name: 'written once' }).uncheck();
    expect(await row.getByRole('cell').count()).toBe(1);
  });

  it('of a version are forgotten when that is confirmed', async () => {
    const page = await browser.open('#/scores/essay');
    await page.getByRole('button', { name: 'Forget the version written once' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click();
    await page.getByRole('columnheader', { name: /written once/ }).waitFor({ state: 'detached' });
    expect((await api<Kept[]>(browser.url(), '/workflows/essay/evaluations')).map(({ version }) => version)).toEqual(['written twice']);
    execFileSync(PYTHON, [join(SCRIPTS, 'keep_evaluations.py'), browser.server().data], { stdio: 'pipe' });
  });

  it('say how to come by them where there are none', async () => {
    const page = await browser.open('#/scores/laps');
    await page.getByText('loopwright evaluate laps questions.jsonl --keep').waitFor();
    await page.getByText('0 of 0 runs told a score').waitFor();
  });

  it('can be read at each width', async () => {
    for (const [width, height] of Object.entries(SIZES)) {
      for (const colorScheme of SCHEMES) {
        const page = await browser.open('#/scores/essay', { viewport: { width: Number(width), height }, colorScheme });
        await page.getByRole('button', { name: 'bees' }).click();
        for (const text of ['Draft 1 about bees.', 'Draft 2 about bees.', '2 of 3 runs told a score']) {
          const box = await page.getByText(text).boundingBox();
          expect(box && box.x >= 0 && box.x + box.width <= Number(width), `${text} at ${width}`).toBe(true);
        }
        await shot(page, `scores-${width}-${colorScheme}`);
        await page.context().close();
      }
    }
  });
});

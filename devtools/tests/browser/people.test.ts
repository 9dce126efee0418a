/** A run that asks a person: the question where it is seen, and the ways to answer it. */
import { describe, expect, it } from 'vitest';

import { api, shot, useBrowser } from './harness';

const browser = useBrowser();

interface Run {
  id: string;
  status: string;
  outcome: { answer: string } | null;
}

/** Start a run and wait until it asks. */
async function asking(parcel: string): Promise<string> {
  const { id } = await api<Run>(browser.url(), '/runs', { workflow: 'permit', input: { parcel } });
  await is(id, 'waiting');
  return id;
}
const is = (id: string, status: string): Promise<void> =>
  expect.poll(async () => (await api<Run>(browser.url(), `/runs/${id}`)).status, { timeout: 20_000 }).toBe(status) as Promise<void>;

describe('a run that asks a person', () => {
  it('stands in the inbox of every page until somebody answers there', async () => {
    const [one, two] = [await asking('a harp'), await asking('a drum')];
    const page = await browser.open('#/runs');
    const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /^Waiting/ });
    await expect.poll(() => link.textContent()).toMatch(/2/);
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await page.getByRole('heading', { name: 'Waiting for you' }).waitFor();
    const harp = page.getByRole('listitem').filter({ hasText: 'May I send a harp?' });
    await shot(page, 'people-inbox-light');
    await harp.getByRole('button', { name: 'no', exact: true }).click();
    await harp.waitFor({ state: 'detached' });
    await is(one, 'finished');
    await page.getByRole('listitem').filter({ hasText: 'May I send a drum?' }).getByRole('button', { name: 'no', exact: true }).click();
    await page.getByText('Nothing waits').waitFor();
    await is(two, 'finished');
  });
});

import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { api, shot, useBrowser } from './harness';

const browser = useBrowser({ all: true });

const runForm = (page: Page): Locator => page.getByRole('form');
const chat = (page: Page): Locator => page.getByRole('log');
const turn = (page: Page): Locator => chat(page).getByRole('article').last();

/** The run that the page shows. */
const shownRun = (page: Page): string => new URLSearchParams(page.url().split('?', 2)[1]).get('run') ?? '';

async function ask(page: Page, message: string): Promise<void> {
  await runForm(page).getByRole('textbox', { name: 'Message' }).fill(message);
  await runForm(page).getByRole('button', { name: 'Run', exact: true }).click();
}

describe('a question to the assistant', () => {
  it('is followed by another in the same conversation, with the keyboard alone', async () => {
    const page = await browser.open('#/workflows/assistant');
    await runForm(page).getByRole('textbox', { name: 'Message' }).focus();
    await page.keyboard.type('Which keynotes are there?');
    await page.keyboard.press('Control+Enter');
    await turn(page).getByText('Answered', { exact: true }).waitFor();
    const first = shownRun(page);
    await page.getByRole('textbox', { name: 'Follow-up question' }).focus();
    await page.keyboard.type('And on Sunday?');
    await page.keyboard.press('Enter');
    await chat(page).getByRole('article', { name: 'Question: And on Sunday?' }).getByText(/^Answered/).waitFor();
    await expect.poll(() => chat(page).getByRole('article').count()).toBe(2);
    const second = shownRun(page);
    expect(second).not.toBe(first);
    const conversation = async (id: string): Promise<string> =>
      (await api<{ input: { user_context: { conversation_id: string } } }>(browser.url(), `/runs/${id}`)).input.user_context.conversation_id;
    expect(await conversation(second)).toBe(await conversation(first));
    await shot(page, 'chat-light');
  });

  it('says honestly that nothing was found', async () => {
    const page = await browser.open('#/workflows/assistant');
    await ask(page, 'Are there talks about xylophone taxidermy?');
    await turn(page).getByText('Nothing found', { exact: true }).waitFor();
    await turn(page).getByText('Nothing fits the question, and the answer says so.').waitFor();
    await turn(page).getByText(/I found no sessions about “xylophone taxidermy”/).waitFor();
  });

  it('is there again after the page was loaded anew', async () => {
    const page = await browser.open('#/workflows/assistant');
    await ask(page, 'Which keynotes are there?');
    await turn(page).getByText('Answered', { exact: true }).waitFor();
    await page.reload();
    await turn(page).getByText('Which keynotes are there?').waitFor();
    await turn(page).getByText('Answered', { exact: true }).waitFor();
  });
});

describe('a run of a graph of one’s own', () => {
  it('shows its words as they come, is stopped, and goes on', async () => {
    const page = await browser.open('#/workflows/parrot');
    await ask(page, `slowly ${Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ')}`);
    const answer = turn(page).locator('.prose');
    await answer.getByText(/word3\b/).waitFor();
    expect(await answer.textContent()).not.toContain('word59');
    await page.getByRole('button', { name: 'Stop' }).click();
    await turn(page).getByText('Stopped', { exact: true }).waitFor();
    expect((await api<{ status: string }>(browser.url(), `/runs/${shownRun(page)}`)).status).toBe('cancelled');
    await page.getByRole('button', { name: 'Go on from the last step' }).click();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await answer.getByText(/word59/).waitFor();
    await turn(page).getByText('Finished', { exact: true }).waitFor();
  });

  it('tells of an error with its step, and is tried again', async () => {
    const page = await browser.open('#/workflows/parrot');
    await ask(page, 'this is broken');
    const alert = turn(page).getByRole('alert');
    await alert.getByText('the beak is broken').waitFor();
    await alert.getByText('answer', { exact: true }).waitFor();
    await shot(page, 'chat-error-light');
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => chat(page).getByRole('article').count()).toBe(2);
    await turn(page).getByRole('alert').getByText('the beak is broken').waitFor();
  });
});

describe('the form', () => {
  it('is that of a workflow from a package of somebody else', async () => {
    const page = await browser.open('#/workflows/headline');
    await runForm(page).getByRole('textbox', { name: 'Text' }).fill('The harbour was rebuilt in 1912 after the flood. It opened in May.');
    await runForm(page).getByLabel('Characters').fill('60');
    await runForm(page).getByRole('button', { name: 'Run', exact: true }).click();
    await turn(page).getByText('Answered', { exact: true }).waitFor();
    await turn(page).getByText('The harbour was rebuilt in 1912 after the flood', { exact: true }).waitFor();
  });

  it('runs an example with a picture that comes along', async () => {
    const page = await browser.open('#/workflows/iqa');
    await runForm(page).getByRole('button', { name: 'A blurred picture' }).click();
    await runForm(page).getByText('harbour-blurred, a sample').waitFor();
    await runForm(page).getByRole('button', { name: 'Run', exact: true }).click();
    await turn(page).getByText(/^(Answered|Best effort|Answered in part)$/).waitFor({ timeout: 60_000 });
    await expect.poll(() => turn(page).getByRole('img').evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(320);
    await shot(page, 'iqa-light');
  });

  it('takes no file that is no picture', async () => {
    const page = await browser.open('#/workflows/iqa');
    await page.getByLabel('Picture', { exact: true }).and(page.locator('input')).setInputFiles({ name: 'notes.png', mimeType: 'image/png', buffer: Buffer.from('no picture') });
    const alert = runForm(page).getByRole('group', { name: 'Picture' }).getByRole('alert');
    await alert.getByText('notes.png is no file of the kind that is wanted: it holds text/plain, not image/*.').waitFor();
    await runForm(page).getByRole('textbox', { name: 'Question' }).fill('Is it sharp?');
    await runForm(page).getByRole('button', { name: 'Run', exact: true }).click();
    await runForm(page).getByText('This is needed.').waitFor();
    expect(new URL(page.url()).hash).not.toContain('run=');
  });

  it('asks the documents, and an example fills it in', async () => {
    const page = await browser.open('#/workflows/rag');
    await runForm(page).getByRole('button', { name: 'Answered at the first search' }).click();
    expect(await runForm(page).getByRole('textbox', { name: 'Question' }).inputValue()).toContain('Stillwater Bridge');
    await runForm(page).getByRole('button', { name: 'Run', exact: true }).click();
    await turn(page).getByText('Answered', { exact: true }).waitFor();
    await turn(page).getByRole('group', { name: 'Sources' }).getByRole('button').first().click();
    await turn(page).getByRole('complementary').locator('blockquote').waitFor();
    await shot(page, 'rag-light');
  });

  it('says at the field what is wrong, goes there, and sends nothing', async () => {
    const page = await browser.open('#/workflows/iqa');
    const sent: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
    const form = runForm(page);
    await form.getByRole('button', { name: 'Run', exact: true }).click();
    const question = form.getByRole('textbox', { name: 'Question' });
    await expect.poll(() => question.getAttribute('aria-invalid')).toBe('true');
    expect(await question.evaluate((element) => element === document.activeElement)).toBe(true);
    await form.getByText('This is needed.').first().waitFor();
    await form.getByText('Mend what is marked, then start again.').waitFor();
    await form.getByRole('textbox', { name: 'Replans' }).fill('-1');
    await form.getByText('At least 0.').waitFor();
    await form.getByRole('textbox', { name: 'Replans' }).fill('many');
    await form.getByText('“many” is not a number.').waitFor();
    await shot(page, 'form-problems-light');
    expect(sent).toEqual([]);
  });

  it('is written as JSON and back without a loss', async () => {
    const page = await browser.open('#/workflows/parrot');
    const form = runForm(page);
    await form.getByRole('textbox', { name: 'Message' }).fill('hello');
    await form.getByRole('button', { name: 'As JSON' }).click();
    const editor = form.getByRole('textbox', { name: 'Input as JSON' });
    expect(JSON.parse(await editor.inputValue())).toEqual({ message: 'hello' });
    await editor.fill('{"message": "hello", "repeat": ');
    await form.getByRole('button', { name: 'Run', exact: true }).click();
    await form.getByText(/This is not JSON/).waitFor();
    await editor.fill('{"message": "hello", "repeat": 2, "nonsense": 1}');
    await form.getByText(/There is no “nonsense” here/).waitFor();
    await editor.fill('{"message": "hello", "repeat": 1180000000000000123}');
    await form.getByRole('button', { name: 'As form' }).click();
    expect(await form.getByRole('textbox', { name: 'Repeat' }).inputValue()).toBe('1180000000000000123');
    browser.expected.push(/ERR_FAILED/);
    await page.route('**/runs', (route) => route.abort(), { times: 1 });
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    await form.getByRole('button', { name: 'Run', exact: true }).click();
    expect((await sent).postData()).toContain('"repeat":1180000000000000123');
    await form.getByRole('button', { name: 'As JSON' }).click();
    await editor.fill('{"message": "hello", "repeat": 2}');
    await form.getByRole('button', { name: 'As form' }).click();
    expect(await form.getByRole('textbox', { name: 'Repeat' }).inputValue()).toBe('2');
    await form.getByRole('button', { name: 'Run', exact: true }).click();
    await turn(page).getByText('hello hello').waitFor();
  });
});

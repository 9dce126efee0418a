import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { tick } from 'svelte';
import { afterEach, describe, expect, it, vi } from 'vitest';

import Waiting from '../../src/components/run/Waiting.svelte';
import { recordOf, serve } from '../form/replies';

const [ONE, TWO] = ['0a'.repeat(16), '0b'.repeat(16)];
const asked = (node: string, value: unknown, id: string | null) => ({ node, value, id });
const type = (field: HTMLElement, value: string): Promise<boolean> => fireEvent.input(field, { target: { value } });
const words = (): HTMLElement => screen.getByLabelText('Answer in words');
const press = (name: string): Promise<boolean> => fireEvent.click(screen.getByRole('button', { name }));

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

describe('an answer in words', () => {
  const answered = async (value: unknown, typed: string, ...buttons: string[]): Promise<unknown> => {
    const sent = serve({ 'POST /runs/r1/resume': recordOf({ status: 'running' }), 'GET /runs': { runs: [], total: 0, next: null } });
    render(Waiting, { run: 'r1', asked: [asked('ask', value, ONE)] });
    await type(words(), typed);
    for (const name of [...buttons, 'Answer']) await press(name);
    await waitFor(() => expect(sent.length).toBeGreaterThan(0));
    cleanup();
    return (sent[0]?.body as { answer: Record<string, unknown> }).answer[ONE];
  };

  it('to a question in words is a text, also where it is made of digits, unless somebody says otherwise', async () => {
    expect(await answered('Phone number?', '4915123')).toBe('4915123');
    expect(await answered('Phone number?', '4915123', 'Send it as the number 4915123')).toBe(4915123);
    expect(await answered('Which?', '{"a": 1}')).toEqual({ a: 1 });
    expect(await answered({ boxes: 2 }, '3')).toBe(3);
    expect(await answered({ boxes: 2 }, '3', 'Send it as a text')).toBe('3');
    expect(await answered('Go on?', 'yes')).toBe('yes');
  });
});

describe('several questions', () => {
  it('are answered together, and what was typed stays until it is sent', async () => {
    const sent = serve({ 'POST /runs/r1/resume': recordOf({ status: 'running' }), 'GET /runs': { runs: [], total: 0, next: null } });
    const both = [asked('ask', { question: 'Send?', options: ['yes', 'no'] }, ONE), asked('name', 'Who?', TWO)];
    const { rerender } = render(Waiting, { run: 'r1', asked: both });
    const who = (): HTMLTextAreaElement => screen.getAllByLabelText<HTMLTextAreaElement>('Answer in words').at(-1)!;
    await type(who(), 'Ada');
    await rerender({ run: 'r1', asked: [] });
    await rerender({ run: 'r1', asked: both });
    expect(who().value).toBe('Ada');
    await type(who(), '');
    await rerender({ run: 'r1', asked: [] });
    await rerender({ run: 'r1', asked: both });
    expect(who().value).toBe('');
    await type(who(), '42');
    await press('Send it as the number 42');
    await rerender({ run: 'r1', asked: [] });
    await rerender({ run: 'r1', asked: both });
    expect(screen.getByRole('button', { name: 'Send it as a text' })).toBeTruthy();
    await type(who(), 'Ada');
    await press('yes');
    expect(sent).toEqual([]);
    expect(screen.getByRole('button', { name: 'Send 1 of 2 answers' })).toBeTruthy();
    await tick();
    expect(document.activeElement).toBe(who());
    await press('Change');
    await tick();
    expect(document.activeElement).toBe(screen.getByRole('button', { name: 'yes' }));
    await press('yes');
    await fireEvent.click(screen.getAllByRole('button', { name: 'Answer' }).at(-1)!);
    await tick();
    expect(document.activeElement).toBe(screen.getByRole('button', { name: 'Send all answers' }));
    await press('Send all answers');
    await waitFor(() => expect(sent[0]?.body).toEqual({ answer: { [ONE]: 'yes', [TWO]: 'Ada' } }));
  });

  it('of which one is left: what was not sent is asked again', async () => {
    const [one, two] = [asked('ask', 'Send?', ONE), asked('name', 'Who?', TWO)];
    const { rerender } = render(Waiting, { run: 'r1', asked: [one, two] });
    await type(screen.getAllByLabelText('Answer in words')[0]!, 'yes');
    await fireEvent.click(screen.getAllByRole('button', { name: 'Answer' })[0]!);
    expect(screen.getByText('Your answer: yes')).toBeTruthy();
    // Somebody answered the other one elsewhere.
    await rerender({ run: 'r1', asked: [one] });
    expect(screen.getByLabelText<HTMLTextAreaElement>('Answer in words').value).toBe('yes');
    expect(screen.getByRole('button', { name: 'Answer' })).toBeTruthy();
  });

  it('may be answered with nothing', async () => {
    const sent = serve({ 'POST /runs/r1/resume': recordOf({ status: 'running' }), 'GET /runs': { runs: [], total: 0, next: null } });
    const schema = { anyOf: [{ type: 'string' }, { type: 'null' }], title: 'Name' };
    render(Waiting, { run: 'r1', asked: [asked('ask', { question: 'Who?', schema }, ONE), asked('name', 'Who else?', TWO)] });
    await press('Send');
    expect(screen.getByText('Your answer: nothing')).toBeTruthy();
    await press('Send 1 of 2 answers');
    await waitFor(() => expect(sent[0]?.body).toEqual({ answer: { [ONE]: null } }));
  });
});

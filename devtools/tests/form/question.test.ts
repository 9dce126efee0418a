import { describe, expect, it } from 'vitest';

import { questionOf } from '../../src/lib/form/question';

describe('a question', () => {
  it('is the text that it was given', () => {
    expect(questionOf('Go on?')).toEqual({ text: 'Go on?', details: {}, choices: [], form: null });
    expect(questionOf([1, 2])).toMatchObject({ text: '', details: { value: [1, 2] } });
  });

  it('has its text, its choices and the rest apart', () => {
    const asked = questionOf({ question: 'Which?', options: ['a', { label: 'B', value: 2 }, { label: 'None', value: null }, { n: 1 }], budget: 3 });
    expect(asked).toMatchObject({ text: 'Which?', details: { budget: 3 }, form: null });
    expect(asked.choices).toEqual([
      { label: 'a', value: 'a' }, { label: 'B', value: 2 }, { label: 'None', value: null }, { label: '{"n":1}', value: { n: 1 } },
    ]);
  });

  it('is answered with yes or no, or with one of a list, where the schema says so', () => {
    expect(questionOf({ message: 'Send?', schema: { type: 'boolean' } }).choices).toEqual([{ label: 'Yes', value: true }, { label: 'No', value: false }]);
    expect(questionOf({ message: 'How?', schema: { enum: ['slow', 'fast'] } }).choices.map((each) => each.value)).toEqual(['slow', 'fast']);
    for (const schema of [{ enum: [1, null] }, { oneOf: [{ const: 1 }, { const: null }] }, { anyOf: [{ enum: [1] }, { enum: [null] }] }]) {
      expect(questionOf({ schema }).choices.map((each) => each.value)).toEqual([1, null]);
    }
    for (const none of [{ const: null, title: 'Neither' }, { type: 'null', title: 'Neither' }]) {
      expect(questionOf({ schema: { oneOf: [{ const: 1, title: 'One' }, none] } }).choices).toEqual([{ label: 'One', value: 1 }, { label: 'Neither', value: null }]);
    }
    expect(questionOf({ schema: { type: ['boolean', 'null'] } }).choices.map((each) => each.value)).toEqual([true, false, null]);
  });

  it('calls values as the schema does, and a text without letters as its JSON', () => {
    const titled = { oneOf: [{ const: 1, title: 'One' }, { const: true, title: 'All' }, { const: 'few' }] };
    expect(questionOf({ schema: titled }).choices.map((each) => each.label)).toEqual(['One', 'All', 'few']);
    const { field } = questionOf({ schema: { type: 'object', properties: { n: titled } } }).form!;
    expect(field).toMatchObject({ fields: [{ choices: [1, true, 'few'], names: { 1: 'One', true: 'All' } }] });
    expect(questionOf({ schema: { oneOf: [{ const: 'x', title: '' }] } }).choices.map((each) => each.label)).toEqual(['x']);
    expect(questionOf({ options: ['', ' ', 0] }).choices.map((each) => each.label)).toEqual(['""', '" "', '0']);
  });

  it('has a form for an object, and for a single value', () => {
    const object = questionOf({ schema: { type: 'object', properties: { n: { type: 'integer' } } } });
    expect(object.form?.answer({ n: 1 })).toEqual({ n: 1 });
    const number = questionOf({ text: 'How many?', schema: { type: 'integer', minimum: 1 } });
    expect(number.form?.field).toMatchObject({ kind: 'object', fields: [{ kind: 'number', min: 1 }] });
    expect(number.form?.answer({ answer: 4 })).toBe(4);
  });

  it('of LangChain’s middleware is answered in its own form', () => {
    const request = (name: string) => ({ name, args: { to: 'you' }, description: `Call ${name}?` });
    const config = (action_name: string) => ({ action_name, allowed_decisions: ['approve', 'edit', 'reject'] });
    const single = questionOf({ action_requests: [request('mail')], review_configs: [config('mail')] });
    expect(single).toMatchObject({ text: 'Call mail?', details: { mail: { to: 'you' } } });
    expect(single.choices.map((each) => each.value)).toEqual([{ decisions: [{ type: 'approve' }] }, { decisions: [{ type: 'reject' }] }]);
    const both = questionOf({ action_requests: [request('mail'), request('wire')], review_configs: [config('mail'), config('wire')] });
    expect(both.form?.answer({ 0: 'approve', 1: 'reject' })).toEqual({ decisions: [{ type: 'approve' }, { type: 'reject' }] });
  });
});

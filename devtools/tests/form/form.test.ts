import { describe, expect, it } from 'vitest';

import { readJson } from '../../src/lib/api/json';
import { check } from '../../src/lib/form/checking';
import { draftOf, parseJson, readDraft, type Draft } from '../../src/lib/form/drafts';
import { fieldsOf, type Field, type FieldOf, type JsonSchema } from '../../src/lib/form/fields';
import served from './served.json';
import { ASSISTANT, IQA, OWN, RAG } from './schemas';

function part(field: Field, ...keys: string[]): Field {
  let found: Field | undefined = field;
  for (const key of keys) found = (found as FieldOf<'object'>).fields.find((one) => one.key === key);
  if (!found) throw new Error(`no field ${keys.join('.')}`);
  return found;
}

function draftPart(draft: Draft, ...keys: string[]): Draft {
  let found: Draft | undefined = draft;
  for (const key of keys) found = found?.fields[key];
  if (!found) throw new Error(`no draft ${keys.join('.')}`);
  return found;
}

/** What a form gives back for an input that it was filled with. */
const through = (schema: JsonSchema, input: unknown): unknown => {
  const field = fieldsOf(schema);
  return readDraft(field, draftOf(field, input)).value;
};

const problems = (schema: JsonSchema, input: unknown): Record<string, string> => {
  const field = fieldsOf(schema);
  return Object.fromEntries(readDraft(field, draftOf(field, input)).problems);
};

/** An amount of money, as pydantic says that of a `Decimal`. */
const PRICE: JsonSchema = {
  type: 'object',
  properties: { amount: { anyOf: [{ type: 'number' }, { type: 'string', pattern: '^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$' }] } },
};

describe('the fields of a schema', () => {
  it('are those of the assistant', () => {
    const form = fieldsOf(ASSISTANT);
    expect(part(form, 'message')).toMatchObject({ kind: 'text', format: 'multiline', label: 'Question', required: true });
    expect(part(form, 'user_context')).toMatchObject({ kind: 'object', nullable: true, required: false, help: 'Who asks, and when.' });
    expect(part(form, 'user_context', 'now')).toMatchObject({ kind: 'text', format: 'datetime', nullable: true });
    expect(part(form, 'user_context', 'profile', 'interests')).toMatchObject({ kind: 'list', max: 20, item: { kind: 'text' } });
    expect(part(form, 'user_context', 'profile', 'languages')).toMatchObject({ item: { kind: 'choice', choices: ['en', 'fr', 'nl'] } });
  });

  it('are those of the question answering and of the image assessment', () => {
    expect(part(fieldsOf(RAG), 'max_retry_count')).toMatchObject({ kind: 'number', whole: true, min: 0, max: 10, nullable: true });
    expect(part(fieldsOf(IQA), 'image')).toMatchObject({ kind: 'upload', required: true });
    expect(part(fieldsOf(IQA), 'reference')).toMatchObject({ kind: 'upload', required: false, nullable: true });
    const region = part(fieldsOf(IQA), 'region') as FieldOf<'tuple'>;
    expect(region.items.map((item) => item.label)).toEqual(['Left', 'Top', 'Width', 'Height']);
  });

  it('that always have as many items stand beside each other', () => {
    const region = part(fieldsOf(served.iqa.schema), 'region') as FieldOf<'tuple'>;
    expect(region.items.map((item) => [item.kind, item.label])).toEqual([['number', '1'], ['number', '2'], ['number', '3'], ['number', '4']]);
    expect(problems(served.iqa.schema, { query: 'q', image: 'i', region: [1, 2, 3] })).toEqual({ '/region/3': 'This is needed.' });
  });

  it('of any other graph fall back to JSON where nothing simpler fits', () => {
    const form = fieldsOf(OWN);
    const kinds = Object.fromEntries((form as FieldOf<'object'>).fields.map((field) => [field.key, field.kind]));
    expect(kinds).toEqual({
      topic: 'text', strict: 'boolean', level: 'choice', kind: 'choice', weight: 'number', tree: 'object',
      either: 'json', free: 'json', messages: 'list', broken: 'json', anything: 'json',
    });
    expect(part(form, 'level')).toMatchObject({ choices: ['low', 'high'], nullable: true });
    expect(part(form, 'kind')).toMatchObject({ choices: [1, 2] });
    expect(part(form, 'tree', 'child').kind).toBe('json');
  });

  it('end where references go round', () => {
    const round: JsonSchema = { type: 'object', properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: { $ref: '#/$defs/A' } } };
    expect(part(fieldsOf(round), 'a').kind).toBe('json');
  });
});

describe.each(Object.entries(served) as [string, { schema: JsonSchema; examples: { title: string; input: unknown }[] }][])(
  'the schema that the server has for %s',
  (_, { schema, examples }) => {
    it('needs no JSON to be typed', () => {
      const kinds = (field: Field): string[] =>
        field.kind === 'object' ? field.fields.flatMap(kinds) : field.kind === 'list' ? kinds(field.item) : [field.kind];
      expect(kinds(fieldsOf(schema))).not.toContain('json');
    });

    it('gives its examples back as they are', () => {
      expect(examples.length).toBeGreaterThan(0);
      for (const { input } of examples) {
        expect(through(schema, input)).toEqual(input);
        expect(problems(schema, input)).toEqual({});
      }
    });
  },
);

describe('a filled form', () => {
  it.each([
    [ASSISTANT, { message: 'Who talks about Rust?' }],
    [ASSISTANT, { message: 'x', user_context: { user_id: 'u', now: '2025-02-01T10:30:00+01:00', profile: { name: 'Ada', interests: ['a', 'b'], languages: ['fr'] } } }],
    [RAG, { question: 'Who?', history: ['a', 'b'], max_retry_count: 0 }],
    [IQA, { query: 'How sharp?', image: 'up_1', region: [0, 1, 20, 30], max_replan_iterations: 0 }],
    [OWN, { topic: 't', strict: true, kind: 2, weight: 0.5, tree: { value: 1, child: { value: 2 } }, either: 3, free: { a: [1] }, messages: [{ role: 'user', content: 'hi' }], unknown: { kept: true } }],
    [OWN, { topic: 't', strict: true, either: '12345' }],
    [PRICE, { amount: '12.50' }],
  ])('gives back what it was filled with %#', (schema, input) => {
    expect(through(schema, input)).toEqual(input);
    expect(problems(schema, input)).toEqual({});
  });

  it('leaves out what is empty and optional, and takes defaults', () => {
    expect(through(RAG, { question: 'Who?' })).toEqual({ question: 'Who?' });
    expect(through(IQA, { query: 'q', image: 'i' })).toEqual({ query: 'q', image: 'i', max_replan_iterations: 2 });
    expect(through(OWN, { topic: 't' })).toEqual({ topic: 't', strict: false });
  });

  it('says that a default was taken away', () => {
    const properties: Record<string, JsonSchema> = {
      style: { type: 'string', default: 'formal' },
      limit: { anyOf: [{ type: 'integer' }, { type: 'null' }], default: 5 },
      tags: { type: 'array', items: { type: 'string' }, default: ['news'] },
    };
    const field = fieldsOf({ type: 'object', properties });
    const draft = draftOf(field, {});
    draftPart(draft, 'style').text = draftPart(draft, 'limit').text = '';
    draftPart(draft, 'tags').items = [];
    expect(readDraft(field, draft).value).toEqual({ style: '', limit: null, tags: [] });
  });

  it('sends whole numbers as they were typed', () => {
    const field = fieldsOf({ type: 'object', properties: { id: { type: 'integer' } } });
    const draft = draftOf(field, {});
    draftPart(draft, 'id').text = '1180000000000000123';
    expect(readDraft(field, draft)).toEqual({ value: { id: 1180000000000000123n }, problems: new Map() });
    expect(readJson('[0.1234567890123456789, 7, "9007199254740993"]')).toEqual([0.12345678901234568, 7, '9007199254740993']);
  });

  it('says null where a needed value may be null', () => {
    const schema: JsonSchema = { type: 'object', required: ['n'], properties: { n: { type: ['integer', 'null'] } } };
    expect(through(schema, {})).toEqual({ n: null });
  });

  it('keeps what was typed while it is no value yet', () => {
    const field = fieldsOf(RAG);
    const draft = draftOf(field, { question: 'Who?' });
    draftPart(draft, 'max_retry_count').text = '12a';
    expect(Object.fromEntries(readDraft(field, draft).problems)).toEqual({ '/max_retry_count': '“12a” is not a number.' });
    expect(draftPart(draft, 'max_retry_count').text).toBe('12a');
  });
});

describe('what is wrong stands at its field', () => {
  it.each([
    [ASSISTANT, {}, { '/message': 'This is needed.' }],
    [ASSISTANT, { message: '   ' }, { '/message': 'This is needed.' }],
    [ASSISTANT, { message: 'x'.repeat(4001) }, { '/message': 'At most 4000 characters; it has 4001.' }],
    [ASSISTANT, { message: 'x', user_context: { now: 'tomorrow' } }, { '/user_context/now': 'This must be a date with a time, for example 2025-02-01T10:30:00+01:00.' }],
    [RAG, { question: 'x', max_retry_count: 11 }, { '/max_retry_count': 'At most 10.' }],
    [RAG, { question: 'x', max_retry_count: 1.5 }, { '/max_retry_count': 'This must be a whole number.' }],
    [IQA, { query: 'x' }, { '/image': 'This is needed.' }],
    [IQA, { query: 'x', image: 'i', region: [0, 0, 0, 5] }, { '/region/2': 'More than 0.' }],
    [OWN, { topic: 't', strict: true, weight: 0 }, { '/weight': 'More than 0.' }],
    [PRICE, { amount: '12,50' }, { '/amount': 'This must be a number, for example 12.5.' }],
  ])('%#', (schema, input, expected) => {
    expect(problems(schema, input)).toEqual(expected);
  });

  it.each([
    ['^\\w+$', 'Zürich', true],
    ['^\\w+$', 'New York', false],
    ['^[a-z]+$', 'zürich', false],
  ])('a pattern is told here as far as both sides read it alike: %s, %s', (pattern, value, fits) => {
    expect(check(fieldsOf({ type: 'string', pattern }), value).size).toBe(fits ? 0 : 1);
  });

  it('also in raw JSON', () => {
    const found = check(fieldsOf(RAG), { question: 3, history: ['a', 4], wrong: 1 });
    expect(Object.fromEntries(found)).toEqual({
      '/question': 'This must be a text.', '/history/1': 'This must be a text.', '': 'There is no “wrong” here.',
    });
    expect(check(fieldsOf(RAG), [])).toEqual(new Map([['', 'This must be an object: {"key": value}.']]));
  });

  it('says why JSON cannot be read', () => {
    expect(parseJson('{"a": 1}')).toEqual({ value: { a: 1 }, problem: '' });
    expect(parseJson('{"a": ]}').problem).toMatch(/^This is not JSON: .*]/);
  });
});

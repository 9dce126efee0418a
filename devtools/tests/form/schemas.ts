/** Input schemas of all shapes; those of the server's own workflows are in served.json. */
import type { JsonSchema } from '../../src/lib/form/fields';

export const ASSISTANT: JsonSchema = {
  type: 'object',
  required: ['message'],
  additionalProperties: false,
  properties: {
    message: { type: 'string', title: 'Question', format: 'multiline', minLength: 1, maxLength: 4000 },
    user_context: {
      anyOf: [{ $ref: '#/$defs/Context' }, { type: 'null' }],
      default: null,
      description: 'Who asks, and when.',
    },
  },
  $defs: {
    Context: {
      type: 'object',
      additionalProperties: false,
      properties: {
        user_id: { type: 'string' },
        conversation_id: { type: 'string' },
        now: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] },
        profile: { anyOf: [{ $ref: '#/$defs/Profile' }, { type: 'null' }] },
      },
    },
    Profile: {
      type: 'object',
      additionalProperties: false,
      properties: {
        name: { type: 'string', default: '' },
        interests: { type: 'array', items: { type: 'string' }, maxItems: 20 },
        languages: { type: 'array', items: { enum: ['en', 'fr', 'nl'] } },
      },
    },
  },
};

export const RAG: JsonSchema = {
  type: 'object',
  required: ['question'],
  additionalProperties: false,
  properties: {
    question: { type: 'string', format: 'multiline', minLength: 1 },
    history: { type: 'array', items: { type: 'string' }, default: [] },
    max_retry_count: { anyOf: [{ type: 'integer', minimum: 0, maximum: 10 }, { type: 'null' }], default: null },
  },
};

export const IQA: JsonSchema = {
  type: 'object',
  required: ['query', 'image'],
  additionalProperties: false,
  properties: {
    query: { type: 'string', format: 'multiline', minLength: 1 },
    image: { type: 'string', format: 'loopwright-upload' },
    reference: { anyOf: [{ type: 'string', format: 'loopwright-upload' }, { type: 'null' }] },
    region: {
      anyOf: [
        {
          type: 'array',
          minItems: 4,
          maxItems: 4,
          prefixItems: [
            { type: 'integer', title: 'Left', minimum: 0 },
            { type: 'integer', title: 'Top', minimum: 0 },
            { type: 'integer', title: 'Width', exclusiveMinimum: 0 },
            { type: 'integer', title: 'Height', exclusiveMinimum: 0 },
          ],
        },
        { type: 'null' },
      ],
    },
    max_replan_iterations: { type: 'integer', minimum: 0, maximum: 5, default: 2 },
  },
};

/** A user's own graph: whatever pydantic makes of a state. */
export const OWN: JsonSchema = {
  type: 'object',
  required: ['topic', 'strict'],
  properties: {
    topic: { type: 'string' },
    strict: { type: 'boolean' },
    level: { enum: ['low', 'high', null] },
    kind: { oneOf: [{ const: 1 }, { const: 2 }] },
    weight: { type: ['number', 'null'], exclusiveMinimum: 0, maximum: 1 },
    tree: { $ref: '#/$defs/Tree' },
    either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    free: { type: 'object' },
    messages: { type: 'array', items: { type: 'object', properties: { role: { type: 'string' }, content: { type: 'string' } }, required: ['role'] } },
    broken: { $ref: '#/$defs/Missing' },
    anything: {},
  },
  $defs: { Tree: { type: 'object', properties: { value: { type: 'integer' }, child: { $ref: '#/$defs/Tree' } } } },
};

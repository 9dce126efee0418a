/** From a JSON schema to the fields of a form: a small tree that says for each value how it is entered. */

import { SECRET } from './secrets';

/** The part of JSON Schema that forms understand; anything else is entered as JSON. */
export interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  format?: string;
  writeOnly?: boolean;
  contentMediaType?: string;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema | boolean;
  prefixItems?: JsonSchema[];
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  $ref?: string;
  /** Set here: a number is taken too. */
  numeric?: boolean;
  /** Set here: what values of `enum` are called, where something tells. */
  names?: Record<string, string>;
  $defs?: Record<string, JsonSchema>;
  definitions?: Record<string, JsonSchema>;
}

/** What all fields have. */
interface Common {
  /** The key in the object that it belongs to; empty for the root and for items of lists. */
  key: string;
  /** What people call it. */
  label: string;
  /** What it is for, in a sentence. */
  help: string;
  /** Whether the object must have it. */
  required: boolean;
  /** Whether it may be null. */
  nullable: boolean;
  /** What is taken where nothing is given, or undefined. */
  fallback: unknown;
  /** Whether what is typed must not be kept. */
  secret: boolean;
}

/** A field of a form. */
export type Field = Common &
  (
    | { kind: 'text'; format: 'line' | 'multiline' | 'date' | 'datetime'; minLength: number; maxLength: number; pattern: string; numeric: boolean }
    | { kind: 'upload'; accept: string }
    | { kind: 'number'; whole: boolean; min: number; max: number; above: number; below: number }
    | { kind: 'boolean' }
    /** What choices are called, by their JSON, where the schema tells. */
    | { kind: 'choice'; choices: unknown[]; names?: Record<string, string> }
    | { kind: 'object'; fields: Field[]; open: boolean }
    | { kind: 'list'; item: Field; min: number; max: number }
    | { kind: 'tuple'; items: Field[] }
    | { kind: 'json' }
  );

export type FieldOf<K extends Field['kind']> = Extract<Field, { kind: K }>;

/** The `format` of a text that is the id of an uploaded file. */
const UPLOAD = 'loopwright-upload';

const FORMATS: Record<string, FieldOf<'text'>['format']> = { multiline: 'multiline', date: 'date', 'date-time': 'datetime' };

/** Lists that always have so many items, and not more, stand beside each other. */
const SHORT = 8;

/** Deeper than this, and where a schema contains itself, a value is entered as JSON. */
const DEPTH = 6;

/** Makes the fields of a schema; a schema that describes no object gives a field of kind `json`. */
export function fieldsOf(schema: JsonSchema): Field {
  return read(schema, { root: schema, key: '', required: true, secret: false, seen: [] });
}

/** How a key is called where the schema has no title for it. */
function labelOf(key: string): string {
  const words = key.replaceAll(/[_-]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

interface Place {
  root: JsonSchema;
  key: string;
  required: boolean;
  /** Whether it lies within a secret. */
  secret: boolean;
  /** The references that led here, and an empty one for each step into an object or a list. */
  seen: string[];
}

function read(given: JsonSchema, place: Place): Field {
  const { schema, nullable, seen, tangled } = plainSchema(given, place);
  const common: Common = {
    key: place.key,
    label: schema.title ?? labelOf(place.key),
    help: schema.description ?? '',
    required: place.required,
    nullable,
    fallback: schema.default,
    secret: place.secret || SECRET.test(place.key) || schema.format === 'password' || schema.writeOnly === true,
  };
  const inside = { ...place, seen, secret: common.secret };
  if (tangled || seen.length > DEPTH) return { ...common, kind: 'json' };
  if (schema.const !== undefined) return { ...common, kind: 'choice', choices: [schema.const] };
  if (schema.enum) return { ...common, kind: 'choice', choices: schema.enum.filter((choice) => choice !== null), names: schema.names };
  switch (schema.type) {
    case 'string':
      return text(schema, common);
    case 'integer':
    case 'number':
      return {
        ...common,
        kind: 'number',
        whole: schema.type === 'integer',
        min: schema.minimum ?? -Infinity,
        max: schema.maximum ?? Infinity,
        above: schema.exclusiveMinimum ?? -Infinity,
        below: schema.exclusiveMaximum ?? Infinity,
      };
    case 'boolean':
      return { ...common, kind: 'boolean' };
    case 'object':
      return object(schema, common, inside);
    case 'array':
      return array(schema, common, inside);
    default:
      return schema.properties ? object(schema, common, inside) : { ...common, kind: 'json' };
  }
}

/** What a choice is called. */
export function nameOf(choice: unknown, names: Record<string, string> = {}): string {
  const json = JSON.stringify(choice);
  return names[json] || (typeof choice === 'string' && choice.trim() ? choice : json);
}

function text(schema: JsonSchema, common: Common): Field {
  if (schema.format === UPLOAD) return { ...common, kind: 'upload', accept: schema.contentMediaType ?? '' };
  return {
    ...common,
    kind: 'text',
    format: FORMATS[schema.format ?? ''] ?? 'line',
    minLength: schema.minLength ?? 0,
    maxLength: schema.maxLength ?? Infinity,
    pattern: schema.pattern ?? '',
    numeric: schema.numeric ?? false,
  };
}

function object(schema: JsonSchema, common: Common, place: Place): Field {
  const properties = Object.entries(schema.properties ?? {});
  // Without known keys there is nothing to show but the JSON itself; the root always has a form, even an empty one.
  if (!properties.length && place.seen.includes('')) return { ...common, kind: 'json' };
  const required = new Set(schema.required ?? []);
  const seen = [...place.seen, ''];
  return {
    ...common,
    kind: 'object',
    open: schema.additionalProperties !== false,
    fields: properties.map(([key, property]) => read(property, { ...place, key, required: required.has(key), seen })),
  };
}

function array(schema: JsonSchema, common: Common, place: Place): Field {
  const item = (of: JsonSchema, key: string) => read(of, { ...place, key, required: true, seen: [...place.seen, ''] });
  const { minItems = 0, maxItems = Infinity, prefixItems, items } = schema;
  if (prefixItems?.length && minItems === prefixItems.length && maxItems === prefixItems.length) {
    return { ...common, kind: 'tuple', items: prefixItems.map((of, index) => item(of, String(index + 1))) };
  }
  if (!prefixItems && typeof items === 'object' && minItems === maxItems && maxItems <= SHORT) {
    return { ...common, kind: 'tuple', items: Array.from({ length: maxItems }, (_, index) => item(items, String(index + 1))) };
  }
  if (prefixItems || typeof items !== 'object') return { ...common, kind: 'json' };
  return { ...common, kind: 'list', item: item(items, ''), min: minItems, max: maxItems };
}

interface Plain {
  schema: JsonSchema;
  nullable: boolean;
  seen: string[];
  /** Whether it is a choice between several kinds of values, which no field offers, or contains itself. */
  tangled: boolean;
}

/** Follows references and takes `null` out of the alternatives; what stands beside them (title, default) wins. */
function plainSchema(given: JsonSchema, place: Place): Plain {
  let schema = given;
  let nullable = false;
  let seen = place.seen;
  for (let turn = 0; turn < 20; turn += 1) {
    const { $ref, anyOf, oneOf, allOf, ...rest } = schema;
    const alternatives = anyOf ?? oneOf;
    if ($ref) {
      const found = seen.includes($ref) ? undefined : target(place.root, $ref);
      if (!found) return { schema: rest, nullable, seen, tangled: true };
      seen = [...seen, $ref];
      schema = { ...found, ...rest };
    } else if (allOf?.length === 1) {
      schema = { ...allOf[0], ...rest };
    } else if (alternatives) {
      const others = alternatives.filter((one) => one.type !== 'null' && one.const !== null);
      nullable ||= others.length < alternatives.length || others.some((one) => one.enum?.includes(null));
      if (others.length !== 1 || others[0]?.const !== undefined) return merged(rest, alternatives, others, nullable, seen);
      schema = { ...others[0], ...rest };
    } else if (allOf) {
      return { schema: rest, nullable, seen, tangled: true };
    } else if (Array.isArray(schema.type)) {
      const types = schema.type.filter((type) => type !== 'null');
      nullable ||= types.length < schema.type.length;
      if (types.length !== 1) return { schema: rest, nullable, seen, tangled: true };
      schema = { ...schema, type: types[0] };
    } else {
      if (schema.enum?.includes(null)) nullable = true;
      return { schema, nullable, seen, tangled: false };
    }
  }
  return { schema, nullable, seen, tangled: true };
}

/**
 * Several alternatives are one choice where each is a constant or a list of values, and one text where they are a number
 * or the text of one, as an amount of money is; else they are entered as JSON.
 */
function merged(rest: JsonSchema, alternatives: JsonSchema[], others: JsonSchema[], nullable: boolean, seen: string[]): Plain {
  const choices = others.flatMap((one) => (one.const !== undefined ? [one.const] : (one.enum ?? [undefined])));
  if (others.length && !choices.includes(undefined)) {
    const titled = alternatives.flatMap(({ type, const: value = type === 'null' ? null : undefined, title }) => (value === undefined || title === undefined ? [] : [[JSON.stringify(value), title] as const]));
    return { schema: { ...rest, enum: choices, names: Object.fromEntries(titled) }, nullable, seen, tangled: false };
  }
  const text = others.find((one) => one.type === 'string');
  if (text?.pattern && others.length === 2 && others.some((one) => one.type === 'number' || one.type === 'integer')) {
    return { schema: { ...text, ...rest, numeric: true }, nullable, seen, tangled: false };
  }
  return { schema: rest, nullable, seen, tangled: true };
}

function target(root: JsonSchema, reference: string): JsonSchema | undefined {
  if (!reference.startsWith('#/')) return undefined;
  let found: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return typeof found === 'object' && found !== null ? (found as JsonSchema) : undefined;
}

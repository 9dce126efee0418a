/**
 * What stands in the controls of a form while it is filled in, and the way from and to JSON.
 *
 * A draft keeps what was typed, also where it is no value yet ("12a" in a number), so nothing is lost while typing.
 */

import { readJson, wholeNumber } from '../api/json';
import { check, isObject, type Problems } from './checking';
import type { Field } from './fields';
import { namesSecret, SECRET } from './secrets';

/** A draft of a value; which properties count depends on the kind of the field. */
export interface Draft {
  /** What was typed: texts, numbers, dates, JSON, the id of an upload. */
  text: string;
  /** Of a file that is being sent: the share that was sent, from 0 to 1; else null. */
  share: number | null;
  /** true, false, or null where nothing was chosen. */
  flag: boolean | null;
  /** Which choice, or -1 for none. */
  choice: number;
  /** Whether an optional object, list or tuple is given at all. */
  given: boolean;
  /** Key -> draft, of an object. */
  fields: Record<string, Draft>;
  /** The items of a list or a tuple. */
  items: Draft[];
  /** Keys that the schema does not know, kept as they are. */
  extra: Record<string, unknown>;
}

/** The draft that shows a JSON value; undefined shows an empty field, or the field's default. */
export function draftOf(field: Field, value: unknown): Draft {
  const draft: Draft = { text: '', share: null, flag: null, choice: -1, given: false, fields: {}, items: [], extra: {} };
  const shown = value === undefined ? field.fallback : value;
  switch (field.kind) {
    case 'text':
    case 'upload':
      draft.text = typeof shown === 'string' ? shown : written(shown);
      break;
    case 'number':
      draft.text = written(shown);
      break;
    case 'json':
      draft.text = shown === undefined || shown === null ? '' : JSON.stringify(shown, null, 2);
      break;
    case 'boolean':
      draft.flag = typeof shown === 'boolean' ? shown : null;
      break;
    case 'choice':
      draft.choice = field.choices.findIndex((choice) => JSON.stringify(choice) === JSON.stringify(shown));
      if (draft.choice < 0 && field.required && !field.nullable) draft.choice = 0;
      break;
    case 'object': {
      const values = isObject(shown) ? shown : {};
      draft.given = isObject(shown) || (field.required && !field.nullable);
      const known = new Set(field.fields.map((part) => part.key));
      draft.fields = Object.fromEntries(field.fields.map((part) => [part.key, draftOf(part, values[part.key])]));
      draft.extra = Object.fromEntries(Object.entries(values).filter(([key]) => !known.has(key)));
      break;
    }
    case 'list':
      draft.items = Array.isArray(shown) ? shown.map((item) => draftOf(field.item, item)) : [];
      draft.given = draft.items.length > 0;
      break;
    case 'tuple':
      draft.given = Array.isArray(shown) || (field.required && !field.nullable);
      draft.items = field.items.map((item, index) => draftOf(item, Array.isArray(shown) ? shown[index] : undefined));
      break;
  }
  return draft;
}

function written(value: unknown): string {
  return value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A draft as it may be kept outside of the page: without secrets, and without a file that is being sent. */
export function keptDraft(field: Field, draft: Draft): Draft {
  if (field.secret) return draftOf(field, undefined);
  const kept = { ...draft, share: null, extra: Object.fromEntries(Object.entries(draft.extra).filter(([key, value]) => !namesSecret({ [key]: value }))) };
  if (field.kind === 'json' && !isKept(field, draft.text)) kept.text = '';
  if (field.kind === 'object') kept.fields = Object.fromEntries(field.fields.map((part) => [part.key, keptDraft(part, draft.fields[part.key] as Draft)]));
  if (field.kind === 'list') kept.items = draft.items.map((item) => keptDraft(field.item, item));
  if (field.kind === 'tuple') kept.items = field.items.map((item, index) => keptDraft(item, draft.items[index] as Draft));
  return kept;
}

/** Whether a JSON text may be kept outside of the page: it holds no secret, also where it cannot be read yet. */
export function isKept(field: Field, text: string): boolean {
  const { value, problem } = parseJson(text);
  if (problem) return !SECRET.test(text) && !hasSecret(field);
  if (namesSecret(value)) return false;
  const draft = draftOf(field, value);
  return field.kind === 'json' || JSON.stringify(keptDraft(field, draft)) === JSON.stringify(draft);
}

function hasSecret(field: Field): boolean {
  const parts = field.kind === 'object' ? field.fields : field.kind === 'tuple' ? field.items : field.kind === 'list' ? [field.item] : [];
  return field.secret || parts.some(hasSecret);
}

/** The value of a form, and what is wrong with it. */
export interface Reading {
  /** The JSON value; whole only where there are no problems. */
  value: unknown;
  /** What is wrong, by path. */
  problems: Problems;
}

/** Reads a draft: what is empty and optional is left out. */
export function readDraft(field: Field, draft: Draft): Reading {
  const unreadable: Problems = new Map();
  const value = valueOf(field, draft, '', unreadable);
  const problems = check(field, value);
  // What cannot be read has the better message than what is missing because of it.
  for (const [path, problem] of unreadable) problems.set(path, problem);
  return { value, problems };
}

/** The value, or undefined where the field is left out; what has a default is not left out, as the form did not show that. */
function valueOf(field: Field, draft: Draft | undefined, path: string, problems: Problems): unknown {
  if (!draft) return undefined;
  const shown = !['', '[]'].includes(written(field.fallback));
  const empty = field.nullable && (field.required || shown) ? null : undefined;
  switch (field.kind) {
    case 'text':
      return draft.text === '' ? ((field.required || shown) && !field.nullable ? '' : empty) : draft.text;
    case 'upload':
      if (draft.share !== null) problems.set(path, 'A file is still being sent.');
      return draft.text === '' ? empty : draft.text;
    case 'number': {
      const typed = draft.text.trim();
      if (typed === '') return empty;
      if (/^[+-]?\d+$/.test(typed)) return wholeNumber(typed.replace('+', ''));
      const number = Number(typed);
      if (!Number.isFinite(number)) problems.set(path, `“${typed}” is not a number.`);
      return number;
    }
    case 'boolean':
      // A box that was never touched means no, where an answer is needed.
      return draft.flag ?? (field.required && !field.nullable ? false : empty);
    case 'choice':
      return draft.choice < 0 ? empty : field.choices[draft.choice];
    case 'json':
      return jsonOf(draft.text, path, problems) ?? empty;
    case 'object':
      if (!draft.given) return empty;
      return objectOf(field.fields, draft, path, problems);
    case 'list': {
      if (!draft.items.length && (field.nullable || !(field.required || shown))) return empty;
      return draft.items.map((item, index) => valueOf(field.item, item, `${path}/${index}`, problems));
    }
    case 'tuple': {
      if (!draft.given) return empty;
      const items = field.items.map((item, index) => valueOf(item, draft.items[index], `${path}/${index}`, problems));
      const optional = !field.required || field.nullable;
      return optional && items.every((item) => item === undefined) ? empty : items;
    }
  }
}

function objectOf(fields: Field[], draft: Draft, path: string, problems: Problems): Record<string, unknown> {
  const read = fields.map((part) => [part.key, valueOf(part, draft.fields[part.key], `${path}/${part.key}`, problems)]);
  return { ...Object.fromEntries(read.filter(([, value]) => value !== undefined)), ...draft.extra };
}

function jsonOf(text: string, path: string, problems: Problems): unknown {
  if (text.trim() === '') return undefined;
  const { value, problem } = parseJson(text);
  if (problem) problems.set(path, problem);
  return value;
}

/** Reads JSON; the problem is empty if there is none. */
export function parseJson(text: string): { value: unknown; problem: string } {
  try {
    return { value: readJson(text), problem: '' };
  } catch (error) {
    return { value: undefined, problem: `This is not JSON: ${(error as SyntaxError).message}` };
  }
}

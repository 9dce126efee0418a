/** Whether a value fits the fields of a form; messages are for people and stand at the field that they concern. */

import type { Field, FieldOf } from './fields';

/** Path of a field, for example `/user_context/now`, empty for the root -> what is wrong with its value. */
export type Problems = Map<string, string>;

const NEEDED = 'This is needed.';

/** Checks a JSON value against a field. */
export function check(field: Field, value: unknown, path = '', problems: Problems = new Map()): Problems {
  if (value === null && field.nullable) return problems;
  if (value === undefined) return problems.set(path, NEEDED);
  const wrong = wrongWith(field, value);
  if (wrong) problems.set(path, wrong);
  else if (field.kind === 'object') checkObject(field, value as Record<string, unknown>, path, problems);
  else if (field.kind === 'list') {
    (value as unknown[]).forEach((item, index) => check(field.item, item, `${path}/${index}`, problems));
  } else if (field.kind === 'tuple') {
    field.items.forEach((item, index) => check(item, (value as unknown[])[index], `${path}/${index}`, problems));
  }
  return problems;
}

function checkObject(field: FieldOf<'object'>, value: Record<string, unknown>, path: string, problems: Problems): void {
  for (const part of field.fields) {
    const at = `${path}/${part.key}`;
    if (Object.hasOwn(value, part.key)) check(part, value[part.key], at, problems);
    else if (part.required) problems.set(at, NEEDED);
  }
  if (field.open) return;
  const known = new Set(field.fields.map((part) => part.key));
  const unknown = Object.keys(value).filter((key) => !known.has(key));
  if (unknown.length) problems.set(path, `There is no ${unknown.map((key) => `“${key}”`).join(', ')} here.`);
}

/** What is wrong with the value itself, its parts left aside; empty if nothing. */
function wrongWith(field: Field, value: unknown): string {
  switch (field.kind) {
    case 'text':
      if (field.numeric && (typeof value === 'number' || typeof value === 'bigint')) return '';
      return typeof value === 'string' ? wrongText(field, value) : 'This must be a text.';
    case 'upload':
      if (typeof value !== 'string') return 'This must be the id of an uploaded file.';
      return value === '' && field.required ? 'Choose a file.' : '';
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? wrongNumber(field, value) : `This must be a ${field.whole ? 'whole ' : ''}number.`;
    case 'boolean':
      return typeof value === 'boolean' ? '' : 'This must be true or false.';
    case 'choice': {
      const choices = field.choices.map((choice) => JSON.stringify(choice));
      return choices.includes(JSON.stringify(value)) ? '' : `Choose one of ${choices.join(', ')}.`;
    }
    case 'object':
      return isObject(value) ? '' : 'This must be an object: {"key": value}.';
    case 'list':
      return Array.isArray(value) ? wrongCount(value.length, field.min, field.max) : 'This must be a list.';
    case 'tuple':
      if (!Array.isArray(value)) return 'This must be a list.';
      return wrongCount(value.length, field.items.length, field.items.length);
    case 'json':
      return '';
  }
}

function wrongText(field: FieldOf<'text'>, value: string): string {
  const length = [...value].length;
  if (field.required && value.trim() === '') return NEEDED;
  if (length < field.minLength) return `At least ${field.minLength} ${characters(field.minLength)}.`;
  if (length > field.maxLength) return `At most ${field.maxLength} ${characters(field.maxLength)}; it has ${length}.`;
  if (field.format === 'datetime' && value && !isMoment(value)) {
    return 'This must be a date with a time, for example 2025-02-01T10:30:00+01:00.';
  }
  if (field.format === 'date' && value && !/^\d{4}-\d\d-\d\d$/.test(value)) return 'This must be a date, for example 2025-02-01.';
  if (field.pattern && !matches(field.pattern, value)) return field.numeric ? 'This must be a number, for example 12.5.' : `This does not fit the pattern ${field.pattern}.`;
  return '';
}

function wrongNumber(field: FieldOf<'number'>, value: number | bigint): string {
  if (!Number.isFinite(Number(value))) return 'This must be a number.';
  if (field.whole && typeof value === 'number' && !Number.isInteger(value)) return 'This must be a whole number.';
  if (value < field.min) return `At least ${field.min}.`;
  if (value > field.max) return `At most ${field.max}.`;
  if (value <= field.above) return `More than ${field.above}.`;
  if (value >= field.below) return `Less than ${field.below}.`;
  return '';
}

function wrongCount(count: number, min: number, max: number): string {
  if (min === max && count !== min) return `There must be ${min} of them; there ${count === 1 ? 'is' : 'are'} ${count}.`;
  if (count < min) return `At least ${min} of them.`;
  if (count > max) return `At most ${max} of them.`;
  return '';
}

function characters(count: number): string {
  return count === 1 ? 'character' : 'characters';
}

function isMoment(value: string): boolean {
  return /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(value) && !Number.isNaN(Date.parse(value));
}

function matches(pattern: string, value: string): boolean {
  // Which signs are letters, digits and the borders of words, the server alone knows beyond ASCII.
  if (/\\[wdb]/i.test(pattern) && /[^\x00-\x7f]/.test(value)) return true;
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    // A pattern in another dialect is the server's to check.
    return true;
  }
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

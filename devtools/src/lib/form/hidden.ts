/** What the server writes in the place of a value that it does not keep: secrets, and what is too large. */
import type { Json } from '../api/types';
import { isObject } from './checking';

// Three stars hide a text that looks like a provider's key under any name, and the server takes them under none.
const HIDDEN = /^(?:[^]*… \([\d,]+ more characters\)|… [\d,]+ more|<[\d,]+ bytes>|<\w+ that cannot be shown: \w+>|\*\*\*)$/;

function isHidden(value: unknown): boolean {
  if (isObject(value)) return '…' in value || Object.keys(value).sort().join() === 'array,first,shape';
  return typeof value === 'string' && HIDDEN.test(value);
}

/** Whether a part of a value is not the value itself. */
export function hasHidden(value: unknown): boolean {
  if (isHidden(value)) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasHidden);
}

/** An input without what stands in the place of other values. */
export const withoutHidden = (input: Json): Json => (left(input) ?? {}) as Json;

/** What is left of a value; undefined for nothing. Of a list that is cut off, the beginning would pass for the whole. */
function left(value: unknown): unknown {
  if (isHidden(value)) return undefined;
  if (Array.isArray(value)) {
    const items = value.map(left);
    return items.includes(undefined) ? undefined : items;
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, left(item)]).filter(([, item]) => item !== undefined));
}

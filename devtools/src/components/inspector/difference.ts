/** What differs between two JSON values, as a tree of keys. */

import { isObject } from '../../lib/form/checking';

/** One place where two values differ. */
export interface Change {
  /** The key in an object, or the index in a list. */
  key: string;
  kind: 'added' | 'removed' | 'changed';
  /** The value before; undefined where it was added. */
  before: unknown;
  /** The value after; undefined where it was removed. */
  after: unknown;
  /** Where within the value it differs, if both are objects or both are lists. */
  inside: Change[];
}

/** Lists that are longer than this are compared place by place, since aligning them takes quadratic time. */
const ALIGNED = 200;

/** What differs between two objects, in the order of their keys. */
export function differences(before: Record<string, unknown>, after: Record<string, unknown>): Change[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => {
    const had = Object.hasOwn(before, key);
    const has = Object.hasOwn(after, key);
    if (had && has) return changed(key, before[key], after[key]);
    return [{ key, kind: has ? 'added' : 'removed', before: before[key], after: after[key], inside: [] }];
  });
}

function changed(key: string, before: unknown, after: unknown): Change[] {
  if (same(before, after)) return [];
  let inside: Change[] = [];
  if (Array.isArray(before) && Array.isArray(after)) inside = listDifferences(before, after);
  else if (isObject(before) && isObject(after)) inside = differences(before, after);
  return [{ key, kind: 'changed', before, after, inside }];
}

function listDifferences(before: unknown[], after: unknown[]): Change[] {
  const pairs = before.length <= ALIGNED && after.length <= ALIGNED ? alignment(before, after) : byPlace(before, after);
  return pairs.flatMap(([old, now]) => {
    if (old === null) return [{ key: String(now), kind: 'added', before: undefined, after: after[now ?? 0], inside: [] }];
    if (now === null) return [{ key: String(old), kind: 'removed', before: before[old], after: undefined, inside: [] }];
    return changed(String(now), before[old], after[now]);
  });
}

/** An index of the list before beside one of the list after; null where there is none. */
type Pair = [number | null, number | null];

function byPlace(before: unknown[], after: unknown[]): Pair[] {
  return Array.from({ length: Math.max(before.length, after.length) }, (_, index) => [
    index < before.length ? index : null,
    index < after.length ? index : null,
  ]);
}

/** Longest common subsequence by value; what lies between two common items is paired in its order. */
export function alignment(before: readonly unknown[], after: readonly unknown[]): Pair[] {
  const old = before.map(fingerprint);
  const now = after.map(fingerprint);
  const width = now.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  const common = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = old[i] === now[j] ? common(i + 1, j + 1) + 1 : Math.max(common(i + 1, j), common(i, j + 1));
    }
  }
  const pairs: Pair[] = [];
  let gone: number[] = [];
  let fresh: number[] = [];
  const flush = (): void => {
    for (let place = 0; place < Math.max(gone.length, fresh.length); place += 1) {
      pairs.push([gone[place] ?? null, fresh[place] ?? null]);
    }
    gone = [];
    fresh = [];
  };
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      flush();
      pairs.push([i++, j++]);
    } else if (j >= now.length || (i < old.length && common(i + 1, j) >= common(i, j + 1))) gone.push(i++);
    else fresh.push(j++);
  }
  flush();
  return pairs;
}

/** A record is the same item of a list while its id is; anything else while its value is. */
function fingerprint(value: unknown): string {
  if (isObject(value) && (typeof value.id === 'string' || typeof value.id === 'number' || typeof value.id === 'bigint')) return `id:${value.id}`;
  return JSON.stringify(value) ?? '';
}

/** Whether two JSON values are equal; the order of keys does not matter. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => same(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

/** What the page reads from a comparison of two runs; whatever is `a` or `b` belongs to the run of that name. */
import { alignment, type Change } from '../../components/inspector/difference';
import type { FigureRow } from '../api/types';

/** Whether a figure's difference is for the better, for the worse, or neither. */
export function turnOf(row: FigureRow): 'better' | 'worse' | 'same' {
  if (!row.difference || !row.better) return 'same';
  return row.difference > 0 === (row.better === 'higher') ? 'better' : 'worse';
}

/** A visit of a node, in one run or in both; the visits of each count by themselves. */
export interface PathStep {
  node: string;
  where: 'both' | 'a' | 'b';
  visits: { a: number; b: number };
}

/** Steps of each way that are aligned, what both have at the beginning and at the end not counted: the time grows with the product. */
const MOST_STEPS = 1500;

/** Both ways through the graph side by side, a common step once. */
export function pathRows(a: readonly string[], b: readonly string[]): PathStep[] {
  const common = (limit: number, at: (path: readonly string[], index: number) => string | undefined): number => {
    let count = 0;
    while (count < limit && at(a, count) === at(b, count)) count += 1;
    return count;
  };
  const short = Math.min(a.length, b.length);
  const head = common(short, (path, index) => path[index]);
  const tail = common(short - head, (path, index) => path[path.length - 1 - index]);
  const [middleA, middleB] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const rows: PathStep[] = [];
  const visits = { a: new Map<string, number>(), b: new Map<string, number>() };
  const add = (node: string, where: PathStep['where']): void => {
    for (const side of ['a', 'b'] as const) if (where !== (side === 'a' ? 'b' : 'a')) visits[side].set(node, (visits[side].get(node) ?? 0) + 1);
    rows.push({ node, where, visits: { a: visits.a.get(node) ?? 0, b: visits.b.get(node) ?? 0 } });
  };
  for (const node of a.slice(0, head)) add(node, 'both');
  let [gone, fresh]: [string[], string[]] = [[], []];
  const apart = (): void => {
    for (const node of gone) add(node, 'a');
    for (const node of fresh) add(node, 'b');
    [gone, fresh] = [[], []];
  };
  const pairs = Math.max(middleA.length, middleB.length) > MOST_STEPS ? [] : alignment(middleA, middleB);
  if (!pairs.length) [gone, fresh] = [[...middleA], [...middleB]];
  for (const [one, other] of pairs) {
    const [left, right] = [one === null ? null : middleA[one], other === null ? null : middleB[other]];
    if (left && left === right) {
      apart();
      add(left, 'both');
    } else {
      if (left) gone.push(left);
      if (right) fresh.push(right);
    }
  }
  apart();
  for (const node of a.slice(a.length - tail)) add(node, 'both');
  return rows;
}

/** A moment taken from a clock, with its fraction of a second; and an id that is made anew in each run. */
const ANEW = [
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|[+-]\d\d:\d\d)?$/,
  /^(run-{1,2}|lc_)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-\d+)?$/,
];

/** Without what differs in every run and says nothing: clock times, measured seconds, ids of messages. */
export function telling(changes: readonly Change[]): Change[] {
  return changes.flatMap((change) => {
    const { key, kind, before, after } = change;
    if (kind === 'changed' && typeof before === 'string' && typeof after === 'string' && ANEW.some((made) => made.test(before) && made.test(after))) return [];
    if (kind === 'changed' && key === 'seconds' && typeof before === 'number' && typeof after === 'number') return [];
    if (!change.inside.length) return [change];
    const inside = telling(change.inside);
    return inside.length ? [{ ...change, inside }] : [];
  });
}

/** Whether a key of a state holds what a run means to do, by its last word: `planned_queries`, `next_query`, `plan`. */
export const isPlan = (key: string): boolean => /(^|_)(plans?|query|queries|attempts)$/.test(key);

import { describe, expect, it } from 'vitest';

import { formatAgo, formatBytes, formatChange, formatCost, formatDuration, formatOrigin, formatPasses, formatShare, formatTokens, plural } from '../src/lib/format';

describe('formatDuration', () => {
  it.each([
    [null, '–'],
    [0, '0 ms'],
    [0.4, '<1 ms'],
    [340, '340 ms'],
    [999.4, '999 ms'],
    [999.6, '1.0 s'],
    [2_440, '2.4 s'],
    [9_949, '9.9 s'],
    [9_960, '10 s'],
    [59_499, '59 s'],
    [59_700, '1 min 00 s'],
    [185_000, '3 min 05 s'],
    [3_599_700, '1 h 00 min'],
    [7_380_000, '2 h 03 min'],
  ])('writes %s ms as %s', (given, written) => expect(formatDuration(given)).toBe(written));
});

describe('formatCost', () => {
  it.each([
    [null, '–'],
    [0, '$0'],
    [0.00002, '<$0.0001'],
    [0.00312, '$0.0031'],
    [0.0456, '$0.046'],
    [12.5, '$12.50'],
    [1234.5, '$1,234.50'],
  ])('writes %s dollars as %s', (given, written) => expect(formatCost(given)).toBe(written));
});

describe('formatChange', () => {
  it.each([
    [0, '±0'],
    [0.004, '±0'],
    [-0.004, '±0'],
    [0.06, '+0.1'],
    [-2, '−2.0'],
  ])('writes %s as %s', (given, written) => expect(formatChange(given, (size) => size.toFixed(1))).toBe(written));
});

describe('formatTokens', () => {
  it.each([
    [null, '–'],
    [812, '812'],
    [4_120, '4.1k'],
    [9_949, '9.9k'],
    [9_951, '10k'],
    [999_499, '999k'],
    [999_500, '1.0M'],
    [2_300_000, '2.3M'],
  ])('writes %s tokens as %s', (given, written) => expect(formatTokens(given)).toBe(written));
});

describe('formatAgo', () => {
  const now = Date.parse('2026-03-10T12:00:00Z');
  it.each([
    [3, 'just now'],
    [59, '59 s ago'],
    [60, '1 min ago'],
    [3_600, '1 h ago'],
    [90_000, 'yesterday'],
    [3 * 86_400, '3 days ago'],
    [30 * 86_400, '2026-02-08'],
  ])('calls %s s before %s', (seconds, written) => expect(formatAgo(now - seconds * 1000, now)).toBe(written));
});

it.each([
  ['fork', 0, 3, 'forked'],
  ['turn', 0, 0, 'turn'],
  ['counterfactual', 0, 0, 'without “mend”'],
  ['counterfactual', 0, 3, '“mend” cut after 3 passes'], // of a fork that had taken them over
  ['counterfactual', 1, 1, '“mend” cut after 1 pass'],
  ['counterfactual', 4, undefined, '“mend” cut after 4 passes'],
] as const)('calls a %s that keeps %s passes, of %s in all, %s', (kind, kept, mend, written) =>
  expect(formatOrigin({ run_id: 'r', checkpoint_id: 'c', step: 1, kind, thread: null, loop: 'mend', kept, edited: [], passes: mend === undefined ? {} : { mend }, nodes: [] })).toBe(written),
);

it.each([
  [4, null, '4'],
  [4, 20, '4/20'],
  [0, 0, '0/0'],
  [4, 0, '4, cut'],
  [6, 2, '6/2'], // of a loop within a loop, all its passes and the limit of each round
])('writes %s passes of %s as %s', (spent, limit, written) => expect(formatPasses(spent, limit)).toBe(written));

it('dates are those of the clock here', () => {
  const zone = process.env.TZ;
  process.env.TZ = 'Pacific/Auckland';
  expect(formatAgo('2026-02-08T12:00:00Z', Date.parse('2026-03-10T12:00:00Z'))).toBe('2026-02-09');
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

it('writes shares, sizes and counts', () => {
  expect(formatShare(0.876)).toBe('88 %');
  expect(formatShare(null)).toBe('–');
  expect(formatBytes(12_400)).toBe('12 KB');
  expect(formatBytes(2_500_000)).toBe('2.5 MB');
  expect(plural(1, 'pass', 'passes')).toBe('1 pass');
  expect(plural(0, 'run')).toBe('0 runs');
});

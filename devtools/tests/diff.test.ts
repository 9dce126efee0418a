import { describe, expect, it } from 'vitest';

import { wordDiff } from '../src/lib/diff';

const text = (before: string, after: string, kinds: string[]): string =>
  wordDiff(before, after)
    .filter((piece) => kinds.includes(piece.kind))
    .map((piece) => piece.text)
    .join('');

describe('wordDiff', () => {
  it('marks the words that differ', () => {
    expect(wordDiff('talks on Monday about vision', 'talks on Tuesday about vision')).toEqual([
      { kind: 'same', text: 'talks on ' },
      { kind: 'gone', text: 'Monday' },
      { kind: 'new', text: 'Tuesday' },
      { kind: 'same', text: ' about vision' },
    ]);
  });

  it('tears no word apart, and no words that differ together', () => {
    const pieces = wordDiff('It rains on Sunday.', 'It rains on Saturday.').map(({ kind, text }) => `${kind}:${text}`);
    expect(pieces).toEqual(['same:It rains on ', 'gone:Sunday', 'new:Saturday', 'same:.']);
    expect(wordDiff('one bird', 'two birds').map(({ text }) => text)).toEqual(['one bird', 'two birds']);
  });

  it.each([
    ['', ''],
    ['a', ''],
    ['', 'b c'],
    ['a b c d', 'b c x d e'],
    ['one two two three', 'two three three one'],
    ['a  b\nc', 'a b\nc\n'],
  ])('has both texts in full: %j, %j', (before, after) => {
    expect(text(before, after, ['same', 'gone'])).toBe(before);
    expect(text(before, after, ['same', 'new'])).toBe(after);
  });

  it('stays whole for texts too long to compare word by word', () => {
    const before = Array.from({ length: 3000 }, (_, index) => `a${index}`).join(' ');
    const after = Array.from({ length: 3000 }, (_, index) => `b${index}`).join(' ');
    expect(text(before, after, ['same', 'gone'])).toBe(before);
    expect(text(before, after, ['same', 'new'])).toBe(after);
    const begun = performance.now();
    for (let each = 0; each < 20; each += 1) wordDiff(before, after);
    expect(performance.now() - begun, 'a state may hold many such texts').toBeLessThan(2500);
  });
});

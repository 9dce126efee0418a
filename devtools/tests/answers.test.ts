import { describe, expect, it } from 'vitest';

import { readable, wholeAnswer } from '../src/components/compare/answers';
import type { TextPart } from '../src/lib/api/types';

const both = (text: string): TextPart => ({ where: 'both', text });
const a = (text: string): TextPart => ({ where: 'a', text });
const b = (text: string): TextPart => ({ where: 'b', text });

describe('the difference of two answers', () => {
  it('does not tear a sentence apart at the few words that both have by chance', () => {
    const parts = [both('There are no talks about it: '), a('try'), b('but look'), both(' in the '), a('programme.'), b('garden.')];
    expect(readable(parts)).toEqual([
      { kind: 'same', text: 'There are no talks about it: ' },
      { kind: 'gone', text: 'try in the programme.' },
      { kind: 'new', text: 'but look in the garden.' },
    ]);
  });

  it('keeps longer words in common, and those at both ends', () => {
    const parts = [both('At '), a('nine'), b('ten'), both(' the doors of the hall open '), b('again'), both(' today.')];
    expect(readable(parts)).toEqual([
      { kind: 'same', text: 'At ' },
      { kind: 'gone', text: 'nine' },
      { kind: 'new', text: 'ten' },
      { kind: 'same', text: ' the doors of the hall open ' },
      { kind: 'new', text: 'again' },
      { kind: 'same', text: ' today.' },
    ]);
  });

  it('loses no word of either answer', () => {
    const parts = [a('x '), both('one two '), b('y '), both('three four five six '), a('z'), both(' w '), b('v')];
    const pieces = readable(parts);
    const kept = (kind: 'gone' | 'new'): string => pieces.filter((piece) => piece.kind === 'same' || piece.kind === kind).map((piece) => piece.text).join('');
    expect(kept('gone')).toBe(wholeAnswer(parts, 'a'));
    expect(kept('new')).toBe(wholeAnswer(parts, 'b'));
  });
});

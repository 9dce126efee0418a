/** The difference of two texts in words. */
import { presentableDiff } from '@codemirror/merge';

export interface Piece {
  kind: 'same' | 'gone' | 'new';
  text: string;
}

/** What of `before` is gone and what of `after` is new; where they differ widely, as wholes, to keep the page quick. */
export function wordDiff(before: string, after: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const { fromA, toA, fromB, toB } of presentableDiff(before, after, { timeout: 200 })) {
    pieces.push(
      { kind: 'same', text: before.slice(at, fromA) },
      { kind: 'gone', text: before.slice(fromA, toA) },
      { kind: 'new', text: after.slice(fromB, toB) },
    );
    at = toA;
  }
  return [...pieces, { kind: 'same' as const, text: before.slice(at) }].filter(({ text }) => text);
}

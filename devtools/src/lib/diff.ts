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
  for (const { fromA, toA, fromB, toB } of wholeWords(before, after)) {
    pieces.push(
      { kind: 'same', text: before.slice(at, fromA) },
      { kind: 'gone', text: before.slice(fromA, toA) },
      { kind: 'new', text: after.slice(fromB, toB) },
    );
    at = toA;
  }
  return [...pieces, { kind: 'same' as const, text: before.slice(at) }].filter(({ text }) => text);
}

interface Change {
  fromA: number;
  toA: number;
  fromB: number;
  toB: number;
}
const LETTER = /[\p{L}\p{N}]/u;

/** The changes, none of them within a word, and one where only white space is between: people read "Sunday" and "Saturday". */
function wholeWords(before: string, after: string): Change[] {
  const changes: Change[] = [];
  for (const { fromA, toA, fromB, toB } of presentableDiff(before, after, { scanLimit: 1000, timeout: 50 })) {
    const inWord = LETTER.test(before.slice(fromA, toA)) || LETTER.test(after.slice(fromB, toB));
    let [start, end] = [0, 0];
    while (inWord && LETTER.test(before[fromA - 1 - start] ?? '')) start += 1;
    while (inWord && LETTER.test(before[toA + end] ?? '')) end += 1;
    const next = { fromA: fromA - start, toA: toA + end, fromB: fromB - start, toB: toB + end };
    const last = changes.at(-1);
    if (last && !before.slice(last.toA, next.fromA).trim()) Object.assign(last, { toA: next.toA, toB: next.toB });
    else changes.push(next);
  }
  return changes;
}

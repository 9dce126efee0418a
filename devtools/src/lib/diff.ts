/** The difference of two texts in words. */

export interface Piece {
  kind: 'same' | 'gone' | 'new';
  text: string;
}

/** Beyond this product of lengths the middle is shown as replaced as a whole, to keep the page quick. */
const MOST_CELLS = 4_000_000;

const words = (text: string): string[] => text.match(/\s+|[^\s]+/g) ?? [];

function joined(pieces: Piece[]): Piece[] {
  const all: Piece[] = [];
  for (const piece of pieces) {
    const last = all.at(-1);
    if (!piece.text) continue;
    if (last?.kind === piece.kind) last.text += piece.text;
    else all.push({ ...piece });
  }
  return all;
}

/** What of `before` is gone and what of `after` is new, by their longest common sequence of words. */
export function wordDiff(before: string, after: string): Piece[] {
  const a = words(before);
  const b = words(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const left = a.slice(head, a.length - tail);
  const right = b.slice(head, b.length - tail);
  const middle: Piece[] = [];
  if (left.length * right.length > MOST_CELLS) {
    middle.push({ kind: 'gone', text: left.join('') }, { kind: 'new', text: right.join('') });
  } else {
    const wide = right.length + 1;
    const common = new Uint32Array((left.length + 1) * wide);
    for (let i = left.length - 1; i >= 0; i -= 1) {
      for (let j = right.length - 1; j >= 0; j -= 1) {
        common[i * wide + j] =
          left[i] === right[j]
            ? common[(i + 1) * wide + j + 1]! + 1
            : Math.max(common[(i + 1) * wide + j]!, common[i * wide + j + 1]!);
      }
    }
    let [i, j] = [0, 0];
    while (i < left.length || j < right.length) {
      if (i < left.length && j < right.length && left[i] === right[j]) {
        middle.push({ kind: 'same', text: left[i]! });
        i += 1;
        j += 1;
      } else if (j >= right.length || (i < left.length && common[(i + 1) * wide + j]! >= common[i * wide + j + 1]!)) {
        middle.push({ kind: 'gone', text: left[i]! });
        i += 1;
      } else {
        middle.push({ kind: 'new', text: right[j]! });
        j += 1;
      }
    }
  }
  return joined([
    { kind: 'same', text: a.slice(0, head).join('') },
    ...middle,
    { kind: 'same', text: a.slice(a.length - tail).join('') },
  ]);
}

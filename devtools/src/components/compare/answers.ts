/** The difference of two answers, so that people can read it. */
import type { Piece } from '../../lib/diff';
import type { TextPart } from '../../lib/api/types';

const KINDS = { both: 'same', a: 'gone', b: 'new' } as const;

/** So few words in common between two changes are chance: "in", "of the". */
const FEW = 3;

/** The whole answer of one run. */
export const wholeAnswer = (parts: readonly TextPart[], side: 'a' | 'b'): string =>
  parts.filter((part) => part.where === 'both' || part.where === side).map((part) => part.text).join('');

/** The parts as pieces; a few words that both have between two changes count as changed. */
export function readable(parts: readonly TextPart[]): Piece[] {
  const pieces: Piece[] = [];
  let [gone, fresh] = ['', ''];
  const close = (): void => {
    if (gone) pieces.push({ kind: 'gone', text: gone });
    if (fresh) pieces.push({ kind: 'new', text: fresh });
    gone = fresh = '';
  };
  parts.forEach((part, index) => {
    const few = part.text.split(/\s+/).filter(Boolean).length <= FEW;
    if (part.where === 'both' && few && (gone || fresh) && index < parts.length - 1) {
      gone += part.text;
      fresh += part.text;
    } else if (part.where === 'both') {
      close();
      pieces.push({ kind: KINDS.both, text: part.text });
    } else if (part.where === 'a') gone += part.text;
    else fresh += part.text;
  });
  close();
  return pieces;
}

/** What was typed into the form of a question and not sent: a form that comes back has it again. */
import type { Draft } from './drafts';

interface Typed {
  words: string;
  draft: Draft | null;
  /** Whether words that are JSON were chosen to go as a text; null where nobody chose. */
  asText: boolean | null;
}

/** Question -> what was typed. */
export const typed = new Map<string, Typed>();

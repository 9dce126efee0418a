/** A run as a turn of a conversation: what was asked, what was thought, what was written, and what was written before. */

import type { Json, LoggedEvent, RunRecord, Told } from '../../lib/api/types';

/** One text that a node wrote; a later one takes the place of an earlier one. */
export interface Attempt {
  node: string;
  visit: number;
  text: string;
}

/** What a conversation shows of a run. */
export interface Turn {
  question: string;
  /** The upload that stands beside the question, if there is one. */
  uploads: string[];
  acknowledgment: string;
  thinking: Told[];
  progress: Told[];
  /** The texts that were replaced, oldest first. */
  replaced: Attempt[];
  /** The answer as far as it is written. */
  answer: string;
}

const QUESTION_KEYS = ['message', 'question', 'query', 'prompt', 'input'];

/** Makes the turn of a run. */
export function turnOf(record: RunRecord, events: readonly LoggedEvent[]): Turn {
  const told = { acknowledgment: [] as Told[], thinking: [] as Told[], progress: [] as Told[] };
  for (const { event } of events) if (event.type === 'told') told[event.kind].push(event);
  const attempts = attemptsOf(events);
  const final = record.outcome?.answer ?? '';
  const last = attempts.at(-1);
  // The outcome is what counts; where it was put together from another text than the last, that one was replaced too.
  const current = last && (!final || sameText(last.text, final)) ? 1 : 0;
  return {
    question: questionOf(record),
    uploads: ['image', 'reference'].map((key) => record.input[key]).filter((id) => typeof id === 'string' && id !== '') as string[],
    acknowledgment: told.acknowledgment.at(-1)?.message ?? '',
    thinking: told.thinking,
    progress: told.progress,
    replaced: attempts.slice(0, attempts.length - current),
    answer: final || (last?.text ?? ''),
  };
}

/** The texts that nodes wrote, each visit apart; a retried visit begins anew. */
export function attemptsOf(events: readonly LoggedEvent[]): Attempt[] {
  const attempts: Attempt[] = [];
  const visits = new Map<string, number>();
  /** Node -> the text that it goes on with. */
  const open = new Map<string, Attempt>();
  for (const { event } of events) {
    if (event.type === 'node_started') {
      visits.set(event.node, event.visit);
      open.delete(event.node);
    } else if (event.type === 'node_retried' || event.type === 'node_gave_up') {
      open.delete(event.node);
    } else if (event.type === 'text') {
      let attempt = open.get(event.node);
      if (!attempt) {
        attempt = { node: event.node, visit: visits.get(event.node) ?? 1, text: '' };
        attempts.push(attempt);
        open.set(event.node, attempt);
      }
      attempt.text += event.text;
    }
  }
  return attempts.filter((attempt) => attempt.text.trim() !== '');
}

/** The end of an answer may be mended (marks, white space) after it was streamed; the beginning is the same then. */
function sameText(streamed: string, final: string): boolean {
  const plain = (text: string) => text.replaceAll(/\[[^\]]*\]|\s+/g, '');
  const a = plain(streamed);
  const b = plain(final);
  const shorter = Math.min(a.length, b.length, 80);
  return shorter > 0 && a.slice(0, shorter) === b.slice(0, shorter);
}

/** The key of the input that holds the question, if there is one. */
export function questionKey(input: Json): string | undefined {
  return QUESTION_KEYS.find((key) => typeof input[key] === 'string' && input[key] !== '');
}

function questionOf(record: RunRecord): string {
  const key = questionKey(record.input);
  return key ? String(record.input[key]) : record.title;
}

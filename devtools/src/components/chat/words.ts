/** The words in which people are told how a run ended. */

import type { RunStatus } from '../../lib/api/types';

export type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'plain';

/** The badge of each tone. */
export const TONES = { good: 'good', warn: 'warn', bad: 'bad', busy: 'run', plain: 'idle' } as const;

/** A status in plain words. */
export interface Said {
  label: string;
  tone: Tone;
  /** What it means, in a sentence; empty if the label says it. */
  means: string;
}

const OUTCOMES: Record<string, Said> = {
  answered: { label: 'Answered', tone: 'good', means: '' },
  partial: { label: 'Answered in part', tone: 'warn', means: 'Some of what was asked could not be found.' },
  best_effort: { label: 'Best effort', tone: 'warn', means: 'A bound was reached before the answer was good enough; this is the best there is.' },
  nothing_found: { label: 'Nothing found', tone: 'plain', means: 'Nothing fits the question, and the answer says so.' },
  out_of_scope: { label: 'Not in the programme', tone: 'plain', means: 'The question is about something else than the programme tells, and the answer says so.' },
  abstained: { label: 'No answer in the sources', tone: 'plain', means: 'The sources do not answer the question, and the answer says so.' },
  failed: { label: 'Failed on the way', tone: 'bad', means: 'A step failed for good; the answer is what could be said without it.' },
};

const STATUSES: Record<RunStatus, Said> = {
  queued: { label: 'Waits its turn', tone: 'busy', means: 'The run begins when those before it have ended.' },
  running: { label: 'Running', tone: 'busy', means: '' },
  finished: { label: 'Finished', tone: 'good', means: '' },
  failed: { label: 'Failed', tone: 'bad', means: 'The run ended with an error.' },
  cancelled: { label: 'Stopped', tone: 'plain', means: 'Somebody stopped the run; it can go on from its last step.' },
  interrupted: { label: 'Interrupted', tone: 'warn', means: 'It stopped before its end; it can go on from its last step.' },
  waiting: { label: 'Waits for an answer', tone: 'busy', means: 'The run goes on as soon as it is answered.' },
};

/** How a run stands or ended. */
export function saidOf(status: RunStatus, outcome: string | undefined): Said {
  if (status !== 'finished' || !outcome) return STATUSES[status];
  const words = outcome.replaceAll('_', ' ');
  return OUTCOMES[outcome] ?? { label: words.charAt(0).toUpperCase() + words.slice(1), tone: 'plain', means: '' };
}

const RESOURCES: Record<string, string> = {
  model_calls: 'model calls',
  tokens: 'tokens',
  money: 'US dollars',
  seconds: 'seconds',
};

/** What a stop reason means, one sentence for each bound that was reached. */
export function stopWords(reason: unknown): string[] {
  if (typeof reason === 'string') return [`The bound of “${reason}” was reached.`];
  const stops = Array.isArray(reason) ? reason : reason ? [reason] : [];
  return stops.filter((stop) => typeof stop === 'object' && stop !== null).map(stopSentence);
}

function stopSentence(stop: Record<string, unknown>): string {
  const { loop, outcome, limit, spent, reason, resource } = stop;
  const wanted = typeof reason === 'string' && reason ? ` It still wanted another pass: ${reason}` : '';
  if (loop === 'run') {
    const what = RESOURCES[String(resource)] ?? String(resource ?? 'budget');
    return `The run’s budget was spent: ${round(spent)} of ${round(limit)} ${what}.`;
  }
  if (loop === 'recursion_limit') return `The run took as many steps as LangGraph allows (${round(limit)}).`;
  if (outcome === 'stalled') return `The loop “${loop}” stopped because another pass would have changed nothing.${wanted}`;
  if (outcome === 'over_budget') return `The loop “${loop}” stopped because too little of the budget was left.${wanted}`;
  if (limit === 0) return `The loop “${loop}” may not go round ${spent ? 'again ' : ''}in this run.${wanted}`;
  return `The loop “${loop}” reached its limit of ${round(limit)} ${limit === 1 ? 'pass' : 'passes'}.${wanted}`;
}

function round(value: unknown): string {
  return typeof value === 'number' ? String(Math.round(value * 10_000) / 10_000) : '?';
}

/** By whole names, or by what they end with: a part within one says nothing of what a stranger's class stands for. */
const ERRORS: [RegExp, string][] = [
  [/Time[oO]ut(Error|Exception|Expired)?$/, 'It took longer than it may.'],
  [/^StructuredReplyError$/, 'The model’s reply did not have the form that was asked for, also after asking again.'],
  [/RateLimit(Exceeded)?(Error|Exception)?$/, 'A service takes no more requests for the moment.'],
  [/(Authentication(Failed)?(Error|Exception)|PermissionDenied(Error)?)$/, 'A service refused the key.'],
  [
    /(^(Network|ServerDisconnected|RemoteDisconnected|AutoReconnect|CannotConnectNow)|[cC]onnect(ion|or)?(DNS|Refused|Reset|Aborted|Closed|Failed|Lost|DoesNotExist)?)(OK|Error|Exception|Failure)?$/,
    'A server could not be reached.',
  ],
  [/^ConfigError$/, 'The configuration does not fit.'],
  [/^((Empty)?Input|Document|(Unidentified)?Image|Planner)Error$/, 'The input could not be used.'],
  [/^(BackendError|StoreError|SearchError)$/, 'A database or search service failed.'],
  [/^(GraphRecursionError|TooManyEvents)$/, 'A bound of the run was reached.'],
  [/^Shutdown$/, 'The server ended before the run did.'],
];

/** An error in plain words; empty if its class, with or without its module, says nothing that people know. */
export function plainError(kind: string): string {
  const name = kind.slice(kind.lastIndexOf('.') + 1);
  return ERRORS.find(([pattern]) => pattern.test(name))?.[1] ?? '';
}

/** Takes an error's text apart: the class that stands in it first, and all of it. */
export function splitError(error: string): { kind: string; message: string } {
  const found = /\b((?:\w+\.)*[A-Z]\w*(?:Error|Exception|Failed|Timeout|Interrupt)):/.exec(error);
  const kind = found?.[1] ?? '';
  return { kind, message: found?.index === 0 ? error.slice(kind.length + 1).trimStart() : error };
}

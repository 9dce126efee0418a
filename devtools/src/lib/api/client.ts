/** The calls of the server's API. */
import { EventSourceParserStream } from 'eventsource-parser/stream';

import { connection } from '../stores/connection.svelte';
import { heard } from '../clock';
import { readJson } from './json';
import type { EventLog, LoggedEvent, RunEvent, RunStatus } from './types';
import { goesOn } from '../status';

export { query } from './query';

/** A reply that is no success. `status` is 0 where the server was not reached. */
export class ApiError extends Error {
  constructor(
    readonly error: string,
    readonly error_type: string,
    readonly can_retry: boolean,
    readonly status: number,
  ) {
    super(error);
  }
}

const FIRST_WAIT = 300;
const LONGEST_WAIT = 5000;
/** Milliseconds between two looks while the page is hidden: a browser opens six connections to a server, for all its tabs. */
const HIDDEN_WAIT = 3000;
/** How often the time that it took to show events is left to the page before it is given more; milliseconds at most. */
const REST = 2;
const LONGEST_REST = 1000;

/** Where the API lies: beside the page, also below a path prefix. */
export const address = (path: string): string => new URL(`.${path}`, document.baseURI.replace(/[?#].*$/, '')).href;

/** The header for a token: its bytes, since a header takes no further signs than ISO 8859-1 has. */
export const bearer = (token: string): string => `Bearer ${String.fromCharCode(...new TextEncoder().encode(token))}`;

/** What a reply that is no success says. */
export function problem(text: string, { status, statusText }: { status: number; statusText: string }): ApiError {
  try {
    const body = JSON.parse(text) as Partial<ApiError>;
    if (typeof body.error === 'string') return new ApiError(body.error, body.error_type ?? '', body.can_retry ?? false, status);
  } catch {
    // Not the server's own words, for example those of a proxy in between.
  }
  return new ApiError(`The server replied ${status} ${statusText}.`, '', status >= 500, status);
}

/** Ask the server; the reply is a success, else an ApiError is thrown. Asks for the token where one is needed. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const token = connection.token;
    const headers = new Headers(init.headers);
    if (token) headers.set('Authorization', bearer(token));
    let response: Response;
    try {
      response = await fetch(address(path), { ...init, headers });
    } catch (reason) {
      if (init.signal?.aborted) throw reason;
      connection.lost();
      throw new ApiError('The server cannot be reached.', 'Unreachable', true, 0);
    }
    if (response.status === 401) {
      await connection.askForToken(token);
      continue;
    }
    // A development proxy says 502 or 504 in the place of a server that is gone.
    if (response.status === 502 || response.status === 504) connection.lost();
    else connection.reached();
    heard(response.headers.get('Date'));
    if (!response.ok) throw problem(await response.text(), response);
    return response;
  }
}

async function json<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await send(path, init);
  return (response.status === 204 ? undefined : readJson(await response.text())) as T;
}

const withBody = (method: string, body: unknown): RequestInit => ({
  method,
  body: JSON.stringify(body ?? {}),
  headers: { 'Content-Type': 'application/json' },
});

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> => json<T>(path, { signal });
export const post = <T>(path: string, body?: unknown): Promise<T> => json<T>(path, withBody('POST', body));
export const put = <T>(path: string, body?: unknown): Promise<T> => json<T>(path, withBody('PUT', body));
export const del = <T = void>(path: string): Promise<T> => json<T>(path, { method: 'DELETE' });

/** Let the browser keep a reply as a file. */
export const download = async (path: string, name: string): Promise<void> => save(await (await send(path)).blob(), name);

/** Let it keep what was made here. */
export function save(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Wait, or until the signal ends it. */
export const pause = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener('abort', done);
  });

const ENDS = new Set<RunEvent['type']>(['run_finished', 'run_failed']);

/**
 * Follow a run's events until no more come: after a broken connection it goes on behind the last event that came.
 *
 * @param runId The run.
 * @param after The number of the last event that is known; 0 for none.
 * @param onEvents Takes events as they come, many at once: at most once a frame, and less often where to show them takes long.
 * @param signal Ends the following.
 * @returns The number of the last event that came.
 */
export async function followRun(
  runId: string,
  after: number,
  onEvents: (events: LoggedEvent[]) => void,
  signal: AbortSignal,
): Promise<number> {
  let last = after;
  let wait = FIRST_WAIT;
  let waiting: LoggedEvent[] = [];
  let planned = false;
  let took = 0;
  const hand = (): void => {
    planned = false;
    const events = waiting;
    waiting = [];
    if (!events.length || signal.aborted) return;
    const began = performance.now();
    onEvents(events);
    // Behind the frame in which they are drawn.
    setTimeout(() => (took = performance.now() - began));
  };
  const plan = (): void => {
    if (planned) return;
    planned = true;
    setTimeout(() => requestAnimationFrame(hand), Math.min(REST * took, LONGEST_REST));
  };
  const path = `/runs/${encodeURIComponent(runId)}`;
  let ended = false;
  const take = (seq: number, event: RunEvent): void => {
    last = seq;
    wait = FIRST_WAIT;
    ended = ENDS.has(event.type);
    waiting.push({ seq, event });
  };

  while (!signal.aborted) {
    // Only a page that is seen holds a connection.
    const seen = new AbortController();
    const either = AbortSignal.any([signal, seen.signal]);
    const turned = (): void => seen.abort();
    document.addEventListener('visibilitychange', turned);
    ended = false;
    try {
      if (document.hidden) {
        const log = await get<EventLog>(`${path}/log?after=${last}`, signal);
        for (const { seq, event } of log.events) take(seq, event);
        hand();
        if (ended || (log.next === null && !goesOn((await get<{ status: RunStatus }>(path, signal)).status))) return last;
        if (log.next === null) await pause(HIDDEN_WAIT, either);
        continue;
      }
      const headers: Record<string, string> = { Accept: 'text/event-stream' };
      if (last > 0) headers['Last-Event-ID'] = `${runId}:${last}`;
      const response = await send(`${path}/events`, { headers, signal: either });
      if (response.status === 204) return last;
      if (!response.body) throw new TypeError('a reply without a body');
      const reader = response.body
        .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
        .pipeThrough(new EventSourceParserStream())
        .getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const seq = Number(value.id?.slice(value.id.lastIndexOf(':') + 1));
        if (!(seq > last)) continue;
        take(seq, readJson(value.data) as RunEvent);
        plan();
      }
      hand();
      // A run that was cancelled or interrupted has no last event; the server ends the stream in order then.
      if (ended) return last;
      const record = await get<{ status: RunStatus }>(path, signal);
      if (!goesOn(record.status)) return last;
    } catch (reason) {
      hand();
      if (signal.aborted) return last;
      if (seen.signal.aborted) continue;
      if (reason instanceof ApiError && reason.status !== 0 && reason.status < 500 && reason.status !== 429) throw reason;
      if (!(reason instanceof ApiError)) connection.lost();
    } finally {
      document.removeEventListener('visibilitychange', turned);
    }
    await pause(wait * (0.75 + Math.random() / 2), signal);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
  return last;
}

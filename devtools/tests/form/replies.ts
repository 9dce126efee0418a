/** Stands in for the network: what the server replies to, and what it was sent. */
import { vi } from 'vitest';

import type { RunRecord, Workflow } from '../../src/lib/api/types';
import type { JsonSchema } from '../../src/lib/form/fields';

export interface Sent {
  method: string;
  path: string;
  body: unknown;
}
type Reply = unknown | ((sent: Sent) => unknown);

/** A reply that is no success. */
export class Refusal {
  constructor(
    readonly status: number,
    readonly error: string,
    readonly error_type = 'InputError',
  ) {}
}

/** Answer calls by `METHOD /path` (without the query); what is not there is 404. */
export function serve(replies: Record<string, Reply>): Sent[] {
  const all: Sent[] = [];
  vi.stubGlobal('fetch', async (input: string | URL, init: RequestInit = {}) => {
    const url = new URL(String(input), 'http://page.test/');
    const sent: Sent = {
      method: init.method ?? 'GET',
      path: url.pathname + url.search,
      body: typeof init.body === 'string' ? JSON.parse(init.body) : undefined,
    };
    all.push(sent);
    const found = replies[`${sent.method} ${url.pathname}`];
    const reply = found === undefined ? new Refusal(404, 'there is nothing here') : typeof found === 'function' ? found(sent) : found;
    const status = reply instanceof Refusal ? reply.status : 200;
    const body = reply instanceof Refusal ? { error: reply.error, error_type: reply.error_type, can_retry: reply.status === 503 } : reply;
    return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } });
  });
  return all;
}

export function workflowOf(input_schema: JsonSchema, more: Partial<Workflow> = {}): Workflow {
  return {
    name: 'demo', title: 'Demo', description: '', input_schema: input_schema as Workflow['input_schema'], examples: [],
    streams_answer: false, model_nodes: [], has_prompts: true, runs: 0, loops: [], ...more,
  };
}

export function recordOf(more: Partial<RunRecord> = {}): RunRecord {
  return {
    id: 'r1', workflow: 'demo', title: 'What is on?', status: 'finished', outcome_status: 'answered', stop_reason: null,
    started_at: '2026-03-07T10:00:00Z', ended_at: '2026-03-07T10:00:02Z', seconds: 2, model_calls: 0, unmetered_calls: 0, tokens: 0, cost: null,
    quality: null, passes: {}, events: 0, asked: [], parent: null, tags: [], input: { message: 'What is on?' },
    changes: { models: {}, prompts: {}, pause_before: [], pause_after: [] }, outcome: null, error: null, error_type: null, error_node: null, error_frames: [], models: {}, prompts: {},
    usage: [], loops: [], path: [], children: [], epoch: 1, request: null, priority: 0, lost: 0, lost_at: null, ...more,
  };
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { ApiError, followRun, get, query } from '../src/lib/api/client';
import type { LoggedEvent } from '../src/lib/api/types';
import { connection } from '../src/lib/stores/connection.svelte';
import { openRun } from '../src/lib/stores/run.svelte';

let server: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  server = createServer((request, response) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Access-Control-Allow-Headers', '*');
    if (request.method === 'OPTIONS') response.end();
    else answer(request, response);
  });
  server.keepAliveTimeout = 0; // on a busy machine it would close a connection that is just used again
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  document.head.innerHTML = `<base href="http://127.0.0.1:${(server.address() as AddressInfo).port}/">`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const event = (seq: number, type = 'told'): string => `id: r:${seq}\nevent: ${type}\ndata: ${JSON.stringify({ type, message: `m${seq}` })}\n\n`;
const json = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
};

async function follow(after = 0): Promise<{ seqs: number[]; last: number }> {
  const seen: LoggedEvent[] = [];
  const last = await followRun('r', after, (events) => seen.push(...events), new AbortController().signal);
  return { seqs: seen.map((one) => one.seq), last };
}

describe('followRun', () => {
  it('goes on behind the last event after the connection broke, and hands each event out once', async () => {
    const asked: (string | undefined)[] = [];
    answer = (request, response) => {
      asked.push(request.headers['last-event-id'] as string | undefined);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      if (asked.length === 1) {
        response.write(event(1) + event(2) + event(3));
        setTimeout(() => response.destroy(), 50);
      } else {
        // A server that sends one too many is not believed.
        response.end(event(3) + event(4) + event(5, 'run_finished'));
      }
    };
    expect(await follow()).toEqual({ seqs: [1, 2, 3, 4, 5], last: 5 });
    expect(asked).toEqual([undefined, 'r:3']);
  });

  it('leaves the page as much time again as it takes to show what came', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      let seq = 0;
      const timer = setInterval(() => {
        response.write(event((seq += 1), seq < 100 ? 'told' : 'run_finished'));
        if (seq < 100) return;
        clearInterval(timer);
        response.end();
      }, 10);
    };
    let busy = 0;
    const seqs: number[] = [];
    const began = performance.now();
    await followRun('r', 0, (events) => {
      seqs.push(...events.map((one) => one.seq));
      const from = performance.now();
      while (performance.now() - from < 80);
      busy += performance.now() - from;
    }, new AbortController().signal);
    expect(seqs).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    expect(busy / (performance.now() - began)).toBeLessThan(0.6);
  });

  it('begins behind what is known', async () => {
    const asked: unknown[] = [];
    answer = (request, response) => {
      asked.push(request.headers['last-event-id']);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(event(8, 'run_finished'));
    };
    expect(await follow(7)).toEqual({ seqs: [8], last: 8 });
    expect(asked).toEqual(['r:7']);
  });

  it('ends with a run that was cancelled, which has no last event', async () => {
    answer = (request, response) => {
      if (request.url === '/runs/r') json(response, { status: 'cancelled' });
      else response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(event(1));
    };
    expect(await follow()).toEqual({ seqs: [1], last: 1 });
  });

  it('ends where the server has nothing behind the last event', async () => {
    answer = (_request, response) => response.writeHead(204).end();
    expect(await follow(5)).toEqual({ seqs: [], last: 5 });
    expect(connection.up).toBe(true);
  });

  it('holds no connection while the page is hidden, and misses nothing', async () => {
    const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(false);
    const turn = (to: boolean): void => {
      hidden.mockReturnValue(to);
      document.dispatchEvent(new Event('visibilitychange'));
    };
    const asked: string[] = [];
    let open = 0;
    answer = (request, response) => {
      if (request.url === '/health/live') return response.end();
      asked.push(request.url ?? '');
      if (request.url === '/runs/r') return json(response, { status: 'running' });
      if (request.url?.includes('/log')) {
        setTimeout(() => turn(false), 50);
        return json(response, { events: [{ seq: 2, event: { type: 'told' } }], next: null, total: 2 });
      }
      open += 1;
      response.on('close', () => (open -= 1));
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      if (asked.length > 1) return response.end(event(3, 'run_finished'));
      response.write(event(1));
      setTimeout(() => turn(true), 100);
    };
    expect(await follow()).toEqual({ seqs: [1, 2, 3], last: 3 });
    expect(asked).toEqual(['/runs/r/events', '/runs/r/log?after=1', '/runs/r', '/runs/r/events']);
    await vi.waitFor(() => expect(open).toBe(0));
    hidden.mockRestore();
  });

  it('gives up at once where the server has no such run', async () => {
    answer = (_request, response) => json(response, { error: 'there is no run r', error_type: 'NotFound', can_retry: false }, 404);
    await expect(follow()).rejects.toMatchObject({ error: 'there is no run r', status: 404 });
  });
});

it('a run that stands still is looked at again after a reply that says so', async () => {
  const looks: string[] = [];
  answer = (request, response) => {
    const url = request.url ?? '';
    if (url === '/runs/own') return json(response, { id: 'own', status: looks.length < 3 ? 'waiting' : 'finished', models: {}, parent: null });
    if (url === '/runs/own/graph') return json(response, { nodes: [], edges: [], loops: [] });
    // What a test before left behind, or asks whether the server is there, is no look at this run.
    if (!url.startsWith('/runs/own/log')) return json(response, { error: 'there is nothing', error_type: 'NotFound', can_retry: false }, 404);
    looks.push(url);
    // While it is looked at, and while it is fetched anew.
    if (looks.length === 2 || looks.length === 4) return json(response, { error: 'ask again', error_type: 'Busy', can_retry: true }, 503);
    json(response, { events: [], next: null, total: looks.length < 3 ? 0 : 1 });
  };
  void openRun.open('own');
  await vi.waitFor(() => expect([openRun.record?.status, openRun.loading, openRun.error, looks.length]).toEqual(['finished', false, null, 5]), 20_000);
  openRun.close();
});

describe('get', () => {
  it("throws the server's own words", async () => {
    answer = (_request, response) => json(response, { error: 'too many', error_type: 'RateLimit', can_retry: true }, 429);
    const reason = await get('/runs').catch((error: unknown) => error);
    expect(reason).toBeInstanceOf(ApiError);
    expect(reason).toMatchObject({ message: 'too many', error_type: 'RateLimit', can_retry: true, status: 429 });
  });

  it('throws a reply of somebody in between too', async () => {
    answer = (_request, response) => response.writeHead(500, 'Broken').end('<html>');
    await expect(get('/runs')).rejects.toMatchObject({ status: 500, can_retry: true });
  });
});

it('query leaves out what is empty', () => {
  expect(query({ a: 'x y', b: '', c: null, d: undefined, e: 0 })).toBe('?a=x+y&e=0');
  expect(query({ a: '' })).toBe('');
});

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { get } from '../src/lib/api/client';
import { connection } from '../src/lib/stores/connection.svelte';

let server: Server | undefined;

async function serve(port: number, token: string | null): Promise<number> {
  const started = createServer((request, response) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Access-Control-Allow-Headers', '*');
    if (request.method === 'OPTIONS') response.end();
    else if (token && request.headers.authorization !== `Bearer ${Buffer.from(token).toString('latin1')}`) response.writeHead(401).end('{}');
    else response.end('{"ok":true}');
  });
  await new Promise<void>((resolve) => started.listen(port, '127.0.0.1', resolve));
  server = started;
  const taken = (started.address() as AddressInfo).port;
  document.head.innerHTML = `<base href="http://127.0.0.1:${taken}/">`;
  return taken;
}

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

describe('connection', () => {
  it('notices that the server is gone, and that it is back', async () => {
    const port = await serve(0, null);
    await get('/runs');
    expect(connection.up).toBe(true);
    const returns = connection.returns;
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
    await expect(get('/runs')).rejects.toMatchObject({ status: 0, can_retry: true });
    expect(connection.up).toBe(false);
    await serve(port, null);
    await vi.waitFor(() => expect(connection.up).toBe(true), 10_000);
    expect(connection.returns).toBe(returns + 1);
  });

  it('lets all calls wait for one token, and sends them again with it', async () => {
    await serve(0, 'r–ght');
    const replies = Promise.all([get('/runs'), get('/workflows')]);
    await vi.waitFor(() => expect(connection.asking).toBe(true));
    expect(connection.refused).toBe(false);
    connection.giveToken('wr–ng');
    await vi.waitFor(() => expect(connection.refused).toBe(true));
    connection.giveToken('r–ght');
    expect(await replies).toEqual([{ ok: true }, { ok: true }]);
    expect(connection.asking).toBe(false);
    expect(sessionStorage.getItem('loopwright-token')).toBe('r–ght');
  });
});

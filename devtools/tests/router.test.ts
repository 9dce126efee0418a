import { describe, expect, it } from 'vitest';

import { href, readRoute, router } from '../src/lib/stores/router.svelte';

describe('readRoute', () => {
  it.each([
    ['', 'runs', ''],
    ['#/', 'runs', ''],
    ['#/runs', 'runs', ''],
    ['#/runs/abc', 'run', 'abc'],
    ['#/workflows', 'workflows', ''],
    ['#/workflows/rag', 'workflow', 'rag'],
    ['#/loops/rag', 'loops', 'rag'],
    ['#/nowhere/x', 'missing', 'nowhere/x'],
    ['#/runs/100%', 'run', '100%'],
  ])('reads %s', (hash, page, id) => expect(readRoute(hash)).toMatchObject({ page, id }));

  it('reads back what href writes', () => {
    const route = readRoute(href('runs', 'a/b c?d', { seq: 12, node: 'plan & go', none: null, empty: '' }));
    expect(route).toMatchObject({ page: 'run', id: 'a/b c?d' });
    expect(Object.fromEntries(route.query)).toEqual({ seq: '12', node: 'plan & go' });
  });
});

it('what a page kept with its entry stays when the address says more', () => {
  expect(router.kept()).toBeNull();
  router.keep({ top: 5 });
  router.set({ seq: 3 });
  expect(router.kept()).toEqual({ top: 5 });
  history.replaceState(null, '', '#/runs');
});

it('a late change of the address is dropped where another page comes', () => {
  history.replaceState(null, '', '#/runs/abc');
  router.set({ seq: 3 });
  expect(location.hash).toBe('#/runs/abc');
  history.replaceState(null, '', '#/runs');
});

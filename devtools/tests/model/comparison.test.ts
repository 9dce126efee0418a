import { describe, expect, it } from 'vitest';

import { differences } from '../../src/components/inspector/difference';
import { isPlan, pathRows, telling } from '../../src/lib/model/comparison';

const MARKS = { both: ' ', a: '-', b: '+' };
const shown = (a: string[], b: string[]): string[] => pathRows(a, b).map(({ node, where, visits }) => `${MARKS[where]}${node} ${visits.a}/${visits.b}`);

describe('two ways through a graph', () => {
  it('have what both went once, and the pass that only one went in its place', () => {
    expect(shown(['plan', 'search', 'check', 'reflect', 'search', 'check', 'write'], ['plan', 'search', 'check', 'write'])).toEqual([
      ' plan 1/1', ' search 1/1', ' check 1/1', '-reflect 1/0', '-search 2/1', '-check 2/1', ' write 1/1',
    ]);
    expect(shown(['a', 'b', 'z'], ['a', 'c', 'd', 'z'])).toEqual([' a 1/1', '-b 1/0', '+c 0/1', '+d 0/1', ' z 1/1']);
    expect(shown([], ['a'])).toEqual(['+a 0/1']);
  });

  it('are each whole, whatever they are, also where they are too long to be aligned', () => {
    const long = Array.from({ length: 4000 }, (_, index) => 'xyz'[(index * index) % 3] ?? '');
    for (const [a, b] of [[long, long.toReversed()], [['p', ...long, 'q'], ['p', ...long.slice(7), 'q']]] as const) {
      const rows = pathRows(a, b);
      expect(rows.filter(({ where }) => where !== 'b').map(({ node }) => node)).toEqual(a);
      expect(rows.filter(({ where }) => where !== 'a').map(({ node }) => node)).toEqual(b);
    }
  });
});

describe('two states', () => {
  it('differ in nothing that is made anew in each run', () => {
    const [one, other] = ['6f1c3a52-0a39-4a0f-9d53-8f6a5a7d9a10', '0f1c3a52-0a39-4a0f-9d53-8f6a5a7d9a11'];
    const before = { messages: [{ id: one, text: 'hi' }], at: '2026-11-24T12:00:00.1Z', took: { seconds: 1.5 }, asked: '2026-11-24T12:00:00Z', query: 'a' };
    const after = { messages: [{ id: other, text: 'hi' }], at: '2026-11-24T13:00:00.2Z', took: { seconds: 2.5 }, asked: '2026-11-25T12:00:00Z', query: 'b' };
    const keys = telling(differences(before, after)).map(({ key }) => key);
    expect(keys).toEqual(['asked', 'query']);
    expect(keys.filter(isPlan)).toEqual(['query']);
    expect(['planned_queries', 'plan', 'plane', 'next_query', 'queryset'].filter(isPlan)).toEqual(['planned_queries', 'plan', 'next_query']);
  });
});

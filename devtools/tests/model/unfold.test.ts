import { describe, expect, it } from 'vitest';

import { unfolded } from '../../src/lib/model/unfold';
import { recorded } from './logs';

describe('a graph inside a graph inside a node', () => {
  it('can be opened once the one around it stands open', () => {
    const { graph } = recorded('own-retries');
    const bare = { ...graph, loops: [], edges: [], inside: {} };
    const named = (name: string, inside = {}) => ({ ...bare, nodes: graph.nodes.slice(0, 1).map((node) => ({ ...node, name })), inside });
    const whole = named('outer', { outer: named('middle', { middle: named('inmost') }) });
    expect(Object.keys(unfolded(whole, new Set()).inside ?? {})).toEqual(['outer']);
    expect(Object.keys(unfolded(whole, new Set(['outer'])).inside ?? {})).toEqual(['outer', 'outer/middle']);
    const opened = unfolded(whole, new Set(['outer', 'outer/middle']));
    expect(opened.nodes.map(({ name }) => name)).toEqual(['outer', 'outer/middle', 'outer/middle/inmost']);
  });
});

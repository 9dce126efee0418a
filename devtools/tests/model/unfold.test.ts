import { describe, expect, it } from 'vitest';

import { layoutOf } from '../../src/lib/model/layout';
import { unfolded } from '../../src/lib/model/unfold';
import { RunViewBuilder } from '../../src/lib/model/run-view';
import { pipelineNodes } from '../../src/lib/stores/pipeline';
import { logOf, recorded } from './logs';

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

it('a name with a slash, or one that objects have, is a name like any other', () => {
  const { graph } = recorded('own-retries');
  const names = ['data', 'data/clean', 'constructor'];
  const node = graph.nodes.find(({ kind }) => kind === 'node')!;
  const edge = { ...graph.edges[0]!, loop: null };
  const odd = {
    ...graph,
    loops: [],
    inside: {},
    nodes: names.map((name) => ({ ...node, name })),
    edges: [{ ...edge, source: 'data', target: 'data/clean' }, { ...edge, source: 'data/clean', target: 'constructor' }],
  };
  expect(Object.keys(layoutOf(odd).nodes)).toEqual(names);
  expect(pipelineNodes(odd, null).constructor).toMatchObject({ status: 'waiting', visits: 0 });
  const builder = new RunViewBuilder();
  builder.add(logOf({ type: 'node_started', node: 'constructor', task_id: 'a', visit: 1 }));
  expect(builder.view.nodes.constructor).toMatchObject({ status: 'running' });
});

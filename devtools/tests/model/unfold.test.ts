import { describe, expect, it } from 'vitest';

import { layoutOf } from '../../src/lib/model/layout';
import { edgeViews } from '../../src/lib/model/routes-taken';
import { placeOf, unfolded } from '../../src/lib/model/unfold';
import { isInside } from '../../src/lib/model/view';
import { pipelineNodes } from '../../src/lib/stores/pipeline';
import { logOf, recorded, viewOf } from './logs';

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
  expect(unfolded(odd).inside?.constructor).toBeUndefined();
  expect(pipelineNodes(odd, null).constructor).toMatchObject({ status: 'waiting', visits: 0 });
  expect(viewOf(logOf({ type: 'node_started', node: 'constructor', task_id: 'a', visit: 1 })).nodes.constructor).toMatchObject({ status: 'running' });
});

it('what is inside a node is known from the graph and the events, whatever signs its name has', () => {
  const { graph } = recorded('own-retries');
  const node = graph.nodes.find(({ kind }) => kind === 'node')!;
  const edge = { ...graph.edges[0]!, loop: null };
  const of = (names: string[], inside = {}) => ({
    ...graph, loops: [], inside, nodes: names.map((name) => ({ ...node, name })), edges: names.slice(1).map((name, index) => ({ ...edge, source: names[index]!, target: name })),
  });
  const whole = of(['__start__', 'a/b', 'c'], { c: of(['__start__', 'd/e']) });
  expect(['a/b', 'c/d/e', 'c/__start__', '__start__'].map((name) => placeOf(whole, name))).toEqual(['', 'c', 'c', '']);
  expect(placeOf(unfolded(whole), 'c/d/e')).toBe('c');

  const started = (name: string, within = '') => ({ type: 'node_started', node: name, task_id: name, visit: 1, within });
  const decided = (loop: string, within = '') => ({ type: 'loop', loop, decision: 'granted', spent: 1, limit: 2, step: 1, reason: '', sources: [], within });
  const view = viewOf(logOf(started('loop.a/b'), started('a/b'), started('c'), started('c/loop.d/e', 'c'), started('c/d/e', 'c'), decided('a/b'), decided('c/d/e', 'c')));
  // Gates are no visits.
  expect(view.visits.map((visit) => visit.node)).toEqual(['a/b', 'c', 'c/d/e']);
  expect(Object.values(view.loops).filter((loop) => isInside(loop, null)).map(({ name }) => name)).toEqual(['c/d/e']);
  // Without `within`, as in old logs, or without a decision, the graph tells it.
  const known = { ...whole, inside: { c: { ...of([]), loops: [{ ...graph.loops[0]!, name: 'd/e' }] } } };
  for (const loop of Object.values(view.loops)) expect(isInside({ ...loop, decisions: [] }, known)).toBe(loop.name === 'c/d/e');
  expect(edgeViews(unfolded(whole), view)['c/__start__>c/d/e']).toMatchObject({ taken: 1, active: true });
  expect(edgeViews(whole, view)['__start__>a/b']).toMatchObject({ taken: 1 });
});

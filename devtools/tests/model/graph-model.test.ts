import { describe, expect, it } from 'vitest';

import { bringing, fitting, layoutOf, neighbour, readable, rounded } from '../../src/lib/model/layout';
import { edgeId, edgeViews } from '../../src/lib/model/routes-taken';
import { recorded, run } from './logs';

describe('the arrows of a run', () => {
  it('count how often they were taken, through the gates of loops', () => {
    const { graph, view } = run('assistant-reflect');
    const taken = Object.fromEntries(Object.entries(edgeViews(graph, view)).map(([id, edge]) => [id, edge.taken]));
    expect(taken).toMatchObject({
      '__start__>fetch_data': 1,
      'fetch_data>update_profile': 0,
      'execute_queries>check_results': 3,
      'check_results>reflect_and_replan:reflect': 2,
      'reflect_and_replan>execute_queries': 2,
      'check_results>generate_response': 1,
      'evaluate>__end__': 1,
    });
  });

  it('carry the passes of their loop, and its limit before the run too', () => {
    const { graph, view } = run('assistant-reflect');
    expect(edgeViews(graph, view)['check_results>reflect_and_replan:reflect']).toMatchObject({ passes: 2, limit: 2 });
    expect(edgeViews(graph, null)['check_results>reflect_and_replan:reflect']).toMatchObject({ passes: 0, limit: 2, taken: 0 });
    expect(edgeViews(graph, view)['plan_queries>execute_queries']).toMatchObject({ passes: null, limit: null });
  });

  it('know the limit that words name', () => {
    const { graph } = run('assistant-reflect');
    const limitOf = (limit: string) =>
      edgeViews({ ...graph, loops: graph.loops.map((loop) => ({ ...loop, limit })) }, null)['check_results>reflect_and_replan:reflect']?.limit;
    expect(limitOf('max_replan_iterations, at most 10')).toBe(10);
    expect(limitOf('as the state says')).toBeNull();
  });

  it('lead to a node that waited for several, whenever each of these ended', () => {
    const { graph, view } = run('own-retries');
    const edge = { ...graph.edges[0]!, loop: null };
    const pairs = [['__start__', 'a'], ['a', 'slow'], ['a', 'far'], ['far', 'near'], ['slow', 'join'], ['near', 'join'], ['join', '__end__']] as const;
    const made = { ...graph, loops: [], inside: {}, nodes: graph.nodes.slice(0, 1), edges: pairs.map(([source, target]) => ({ ...edge, source, target })) };
    const visits = [['a', 1], ['slow', 2], ['far', 2], ['near', 3], ['join', 4]].map(([node, step]) => ({ ...view.visits[0]!, node: String(node), step: Number(step), within: '' }));
    const taken = edgeViews(made, { ...view, loops: {}, visits, status: 'finished' });
    expect(Object.values(taken).map((each) => each.taken)).toEqual([1, 1, 1, 1, 1, 1, 1]);
  });

  it('are active while the visit goes on that they lead to', () => {
    const { graph, events } = recorded('own-retries');
    const start = events.find(({ event }) => event.type === 'node_started' && event.node === 'right');
    const { view } = run('own-retries', start?.seq);
    const active = Object.entries(edgeViews(graph, view)).filter(([, edge]) => edge.active).map(([id]) => id);
    expect(active.sort()).toEqual(['fetch>flaky', 'fetch>left', 'fetch>right']);
  });
});

describe('the layout', () => {
  it('goes from top to bottom without overlaps', () => {
    for (const name of ['assistant-reflect', 'own-retries'] as const) {
      const { graph } = recorded(name);
      const { nodes, edges } = layoutOf(graph);
      const boxes = Object.values(nodes);
      boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
        expect(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y).toBe(true);
      }));
      expect(Math.min(...boxes.map((box) => box.y))).toBe(nodes['__start__']?.y);
      expect(Object.keys(edges).sort()).toEqual(graph.edges.map(edgeId).sort());
    }
  });

  it('gives each loop that shares an arrow one of its own', () => {
    const { graph } = recorded('assistant-reflect');
    const edge = graph.edges.find((each) => each.loop);
    if (!edge) throw new Error('no loop');
    const { edges } = layoutOf({ ...graph, edges: [...graph.edges, { ...edge, loop: 'second' }] });
    expect(edges['check_results>reflect_and_replan:second']?.label).not.toBeNull();
  });

  it('leads an arrow from a node back to itself round its right side', () => {
    const { graph } = recorded('assistant-reflect');
    const edge = { ...graph.edges.find((each) => each.loop)!, source: 'evaluate', target: 'evaluate' };
    for (const loop of ['again', null]) {
      const { nodes, edges } = layoutOf({ ...graph, edges: [...graph.edges, { ...edge, loop }] });
      const { x, y, width, height } = nodes['evaluate']!;
      const { points, label } = edges[edgeId({ ...edge, loop })]!;
      expect(points.every((point) => point.x >= x + width && point.y > y && point.y < y + height)).toBe(true);
      expect([points[0]!.x, points.at(-1)!.x, points[0]!.y < points.at(-1)!.y]).toEqual([x + width, x + width, true]);
      expect(label?.x ?? points[1]!.x).toBe(points[1]!.x);
    }
  });

  it('finds the next node in each direction', () => {
    const { nodes } = layoutOf(recorded('assistant-reflect').graph);
    expect(neighbour(nodes, 'plan_queries', 'down')).toBe('execute_queries');
    expect(neighbour(nodes, 'plan_queries', 'up')).toBe('generate_acknowledgment');
    expect(neighbour(nodes, '__end__', 'down')).toBeNull();
  });

  it('takes nodes, arrows and labels into its bounds, and fits them into an area', () => {
    const { nodes, edges, bounds } = layoutOf(recorded('assistant-reflect').graph);
    for (const point of [...Object.values(nodes), ...Object.values(edges).flatMap((edge) => edge.points)]) {
      expect(point.x >= bounds.x && point.x <= bounds.x + bounds.width).toBe(true);
      expect(point.y >= bounds.y && point.y <= bounds.y + bounds.height).toBe(true);
    }
    expect(fitting({ x: 10, y: 20, width: 100, height: 400 }, { width: 220, height: 220 }, 10, 2)).toEqual({ x: 80, y: 0, zoom: 0.5 });
    expect(fitting({ x: 0, y: 0, width: 10, height: 10 }, { width: 100, height: 100 }, 0, 2).zoom).toBe(2);
  });

  it('that is too large to be read as a whole is seen around one node, and moved as little as brings another one into sight', () => {
    const area = { width: 220, height: 220 };
    const box = (y: number) => ({ x: 0, y, width: 200, height: 40 });
    const tall = { x: 0, y: 0, width: 200, height: 4000 };
    expect(readable(tall, area, 10, 0.5, box(2000))).toEqual({ x: 60, y: 110 - 1010, zoom: 0.5 });
    // At an end there is no empty room.
    expect(readable(tall, area, 10, 0.5, box(0)).y).toBe(10);
    expect(readable(tall, area, 10, 0.5, box(3960)).y).toBe(210 - 2000);
    const place = { x: 60, y: 10, zoom: 0.5 };
    expect(bringing(place, box(100), area, 10)).toBe(place);
    expect(bringing(place, box(1000), area, 10)).toEqual({ ...place, y: 210 - 520 });
    expect(bringing({ ...place, y: -600 }, box(1000), area, 10)).toEqual({ ...place, y: 10 - 500 });
    // What is larger than the room and all over it is left where it is.
    expect(bringing({ ...place, y: -300 }, tall, area, 10)).toEqual({ ...place, y: -300 });
    expect(bringing({ ...place, y: 100 }, tall, area, 10)).toEqual({ ...place, y: 10 });
  });

  it('rounds the corners of a path', () => {
    expect(rounded([{ x: 0, y: 0 }, { x: 0, y: 100 }, { x: 100, y: 100 }])).toBe('M0,0L0,90Q0,100 10,100L100,100');
    expect(rounded([])).toBe('');
  });
});

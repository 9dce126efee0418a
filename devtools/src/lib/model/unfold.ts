/** Graphs inside nodes, drawn in their places: one flat graph, in which a node's path is its name. */
import type { ShownGraph, ShownNode } from '../api/types';
import { byName } from './view';

/** The node around a node of a graph inside it; empty for one of the graph itself, whose name may have a slash, too. */
export function placeOf(graph: ShownGraph, node: string): string {
  for (const [name, inner] of Object.entries(graph.inside ?? {})) {
    if (!node.startsWith(`${name}/`)) continue;
    const own = node.slice(name.length + 1);
    if (inner.nodes.some((each) => each.name === own)) return name;
    const deeper = placeOf(inner, own);
    if (deeper) return `${name}/${deeper}`;
  }
  return '';
}

/** Whether a node stands open: its own graph is drawn in its place. */
export const isOpened = (graph: ShownGraph, node: string): boolean => graph.nodes.some(({ name }) => name === `${node}/__start__`);

/**
 * A graph with some of its nodes open.
 *
 * @param open The paths of these; null opens all.
 * @param place What stands before the names of this graph's nodes.
 */
export function unfolded(graph: ShownGraph, open: ReadonlySet<string> | null = null, place = ''): ShownGraph {
  const inner = new Map(
    Object.entries(graph.inside ?? {})
      .filter(([node]) => open === null || open.has(place + node))
      .map(([node, each]) => [node, unfolded(each, open, `${place}${node}/`)]),
  );
  const named = (node: string): string => place + node;
  const parts = [...inner.values()];
  return {
    ...graph,
    nodes: graph.nodes.flatMap((node): ShownNode[] => [{ ...node, name: named(node.name) }, ...(inner.get(node.name)?.nodes ?? [])]),
    edges: [
      ...graph.edges.map((edge) => ({
        ...edge,
        source: named(inner.has(edge.source) ? `${edge.source}/__end__` : edge.source),
        target: named(inner.has(edge.target) ? `${edge.target}/__start__` : edge.target),
        loop: edge.loop === null ? null : named(edge.loop),
      })),
      ...parts.flatMap((each) => each.edges),
    ],
    loops: [
      ...graph.loops.map((loop) => ({ ...loop, name: named(loop.name), gate: named(loop.gate), target: named(loop.target), sources: loop.sources.map(named), exhausted: loop.exhausted.map(named) })),
      ...parts.flatMap((each) => each.loops),
    ],
    inside: byName([...Object.entries(graph.inside ?? {}).map(([node, each]) => [named(node), each] as const), ...parts.flatMap((each) => Object.entries(each.inside ?? {}))]),
  };
}

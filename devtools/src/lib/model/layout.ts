/** Where the nodes and arrows of a graph are drawn: from top to bottom, as narrow and low as dagre makes it. */
import dagre from '@dagrejs/dagre';

import type { ShownGraph } from '../api/types';
import { edgeId } from './routes-taken';
import { isOpened, placeOf } from './unfold';

export interface Point {
  x: number;
  y: number;
}
export interface Box extends Point {
  width: number;
  height: number;
}
export interface Layout {
  /** Node -> its box; x and y are the upper left corner. */
  nodes: Record<string, Box>;
  /** Arrow -> the points that it goes through, and the middle of its label. */
  edges: Record<string, { points: Point[]; label: Point | null }>;
  /** What nodes, arrows and labels take together. */
  bounds: Box;
}

export const NODE = { width: 232, height: 44 };
const TERMINAL = { width: 60, height: 22 };
const TITLE = 16;
const LABEL = { height: 20, most: 120 };
const SPACE = { nodesep: 26, ranksep: 24, edgesep: 14, marginx: 4, marginy: 4 };

const known = new WeakMap<ShownGraph, Layout>();

/** The layout of a graph; it is made once. An end that no arrow leads to is left out. */
export function layoutOf(graph: ShownGraph): Layout {
  const made = known.get(graph) ?? layout(graph);
  known.set(graph, made);
  return made;
}

/** What dagre calls a node: it keeps names in plain objects, which have a `constructor` themselves. */
const keyOf = (name: string): string => `node ${name}`;

function layout(graph: ShownGraph): Layout {
  const joined = new Set(graph.edges.flatMap((edge) => [edge.source, edge.target]));
  const shown = graph.nodes.filter((node) => node.kind === 'node' || joined.has(node.name));
  const drawn = new dagre.graphlib.Graph({ multigraph: true, compound: true });
  drawn.setGraph({ rankdir: 'TB', ...SPACE });
  for (const { name, kind } of shown) {
    drawn.setNode(keyOf(name), isOpened(graph, name) ? {} : { ...(kind === 'node' ? NODE : TERMINAL) });
    const place = placeOf(graph, name);
    if (isOpened(graph, place)) drawn.setParent(keyOf(name), keyOf(place));
  }
  for (const edge of graph.edges) {
    // Weight keeps the path from start to end straight; loops go round it.
    const place = edge.loop ? { width: labelWidth(edge.loop), height: LABEL.height, labelpos: 'c', weight: 1 } : { weight: edge.dotted ? 1 : 4 };
    drawn.setEdge(keyOf(edge.source), keyOf(edge.target), place, edgeId(edge));
  }
  dagre.layout(drawn);
  const nodes = Object.fromEntries(
    shown.map(({ name }) => {
      const { x, y, width, height } = drawn.node(keyOf(name)) as Box;
      // A frame has its title above what is in it.
      const title = isOpened(graph, name) ? TITLE : 0;
      return [name, { x: x - width / 2, y: y - height / 2 - title, width, height: height + title }];
    }),
  );
  const edges = Object.fromEntries(
    graph.edges.map((edge) => {
      const id = edgeId(edge);
      const { points, x, y } = drawn.edge({ v: keyOf(edge.source), w: keyOf(edge.target), name: id }) as { points: Point[] } & Partial<Point>;
      const label = edge.loop && x !== undefined && y !== undefined ? { x, y } : null;
      return [id, { points: edge.source === edge.target ? besides(nodes[edge.source] as Box, label) : points, label }];
    }),
  );
  const labels = graph.edges.flatMap((edge) => {
    const label = edges[edgeId(edge)]?.label;
    const width = labelWidth(edge.loop ?? '');
    return label ? [{ x: label.x - width / 2, y: label.y - LABEL.height / 2 }, { x: label.x + width / 2, y: label.y + LABEL.height / 2 }] : [];
  });
  const corners = Object.values(nodes).flatMap((box) => [box, { x: box.x + box.width, y: box.y + box.height }]);
  const all = [...corners, ...labels, ...Object.values(edges).flatMap((edge) => edge.points)];
  const [xs, ys] = [all.map((point) => point.x), all.map((point) => point.y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { nodes, edges, bounds: { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y } };
}

/** The points of an arrow from a node back to itself, through its label: dagre's own lead through the node. */
function besides({ x, y, width, height }: Box, label: Point | null): Point[] {
  const [right, middle] = [x + width, y + height / 2];
  const out = Math.max(label?.x ?? 0, right + 24);
  return [[right, -12], [out, -12], [out, 12], [right, 12]].map(([at, off]) => ({ x: at as number, y: middle + (off as number) }));
}

/** What a loop's name and figures take, in pixels. */
const labelWidth = (loop: string): number => Math.min(LABEL.most, 48 + 6.5 * loop.length);

/** A line through points as an SVG path, its corners rounded. */
export function rounded(points: readonly Point[], radius = 10): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let path = `M${first.x},${first.y}`;
  let before = first;
  rest.forEach((point, index) => {
    const next = rest[index + 1];
    if (!next) {
      path += `L${point.x},${point.y}`;
      return;
    }
    const into = toward(point, before, radius);
    const out = toward(point, next, radius);
    path += `L${into.x},${into.y}Q${point.x},${point.y} ${out.x},${out.y}`;
    before = point;
  });
  return path;
}

/** Where a drawing stands: a point of it is seen at the point times the zoom, and moved by x and y. */
export interface Place extends Point {
  zoom: number;
}
/** How much room an area has. */
interface Area {
  width: number;
  height: number;
}

/** Where a drawing stands within an area so that all of it is seen, no larger than `most` times its own size. */
export function fitting(bounds: Box, { width, height }: Area, margin: number, most: number): Place {
  const zoom = Math.min(most, (width - 2 * margin) / bounds.width, (height - 2 * margin) / bounds.height);
  return {
    x: width / 2 - (bounds.x + bounds.width / 2) * zoom,
    y: height / 2 - (bounds.y + bounds.height / 2) * zoom,
    zoom,
  };
}

/**
 * Where a drawing stands that is too large to be read as a whole: at a zoom at which it is, around a box, with no more
 * empty room beside it than there must be.
 */
export function readable(bounds: Box, { width, height }: Area, margin: number, zoom: number, around: Box): Place {
  const along = (start: number, size: number, from: number, length: number, room: number): number => {
    if (size * zoom <= room - 2 * margin) return room / 2 - (start + size / 2) * zoom;
    return Math.min(margin - start * zoom, Math.max(room - margin - (start + size) * zoom, room / 2 - (from + length / 2) * zoom));
  };
  return {
    x: along(bounds.x, bounds.width, around.x, around.width, width),
    y: along(bounds.y, bounds.height, around.y, around.height, height),
    zoom,
  };
}

/** The place moved as little as brings a box into sight; the same where it is in sight. */
export function bringing(place: Place, box: Box, { width, height }: Area, margin: number): Place {
  const along = (at: number, start: number, length: number, room: number): number => {
    const [from, to] = [at + start * place.zoom, at + (start + length) * place.zoom];
    const large = to - from > room - 2 * margin;
    if (large && from <= margin && to >= room - margin) return at;
    // Of what is larger than the room and not all over it, the beginning counts.
    if (from < margin || large) return at + margin - from;
    return to > room - margin ? at + room - margin - to : at;
  };
  const [x, y] = [along(place.x, box.x, box.width, width), along(place.y, box.y, box.height, height)];
  return x === place.x && y === place.y ? place : { ...place, x, y };
}

/** A point on the way from one to another, at a distance of at most half of it. */
function toward(from: Point, to: Point, distance: number): Point {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const share = Math.min(distance, length / 2) / length;
  return { x: from.x + dx * share, y: from.y + dy * share };
}

export type Direction = 'up' | 'down' | 'left' | 'right';

/** The node that lies next in a direction, or null at the border. */
export function neighbour(nodes: Record<string, Box>, from: string, direction: Direction): string | null {
  const start = nodes[from];
  if (!start) return null;
  const middle = (box: Box): Point => ({ x: box.x + box.width / 2, y: box.y + box.height / 2 });
  const here = middle(start);
  let best: { name: string; distance: number } | null = null;
  for (const [name, box] of Object.entries(nodes)) {
    const there = middle(box);
    const along = { up: here.y - there.y, down: there.y - here.y, left: here.x - there.x, right: there.x - here.x }[direction];
    const across = Math.abs(direction === 'up' || direction === 'down' ? there.x - here.x : there.y - here.y);
    if (name === from || along <= 1) continue;
    // What lies straight ahead is nearer than what lies aside.
    const distance = along + 2 * across;
    if (!best || distance < best.distance) best = { name, distance };
  }
  return best?.name ?? null;
}

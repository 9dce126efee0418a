/** What the parts of one drawn graph share: nodes and arrows read it, so that their own objects never change. */
import { getContext, setContext } from 'svelte';

import type { ShownGraph } from '../../lib/api/types';
import { layoutOf, neighbour, type Direction, type Layout } from '../../lib/model/layout';
import { edgeViews, type EdgeView } from '../../lib/model/routes-taken';
import { nodesOf, type NodeState, type RunView } from '../../lib/model/view';

const KEY = Symbol('graph');

interface Given {
  graph: ShownGraph;
  view: RunView | null;
  selected: string | null;
  hovered: string | null;
  onhover: (node: string | null) => void;
  onselect: (node: string) => void;
  /** A node that is a graph is to stand open, or to be closed. */
  onfold: (node: string) => void;
  /** The label of a loop was chosen; without it, it is none to choose. */
  onloop?: (loop: string) => void;
}

export class Drawing {
  readonly given: () => Given;
  /** The node that Tab reaches. */
  focused = $state<string | null>(null);

  layout: Layout = $derived.by(() => layoutOf(this.given().graph));
  edges: Record<string, EdgeView> = $derived.by(() => edgeViews(this.given().graph, this.given().view));
  nodes: Record<string, NodeState> = $derived.by(() => this.given().view?.nodes ?? nodesOf([]));
  /** Where the keyboard enters: what was focused last, what is selected, or the first node. */
  entry: string | null = $derived.by(() => {
    const { graph, selected } = this.given();
    const first = graph.nodes.find((node) => node.kind === 'node')?.name ?? null;
    return [this.focused, selected].find((name) => name !== null && name in this.layout.nodes) ?? first;
  });

  constructor(given: () => Given) {
    this.given = given;
  }

  /** Move the focus to the next node in a direction. */
  move(from: string, direction: Direction): void {
    const kinds = new Map(this.given().graph.nodes.map((node) => [node.name, node.kind]));
    const boxes = Object.fromEntries(Object.entries(this.layout.nodes).filter(([name]) => kinds.get(name) === 'node'));
    this.focused = neighbour(boxes, from, direction) ?? from;
  }
}

export const shareDrawing = (drawing: Drawing): Drawing => setContext(KEY, drawing);
export const sharedDrawing = (): Drawing => getContext<Drawing>(KEY);

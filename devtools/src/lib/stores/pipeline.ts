/** The workflow's nodes in their order, what people call them, and how each stands in the run that is shown. */
import { derived, writable, type Readable } from 'svelte/store';

import type { ShownGraph } from '../api/types';
import { nodesOf, type NodeStatus, type RunView } from '../model/view';

export interface NodeMeta {
  label: string;
  icon: string;
  /** Whether it asks a chat model where one is configured. */
  hasLlm: boolean;
}

export interface PipelineNode {
  status: NodeStatus;
  visits: number;
  /** Wall time of all its visits; null before the first one ended. */
  duration_ms: number | null;
  tokens: number;
  /** US dollars; null where it is not known. */
  cost: number | null;
}

/** The nodes in the order of declaration, without entry and exit. */
export const pipelineFlow = (graph: ShownGraph): string[] =>
  graph.nodes.filter((node) => node.kind === 'node').map((node) => node.name);

export const nodeMeta = (graph: ShownGraph): Record<string, NodeMeta> =>
  Object.fromEntries(
    graph.nodes
      .filter((node) => node.kind === 'node')
      .map((node) => [node.name, { label: node.label, icon: node.icon, hasLlm: node.has_llm }]),
  );

/** Node -> how it stands; without a run all wait. Only nodes of the graph are there. */
export function pipelineNodes(graph: ShownGraph, view: RunView | null): Record<string, PipelineNode> {
  const nodes = view?.nodes ?? nodesOf([]);
  return Object.fromEntries(
    pipelineFlow(graph).map((name) => {
      const node = nodes[name];
      const ended = node?.visits.some((visit) => visit.durationMs !== null) ?? false;
      return [
        name,
        {
          status: node?.status ?? 'waiting',
          visits: node?.visits.length ?? 0,
          duration_ms: node && ended ? node.durationMs : null,
          tokens: node?.spent.tokens ?? 0,
          cost: node?.spent.calls ? node.spent.cost : null,
        },
      ];
    }),
  );
}

interface Shown {
  graph: ShownGraph | null;
  view: RunView | null;
}
const shown = writable<Shown>({ graph: null, view: null });

export const PIPELINE_FLOW: Readable<string[]> = derived(shown, ({ graph }) => (graph ? pipelineFlow(graph) : []));
export const NODE_META: Readable<Record<string, NodeMeta>> = derived(shown, ({ graph }) => (graph ? nodeMeta(graph) : {}));

/** The nodes of the graph that is shown, by name. */
export const pipeline = {
  subscribe: derived(shown, ({ graph, view }) => ({ nodes: graph ? pipelineNodes(graph, view) : {} })).subscribe,
  /** Show a graph and a run of it; null for no run. */
  show(graph: ShownGraph, view: RunView | null): void {
    shown.set({ graph, view });
  },
};

const REFLECT = 'reflect_and_replan';
const RELAX = 'relax_and_retry';

/** The retry that a run made: the reflection where there is one and it ran, else the mechanical one if that ran. */
export function retryShown(nodes: Record<string, PipelineNode>): { name: string; node: PipelineNode } | null {
  for (const name of [REFLECT, RELAX]) {
    const node = nodes[name];
    if (node && node.status !== 'waiting' && node.status !== 'skipped') return { name, node };
  }
  return null;
}

/** Which arrows of the graph a run took, and which it is taking. */
import type { ShownEdge, ShownGraph } from '../api/types';
import { isOpen, isPass, type RunView, type Visit } from './view';

export interface EdgeView {
  /** How often control went along it. */
  taken: number;
  /** Whether the visit that it leads to goes on. */
  active: boolean;
  /** Of a loop's arrow: what its ledger has spent of the limit; the arrows of one loop share it. */
  passes: number | null;
  limit: number | null;
}

/** Names an arrow; where several loops share one, each has a name of its own. */
export const edgeId = (edge: Pick<ShownEdge, 'source' | 'target' | 'loop'>): string =>
  `${edge.source}>${edge.target}${edge.loop ? `:${edge.loop}` : ''}`;

/**
 * Arrow -> what the run made of it.
 *
 * A visit was led to by those of the last superstep before it that had any: gates, which are no visits, stand between.
 */
export function edgeViews(graph: ShownGraph, view: RunView | null): Record<string, EdgeView> {
  const shown: Record<string, EdgeView> = {};
  const between = new Map<string, ShownEdge[]>();
  for (const edge of graph.edges) {
    const loop = edge.loop === null ? undefined : view?.loops[edge.loop];
    const limit = graph.loops.find((each) => each.name === edge.loop)?.limit;
    shown[edgeId(edge)] = {
      // A loop's own decisions tell which source asked; another arrow may lead the same way.
      taken: loop?.decisions.filter((each) => isPass(each) && (!each.sources.length || each.sources.includes(edge.source))).length ?? 0,
      active: false,
      passes: edge.loop === null ? null : (loop?.spent ?? 0),
      limit: edge.loop === null ? null : (loop?.limit ?? wholeNumber(limit)),
    };
    const pair = `${edge.source}>${edge.target}`;
    between.set(pair, [...(between.get(pair) ?? []), edge]);
  }
  if (!view) return shown;

  const take = (source: string, target: string, active: boolean): void => {
    for (const edge of between.get(`${source}>${target}`) ?? []) {
      const each = shown[edgeId(edge)];
      if (!each) continue;
      if (edge.loop === null) each.taken += 1;
      each.active ||= active;
    }
  };
  const start = graph.nodes.find((node) => node.kind === 'start')?.name ?? '';
  const end = graph.nodes.find((node) => node.kind === 'end')?.name ?? '';
  let before: Visit[] = [];
  for (const step of supersteps(view.visits)) {
    for (const visit of step) {
      if (!before.length) take(start, visit.node, isOpen(visit));
      for (const source of new Set(before.map((each) => each.node))) take(source, visit.node, isOpen(visit));
    }
    before = step;
  }
  // What a pass of a loop accounts for went along the loop's arrow.
  for (const edge of graph.edges) {
    const plain = edge.loop === null ? undefined : shown[`${edge.source}>${edge.target}`];
    if (plain) plain.taken = Math.max(0, plain.taken - (shown[edgeId(edge)]?.taken ?? 0));
  }
  if (view.status === 'finished') for (const source of new Set(before.map((visit) => visit.node))) take(source, end, false);
  return shown;
}

/** The visits of each superstep; without checkpoints, each visit that began after all before it had ended. */
export function supersteps(visits: readonly Visit[]): Visit[][] {
  const steps: Visit[][] = [];
  let ended = -Infinity;
  for (const visit of visits) {
    const last = steps.at(-1);
    const same = last?.[0] && (visit.step === null ? visit.started < ended : visit.step === last[0].step);
    if (last && same) last.push(visit);
    else steps.push([visit]);
    ended = same ? Math.max(ended, visit.ended ?? Infinity) : (visit.ended ?? Infinity);
  }
  return steps;
}

/** The limit that words name: the number alone, or the most that a configured one may be. */
function wholeNumber(words: string | undefined): number | null {
  const found = /^(?:.*\bat most )?(\d+)$/.exec(words ?? '');
  return found ? Number(found[1]) : null;
}

/** Which arrows of the graph a run took, and which it is taking. */
import type { ShownEdge, ShownGraph } from '../api/types';
import { placeOf } from './unfold';
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
 * A visit was led to by those of the last superstep before it that had any (gates, which are no visits, stand between),
 * and by those before that could lead nowhere else and had not led there yet: a node may wait for several.
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
  const names = new Set(graph.nodes.map((node) => node.name));
  /** What an arrow to or from a node names: of one that stands open its graph's start or end. */
  const into = (node: string): string => (names.has(`${node}/__start__`) ? `${node}/__start__` : node);
  const from = (node: string): string => (names.has(`${node}/__end__`) ? `${node}/__end__` : node);
  const targets = new Map<string, Set<string>>();
  for (const { source, target } of graph.edges) targets.set(source, (targets.get(source) ?? new Set()).add(target));
  /** The only node that one leads to. */
  const only = (node: string): string | undefined => {
    const all = targets.get(from(node));
    return all?.size === 1 ? [...all][0] : undefined;
  };
  // The run's own visits, and those of each visit of a graph inside a node.
  const groups = new Map<string, Visit[]>();
  for (const visit of view.visits) {
    if (!groups.has(visit.within)) groups.set(visit.within, []);
    groups.get(visit.within)?.push(visit);
  }
  for (const [within, visits] of groups) {
    const place = within ? placeOf(graph, visits[0]?.node ?? '') : '';
    const at = (end: string): string => (place ? `${place}/${end}` : end);
    let before: Visit[] = [];
    let late = new Set<string>();
    for (const step of supersteps(visits)) {
      const reached = new Set(step.map((visit) => into(visit.node)));
      const sources = new Set(before.map((each) => each.node));
      for (const visit of step) {
        if (!before.length) take(at('__start__'), into(visit.node), isOpen(visit));
        for (const source of new Set([...sources, ...late])) {
          if (sources.has(source) || only(source) === into(visit.node)) take(from(source), into(visit.node), isOpen(visit));
        }
      }
      late = new Set([...sources, ...late].filter((source) => !reached.has(only(source) ?? '')));
      before = step;
    }
    const ended = within ? !before.some(isOpen) && view.nodes[place]?.status === 'complete' : view.status === 'finished';
    if (ended) for (const source of new Set([...before.map((visit) => visit.node), ...[...late].filter((each) => only(each) === at('__end__'))])) take(from(source), at('__end__'), false);
  }
  // What a pass of a loop accounts for went along the loop's arrow.
  for (const edge of graph.edges) {
    const plain = edge.loop === null ? undefined : shown[`${edge.source}>${edge.target}`];
    if (plain) plain.taken = Math.max(0, plain.taken - (shown[edgeId(edge)]?.taken ?? 0));
  }
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

/** The passes of a run's loops: why it went round again, what that changed and took. */
import { hasHidden } from '../form/hidden';
import { countBelow, isPass, type LoopEntry, type RunView } from './view';

export interface Pass {
  entry: LoopEntry;
  /** The event before which it ended: the next decision in its graph, or that graph's end; null while it goes on, or at the run's end. */
  until: number | null;
  /** The nodes that ran in it, in order. */
  nodes: string[];
  /** The keys of the state that changed in it. */
  changed: string[];
  /** Whether nothing of it is seen to have changed, and not all that was written is kept. */
  partly: boolean;
  /** The checkpoint before its gate decided: an index into the view's states, -1 for none. */
  state: number;
}

/** The event at which a graph inside a node ended; null while it goes on, and for the run's own graph. */
function endOfGraph(view: RunView, within: string): number | null {
  const last = within ? view.visits.findLast((visit) => visit.within === within) : undefined;
  return last?.endSeq ? last.endSeq + 1 : null;
}

export function passesOf(view: RunView): Pass[] {
  const decisions = Object.values(view.loops).flatMap((loop) => loop.decisions);
  // From the last one, so that the next decision of each graph is known.
  const ends = new Map<string, number | null>();
  const passes: Pass[] = [];
  for (const entry of decisions.sort((a, b) => b.seq - a.seq)) {
    const until = ends.get(entry.within) ?? endOfGraph(view, entry.within);
    ends.set(entry.within, entry.seq);
    if (!isPass(entry)) continue;
    const between = <T>(list: readonly T[], seq: (item: T) => number): T[] =>
      list.slice(countBelow(list, seq, entry.seq + 1), countBelow(list, seq, until ?? Infinity));
    // The first checkpoint behind a decision holds what its own gate wrote.
    const changed = between(view.states, (state) => state.seq).slice(1).flatMap((state) => [...Object.keys(state.changed), ...state.removed]);
    const visits = between(view.visits, (visit) => visit.startSeq).filter((visit) => visit.within === entry.within);
    passes.push({
      entry,
      until,
      nodes: visits.map((visit) => visit.node),
      changed: [...new Set(changed)],
      partly: !changed.length && visits.some((visit) => hasHidden(visit.update)),
      state: countBelow(view.states, (state) => state.seq, entry.seq) - 1,
    });
  }
  return passes.reverse();
}

/** The passes of a run's loops: why it went round again, what that changed and took. */
import { isPass, type LoopEntry, type RunView } from './view';

export interface Pass {
  entry: LoopEntry;
  /** The event before which it ended: the next decision in its graph, or that graph's end; null while it goes on, or at the run's end. */
  until: number | null;
  /** The nodes that ran in it, in order. */
  nodes: string[];
  /** The keys of the state that changed in it. */
  changed: string[];
  /** The checkpoint before its gate decided: an index into the view's states, -1 for none. */
  state: number;
}

/** See `Pass.until`. */
export function endOfPass(view: RunView, entry: LoopEntry, decisions: readonly LoopEntry[]): number | null {
  const next = decisions.find((each) => each.seq > entry.seq && each.within === entry.within)?.seq;
  if (next !== undefined || !entry.within) return next ?? null;
  const last = view.visits.findLast((visit) => visit.within === entry.within);
  return last?.endSeq ? last.endSeq + 1 : null;
}

export function passesOf(view: RunView): Pass[] {
  const decisions = Object.values(view.loops)
    .flatMap((loop) => loop.decisions)
    .sort((a, b) => a.seq - b.seq);
  return decisions.flatMap((entry) => {
    if (!isPass(entry)) return [];
    const until = endOfPass(view, entry, decisions);
    const within = (seq: number): boolean => seq > entry.seq && (until === null || seq < until);
    const states = view.states.filter((state) => within(state.seq));
    // The first checkpoint behind a decision holds what its own gate wrote.
    const changed = states.slice(1).flatMap((state) => [...Object.keys(state.changed), ...state.removed]);
    return [
      {
        entry,
        until,
        nodes: view.visits.filter((visit) => visit.within === entry.within && within(visit.startSeq)).map((visit) => visit.node),
        changed: [...new Set(changed)],
        state: view.states.findLastIndex((state) => state.seq < entry.seq),
      },
    ];
  });
}

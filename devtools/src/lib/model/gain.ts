/** What a loop's passes gained: quality against passes, by the scores in the state and by runs that were cut short. */
import type { RunRecord, RunSummary } from '../api/types';
import { passesOf } from './passes';
import { stateAt, type RunView } from './run-view';
import { isPass, type LoopView } from './view';

export interface Curve {
  /** What is drawn: a key of the state, or the run's quality. */
  name: string;
  /** Passes -> value, in their order; some may lack. */
  points: { passes: number; value: number }[];
}

/** A number, or the last one of a list of them. */
function score(value: unknown): number | null {
  const last: unknown = Array.isArray(value) ? value.at(-1) : value;
  return typeof last === 'number' ? last : null;
}

/** Runs that are this one without some of a loop's passes: how many stayed -> the newest that ended. */
export function cutsOf(children: readonly RunSummary[], loop: string): Map<number, RunSummary> {
  const found = new Map<number, RunSummary>();
  for (const child of children.toSorted((a, b) => a.started_at.localeCompare(b.started_at))) {
    const { parent } = child;
    if (parent?.kind === 'counterfactual' && parent.loop === loop) found.set(parent.kept, child);
  }
  return found;
}

/** The curves of a loop; none where nothing tells how good the run was in between. */
export function curvesOf(view: RunView, record: RunRecord, loop: LoopView, cuts: ReadonlyMap<number, RunSummary>): Curve[] {
  const passes = passesOf(view).filter((pass) => pass.entry.loop === loop.name);
  const measured = [...cuts].flatMap(([kept, { quality }]) => (quality === null ? [] : [{ passes: kept, value: quality }]));
  if (record.quality !== null && measured.length) measured.push({ passes: passes.length, value: record.quality });
  const curves: Curve[] = measured.length ? [{ name: 'quality', points: measured.sort((a, b) => a.passes - b.passes) }] : [];
  if (!passes.length || passes.some((pass) => pass.entry.within)) return curves;
  const ends = [...passes.map((pass) => pass.state), endState(view, loop)];
  for (const key of Object.keys(record.outcome?.scores ?? {})) {
    const points = ends.flatMap((state, index) => {
      const value = state < 0 ? null : score(stateAt(view, state)[key]);
      return value === null ? [] : [{ passes: index, value }];
    });
    if (points.length > 1) curves.push({ name: key, points });
  }
  return curves;
}

/** The checkpoint at which the last pass ended: the last one before the next decision, or of the run. */
function endState(view: RunView, loop: LoopView): number {
  const last = loop.decisions.findLast(isPass)?.seq ?? 0;
  const next = loop.decisions.find((each) => each.seq > last)?.seq ?? Infinity;
  return view.states.findLastIndex((state) => state.seq < next);
}

/** What a pass changed of a curve's value; null where that is not known. */
export function gained({ points }: Curve, pass: number): number | null {
  const at = (passes: number): number | undefined => points.find((point) => point.passes === passes)?.value;
  const [before, after] = [at(pass - 1), at(pass)];
  return before === undefined || after === undefined ? null : after - before;
}

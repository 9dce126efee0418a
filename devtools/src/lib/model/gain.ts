/** What a loop's passes gained: quality against passes, by the scores in the state and by runs that were cut short. */
import type { RunRecord, RunSummary } from '../api/types';
import type { Pass } from './passes';
import type { RunView } from './run-view';
import { cameToEnd } from '../status';
import { countBelow, isPass, type LoopView } from './view';

export interface Curve {
  /** What is drawn: a key of the state, or the run's quality. */
  name: string;
  /** Whether it is that of runs that were cut short; else a key of the state may have the same name. */
  measured: boolean;
  /** Passes -> value, in their order; some may lack. */
  points: { passes: number; value: number }[];
}

/** A number, or the last one of a list of them. */
function score(value: unknown): number | null {
  const last: unknown = Array.isArray(value) ? value.at(-1) : value;
  return typeof last === 'number' ? last : null;
}

/** Runs that are this one without some of a loop's passes: how many stayed -> the newest that came to its end. */
export function cutsOf(children: readonly RunSummary[], loop: string): Map<number, RunSummary> {
  const found = new Map<number, RunSummary>();
  for (const child of children.toSorted((a, b) => a.started_at.localeCompare(b.started_at))) {
    const { parent, status } = child;
    if (parent?.kind === 'counterfactual' && parent.loop === loop && cameToEnd(status)) found.set(parent.kept, child);
  }
  return found;
}

/** The curves of a loop; none where nothing tells how good the run was in between. */
export function curvesOf(view: RunView, record: RunRecord, loop: LoopView, passes: readonly Pass[], cuts: ReadonlyMap<number, RunSummary>): Curve[] {
  const measured = [...cuts].flatMap(([kept, { quality }]) => (quality === null ? [] : [{ passes: kept, value: quality }]));
  if (record.quality !== null && measured.length) measured.push({ passes: passes.length, value: record.quality });
  const curves: Curve[] = measured.length ? [{ name: 'quality', measured: true, points: measured.sort((a, b) => a.passes - b.passes) }] : [];
  if (!passes.length || passes.some((pass) => pass.entry.within)) return curves;
  const ends = [...passes.map((pass) => pass.state), endState(view, loop)];
  for (const key of Object.keys(record.outcome?.scores ?? {})) {
    const values = valuesOf(view, key);
    const points = ends.flatMap((state, index) => {
      const value = score(values[state]);
      return value === null ? [] : [{ passes: index, value }];
    });
    if (points.length > 1) curves.push({ name: key, measured: false, points });
  }
  return curves;
}

/** What a key of the state was at each checkpoint. */
function valuesOf(view: RunView, key: string): unknown[] {
  let value: unknown;
  return view.states.map((state) => {
    if (state.removed.includes(key)) value = undefined;
    else if (Object.hasOwn(state.changed, key)) value = state.changed[key];
    return value;
  });
}

/** The checkpoint at which the last pass ended: the last one before the next decision, or of the run. */
function endState(view: RunView, loop: LoopView): number {
  const last = loop.decisions.findLast(isPass)?.seq ?? 0;
  const next = loop.decisions.find((each) => each.seq > last)?.seq ?? Infinity;
  return countBelow(view.states, (state) => state.seq, next) - 1;
}

/** What a pass changed of a curve's value; null where that is not known. */
export function gained({ points }: Curve, pass: number): number | null {
  const at = (passes: number): number | undefined => {
    const point = points[countBelow(points, (each) => each.passes, passes)];
    return point?.passes === passes ? point.value : undefined;
  };
  const [before, after] = [at(pass - 1), at(pass)];
  return before === undefined || after === undefined ? null : after - before;
}

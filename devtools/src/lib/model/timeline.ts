/** A run as a Gantt chart: rows of nodes, bars of visits, bands of loop passes. */
import type { Decision } from '../api/types';
import { isOpen, isPass, time, workedUntil, type Gap, type LoopEntry, type RunView, type Visit, type VisitStatus } from './view';

/** The height of a lane, and the space above each, in pixels. */
export const LANE = 20;
export const LANE_GAP = 4;

export interface Mark {
  kind: 'retry' | 'model' | 'failed-model';
  /** On the axis. */
  at: number;
  text: string;
}
export interface Bar {
  visit: Visit;
  /** On the axis. */
  from: number;
  to: number;
  /** The parts of this in which it worked. */
  worked: { from: number; to: number }[];
  /** Visits of a node at the same time lie in lanes below each other. */
  lane: number;
}
export interface Row {
  node: string;
  bars: Bar[];
  lanes: number;
}
export interface Band {
  /** The event of the decision. */
  seq: number;
  loop: string;
  decision: Decision;
  spent: number;
  limit: number;
  reason: string;
  from: number;
  to: number;
}

/** A time on the axis: the times in which the run stood still before it are folded away, so it lies that much earlier. */
export const fold = (gaps: readonly Gap[], at: number): number =>
  gaps.reduce((folded, { from, to }) => folded - Math.max(0, Math.min(at, to) - from), at);

/** The end of what is shown on the axis. */
export const endOf = (view: RunView, now: number): number =>
  fold(view.gaps, Math.max(view.ended ?? (view.status === 'running' ? now : view.lastAt), view.lastAt, view.started + 1));

/** One row for each node that ran, in the order given; nodes that it leaves out follow. */
export function rowsOf(view: RunView, order: readonly string[], now: number): Row[] {
  const rows = new Map<string, Row>(order.map((node) => [node, { node, bars: [], lanes: 1 }]));
  const ends = new Map<string, number[]>();
  for (const visit of view.visits) {
    let row = rows.get(visit.node);
    if (!row) rows.set(visit.node, (row = { node: visit.node, bars: [], lanes: 1 }));
    const to = visit.ended ?? (isOpen(visit) ? Math.max(now, visit.started) : view.lastAt);
    const busy = ends.get(visit.node) ?? [];
    const free = busy.findIndex((end) => end <= visit.started);
    const lane = free === -1 ? busy.length : free;
    busy[lane] = to;
    ends.set(visit.node, busy);
    const bar = { visit, from: fold(view.gaps, visit.started), to: fold(view.gaps, to), lane };
    row.bars.push({ ...bar, worked: workedIn(bar, view) });
    row.lanes = Math.max(row.lanes, lane + 1);
  }
  return [...rows.values()].filter((row) => row.bars.length);
}

/** The parts of a bar in which its visit worked: all of it, but where it waited for others, or for a person. */
function workedIn({ visit, from, to }: Omit<Bar, 'worked'>, { gaps, lastAt }: RunView): Bar['worked'] {
  const last = visit.ended === null && visit.durationMs !== null ? [{ from: workedUntil(visit), to: lastAt }] : [];
  const rests = [...visit.rests, ...last].map((rest) => ({ from: fold(gaps, rest.from), to: fold(gaps, rest.to) }));
  const seen = rests.filter((rest) => rest.to > rest.from);
  return [{ to: from }, ...seen].map((before, index) => ({ from: before.to, to: seen[index]?.from ?? to })).filter((part) => part.to > part.from || !seen.length);
}

/** Retries and model calls of a visit, at their times. */
export function marksOf(visit: Visit, gaps: readonly Gap[] = []): Mark[] {
  return [
    ...visit.attempts.map((attempt): Mark => ({
      kind: 'retry',
      at: fold(gaps, attempt.at),
      text: `attempt ${attempt.attempt} of ${attempt.attempts} failed: ${attempt.kind}: ${attempt.message}`,
    })),
    ...visit.modelCalls.map((call): Mark => ({
      kind: call.error === null ? 'model' : 'failed-model',
      at: fold(gaps, time(call.at)) - call.seconds * 1000,
      text: call.error === null ? `${call.model} was asked` : `${call.model}: ${call.error}`,
    })),
  ];
}

/** Each decision of a loop, up to the next decision in its graph or to the end. */
export function bandsOf(view: RunView, end: number): Band[] {
  const decisions = Object.values(view.loops)
    .flatMap((loop) => loop.decisions)
    .filter((each) => each.decision !== 'granted' || isPass(each))
    .sort((a, b) => a.seq - b.seq);
  const following = new Map<string, LoopEntry>();
  const nexts = decisions.toReversed().map((each) => {
    const next = following.get(each.within);
    following.set(each.within, each);
    return next;
  });
  return decisions.map((decision, index) => {
    const next = nexts[nexts.length - 1 - index];
    const { loop, spent, limit, reason } = decision;
    const from = fold(view.gaps, time(decision.at));
    const to = next ? fold(view.gaps, time(next.at)) : decision.within ? from + decision.ms : end;
    return { seq: decision.seq, loop, decision: decision.decision, spent, limit, reason, from, to };
  });
}

/** A stretch of a row that is drawn as one: a bar, or many that would be narrower than can be told apart. */
export interface Drawn {
  key: string;
  left: number;
  width: number;
  lane: number;
  status: VisitStatus;
  /** The bar, where it is one. */
  bar: Bar | null;
  /** How many bars it stands for. */
  count: number;
}

/** Bars that are narrower than this are drawn as one where they stand closer than it, in pixels. */
const NARROW = 4;
const RANK: Record<VisitStatus, number> = { complete: 0, cancelled: 1, interrupted: 1, retrying: 2, asking: 2, running: 3, error: 4 };

/**
 * What of a row is in sight.
 *
 * @param from The time at the left border.
 * @param scale Pixels for a millisecond.
 * @param width Pixels in sight.
 * @param apart The visit that is drawn by itself also where it is narrow.
 */
export function drawn(row: Row, from: number, scale: number, width: number, apart: string | null): Drawn[] {
  const shown: Drawn[] = [];
  const last = new Map<number, Drawn>();
  for (const bar of row.bars) {
    const left = (bar.from - from) * scale;
    const right = (bar.to - from) * scale;
    if (right < 0 || left > width) continue;
    const before = last.get(bar.lane);
    const { key, status } = bar.visit;
    const alone = key === apart || before?.key === apart || right - left >= NARROW;
    if (before && !alone && (before.bar === null || before.width < NARROW) && left < before.left + before.width + NARROW) {
      before.bar = null;
      before.count += 1;
      before.width = Math.max(before.width, right - before.left);
      if (RANK[status] > RANK[before.status]) before.status = status;
      continue;
    }
    const each: Drawn = { key, left, width: right - left, lane: bar.lane, status, bar, count: 1 };
    shown.push(each);
    last.set(bar.lane, each);
  }
  return shown;
}

/** Bands of granted passes that are drawn as one, since each would be narrower than its border can be told from. */
export interface DrawnBand extends Band {
  left: number;
  width: number;
  /** What is free for its name, before the next one begins. */
  room: number;
  /** How many bands it stands for. */
  count: number;
}

/** Passes that are narrower than this stand beside each other without a border between, in pixels. */
const CROWDED = 8;

/**
 * What of the bands is in sight.
 *
 * @param from The time at the left border.
 * @param scale Pixels for a millisecond.
 * @param width Pixels in sight.
 */
export function drawnBands(bands: readonly Band[], from: number, scale: number, width: number): DrawnBand[] {
  const shown: DrawnBand[] = [];
  for (const band of bands) {
    const left = (band.from - from) * scale;
    const right = (band.to - from) * scale;
    if (right < 0 || left > width) continue;
    const last = shown.at(-1);
    const alike = last?.loop === band.loop && last.decision === 'granted' && band.decision === 'granted';
    if (last && alike && right - left < CROWDED && (last.count > 1 || last.width < CROWDED)) {
      const { seq, spent, limit, reason, to } = band;
      Object.assign(last, { seq, spent, limit, reason, to, width: right - last.left, count: last.count + 1 });
    } else shown.push({ ...band, left, width: right - left, room: 0, count: 1 });
  }
  return shown.map((band, at) => ({ ...band, room: Math.min(band.width, (shown[at + 1]?.left ?? Infinity) - band.left) }));
}

const STEPS = [1, 2, 5];

/** Round times between the borders, in milliseconds after the start, no closer than `apart` pixels. */
export function ticks(offset: number, span: number, width: number, apart = 90): number[] {
  if (width <= 0 || span <= 0) return [];
  const least = (span / width) * apart;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * (STEPS.find((each) => each * power >= least) ?? 10);
  const all: number[] = [];
  for (let tick = Math.ceil(offset / step) * step; tick <= offset + span; tick += step) all.push(tick);
  return all;
}

/** Two runs side by side, as the server compares them. Whatever is `a` or `b` belongs to the run of that name. */
import type { Citation, KeptComparison, LoopPasses, RunSummary } from '../api/types';

export type Where = 'both' | 'a' | 'b';

export interface PathStep {
  node: string;
  where: Where;
  a_visit: number | null;
  b_visit: number | null;
}
export interface ValueDifference {
  /** A JSON pointer into the value of the key; empty for the whole. */
  pointer: string;
  where: Where;
  a: unknown;
  b: unknown;
}
export interface KeyDifference {
  key: string;
  where: Where;
  differences: ValueDifference[];
  /** Further differences that are not told. */
  more: number;
}
export interface TextPart {
  where: Where;
  text: string;
}
export interface FigureRow {
  name: string;
  a: number | null;
  b: number | null;
  difference: number | null;
  better: 'higher' | 'lower' | null;
}
export interface LoopSides {
  loop: string;
  a: LoopPasses | null;
  b: LoopPasses | null;
}
export interface Verdict {
  better: 'a' | 'b' | 'same' | 'unknown';
  by: 'person' | 'quality' | 'status' | 'answer' | null;
  why: string;
}
export interface LoopEffect {
  loop: string;
  with_passes: 'a' | 'b';
  /** Null where nothing tells. */
  helped: boolean | null;
  says: string;
}
export interface Comparison {
  a: RunSummary;
  b: RunSummary;
  path: PathStep[];
  /** So many steps at the beginning ran once, for both. */
  shared: number;
  plan: KeyDifference[];
  state: KeyDifference[];
  answer: TextPart[];
  citations: { both: Citation[]; only_a: Citation[]; only_b: Citation[] };
  figures: FigureRow[];
  loops: LoopSides[];
  verdict: Verdict;
  loop_effect: LoopEffect | null;
  /** Its own `a` and `b` hold in it. */
  kept: KeptComparison | null;
  notes: string[];
}

/** Whether a figure's difference is for the better, for the worse, or neither. */
export function turnOf(row: FigureRow): 'better' | 'worse' | 'same' {
  if (!row.difference || !row.better) return 'same';
  return row.difference > 0 === (row.better === 'higher') ? 'better' : 'worse';
}

/** The kept verdict in the terms of the runs as they are shown. */
export function keptVerdict(comparison: Comparison): 'a' | 'b' | 'same' | null {
  const { kept, a } = comparison;
  if (!kept?.verdict || kept.verdict === 'same') return kept?.verdict ?? null;
  return kept[kept.verdict] === a.id ? 'a' : 'b';
}

/** What the page reads from a comparison of two runs; whatever is `a` or `b` belongs to the run of that name. */
import type { Comparison, FigureRow } from '../api/types';

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

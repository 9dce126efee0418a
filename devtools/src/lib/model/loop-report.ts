/** How the loops of a workflow served, as the server reports it. */

export interface PassCount {
  passes: number;
  ended_by_itself: number;
  refused: number;
  failed: number;
}
export interface PassCosts {
  seconds: number;
  seconds_share: number | null;
  tokens: number;
  tokens_share: number | null;
  cost: number | null;
  cost_share: number | null;
}
export interface LoopGain {
  compared: number;
  better: number;
  same: number;
  worse: number;
  unknown: number;
  by_person: number;
  mean_quality_gain: number | null;
  quality_pairs: number;
}
export interface LoopRow {
  loop: string;
  runs: number;
  ended_by_itself: number;
  exhausted: number;
  stalled: number;
  over_budget: number;
  failed: number;
  with_passes: number;
  passes: number;
  histogram: PassCount[];
  limits: number[];
  costs: PassCosts;
  gain: LoopGain | null;
  suggestion: { limit: number | null; runs: number; why: string };
}
export interface LoopReport {
  workflow: string;
  /** Counted runs: those that finished or failed, and are no forks. */
  runs: number;
  left_out: number;
  since: string | null;
  until: string | null;
  loops: LoopRow[];
}

/** What a loop was asked and answered. */

import type { LoggedEvent, LoopDecided } from '../../lib/api/types';
import { isCut } from '../../lib/format';
import type { Visit } from '../../lib/model/run-view';

/** What loops were asked because of a visit: by its node, after it ended and before it ran again. */
export function loopsAsked(events: readonly LoggedEvent[], visit: Visit): LoopDecided[] {
  const asked: LoopDecided[] = [];
  if (visit.endSeq === null) return asked;
  for (const { seq, event } of events) {
    if (seq <= visit.endSeq) continue;
    if (event.type === 'node_started' && event.node === visit.node) break;
    if (event.type === 'loop' && event.sources.includes(visit.node)) asked.push(event);
  }
  return asked;
}

/** A loop's answer in a sentence. */
export function decisionWords(decided: LoopDecided): string {
  const { decision, spent, limit, why } = decided;
  if (decision === 'granted') return `Granted: pass ${spent} of ${limit}.`;
  if (decision === 'exhausted') return limit === 0 ? `Refused: this run may have no ${isCut(spent, limit) ? 'further ' : ''}pass.` : `Refused: all ${limit} passes are spent.`;
  if (decision === 'stalled') return `Refused: another pass would bring nothing${why ? ` (${why})` : ''}.`;
  return `Refused: the budget does not suffice${why ? ` (${why})` : ''}.`;
}

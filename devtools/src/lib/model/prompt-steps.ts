/** The recorded steps on which another version of a prompt can be tried. */
import type { LoggedEvent } from '../api/types';

export interface PromptStep {
  node: string;
  /** Which visit of the node it was, from 1. */
  visit: number;
  /** The checkpoint from which the visit began. */
  checkpointId: string;
  step: number;
}

/**
 * The visits that a fork can repeat.
 *
 * @param events A run's events in order.
 * @param nodes The nodes that are asked with the prompt.
 */
export function promptSteps(events: readonly LoggedEvent[], nodes: readonly string[]): PromptStep[] {
  const steps: PromptStep[] = [];
  // Of parallel nodes each has the checkpoint that names it as next.
  const before = new Map<string, { checkpointId: string; step: number }>();
  for (const { event } of events) {
    if (event.type === 'state') for (const node of event.next) before.set(node, { checkpointId: event.checkpoint_id, step: event.step });
    if (event.type !== 'node_started' || !nodes.includes(event.node)) continue;
    const from = before.get(event.node);
    if (from) steps.push({ node: event.node, visit: event.visit, ...from });
  }
  return steps;
}

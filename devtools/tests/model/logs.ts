/** Event logs of real runs, recorded with the engine. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { LoggedEvent, RunEvent, ShownGraph } from '../../src/lib/api/types';
import { completed, RunViewBuilder, type RunView } from '../../src/lib/model/run-view';

export interface Recorded {
  graph: ShownGraph;
  events: LoggedEvent[];
}
export type LogName = 'assistant-answered' | 'assistant-reflect' | 'assistant-relax' | 'own-failing' | 'own-retries';

const folder = join(import.meta.dirname, '..', 'fixtures');

export const recorded = (name: LogName): Recorded =>
  JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Recorded;

/** What a page shows of events. */
export function viewOf(events: LoggedEvent[]): RunView {
  const builder = new RunViewBuilder();
  builder.add(events);
  return builder.view;
}

/** A recorded run at an event, and as it ended. */
export function run(name: LogName, upTo = Infinity) {
  const { graph, events } = recorded(name);
  const at = (seq: number): RunView => completed(viewOf(events.filter((each) => each.seq <= seq)), graph, null);
  return { graph, view: at(upTo), live: at(Infinity) };
}

/** Events at even distances, numbered from 1. */
export const logOf = (...events: Record<string, unknown>[]): LoggedEvent[] =>
  events.map((event, index) => ({
    seq: index + 1,
    event: { at: new Date(1_700_000_000_000 + index * 100).toISOString(), ...event } as RunEvent,
  }));

/** A run of many short visits, with a checkpoint after each: three events for each. */
export function longRun(visits: number): LoggedEvent[] {
  const events: Record<string, unknown>[] = [{ type: 'run_started', graph: 'long', thread_id: 't', resumed: false }];
  for (let index = 0; index < visits; index += 1) {
    const node = ['draft', 'judge', 'mend'][index % 3];
    events.push({ type: 'node_started', node, task_id: `t${index}`, visit: index + 1 });
    events.push({ type: 'node_finished', node, task_id: `t${index}`, visit: index + 1, seconds: 0.1, update: { n: index }, error: null });
    events.push({ type: 'state', step: index, checkpoint_id: `c${index}`, next: [], changed: { n: index }, removed: [] });
  }
  return logOf(...events);
}

import { expect, it } from 'vitest';

import type { LoggedEvent, RunEvent } from '../src/lib/api/types';
import { promptSteps } from '../src/lib/model/prompt-steps';

const log = (events: Partial<RunEvent>[]): LoggedEvent[] => events.map((event, index) => ({ seq: index + 1, event: event as RunEvent }));

it('has each visit with the checkpoint from which it began, of parallel nodes too', () => {
  const events = log([
    { type: 'node_started', node: 'plan', visit: 1 },
    { type: 'state', step: 1, checkpoint_id: 'c1', next: ['write', 'look'] },
    { type: 'node_started', node: 'look', visit: 1 },
    { type: 'node_started', node: 'write', visit: 1 },
    { type: 'state', step: 2, checkpoint_id: 'c2', next: ['gate'] },
    { type: 'state', step: 3, checkpoint_id: 'c3', next: ['write'] },
    { type: 'node_started', node: 'write', visit: 2 },
  ]);
  expect(promptSteps(events, ['write', 'plan'])).toEqual([
    { node: 'write', visit: 1, checkpointId: 'c1', step: 1 },
    { node: 'write', visit: 2, checkpointId: 'c3', step: 3 },
  ]);
});

import { describe, expect, it } from 'vitest';

import { passesOf } from '../../src/lib/model/passes';
import { logOf, recorded, viewOf } from './logs';

describe('the passes of a recorded run', () => {
  it('have their nodes, what changed, and where they began and ended', () => {
    const view = viewOf(recorded('assistant-reflect').events);
    const [first, second, ...more] = passesOf(view);
    expect(more).toEqual([]);
    expect(first).toMatchObject({ entry: { loop: 'reflect', spent: 1, seq: 25 }, until: 38, nodes: ['reflect_and_replan', 'execute_queries', 'check_results'] });
    expect(second).toMatchObject({ entry: { spent: 2, seq: 38 }, until: 51 });
    expect(view.states[first?.state ?? -1]?.next).toEqual(['loop.reflect']);
    expect(first?.changed.length).toBeGreaterThan(0);
    expect(first?.entry.ms).toBeGreaterThan(0);
  });

  it.each([
    [['a', '… 8,500 more'], true],
    [['a', 'b'], false],
  ])('are not known to have changed nothing where %j was written and not all of it is kept', (big, partly) => {
    const view = viewOf(logOf(
      { type: 'state', step: 0, checkpoint_id: 'a', next: ['loop.again'], changed: { big }, removed: [] },
      { type: 'loop', loop: 'again', source: 'edit', target: 'edit', decision: 'granted', spent: 1, limit: 3, step: 1, reason: null },
      { type: 'node_started', node: 'edit', task_id: 't', visit: 1 },
      { type: 'node_finished', node: 'edit', task_id: 't', visit: 1, seconds: 1, update: { big }, error: null },
      { type: 'state', step: 2, checkpoint_id: 'b', next: [], changed: {}, removed: [] },
    ));
    expect(passesOf(view)).toMatchObject([{ nodes: ['edit'], changed: [], partly }]);
  });
});

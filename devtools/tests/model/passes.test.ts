import { describe, expect, it } from 'vitest';

import { passesOf } from '../../src/lib/model/passes';
import { recorded, viewOf } from './logs';

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
});

import { describe, expect, it } from 'vitest';

import { saidOf } from '../src/components/chat/words';

describe('how a run ended, in words', () => {
  it.each(['answered', 'partial', 'best_effort', 'nothing_found', 'out_of_scope', 'abstained', 'failed'])(
    'has words of its own for %s',
    (outcome) => {
      const said = saidOf('finished', outcome);
      expect(said.label.toLowerCase()).not.toContain('_');
      expect(said.means !== '' || outcome === 'answered').toBe(true);
    },
  );
});

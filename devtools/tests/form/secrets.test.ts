import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { SECRET } from '../../src/lib/form/secrets';

it('the page knows secrets by the same names as the server', () => {
  const redact = readFileSync(join(import.meta.dirname, '../../../src/loopwright/engine/nodes/redact.py'), 'utf8');
  const pattern = /^SECRET = re\.compile\(\s*r"(.+)",\s*re\.IGNORECASE,\s*\)/m.exec(redact);
  expect(pattern?.[1]).toBe(SECRET.source);
});

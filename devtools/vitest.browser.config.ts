import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'node',
    include: ['tests/browser/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // One second by default: less than a busy machine may take.
    expect: { poll: { timeout: 30_000 } },
    // One server and one browser serve all files; they run one after the other.
    fileParallelism: false,
  },
});

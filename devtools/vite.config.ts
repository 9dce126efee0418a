import { svelte } from '@sveltejs/vite-plugin-svelte';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vitest/config';

const SERVER = process.env.LOOPWRIGHT_SERVER ?? 'http://127.0.0.1:8000';
const API = ['/workflows', '/runs', '/uploads', '/compare', '/health', '/metrics', '/api', '/rag', '/iqa'];

export default defineConfig(({ mode }) => ({
  base: './',
  plugins: [svelte(), tailwindcss()],
  // Vitest would take Svelte's server build otherwise, which cannot mount components.
  resolve: mode === 'test' ? { conditions: ['browser'] } : {},
  build: {
    outDir: '../src/loopwright/server/static',
    emptyOutDir: true,
    target: 'es2022',
    // The page's Content-Security-Policy allows no inline script and no data: font or script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  server: { proxy: Object.fromEntries(API.map((path) => [path, SERVER])) },
  test: {
    environment: 'happy-dom',
    include: ['tests/**/*.test.ts'],
    exclude: ['tests/browser/**'],
    setupFiles: ['tests/fresh.ts'],
    isolate: false,
    // It is there for a test that hangs: on a busy machine a sound one may take ten times as long as at rest.
    testTimeout: 120_000,
  },
}));

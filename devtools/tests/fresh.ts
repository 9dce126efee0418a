/** All test files share one document, which takes a third of the time that one for each would take; each finds it new. */
import { configure } from '@testing-library/svelte';
import { afterAll, vi } from 'vitest';

vi.resetModules();
configure({ asyncUtilTimeout: 20_000 }); // what is waited for comes late on a busy machine
afterAll(() => {
  vi.unstubAllGlobals();
  document.head.replaceChildren();
  document.body.replaceChildren();
  location.hash = '';
  sessionStorage.clear();
  localStorage.clear();
});

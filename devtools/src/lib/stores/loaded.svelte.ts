/**
 * What a page shows of the server: asked for anew when what is asked changes, and when the connection is back. What is
 * shown stays until the new one is there, but where something else is asked.
 */
import { connection } from './connection.svelte';

export class Loaded<T> {
  /** What came; null until then. */
  value = $state.raw<T | null>(null);
  /** Why it could not be had. */
  error = $state('');
  #times = $state(0);

  /** Made while a component is: `ask` gives what is to be asked, or null for nothing yet. */
  constructor(ask: () => ((signal: AbortSignal) => Promise<T>) | null) {
    const asked = $derived(ask());
    $effect(() => {
      void asked;
      this.value = null;
      this.error = '';
    });
    $effect(() => {
      void connection.returns;
      void this.#times;
      const ending = new AbortController();
      if (asked) void this.#load(asked, ending.signal);
      return () => ending.abort();
    });
  }

  again = (): void => {
    this.#times += 1;
  };

  async #load(asked: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<void> {
    try {
      this.value = await asked(signal);
      this.error = '';
    } catch (reason) {
      if (!signal.aborted) this.error = reason instanceof Error ? reason.message : String(reason);
    }
  }
}

/** A part of the list of kept runs that is kept up to date while it is shown. */
import { untrack } from 'svelte';

import { get, query } from '../api/client';
import type { RunPage, RunSummary } from '../api/types';

export interface Filter {
  workflow: string;
  status: string;
  stop_reason: string;
  text: string;
}

export const PART = 50;
const SOON = 1000;
const LATER = 2500;

export class History {
  runs = $state.raw<RunSummary[]>([]);
  total = $state(0);
  next = $state<string | null>(null);
  loaded = $state(false);
  error = $state<string | null>(null);

  /** Milliseconds between two questions while nothing runs. */
  protected slow = LATER;
  #asked = 0;

  /** Fetch a part; a reply that comes after a later question is dropped. */
  async load(filter: Filter, before: string | null): Promise<void> {
    this.#asked += 1;
    const number = this.#asked;
    try {
      const page = await get<RunPage>(`/runs${query({ ...filter, before, limit: PART })}`);
      if (number !== this.#asked) return;
      this.runs = page.runs;
      this.total = page.total;
      this.next = page.next;
      this.loaded = true;
      this.error = null;
    } catch (reason) {
      if (number === this.#asked) this.error = reason instanceof Error ? reason.message : String(reason);
    }
  }

  /** Load now and again and again, sooner while a run goes on; the function returned ends it. */
  follow(filter: Filter, before: string | null): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let ended = false;
    const again = async (): Promise<void> => {
      if (!document.hidden || !this.loaded) await this.load(filter, before);
      if (!ended) timer = setTimeout(again, this.runs.some((run) => run.status === 'running') ? SOON : this.slow);
    };
    untrack(() => void again());
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }
}

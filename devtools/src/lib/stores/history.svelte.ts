/** A part of the list of kept runs that is kept up to date while it is shown. */
import { untrack } from 'svelte';

import { get, query } from '../api/client';
import type { RunPage, RunSummary } from '../api/types';
import { goesOn } from '../status';

export interface Filter {
  workflow: string;
  status: string;
  stop_reason: string;
  text: string;
  tag: string;
  /** Days, as `YYYY-MM-DD` in the person's own time zone; the last one is counted in. */
  since: string;
  until: string;
  min_seconds: string;
  min_cost: string;
  /** What the list is ordered by; empty for the newest first. */
  order: string;
}
export const NO_FILTER: Filter = { workflow: '', status: '', stop_reason: '', text: '', tag: '', since: '', until: '', min_seconds: '', min_cost: '', order: '' };

/** The beginning of a day, or of the one after it, as the server takes it. */
function moment(day: string, later = 0): string {
  if (!day) return '';
  const at = new Date(`${day}T00:00`);
  at.setDate(at.getDate() + later);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString();
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

  readonly #slow: number;
  #asked = 0;

  /** @param slow Milliseconds between two questions while nothing runs. */
  constructor(slow = LATER) {
    this.#slow = slow;
  }

  /** Fetch a part; a reply that comes after a later question is dropped. */
  async load(filter: Filter, before: string | null): Promise<void> {
    this.#asked += 1;
    const number = this.#asked;
    try {
      const page = await get<RunPage>(`/runs${query({ ...filter, since: moment(filter.since), until: moment(filter.until, 1), before, limit: PART })}`);
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
      if (!ended) timer = setTimeout(again, this.runs.some((run) => goesOn(run.status)) ? SOON : this.#slow);
    };
    untrack(() => void again());
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }
}

export const WAITING: Filter = { ...NO_FILTER, status: 'waiting' };
/** The runs that wait for a person, over all workflows; kept up to date on every page. */
export const inbox = new History(4000);

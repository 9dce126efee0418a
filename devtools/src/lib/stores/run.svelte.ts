/** The run that is open: its record, its graph, its events as a view, and what of it is selected. */
import { untrack } from 'svelte';

import { ApiError, followRun, get, pause } from '../api/client';
import type { EventLog, LoggedEvent, RunRecord, ShownGraph } from '../api/types';
import { RunViewBuilder, type RunView } from '../model/run-view';
import { unfolded } from '../model/unfold';
import { canGoOn, goesOn } from '../status';

/** Events that are fetched and reduced at a time, so that the page answers in between. */
const PART = 500;
/** Milliseconds between two looks at a run that stands still: somebody may resume it elsewhere. */
const LOOK = 1200;
/** Milliseconds until a run that could not be fetched, as of a server that is busy or gone, is asked for again. */
const AGAIN = 3000;
/** The graph with a model only at the nodes that had one when the run began. */
const servedBy = (graph: ShownGraph, { models }: RunRecord): ShownGraph => ({
  ...graph,
  nodes: graph.nodes.map((node) => (models[node.name] === null ? { ...node, has_llm: false } : node)),
});

class OpenRun {
  id = $state<string | null>(null);
  record = $state.raw<RunRecord | null>(null);
  graph = $state.raw<ShownGraph | null>(null);
  /** The same with the graphs inside its nodes in their places. */
  whole = $derived(this.graph && unfolded(this.graph));
  /** Whether events are still being fetched or awaited. */
  loading = $state(false);
  /** How many of them are there, while they are being fetched. */
  fetched = $state(0);
  following = $state(false);
  error = $state<string | null>(null);
  /** The event at which the run is shown; null follows its end. */
  cursor = $state<number | null>(null);
  /** The selected node, and the key of its selected visit; without a key it is the node's last visit. */
  node = $state<string | null>(null);
  visit = $state<string | null>(null);

  #builder = $state.raw(new RunViewBuilder());
  #added = $state(0);
  #ending: AbortController | null = null;

  /** The run as it is now, whatever the cursor. A new object after every change. */
  live: RunView = $derived.by(() => {
    void this.#added;
    return this.#builder.view;
  });
  /** What the record tells of the run: nothing while further events come, which are later than those that are shown. */
  told = $derived(this.loading && this.live.lastSeq ? null : this.record);
  /** The run as it was at the cursor. */
  view: RunView = $derived(this.cursor === null ? this.live : this.#builder.at(this.cursor));

  /** Show a run; the one shown before is let go. */
  async open(id: string): Promise<void> {
    this.close();
    this.id = id;
    // An effect that opens a run depends on the run's id only.
    await untrack(() => this.#load(id));
  }

  /** Fetch what has come since, and follow the run where it goes on: after a resume, or when the server is back. */
  async again(): Promise<void> {
    const id = untrack(() => this.id);
    if (id === null) return;
    this.#ending?.abort();
    await untrack(() => this.#load(id));
  }

  close(): void {
    this.#ending?.abort();
    this.#ending = null;
    this.id = this.record = this.graph = this.error = this.cursor = this.node = this.visit = null;
    this.loading = this.following = false;
    this.fetched = 0;
    this.#builder = new RunViewBuilder();
    this.#added = 0;
  }

  /** Select a node, and one of its visits; null selects nothing. */
  select(node: string | null, visit: string | null = null): void {
    this.node = node;
    this.visit = visit;
  }

  async #load(id: string): Promise<void> {
    const ending = new AbortController();
    const { signal } = ending;
    this.#ending = ending;
    this.loading = true;
    const path = `/runs/${encodeURIComponent(id)}`;
    try {
      const [record, graph] = await Promise.all([
        get<RunRecord>(path, signal),
        this.graph ?? get<ShownGraph>(`${path}/graph`, signal),
      ]);
      this.error = null;
      this.record = record;
      this.graph = this.graph ?? servedBy(graph, record);
      const { parent } = record;
      if (!this.#builder.lastSeq && parent) this.#builder = new RunViewBuilder({ passes: parent.passes, nodes: parent.nodes });
      let after: number | null = this.#builder.lastSeq;
      // They are shown once all are there: to draw each part would take longer than to wait for the last one.
      while (after !== null) {
        const part: EventLog = await get<EventLog>(`${path}/log?after=${after}&limit=${PART}`, signal);
        this.#builder.add(part.events);
        this.fetched = this.#builder.lastSeq;
        after = part.next;
      }
      this.#added += 1;
      this.loading = false;
      if (goesOn(record.status)) {
        this.following = true;
        await followRun(id, this.#builder.lastSeq, (events) => this.#add(events), signal);
        this.record = await get<RunRecord>(path, signal);
        this.following = false;
      }
      if (await this.#resumed(path, signal)) void this.again();
    } catch (reason) {
      if (signal.aborted) return;
      this.error = reason instanceof ApiError ? reason.error : String(reason);
      if (reason instanceof ApiError && reason.can_retry) void pause(AGAIN, signal).then(() => (signal.aborted ? undefined : this.again()));
    } finally {
      if (!signal.aborted) this.loading = this.following = false;
    }
  }

  /** Wait until a run that stands still goes on, whoever resumed it; false where this one never will. */
  async #resumed(path: string, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted && this.record && (canGoOn(this.record.status) || this.record.status === 'waiting')) {
      await pause(LOOK, signal);
      if (signal.aborted || document.hidden) continue;
      try {
        const log = await get<EventLog>(`${path}/log?after=${this.#builder.lastSeq}&limit=1`, signal);
        if (log.total > this.#builder.lastSeq) return true;
      } catch (reason) {
        if (!(reason instanceof ApiError && reason.can_retry)) throw reason;
      }
    }
    return false;
  }

  #add(events: LoggedEvent[]): void {
    const known = this.#builder.lastSeq;
    this.#builder.add(events);
    if (this.#builder.lastSeq > known) this.#added += 1;
  }
}

export const openRun = new OpenRun();

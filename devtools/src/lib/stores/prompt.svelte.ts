/** The prompt that is being edited: its versions, the draft, and saving it. */
import { ApiError, get, post } from '../api/client';
import type { PromptHistory, PromptVersion } from '../api/types';
import { toasts } from './toasts.svelte';

const AUTHOR = 'loopwright-author';

/** A draft that was not saved. */
interface Begun {
  /** The version that it was begun on. */
  base: number;
  text: string;
}

export class OpenPrompt {
  history = $state.raw<PromptHistory | null>(null);
  draft = $state('');
  author = $state(localStorage.getItem(AUTHOR) ?? '');
  note = $state('');
  saving = $state(false);
  error = $state<string | null>(null);
  /** The versions of others that were saved since this draft was begun; set when the server refused it for them. */
  conflict = $state.raw<PromptVersion | null>(null);
  /** Counts up when the editor is to take the draft anew. */
  set = $state(0);

  newest = $derived(this.history?.versions[0] ?? null);
  changed = $derived(this.newest !== null && this.draft !== this.newest.text);

  readonly #path: string;
  readonly #kept: string;
  /** The version that the draft was begun on. */
  #base = 0;

  constructor(workflow: string, prompt: string) {
    this.#path = `/workflows/${encodeURIComponent(workflow)}/prompts/${encodeURIComponent(prompt)}`;
    this.#kept = `loopwright-begun-${workflow}/${prompt}`;
  }

  /** Fetch the versions; a draft that was not saved is there again. */
  async load(): Promise<void> {
    try {
      this.history = await get<PromptHistory>(this.#path);
      const kept = sessionStorage.getItem(this.#kept);
      const { base, text } = kept === null ? { base: this.newest?.version ?? 0, text: this.newest?.text ?? '' } : (JSON.parse(kept) as Begun);
      this.#base = base;
      this.#show(text);
      this.error = null;
    } catch (reason) {
      this.error = reason instanceof Error ? reason.message : String(reason);
    }
  }

  /** Take what was typed. */
  typed(text: string): void {
    this.draft = text;
    const begun: Begun = { base: this.#base, text };
    if (this.changed) sessionStorage.setItem(this.#kept, JSON.stringify(begun));
    else sessionStorage.removeItem(this.#kept);
  }

  discard(): void {
    sessionStorage.removeItem(this.#kept);
    this.error = this.conflict = null;
    this.#base = this.newest?.version ?? 0;
    this.#show(this.newest?.text ?? '');
  }

  /** Save the draft as the next version; `over` is a newer version that it is to replace knowingly. */
  async save(over?: PromptVersion): Promise<void> {
    if (!this.newest) return;
    const text = this.draft;
    this.saving = true;
    this.error = this.conflict = null;
    localStorage.setItem(AUTHOR, this.author);
    try {
      const base_version = over?.version ?? this.#base;
      const saved = await post<PromptVersion>(this.#path, { text, author: this.author, note: this.note, base_version });
      toasts.show(`Saved version ${saved.version}. Runs use it from now on.`, 'good');
      this.note = '';
      // What was typed meanwhile is a draft of the version that was saved.
      this.#base = saved.version;
      if (this.draft === text) sessionStorage.removeItem(this.#kept);
      else this.typed(this.draft);
      await this.load();
    } catch (reason) {
      if (!(reason instanceof ApiError)) throw reason;
      if (reason.status === 409) this.conflict = (await get<PromptHistory>(this.#path)).versions[0] ?? null;
      else this.error = reason.error;
    } finally {
      this.saving = false;
    }
  }

  /** Make a version's text the newest version again. */
  async restore(version: number): Promise<void> {
    const { versions } = this.history!;
    const text = versions.find((each) => each.version === version)!.text;
    try {
      await post(this.#path, { text, author: this.author, note: `Version ${version} again.`, base_version: versions[0]!.version });
      sessionStorage.removeItem(this.#kept);
      toasts.show(`Version ${version} is in use again.`, 'good');
      await this.load();
    } catch (reason) {
      toasts.fail(reason);
    }
  }

  #show(text: string): void {
    // An editor that shows it already keeps its place.
    if (text === this.draft && this.set) return;
    this.draft = text;
    this.set += 1;
  }
}

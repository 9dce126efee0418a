/** Keyboard shortcuts: those of the whole page, and those that the page shown adds. */
import { untrack } from 'svelte';

export interface Shortcut {
  /** One key, or two that follow each other: `?`, `g r`. */
  keys: string;
  text: string;
  run: () => void;
}

const PATIENCE = 1200;

class Shortcuts {
  list = $state.raw<Shortcut[]>([]);
  #before = '';
  #at = 0;

  /** Add shortcuts; the function that is returned takes them away again (fits an effect's return). */
  add(more: Shortcut[]): () => void {
    // Within an effect: it must not depend on what it changes itself.
    this.list = [...untrack(() => this.list), ...more];
    return () => {
      this.list = untrack(() => this.list).filter((shortcut) => !more.includes(shortcut));
    };
  }

  /** Take a key that was pressed; keys for a text field, a dialog or with a modifier are left alone. */
  press(event: KeyboardEvent): void {
    // Many keyboards have signs such as [ on Option, or on AltGr, which Windows tells as Ctrl and Alt.
    const sign = event.altKey && !/^[\p{L}\p{N}]/u.test(event.key);
    if (event.defaultPrevented || event.metaKey || (!sign && (event.ctrlKey || event.altKey))) return;
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest('input, textarea, select, [contenteditable="true"], dialog[open], [role="listbox"]')) return;
    const now = performance.now();
    const both = this.#before && now - this.#at < PATIENCE ? `${this.#before} ${event.key}` : event.key;
    // The latest comes first: a page's own shortcut wins over the page frame's.
    const found =
      this.list.findLast((shortcut) => shortcut.keys === both) ?? this.list.findLast((shortcut) => shortcut.keys === event.key);
    this.#before = found ? '' : event.key;
    this.#at = now;
    if (!found) return;
    event.preventDefault();
    found.run();
  }
}

export const shortcuts = new Shortcuts();

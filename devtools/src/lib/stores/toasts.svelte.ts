/** Short notes at the page's corner. */

export interface Toast {
  id: number;
  kind: 'good' | 'bad' | 'note';
  text: string;
}

const SHOWN_FOR = 6000;

class Toasts {
  list = $state<Toast[]>([]);
  #count = 0;

  show(text: string, kind: Toast['kind'] = 'note'): void {
    this.#count += 1;
    const id = this.#count;
    this.list.push({ id, kind, text });
    // What went wrong stays until it is closed.
    if (kind !== 'bad') setTimeout(() => this.close(id), SHOWN_FOR);
  }

  /** Tell of an error in its own words. */
  fail(reason: unknown): void {
    this.show(reason instanceof Error ? reason.message : String(reason), 'bad');
  }

  close(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();

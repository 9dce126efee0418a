/** What a person asked for: one thing at a time, what is under way, and how the last one failed. */
export class Doing {
  busy = $state('');
  error = $state('');

  readonly #fail?: (reason: unknown) => void;

  /** @param fail Takes what failed; without it, it stands in `error`. */
  constructor(fail?: (reason: unknown) => void) {
    this.#fail = fail;
  }

  run = async (what: string, call: () => Promise<void>): Promise<void> => {
    if (this.busy) return;
    this.busy = what;
    this.error = '';
    try {
      await call();
    } catch (reason) {
      if (this.#fail) this.#fail(reason);
      else this.error = reason instanceof Error ? reason.message : String(reason);
    } finally {
      this.busy = '';
    }
  };
}

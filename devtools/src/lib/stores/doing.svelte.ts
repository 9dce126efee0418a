/** What a person asked for: one thing at a time, what is under way, and how the last one failed. */
export class Doing {
  busy = $state('');
  error = $state('');

  run = async (what: string, call: () => Promise<void>): Promise<void> => {
    if (this.busy) return;
    this.busy = what;
    this.error = '';
    try {
      await call();
    } catch (reason) {
      this.error = reason instanceof Error ? reason.message : String(reason);
    } finally {
      this.busy = '';
    }
  };
}

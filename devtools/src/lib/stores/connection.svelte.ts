/** Whether the server can be reached, and the token that it wants. */

const KEY = 'loopwright-token';
const FIRST_TRY = 500;
const LONGEST_TRY = 5000;

class Connection {
  /** Whether the last call came through. */
  up = $state(true);
  /** Whether the page is to ask for the token. */
  asking = $state(false);
  /** Whether a token was given that the server did not take. */
  refused = $state(false);
  /** Counts up each time the server comes back, so that pages can load again. */
  returns = $state(0);
  token: string | null = sessionStorage.getItem(KEY);

  #answers: (() => void)[] = [];
  #trying = false;

  reached(): void {
    if (this.up) return;
    this.up = true;
    this.returns += 1;
  }

  lost(): void {
    this.up = false;
    if (!this.#trying) void this.#tryAgain();
  }

  async #tryAgain(): Promise<void> {
    this.#trying = true;
    let wait = FIRST_TRY;
    while (!this.up) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 1.6, LONGEST_TRY);
      try {
        // Any reply of the server itself will do; what stands in between answers with 502 or 504.
        const response = await fetch(new URL('./health/live', document.baseURI.replace(/[?#].*$/, '')), { cache: 'no-store' });
        if (response.status !== 502 && response.status !== 504) this.reached();
      } catch {
        // Still gone: the banner says so.
      }
    }
    this.#trying = false;
  }

  /** Wait for a person to give the token; `used` is the one that the server refused. */
  askForToken(used: string | null): Promise<void> {
    if (this.token !== used) return Promise.resolve();
    this.refused = used !== null;
    this.asking = true;
    return new Promise((resolve) => this.#answers.push(resolve));
  }

  giveToken(token: string): void {
    this.token = token;
    sessionStorage.setItem(KEY, token);
    this.asking = false;
    const answers = this.#answers;
    this.#answers = [];
    for (const answer of answers) answer();
  }
}

export const connection = new Connection();

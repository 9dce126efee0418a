/** The runs that wait for a person, over all workflows; kept up to date on every page. */
import { History, NO_FILTER } from './history.svelte';

const WAITING = { ...NO_FILTER, status: 'waiting' };

class Inbox extends History {
  constructor() {
    super();
    this.slow = 4000;
  }

  override load(): Promise<void> {
    return super.load(WAITING, null);
  }
  /** Load now and again and again; the function returned ends it. */
  watch(): () => void {
    return this.follow(WAITING, null);
  }
}

export const inbox = new Inbox();

/** The tags that any run has, fetched when something is about to show them. */
import { get } from '../api/client';

class Tags {
  list = $state.raw<string[]>([]);

  async load(): Promise<void> {
    this.list = await get<string[]>('/runs/tags');
  }
}

export const tags = new Tags();

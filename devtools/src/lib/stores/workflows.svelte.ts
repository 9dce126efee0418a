/** The workflows that the server has, fetched once and again when it comes back. */
import { get } from '../api/client';
import type { Workflow } from '../api/types';

class Workflows {
  list = $state.raw<Workflow[]>([]);
  loaded = $state(false);
  error = $state<string | null>(null);

  async load(): Promise<void> {
    try {
      this.list = await get<Workflow[]>('/workflows');
      this.loaded = true;
      this.error = null;
    } catch (reason) {
      this.error = reason instanceof Error ? reason.message : String(reason);
    }
  }

  /** What people call a workflow. */
  title(name: string): string {
    return this.list.find((workflow) => workflow.name === name)?.title ?? name;
  }
}

export const workflows = new Workflows();

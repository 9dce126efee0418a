/** The colours of statuses, the same on every page. */
import type { RunStatus } from './api/types';
import type { NodeStatus, VisitStatus } from './model/view';

export type AnyStatus = RunStatus | NodeStatus | VisitStatus;
export type StatusTone = 'idle' | 'run' | 'good' | 'bad' | 'warn';

/** Whether more will happen in a run by itself. */
export const goesOn = (status: RunStatus): boolean => status === 'running' || status === 'queued';

/** Whether a run came to its end, good or bad. */
export const cameToEnd = (status: RunStatus): boolean => status === 'finished' || status === 'failed';

/** Whether a run that ended before its time can go on from its last step. */
export const canGoOn = (status: RunStatus): boolean => ['failed', 'cancelled', 'interrupted'].includes(status);

/** What a status is called, where that is not its name. */
export const STATUS_WORDS: Partial<Record<AnyStatus, string>> = {
  asking: 'waits for you',
  inherited: 'before the fork',
  queued: 'waits its turn',
};

export const STATUS_TONES: Record<AnyStatus, StatusTone> = {
  queued: 'idle',
  running: 'run',
  finished: 'good',
  complete: 'good',
  failed: 'bad',
  error: 'bad',
  cancelled: 'idle',
  interrupted: 'warn',
  retrying: 'warn',
  waiting: 'idle',
  skipped: 'idle',
  inherited: 'idle',
  asking: 'warn',
};

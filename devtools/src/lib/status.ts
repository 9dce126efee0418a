/** The colours of statuses, the same on every page. */
import type { RunStatus } from './api/types';

export type NodeStatus = 'waiting' | 'running' | 'complete' | 'error' | 'skipped' | 'retrying';
export type AnyStatus = RunStatus | NodeStatus;
export type StatusTone = 'idle' | 'run' | 'good' | 'bad' | 'warn';

export const STATUS_TONES: Record<AnyStatus, StatusTone> = {
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
};

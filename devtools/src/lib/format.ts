/** Figures and times in words. */
import type { RunSummary } from './api/types';
import { present } from './ticking';

/** A duration in milliseconds, for example `340 ms`, `2.4 s`, `3 min 05 s`. */
export function formatDuration(milliseconds: number | null | undefined): string {
  if (milliseconds === null || milliseconds === undefined || Number.isNaN(milliseconds)) return '–';
  if (milliseconds < 1) return milliseconds > 0 ? '<1 ms' : '0 ms';
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 9_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const two = (value: number): string => String(value).padStart(2, '0');
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
}

/** A price in US dollars with as many digits as tell something. */
export function formatCost(dollars: number | null | undefined): string {
  if (dollars === null || dollars === undefined) return '–';
  if (dollars === 0) return '$0';
  if (dollars < 0.0001) return '<$0.0001';
  if (dollars < 0.01) return `$${dollars.toFixed(4)}`;
  if (dollars < 1) return `$${dollars.toFixed(3)}`;
  return `$${dollars.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** A number of tokens, for example `812`, `4.1k`, `2.3M`. */
export function formatTokens(count: number | null | undefined): string {
  if (count === null || count === undefined) return '–';
  if (count < 1000) return String(count);
  if (count < 9_950) return `${(count / 1000).toFixed(1)}k`;
  if (count < 999_500) return `${Math.round(count / 1000)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** The tokens of model calls: `unknown` where no call tells any, a lower bound where some do not. */
export function formatTokensOf({ calls, tokens, unmetered }: { calls: number; tokens: number; unmetered: number }): string {
  if (calls > 0 && unmetered === calls) return 'unknown';
  return `${unmetered ? '≥ ' : ''}${formatTokens(tokens)}`;
}

/** The price of model calls. */
export function formatCostOf({ calls, cost }: { calls: number; cost: number | null }): string {
  return cost === null && calls > 0 ? 'unknown' : formatCost(cost);
}

/** What model calls took, in a line. */
export function formatSpent(spent: { calls: number; tokens: number; unmetered: number; cost: number | null }): string {
  const cost = formatCostOf(spent);
  return `${formatTokensOf(spent)} tokens, ${cost === 'unknown' ? 'unknown cost' : cost}`;
}

/** A share from 0 to 1 as per cent. */
export const formatShare = (share: number | null | undefined): string =>
  share === null || share === undefined ? '–' : `${Math.round(share * 100)} %`;

/** Whether a run was cut so that a loop went round no more, however often it had: its limit is 0. */
export const isCut = (spent: number, limit: number | null): boolean => limit === 0 && spent > 0;

/** Passes of so many, for example `2/5`. */
export const formatPasses = (spent: number, limit: number | null): string =>
  `${spent}${isCut(spent, limit) ? ', cut' : limit === null ? '' : `/${limit}`}`;

/** What a run is to the one that it was made from. */
export function formatOrigin({ kind, loop, kept, passes }: NonNullable<RunSummary['parent']>): string {
  if (kind !== 'counterfactual') return kind === 'fork' ? 'forked' : kind;
  const made = passes[loop ?? ''] ?? kept; // those that a fork took over are among them
  return made ? `“${loop}” cut after ${plural(made, 'pass', 'passes')}` : `without “${loop}”`;
}

/** How long ago a time was, for example `just now`, `4 min ago`, `yesterday`, else its date; where it is shown, it is told anew. */
export function formatAgo(time: string | number | Date, now: number = present()): string {
  const then = new Date(time).getTime();
  const seconds = Math.round((now - then) / 1000);
  if (seconds < 10) return 'just now';
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 172_800) return 'yesterday';
  if (seconds < 7 * 86_400) return `${Math.floor(seconds / 86_400)} days ago`;
  return new Date(then).toLocaleDateString('sv-SE'); // the day here, as YYYY-MM-DD
}

/** A time as a clock shows it here, with its date. */
export const formatTime = (time: string | number | Date): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** A size in bytes, for example `12 KB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** A difference with its sign; `±0` where it is too small to be shown. */
export function formatChange(by: number, format: (size: number) => string): string {
  const size = format(Math.abs(by));
  return size === format(0) ? '±0' : `${by < 0 ? '−' : '+'}${size}`;
}

/** `1 run`, `2 runs`. */
export const plural = (count: number, one: string, many: string = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

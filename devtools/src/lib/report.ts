/** A run as one page without scripts, for whoever has no server: how it ended, its passes, its visits, every event. */
import type { RunRecord } from './api/types';
import { formatCostOf, formatDuration, formatShare, formatTokensOf } from './format';
import { passesOf } from './model/passes';
import type { RunView } from './model/view';

const STYLE = `
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.2rem .6rem .2rem 0;border-bottom:1px solid #8884}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.2rem 0}dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dd{margin:0}`;

const ESCAPED: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: unknown): string => String(text).replace(/[&<>"]/g, (sign) => ESCAPED[sign] ?? sign);
const json = (value: unknown): string => `<pre>${escaped(JSON.stringify(value, null, 2))}</pre>`;
const table = (heads: string[], rows: unknown[][]): string =>
  `<table><thead><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead><tbody>${rows
    .map((row) => `<tr>${row.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`)
    .join('')}</tbody></table>`;
const section = (title: string, content: string): string => (content ? `<h2>${title}</h2>${content}` : '');

/** The page as text; everything in it that came from the run is text too. */
export function reportOf(record: RunRecord, view: RunView): string {
  const spent = { calls: record.model_calls, tokens: record.tokens, unmetered: record.unmetered_calls, cost: record.cost };
  const figures: [string, unknown][] = [
    ['Run', record.id],
    ['Workflow', record.workflow],
    // Whoever reads it may be in another time zone.
    ['Began', new Date(record.started_at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' })],
    ['Ended as', [record.status, record.outcome_status].filter(Boolean).join(', ')],
    ['Stopped by', record.stop_reason ?? 'nothing'],
    ['Took', formatDuration(record.seconds === null ? null : record.seconds * 1000)],
    ['Tokens', formatTokensOf(spent)],
    ['Cost', formatCostOf(spent)],
    ['Quality', formatShare(record.quality)],
  ];
  const passes = passesOf(view).map(({ entry, nodes, changed }) => [
    `${entry.loop} ${entry.spent} of ${entry.limit}`,
    entry.reason,
    nodes.join(' → '),
    changed.join(', '),
  ]);
  const visits = view.visits.map((visit) => [visit.node, visit.visit, visit.status, formatDuration(visit.durationMs), visit.error ?? '']);
  const title = escaped(record.title || record.id);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title><style>${STYLE}</style></head><body>
<h1>${title}</h1>
<dl>${figures.map(([name, value]) => `<dt>${name}</dt><dd>${escaped(value)}</dd>`).join('')}</dl>
${section('Input', json(record.input))}
${section('Error', record.error ? `<pre>${escaped(record.error)}</pre>` : '')}
${section('Answer', record.outcome?.answer ? `<pre>${escaped(record.outcome.answer)}</pre>` : '')}
${section('Passes', passes.length ? table(['Pass', 'Why', 'Nodes', 'Changed'], passes) : '')}
${section('Visits', table(['Node', 'Visit', 'Ended as', 'Took', 'Error'], visits))}
<h2>Events</h2>
${view.events.map(({ seq, event }) => `<details><summary>${seq} ${escaped(event.type.replaceAll('_', ' '))}</summary>${json(event)}</details>`).join('\n')}
</body></html>
`;
}

/** Where the page is: the address behind `#`, for example `#/runs/ID?seq=12`. */
import { query } from '../api/query';

export type Page = 'runs' | 'run' | 'workflows' | 'workflow' | 'inbox' | 'compare' | 'prompts' | 'models' | 'loops' | 'scores' | 'missing';

export interface Route {
  page: Page;
  /** The part behind the page's name: a run's id, a workflow's name. */
  id: string;
  query: URLSearchParams;
}

const TOP: Record<string, Page> = {
  runs: 'runs',
  workflows: 'workflows',
  inbox: 'inbox',
  compare: 'compare',
  prompts: 'prompts',
  models: 'models',
  loops: 'loops',
  scores: 'scores',
};
const ONE: Partial<Record<Page, Page>> = { runs: 'run', workflows: 'workflow' };

/** Read a route; an empty one is the list of runs. */
export function readRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const [first = '', ...rest] = path.split('/').filter(Boolean);
  const top = TOP[first || 'runs'];
  let id = rest.join('/');
  try {
    id = decodeURIComponent(id);
  } catch {
    // A stray per cent sign stands for itself.
  }
  if (!top) return { page: 'missing', id: path, query: new URLSearchParams(search) };
  return { page: (id && ONE[top]) || top, id, query: new URLSearchParams(search) };
}

type Values = Record<string, string | number | null | undefined>;

/** An address for a link: `href('runs', id)`, `href('compare', '', {a, b})`. */
export const href = (top: string, id = '', values: Values = {}): string =>
  `#/${top}${id ? `/${encodeURIComponent(id)}` : ''}${query(values)}`;

class Router {
  route = $state.raw<Route>(readRoute(location.hash));
  /** How often another entry of the browser's history came to be shown. */
  arrivals = $state(0);

  constructor() {
    window.addEventListener('hashchange', () => {
      this.arrivals += 1;
      this.route = readRoute(location.hash);
    });
  }

  go(to: string): void {
    location.hash = to.replace(/^#/, '');
  }

  /** Keep what a page is to have again after Back, with its entry in the browser's history. */
  keep(value: unknown): void {
    history.replaceState({ kept: value }, '');
  }
  /** What the page kept with this entry; null for nothing. */
  kept<T>(): T | null {
    return (history.state as { kept?: T } | null)?.kept ?? null;
  }

  /** Change values of the address without a further entry in the browser's history; nothing where another page comes. */
  set(values: Values): void {
    const { page, id } = readRoute(location.hash);
    if (page !== this.route.page || id !== this.route.id) return;
    const all = new Map(this.route.query);
    for (const [key, value] of Object.entries(values)) {
      if (value === null || value === undefined || value === '') all.delete(key);
      else all.set(key, String(value));
    }
    const path = location.hash.replace(/^#/, '').split('?', 1)[0] || '/runs';
    history.replaceState(history.state, '', `#${path}${query(Object.fromEntries(all))}`);
    this.route = readRoute(location.hash);
  }
}

export const router = new Router();

import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { tick } from 'svelte';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import WorkflowGraph from '../../src/components/WorkflowGraph.svelte';
import { recorded, run, type LogName } from '../model/logs';

const startOf = (name: LogName, node: string): number =>
  recorded(name).events.find(({ event }) => event.type === 'node_started' && event.node === node)?.seq ?? 0;
const indicator = (): HTMLElement | null => screen.queryByTestId('retry-indicator');

beforeAll(() => {
  // happy-dom has no layout: the graph's nodes say their own size.
  globalThis.ResizeObserver ??= class {
    observe(): void {}
    unobserve(): void {}
    disconnect(): void {}
  };
  globalThis.DOMMatrixReadOnly ??= class {
    m22 = 1;
  } as never;
});
afterEach(cleanup);

describe('the retry indicator', () => {
  it('is not there without a run, nor before a retry', async () => {
    const { graph, view } = run('assistant-reflect', startOf('assistant-reflect', 'reflect_and_replan') - 1);
    const { rerender } = render(WorkflowGraph, { graph });
    expect(indicator()).toBeNull();
    await rerender({ graph, view });
    expect(indicator()).toBeNull();
  });

  it('shows the reflection as soon as it begins, and how long it took', async () => {
    const begun = run('assistant-reflect', startOf('assistant-reflect', 'reflect_and_replan'));
    const { rerender } = render(WorkflowGraph, { graph: begun.graph, view: begun.view });
    expect(indicator()?.dataset['node']).toBe('reflect_and_replan');
    expect(indicator()?.textContent).toMatch(/🤔\s*Reflect & Replan\s*$/);
    await rerender(run('assistant-reflect'));
    expect(indicator()?.textContent).toMatch(/Reflect & Replan\s+×2\s+\(\d+ ms\)/);
  });

  it('shows the mechanical retry where the graph has no reflection', () => {
    render(WorkflowGraph, run('assistant-relax'));
    expect(indicator()?.dataset['node']).toBe('relax_and_retry');
    expect(indicator()?.textContent).toContain('Relax & Retry');
  });

  it('selects the last visit of its node', async () => {
    const onselect = vi.fn();
    render(WorkflowGraph, { ...run('assistant-reflect'), onselect });
    await fireEvent.click(indicator()?.querySelector('button') as HTMLButtonElement);
    expect(onselect).toHaveBeenCalledWith('reflect_and_replan', 'reflect_and_replan#2');
  });
});

describe('the drawing', () => {
  it('follows what runs until a node is selected', async () => {
    vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(240);
    vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(150);
    const at = (node: string) => run('assistant-reflect', startOf('assistant-reflect', node));
    const place = (): string => container.querySelector<HTMLElement>('.svelte-flow__viewport')!.style.transform;
    const { container, rerender } = render(WorkflowGraph, at('fetch_data'));
    const showing = async (props: object): Promise<string> => {
      await rerender(props);
      await tick();
      return place();
    };
    const first = await showing({});
    const second = await showing({ view: at('generate_response').view });
    expect(second).not.toBe(first);
    expect(await showing({ node: 'generate_response' })).toBe(second);
    expect(await showing({ view: at('fetch_data').view })).toBe(second);
    vi.restoreAllMocks();
  });
});

describe('a node that is a graph', () => {
  it('opens and closes where it is, and its button keeps the focus', async () => {
    vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(240);
    vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(150);
    const { graph } = recorded('assistant-reflect');
    const { container } = render(WorkflowGraph, { graph: { ...graph, inside: { generate_response: { ...graph, loops: [] } } } });
    await tick();
    /** Where the node is seen. */
    const seen = (): number[] => {
      const [x = 0, y = 0, zoom = 1] = container.querySelector<HTMLElement>('.svelte-flow__viewport')!.style.transform.match(/-?[\d.]+/g)!.map(Number);
      const [left = 0, top = 0] = container.querySelector<HTMLElement>('[data-id="generate_response"]')!.style.transform.match(/-?[\d.]+/g)!.map(Number);
      return [x + left * zoom, y + top * zoom].map(Math.round);
    };
    const before = seen();
    for (const name of [/^Open Generate Response/, /^Close Generate Response/]) {
      await fireEvent.click(screen.getByRole('button', { name }));
      await tick();
      expect(seen()).toEqual(before);
      expect(document.activeElement?.getAttribute('aria-label')).toMatch(/^(Close|Open) Generate Response/);
    }
    vi.restoreAllMocks();
  });
});

describe('the cards', () => {
  const card = (container: HTMLElement, node: string): HTMLElement => {
    const found = container.querySelector<HTMLElement>(`button[data-node="${node}"]`);
    if (!found) throw new Error(`no card of ${node}`);
    return found;
  };

  it('are there for every node of the graph, in its order, with label, icon and whether a model is asked', () => {
    const { graph } = run('assistant-reflect');
    const { container } = render(WorkflowGraph, { graph });
    const names = [...container.querySelectorAll<HTMLElement>('button[data-node]')].map((each) => each.dataset['node']);
    expect(names).toEqual(graph.nodes.filter((node) => node.kind === 'node').map((node) => node.name));
    expect(card(container, 'reflect_and_replan').textContent).toMatch(/🤔\s*Reflect & Replan\s*at most 2 runs\s*LLM/);
    expect(card(container, 'execute_queries').textContent).not.toContain('LLM');
  });

  it('tell status, visits and duration in words', () => {
    const { container } = render(WorkflowGraph, run('assistant-reflect'));
    expect(card(container, 'execute_queries').getAttribute('aria-label')).toMatch(/^Execute Queries, complete, 3 visits, \d+ ms$/);
    expect(card(container, 'update_profile').getAttribute('aria-label')).toBe('Update Profile, skipped');
    expect(card(container, 'generate_acknowledgment').getAttribute('aria-label')).toContain('error');
    expect(card(container, 'generate_response').textContent).toMatch(/tok · \$/);
  });

  it('are walked with the arrow keys and chosen with a click, which Enter makes of a button', async () => {
    const onselect = vi.fn();
    const { container } = render(WorkflowGraph, { ...run('assistant-reflect'), onselect });
    card(container, 'plan_queries').focus();
    await fireEvent.keyDown(card(container, 'plan_queries'), { key: 'ArrowDown' });
    await tick();
    expect(document.activeElement).toBe(card(container, 'execute_queries'));
    await fireEvent.click(card(container, 'execute_queries'));
    expect(onselect).toHaveBeenCalledWith('execute_queries', 'execute_queries#3');
  });

  it('stand for one stop of the Tab key', () => {
    const { container } = render(WorkflowGraph, { ...run('assistant-reflect'), node: 'evaluate' });
    const stops = [...container.querySelectorAll<HTMLElement>('button[data-node][tabindex="0"]')];
    expect(stops.map((each) => each.dataset['node'])).toEqual(['evaluate']);
  });
});

import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { tick } from 'svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import Certificate from '../../src/components/Certificate.svelte';
import Scrubber from '../../src/components/Scrubber.svelte';
import Timeline from '../../src/components/Timeline.svelte';
import { RunViewBuilder } from '../../src/lib/model/run-view';
import { logOf, longRun, run, viewOf } from '../model/logs';

const WIDTH = 800;

beforeEach(() => {
  // happy-dom lays nothing out: every element is as wide and high as the chart would be.
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(WIDTH);
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(300);
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const left = (bar: HTMLElement): number => Number.parseFloat(bar.style.left);
const width = (bar: HTMLElement): number => Number.parseFloat(bar.style.width);

describe('the timeline', () => {
  it('draws a bar for each visit at its true time', async () => {
    const { graph, view } = run('own-retries');
    render(Timeline, { graph, view });
    await tick();
    expect(screen.getAllByRole('option')).toHaveLength(view.visits.length);
    const fetch = screen.getByRole('option', { name: /^Fetch, visit 1, complete/ });
    expect(left(fetch)).toBeGreaterThan(0);
    const [a, b] = ['Left', 'Right'].map((name) => screen.getByRole('option', { name: new RegExp(`^${name}, visit 1`) }));
    if (!a || !b) throw new Error('no bars');
    // They ran at the same time.
    expect(left(a) < left(b) + width(b) && left(b) < left(a) + width(a)).toBe(true);
    expect(width(a)).toBeGreaterThan(width(b));
  });

  it('marks retries inside a bar and says them', async () => {
    render(Timeline, run('own-retries'));
    await tick();
    const flaky = screen.getByRole('option', { name: /^Flaky, visit 1.*2 failed before$/ });
    expect(flaky.querySelectorAll('i')).toHaveLength(2);
  });

  it('shows the passes of loops, and the one that was refused', async () => {
    render(Timeline, run('assistant-reflect'));
    await tick();
    const words = screen.getByTestId('timeline-area').textContent;
    expect(words).toContain('1/2 reflect');
    expect(words).toContain('2/2 reflect');
    expect(words).toContain('exhausted reflect');
  });

  it('steps through visits with the arrow keys', async () => {
    const onselect = vi.fn();
    const { graph, view } = run('own-retries');
    const { rerender } = render(Timeline, { graph, view, visit: 'fetch#1', onselect });
    const list = screen.getByRole('listbox');
    await fireEvent.keyDown(list, { key: 'ArrowRight' });
    expect(onselect).toHaveBeenLastCalledWith('flaky', 'flaky#1');
    await rerender({ graph, view, visit: 'flaky#1', onselect });
    expect(screen.getByRole('option', { selected: true }).getAttribute('aria-label')).toMatch(/^Flaky, visit 1/);
    expect(list.getAttribute('aria-activedescendant')).toBe(screen.getByRole('option', { selected: true }).id);
    await fireEvent.keyDown(list, { key: 'ArrowLeft' });
    expect(onselect).toHaveBeenLastCalledWith('fetch', 'fetch#1');
    await fireEvent.keyDown(list, { key: 'End' });
    expect(onselect).toHaveBeenLastCalledWith('answer', 'answer#1');
  });

  it('zooms in and back to everything', async () => {
    render(Timeline, run('own-retries'));
    await tick();
    const all = screen.getAllByRole('option').length;
    const list = screen.getByRole('listbox');
    for (let turn = 0; turn < 3; turn += 1) await fireEvent.keyDown(list, { key: '+' });
    expect(screen.getAllByRole('option').length).toBeLessThan(all);
    await fireEvent.click(screen.getByRole('button', { name: 'Fit' }));
    expect(screen.getAllByRole('option')).toHaveLength(all);
  });

  it('keeps the page small for a long run', async () => {
    const gap = { from: 1, to: 2, at: 1, kind: 'stopped' as const };
    render(Timeline, { view: { ...viewOf(longRun(1700)), gaps: [gap, gap] } }); // two hosts' clocks may tell the same time
    await tick();
    expect(screen.getAllByRole('option').length).toBeLessThan(900);
  });

  it('brings the selected one of many visits at once into sight', async () => {
    const started = (node: string, index: number) => ({ type: 'node_started', node, task_id: `${node}${index}`, visit: index + 1 });
    render(Timeline, { view: viewOf(logOf(...Array.from({ length: 60 }, (_, index) => started('data/clean', index)))), visit: 'data/clean#50' });
    await tick();
    const list = screen.getByRole('listbox');
    const bar = Number.parseFloat(screen.getByRole('option', { selected: true }).style.top);
    expect(list.scrollTop).toBeLessThanOrEqual(bar);
    expect(list.scrollTop + 300).toBeGreaterThanOrEqual(bar + 16);
  });

  it('counts the visits around one of a graph inside a node, and no slash of a name', async () => {
    const started = (node: string, within = '') => ({ type: 'node_started', node, task_id: node, visit: 1, within });
    const view = viewOf(logOf(started('data'), started('data/clean'), started('data/clean/x', 'data/clean'), started('data/clean/x/y', 'data/clean/x'), started('z', 'gone')));
    const { container } = render(Timeline, { view });
    await tick();
    const names = [...container.querySelectorAll('span[title]')].map((each) => each.getAttribute('title'));
    expect(names).toEqual(['data', 'data/clean', '› data/clean/x', '› › data/clean/x/y', 'z']);
  });

  it('says so when nothing ran yet', () => {
    render(Timeline, { view: new RunViewBuilder().view });
    expect(screen.getByText('No node has run yet.')).toBeTruthy();
    cleanup();
    render(Timeline, { view: { ...viewOf([]), status: 'finished', inherited: ['write'] } });
    expect(screen.getByText('All that ran was before the fork.')).toBeTruthy();
  });
});

describe('the scrubber', () => {
  it('goes to an event, and from one end of a visit to the next', async () => {
    const onseek = vi.fn();
    const { live } = run('own-retries');
    render(Scrubber, { live, cursor: 20, onseek });
    await fireEvent.input(screen.getByRole('slider'), { target: { value: '12' } });
    expect(onseek).toHaveBeenLastCalledWith(12);
    const [first] = live.visits.filter((visit) => visit.startSeq > 20);
    await fireEvent.click(screen.getByRole('button', { name: 'Next step' }));
    expect(onseek).toHaveBeenLastCalledWith(first?.startSeq);
    await fireEvent.click(screen.getByRole('button', { name: 'End' }));
    expect(onseek).toHaveBeenLastCalledWith(null);
  });

  it('says which event is shown', () => {
    const { live } = run('own-retries');
    render(Scrubber, { live, cursor: 4, onseek: vi.fn() });
    expect(screen.getByRole('slider').getAttribute('aria-valuetext')).toBe('event 4 of 71: node started fetch');
  });

  it('plays from the start when it stands at the end', async () => {
    const onseek = vi.fn();
    const { live } = run('own-retries');
    render(Scrubber, { live, cursor: null, onseek });
    await fireEvent.click(screen.getByRole('button', { name: 'Play' }));
    expect(onseek).toHaveBeenLastCalledWith(1);
    expect(screen.getByRole('button', { name: 'Pause' })).toBeTruthy();
  });
});

describe('the certificate', () => {
  it('says what a run comes to at most, and what is used', () => {
    const { graph, view } = run('assistant-reflect');
    render(Certificate, { graph, view });
    expect(screen.getByRole('row', { name: /^Supersteps 17 16/ })).toBeTruthy();
    expect(screen.getByRole('row', { name: /^Model calls 182 4/ })).toBeTruthy();
    expect(screen.getByRole('row', { name: /^Time not known/ })).toBeTruthy();
    expect(screen.getByText(/limit\s+2, 2 used; then Generate Response/)).toBeTruthy();
  });

  it('names the cycles of a graph that may never stop', () => {
    const { graph } = run('own-failing');
    const certificate = { ...graph.certificate, bounded: false, unbounded_cycles: [['one', 'two']] };
    render(Certificate, { graph: { ...graph, certificate } });
    expect(screen.getByText('one → two → one')).toBeTruthy();
  });
});

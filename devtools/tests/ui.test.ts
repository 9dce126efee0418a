import { fireEvent, render, screen } from '@testing-library/svelte';
import { tick } from 'svelte';
import { beforeEach, describe, expect, it } from 'vitest';

import TokenDialog from '../src/components/TokenDialog.svelte';
import DiffText from '../src/components/ui/DiffText.svelte';
import JsonTree from '../src/components/ui/JsonTree.svelte';
import Tabs from '../src/components/ui/Tabs.svelte';
import { connection } from '../src/lib/stores/connection.svelte';

beforeEach(() => {
  document.body.innerHTML = '';
});

describe('JsonTree', () => {
  it('builds what is inside only when it is opened', async () => {
    const { container } = render(JsonTree, { value: { outer: { inner: 'deep' } }, depth: 1 });
    expect(container.textContent).not.toContain('deep');
    await fireEvent.click(screen.getByRole('button', { name: /^outer/ }));
    expect(container.textContent).toContain('deep');
    await fireEvent.click(screen.getByRole('button', { name: /^outer/ }));
    expect(container.textContent).not.toContain('deep');
  });

  it('shows a long list in parts, and a long text in full when asked', async () => {
    const long = 'x'.repeat(1000);
    const { container } = render(JsonTree, { value: Array.from({ length: 250 }, (_, index) => (index === 0 ? long : index)), depth: 1 });
    expect(container.textContent).not.toContain(long);
    await fireEvent.click(screen.getByRole('button', { name: 'all' }));
    expect(container.textContent).toContain(long);
    expect(container.textContent).not.toContain('249:249');
    await fireEvent.click(screen.getByRole('button', { name: '150 more' }));
    await fireEvent.click(screen.getByRole('button', { name: '50 more' }));
    expect(container.textContent).toContain('249:249');
  });

  it.each([
    [null, 'null'],
    [0, '0'],
    [false, 'false'],
    ['', '""'],
    [[], '[]'],
    [{}, '{}'],
  ])('shows %j', (value, shown) => {
    expect(render(JsonTree, { value }).container.textContent?.trim()).toBe(shown);
  });

  it('follows a value that changes', async () => {
    const { container, rerender } = render(JsonTree, { value: { a: 1 } });
    await rerender({ value: { a: 2, b: 3 } });
    expect(container.textContent).toContain('a:2');
    expect(container.textContent).toContain('b:3');
  });
});

describe('Tabs', () => {
  it('are walked through with the arrow keys, round the ends too', async () => {
    const tabs = ['one', 'two', 'three'].map((name) => ({ name, label: name }));
    render(Tabs, { tabs, chosen: 'one', label: 'Parts' });
    const chosen = (): string | null => screen.getByRole('tab', { selected: true }).textContent;
    for (const [key, name] of [['ArrowRight', 'two'], ['End', 'three'], ['ArrowRight', 'one'], ['ArrowLeft', 'three'], ['Home', 'one']] as const) {
      await fireEvent.keyDown(screen.getByRole('tablist'), { key });
      await tick();
      expect(chosen()).toBe(name);
      expect(document.activeElement?.textContent).toBe(name);
    }
  });
});

it('a Dialog that must be answered comes back when the browser closes it', () => {
  connection.asking = true;
  const dialog = render(TokenDialog).container.querySelector('dialog');
  dialog?.close();
  expect(dialog?.open).toBe(true);
});

it('DiffText marks what is gone and what is new for screen readers too', () => {
  const { container } = render(DiffText, { before: 'a red house', after: 'a blue house' });
  expect(container.querySelector('del')?.textContent).toBe('red');
  expect(container.querySelector('ins')?.textContent).toBe('blue');
});

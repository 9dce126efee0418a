import { describe, expect, it } from 'vitest';

import { toHtml } from '../src/lib/markdown';

function shown(text: string, marks: string[] = []): HTMLElement {
  const holder = document.createElement('div');
  holder.innerHTML = toHtml(text, marks);
  return holder;
}

describe('toHtml', () => {
  it('shows HTML as text', () => {
    const box = shown('<img src=x onerror=alert(1)> <script>alert(1)</script>');
    expect(box.querySelector('img, script')).toBeNull();
    expect(box.textContent).toContain('<img src=x onerror=alert(1)>');
  });

  it.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '//host/x', '/runs/1'])('makes no link to %s', (url) => {
    expect(shown(`[here](${url})`).querySelector('a[href]')).toBeNull();
  });

  it('opens web links beside the page, without a way back', () => {
    const link = shown('[here](https://example.org/a)').querySelector('a');
    expect(link?.getAttribute('href')).toBe('https://example.org/a');
    expect(link?.getAttribute('rel')).toBe('noopener noreferrer');
    expect(link?.getAttribute('target')).toBe('_blank');
  });

  it('keeps the ends of lines', () => {
    expect(shown('Dear all,\nplease').innerHTML).toContain('Dear all,<br>');
  });

  it('loads no pictures', () => {
    expect(shown('![x](https://example.org/a.png)').querySelector('img')).toBeNull();
  });

  it('makes links of the marks of citations, outside of code only', () => {
    const box = shown('One [1], two [a.b][1], `[1]`, [2].', ['1', 'a.b']);
    expect([...box.querySelectorAll<HTMLElement>('[data-cite]')].map((link) => link.dataset.cite)).toEqual(['1', 'a.b', '1']);
    expect(box.querySelector('code')?.textContent).toBe('[1]');
    expect(box.textContent).toContain('[2]');
  });
});

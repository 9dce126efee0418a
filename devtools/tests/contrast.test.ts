import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

const css = readFileSync(join(import.meta.dirname, '../src/app.css'), 'utf8');
/** What WCAG 2.2 asks of text, and of what is no text but tells something. */
const TEXT = 4.5;
const SHAPE = 3;
const STATUSES = ['run', 'good', 'bad', 'warn', 'loop'];
const GROUNDS = ['bg', 'surface', 'sunken', 'hover'];

/** The colours of a theme by name. */
function colours(selector: string): (name: string) => string {
  const start = css.indexOf(`${selector} {`);
  const block = css.slice(start, css.indexOf('\n}', start));
  const found = new Map([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((match) => [match[1], match[2]]));
  return (name) => {
    const colour = found.get(name);
    if (!colour) throw new Error(`${selector} has no colour ${name}`);
    return colour;
  };
}

/** Relative luminance, WCAG 2.2. */
function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Contrast ratio, WCAG 2.2. */
function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

it('is measured as WCAG says', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});

describe.each([
  ['light', ':root'],
  ['dark', "[data-theme='dark']"],
])('the contrast of the %s theme', (_name, selector) => {
  const colour = colours(selector);
  const weak = (pairs: [string, string][], least: number): string[] =>
    pairs
      .map(([front, back]) => ({ pair: `${front} on ${back}`, ratio: contrast(colour(front), colour(back)) }))
      .filter(({ ratio }) => ratio < least)
      .map(({ pair, ratio }) => `${pair}: ${ratio.toFixed(2)}`);

  it('lets every text be read on every ground', () => {
    const texts = ['text', 'muted', 'faint', 'accent-text'].flatMap((text) => GROUNDS.map((ground): [string, string] => [text, ground]));
    const accents: [string, string][] = [['text', 'accent-soft'], ['muted', 'accent-soft'], ['accent-text', 'accent-soft'], ['on-accent', 'accent']];
    expect(weak([...texts, ...accents], TEXT)).toEqual([]);
  });

  it('lets every status be read, on its own ground too', () => {
    const pairs = STATUSES.flatMap((status): [string, string][] => [
      [status, `${status}-soft`],
      [status, 'surface'],
      [status, 'bg'],
      ['text', `${status}-soft`],
    ]);
    expect(weak([...pairs, ['muted', 'idle-soft']], TEXT)).toEqual([]);
  });

  it('lets dots, bars and the focus be seen', () => {
    const pairs = [...STATUSES, 'idle', 'accent'].flatMap((shape) => GROUNDS.map((ground): [string, string] => [shape, ground]));
    expect(weak(pairs, SHAPE)).toEqual([]);
  });
});

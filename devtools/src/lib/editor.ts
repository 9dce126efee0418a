/** CodeMirror as the pages use it: prompts as text with marked names, and two texts side by side. */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { MergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import { Decoration, EditorView, MatchDecorator, ViewPlugin, drawSelection, keymap, lineNumbers, type DecorationSet, type ViewUpdate } from '@codemirror/view';
import { untrack } from 'svelte';
import type { Attachment } from 'svelte/attachments';

const THEME = EditorView.theme({
  '&': { height: '100%', fontSize: '12.5px', backgroundColor: 'var(--surface)', color: 'var(--text)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', lineHeight: '20px' },
  '.cm-content': { caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--faint)', borderRight: '1px solid var(--line)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 26%, transparent)',
  },
  '.cm-name': { backgroundColor: 'var(--accent-soft)', color: 'var(--accent-text)', borderRadius: '3px' },
  '.cm-name-unknown': { backgroundColor: 'var(--bad-soft)', color: 'var(--bad)', borderRadius: '3px' },
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'color-mix(in srgb, var(--bad) 8%, transparent)' },
  '&.cm-merge-b .cm-changedLine': { backgroundColor: 'color-mix(in srgb, var(--good) 8%, transparent)' },
  '&.cm-merge-a .cm-changedText': { background: 'color-mix(in srgb, var(--bad) 30%, transparent)' },
  '&.cm-merge-b .cm-changedText': { background: 'color-mix(in srgb, var(--good) 30%, transparent)' },
  '.cm-collapsedLines': { background: 'var(--sunken)', color: 'var(--muted)' },
  // Many fonts lack the sign that stands there by default.
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '"⋯"', margin: '0 6px' },
});

const NAME = /\{\{\s*(\w+)\s*\}\}/g;

function marked(names: readonly string[]): Extension {
  const known = Decoration.mark({ class: 'cm-name' });
  const unknown = Decoration.mark({ class: 'cm-name-unknown', attributes: { title: 'The prompt is given no such value' } });
  const matcher = new MatchDecorator({ regexp: NAME, decoration: (match) => (names.includes(match[1] ?? '') ? known : unknown) });
  return ViewPlugin.fromClass(
    class {
      decorations: DecorationSet;
      constructor(view: EditorView) {
        this.decorations = matcher.createDeco(view);
      }
      update(update: ViewUpdate): void {
        this.decorations = matcher.updateDeco(update, this.decorations);
      }
    },
    { decorations: (plugin) => plugin.decorations },
  );
}

const looks = (names: readonly string[], label: string): Extension[] => [
  lineNumbers(),
  drawSelection(),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
  marked(names),
  THEME,
];

/** The names in double braces that a prompt has. */
export const namesIn = (text: string): string[] => [...new Set([...text.matchAll(NAME)].map((match) => match[1] ?? ''))];

/** An editor. Its text is asked for once; `onchange` gets each new one. Tab leaves it, so that the keyboard is not trapped. */
export function editor(text: () => string, names: readonly string[], label: string, onchange: (text: string) => void): Attachment<HTMLElement> {
  return (parent) => {
    const view = new EditorView({
      parent,
      // It would be made anew at every letter otherwise.
      doc: untrack(text),
      extensions: [
        ...looks(names, label),
        history(),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onchange(update.state.doc.toString());
        }),
      ],
    });
    return () => view.destroy();
  };
}

/** Two texts side by side, what differs marked, neither to be changed. */
export function sideBySide(before: string, after: string, names: readonly string[]): Attachment<HTMLElement> {
  return (parent) => {
    const still = [EditorState.readOnly.of(true), EditorView.editable.of(false)];
    const view = new MergeView({
      parent,
      a: { doc: before, extensions: [...looks(names, 'Before'), still] },
      b: { doc: after, extensions: [...looks(names, 'After'), still] },
      collapseUnchanged: { margin: 3, minSize: 6 },
      gutter: false,
    });
    return () => view.destroy();
  };
}

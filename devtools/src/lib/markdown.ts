/** Markdown as HTML that can be shown: no HTML of the text's own, and only links to the web. */
import DOMPurify from 'dompurify';
import MarkdownIt from 'markdown-it';

const WEB = /^https?:\/\//i;

// A line's end stays one: who writes to people, and no document, means it.
const markdown = new MarkdownIt({ html: false, breaks: true }).disable('image');
markdown.validateLink = (url) => WEB.test(url.trim());
markdown.renderer.rules.link_open = (tokens, index, options, _env, self) => {
  tokens[index]?.attrSet('target', '_blank');
  tokens[index]?.attrSet('rel', 'noopener noreferrer');
  return self.renderToken(tokens, index, options);
};

// What the renderer writes is safe already; this is the second lock.
const CLEAN = {
  ALLOWED_TAGS: [
    'a', 'blockquote', 'br', 'code', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'li', 'ol', 'p', 'pre', 's', 'strong', 'table',
    'tbody', 'td', 'th', 'thead', 'tr', 'ul',
  ],
  ALLOWED_ATTR: ['href', 'title', 'start', 'rel', 'target'],
  ALLOWED_URI_REGEXP: WEB,
  // DOMPurify holds the values of all other attributes to that pattern too, and drops them.
  ADD_URI_SAFE_ATTR: ['title', 'start', 'rel', 'target'],
};

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Turn the marks in text nodes outside of links and code into links. */
function linkMarks(root: HTMLElement, marks: readonly string[]): void {
  const pattern = new RegExp(`\\[(${[...marks].sort((a, b) => b.length - a.length).map(escaped).join('|')})\\]`, 'g');
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    if (!node.parentElement?.closest('a, code')) texts.push(node);
  }
  for (const node of texts) {
    const parts = node.data.split(pattern);
    if (parts.length === 1) continue;
    node.replaceWith(
      ...parts.map((part, index) => {
        if (index % 2 === 0) return part;
        const link = document.createElement('a');
        link.href = '#';
        link.dataset.cite = part;
        link.textContent = `[${part}]`;
        link.setAttribute('aria-label', `Source ${part}`);
        return link;
      }),
    );
  }
}

/**
 * Write Markdown as HTML.
 *
 * @param text The Markdown.
 * @param marks Marks of citations; `[mark]` becomes a link with the attribute `data-cite`.
 */
export function toHtml(text: string, marks: readonly string[] = []): string {
  const holder = document.createElement('div');
  holder.append(DOMPurify.sanitize(markdown.render(text), { ...CLEAN, RETURN_DOM_FRAGMENT: true }));
  if (marks.length) linkMarks(holder, marks);
  return holder.innerHTML;
}

"""Markdown: the source text, its headings, and its front matter; and texts of other kinds, with headings or without."""

import re
import tomllib
from collections.abc import Iterator
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, cast

import yaml
from markdown_it import MarkdownIt

from loopwright.config import shipped
from loopwright.workflows.files import text_of
from loopwright.workflows.files.rst import as_markdown
from loopwright.workflows.rag.sources.reading.layout import ReadDocument, Section, below, sections, title_of
from loopwright.workflows.rag.sources.reading.records import as_text, as_texts
from loopwright.workflows.rag.sources.reading.source import Source

# Bounded, because YAML is slow to parse.
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n((?:.*\n){0,200}?)(?:\1|\.\.\.)[ \t]*(?:\n|\Z)")
_MOST_HEADING = 90
_ENTRIES = r"(?:[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[[^\]\n]*\]\(#[^()\s]*\)[ \t]*(?:\n|\Z)(?:[ \t]*\n)*)+"
# Code, which is seen, comes first; what does not end stays.
_UNSEEN = re.compile(
    r"^(?:[> \t]|[-*+]|\d+[.)])*+(`{3,}(?=[^`\n]*\n)|~{3,}).*?(?:^[> \t]*\1[`~]*[ \t]*$|\Z)|^(?: {4}|\t)[^\n]*"
    r"|(?<!`)(`+)(?!`)(?:[^\n]|\n(?![ \t]*\n))+?(?<!`)\2(?!`)"
    r"|(?P<unseen>(?<!\\)<!--.*?-->|^ {0,3}<(script|style)\b.*?</\4\s*>)|(?<!\\)<!--.*|^ {0,3}<(?:script|style)\b.*"
    rf"|(?P<contents>^(?:(?P<mark>#{{1,6}})[ \t][^\n]*\n(?:[ \t]*\n)*(?={_ENTRIES}(?:(?!(?P=mark)#)#|\Z)))?{_ENTRIES})",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


def read(source: Source) -> Iterator[ReadDocument]:
    """Read a Markdown file; its text is the source without front matter, blank where unseen or contents: spans stay."""
    fields, body = _front_matter(source, text_of(source, data := source.data(source.limits.text_bytes)))
    titles = {_words(line) for line in body.split("\n")} if "](#" in body else set[str]()

    def shown(match: re.Match[str]) -> str:
        entries = re.findall(r"\[([^\]\n]*)\]\(#", match["contents"] or "")
        hidden = match["unseen"] or (entries and titles.issuperset(map(_words, entries)))
        return re.sub(r"\S", " ", match[0]) if hidden else match[0]

    body = _UNSEEN.sub(shown, body)
    tags, title = as_texts(fields.get("tags")), as_text(fields.get("title"))
    yield _document(source, body, data, title=title, date=source.told_date(fields.get("date")), tags=tags)


def read_markup(source: Source) -> Iterator[ReadDocument]:
    """Read reStructuredText, AsciiDoc or Org; spans are those of the Markdown that it becomes."""
    text = text_of(source, data := source.data(source.limits.text_bytes))
    kind = source.path.suffix.lower()
    text = as_markdown(text) if kind == ".rst" else _as_markdown(text, "org" if kind == ".org" else "adoc")
    yield _document(source, text, data)


def _as_markdown(text: str, kind: str) -> str:
    markup = shipped("loopwright.workflows.rag", "data/markup.yaml")[kind]
    parts = re.split(markup["code"], text, flags=re.MULTILINE | re.IGNORECASE)
    for mark, said in markup["marks"].items():
        pattern = re.compile(mark, re.MULTILINE | re.IGNORECASE)
        for place in range(0, len(parts), 2):  # between them is code
            parts[place] = pattern.sub(partial(_said, said), parts[place])
    return "```".join(parts)


def _said(said: str, mark: re.Match[str]) -> str:
    return said * len(mark[0]) if said == "#" else mark.expand(said)


def _document(source: Source, body: str, raw: bytes, title: str = "", **about: Any) -> ReadDocument:
    begun = _begun(body)
    return source.document(body, sections(body, begun), title=title or title_of(begun), raw=raw, **about)


def read_text(source: Source) -> Iterator[ReadDocument]:
    """Read a text file as one document, headed by its first line where that is short, and named like the file."""
    data = source.data(source.limits.text_bytes)
    text = text_of(source, data)
    first = next(filter(None, map(str.strip, text.split("\n", 20)[:20])), "")
    yield source.document(text, raw=data, headings=(first,) if 0 < len(first) <= _MOST_HEADING else ())


def _words(line: str) -> str:
    return " ".join(re.findall(r"\w+", line.lstrip(" \t#.)0123456789").casefold()))


def _front_matter(source: Source, text: str) -> tuple[dict[str, Any], str]:
    """The front matter's fields, and the text after it; broken front matter is text like any other."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    try:
        fields = yaml.safe_load(match[2]) if match[1] == "---" else tomllib.loads(match[2])
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = f"its front matter is not valid and counts as text: {' '.join(str(error).split())}"
        source.ignored(source.error(problem))
        return {}, text
    if not isinstance(fields, dict):
        return {}, text  # without names it is no front matter but a text that begins with a rule
    return {str(name).casefold(): value for name, value in cast(dict[Any, Any], fields).items()}, text[match.end() :]


def _begun(text: str) -> list[Section]:
    """Where the sections begin, and their headings end."""
    # Only blocks are parsed: inline marks stay as they are, and the headings' own are parsed one by one.
    blocks = MarkdownIt("commonmark").disable(["inline", "text_join"])
    inline = MarkdownIt("commonmark")
    # Where each line begins; one more for the end.
    offsets = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    begun = [Section(start=0, end=0)]
    above: dict[int, str] = {}
    tokens = blocks.parse(text)
    for token, content in pairwise(tokens):
        if token.type != "heading_open" or token.level or token.map is None:
            continue
        parts = (child.content for each in inline.parseInline(content.content) for child in each.children or ())
        name = " ".join("".join(parts).split())
        if not name:
            continue
        above = below(above, int(token.tag[1:]), name)
        start, end = (offsets[line] for line in token.map)
        begun.append(Section(start=start, end=min(end, len(text)), headings=(*above.values(),)))
    return begun

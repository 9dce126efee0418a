"""A table written as Markdown: a real table, or a heading for each row with lines ``Name: value`` and text below."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from loopwright.workflows.assistant.sources.reading.columns import column_name

_PAIR = re.compile(r"^\s*(?:[-*+]\s+)?(?:\*\*|__)?([^:*_\n]{1,40}?)(?::(?:\*\*|__)?|(?:\*\*|__):)\s+(\S.*)$")
_TITLE, _TEXT = "title", "description"


def markdown_rows(text: str, known_columns: Collection[str]) -> list[tuple[int, dict[str, Any]]]:
    """The rows of a Markdown document.

    If it holds tables, these are the rows. Else each heading of the most frequent level is the title of one, and what
    follows until the next is its text, without lines ``Name: value`` whose name is known.

    Args:
        text: The document.
        known_columns: The names that columns can have, folded.

    Returns:
        Of each row its line, from 1, and its values by column.
    """
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    return list(_table_rows(tokens)) or list(_sections(tokens, text.split("\n"), known_columns))


def _table_rows(tokens: Sequence[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    names: list[str] = []
    cells: list[str] = []
    for place, token in enumerate(tokens):
        if token.type in ("th_open", "td_open"):
            cells.append(_shown(tokens[place + 1]))
        elif token.type == "thead_close":
            names, cells = cells, []
        elif token.type == "tr_open":
            cells = []
        elif token.type == "tr_close" and names and any(cells):
            yield _line(tokens, place), dict(zip(names, cells, strict=False))
        elif token.type == "table_close":
            names = []


def _line(tokens: Sequence[Any], place: int) -> int:
    """The line, from 1, of the last token up to a place that knows its own.

    Args:
        tokens: The tokens.
        place: The place.
    """
    return next((token.map[0] + 1 for token in reversed(tokens[: place + 1]) if token.map), 1)


def _sections(
    tokens: Sequence[Any], lines: Sequence[str], known_columns: Collection[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    headings = [
        (token.tag, *token.map, _shown(tokens[place + 1]))
        for place, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
    levels = Counter(tag for tag, *_ in headings)
    # Of two that are as frequent, the deeper one: the other groups them.
    level = max(levels, key=lambda tag: (levels[tag], tag), default="")
    for place, (tag, start, end, title) in enumerate(headings):
        if tag == level:
            until = next((first for other, first, _, _ in headings[place + 1 :] if other <= level), len(lines))
            yield start + 1, {_TITLE: title, **_values(lines[end:until], known_columns)}


def _values(lines: Sequence[str], known_columns: Collection[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    text: list[str] = []
    for line in lines:
        pair = _PAIR.match(line)
        if pair and column_name(pair[1]) in known_columns:
            values[pair[1]] = pair[2].strip()
        else:
            text.append(line)
    rest = "\n".join(text).strip()
    return {_TEXT: rest, **values} if rest else values


def _shown(inline: Any) -> str:
    """What a reader sees of a line: without emphasis and without addresses behind links."""
    parts = (part.content if part.type in ("text", "code_inline") else " " for part in inline.children or ())
    return " ".join("".join(parts).split())

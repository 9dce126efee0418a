"""What a passage is made of, as it is quoted: sentences, code, rows of tables; and how each is shown."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from itertools import groupby
from typing import Literal

from loopwright.workflows.rag.answer.sentences import CENTS, FULL_LINE, ITEM, NO_PART, STOPS, sentence_spans

Kind = Literal["text", "code", "row"]
"""How a unit is shown: as text, within a fence, as the row of a table."""
MOST_LINES = 16
"""Lines of code that are quoted together; longer blocks are cut, where there are some at empty lines."""

_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")
_BARRED = re.compile(r"\s*\|(.*)\|\s*")
# What statements have and headings have not: a number within, a verb; not "What it is", "2.1 Use", "Section 3 Rent".
_STATES = re.compile(
    r"(?i)(?!(?:\d[\d.)]*\s+)?(?:wh|how|if|wie|was|wer|wann|wo|comment|qu))(?:(?:(?:\w+|§)\s)?\d[\d.)]*\s+(?-i:[A-ZÄÖÜ]))?+.*?"
    r"(?:\S\D*[\d¹²³⁰-⁹]|\b(?:is|are|was|were|has|have|can|will|must|never|costs?|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|ist|sind|war|hat|kostet|est|sont|es)\b)"
)
_RULER = re.compile(r"[|\s:+=-]*-{3,}[|\s:+=-]*")
_LINE_BREAK = re.compile(r"[ \t]*\n(?![ \t]*(?:\n|[-*+•>#|] ?|\d+[.)] ))[ \t]*")
# Marks of headings and quotes; images; labels and fences of directives, as Sphinx and its kin write them in Markdown.
_MARKUP = re.compile(
    r"^\s{0,3}(?:#{1,6}\s+|>\s?|\([\w.-]+\)=$|:{3,}.*$)|\[?!\[[^\]\n]*\]\([^()\n]*\)(?:\]\([^()\n]*\))?", re.MULTILINE
)
# Of emphasis and links what cannot be code: "**kwargs", "__init__" and "[OPTIONS]" stay.
_EMPHASIS = re.compile(r"(?<!\w)\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*|(?<!\w)__(?=\S)([^_\n]*\s[^_\n]*)__(?!\w)")
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\s]*[./#][^()\s]*\)")
# Of tags only what is hardly a placeholder, as "<port>" is, or "<p>" without its end within a line; none in code.
_TAGS = re.compile(
    rf"(?P<code>(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))|(?P<power>{NO_PART}<sup>(?=\d))"
    r"|(?P<cell> ?(?:</?(?:br|t[dh])\b[^<>]*> *)+)|<[a-z]\w*\s+[\w-]+=[^<>]*>|</[a-z]\w*>|<hr\s*/?>|<!--.*?-->"
    r"|(?:(?P<line>^ *)|(?<!\w)|(?!<(?:[bip]|code)>))<(?P<tag>[bip]|center|code|d[dlt]|details|div|em|figure|h[1-6]|kbd"
    r"|li|[ou]l|pre|small|span|strong|su[bp]|summary|tr|t(?:able|body|foot|head))>"
    r"(?(line)(?! )|(?=.{0,999}</(?P=tag)>))", re.IGNORECASE | re.DOTALL | re.MULTILINE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a passage that is quoted whole."""

    start: int
    """Where it begins in the passage, in characters."""
    end: int
    """Where it ends there."""
    kind: Kind = "text"
    """How it is shown."""
    above: str = ""
    """What is shown above it and is no part of it: the language of code, the header of a table."""
    leads: bool = False
    """Whether it says little without the next: a question of a FAQ, a heading, what ends with a colon."""


@lru_cache(maxsize=256)
def units_of(text: str, heading: str = "") -> tuple[Unit, ...]:
    """Split a passage into its units, in order; fences, rulers and what has no words are no part of any.

    The header of rows with which the passage begins stands last among its headings, where it is not in the passage.

    A passage may begin within a block of code, or end within one: then its first or last fence has no partner. Kept for
    a while, since a question asks for those of a passage more than once.
    """
    found: list[Unit] = []
    header = last if has_cells(last := heading.rpartition(" > ")[2]) else ""
    lines = [(line.start(), line.start() + len(line[0].rstrip())) for line in re.finditer("^.*$", text, re.MULTILINE)]
    fences = [(number, match) for number, line in enumerate(lines) if (match := _FENCE.fullmatch(text[slice(*line)]))]
    inside = bool(len(fences) % 2 and not fences[0][1][2].strip())
    begun, language = 0, ""
    for number, match in [*fences, (len(lines), None)]:
        part = lines[begun:number]
        found += _code(text, part, language) if inside else _prose(text, part, header)
        begun, inside = number + 1, not inside
        language = match[2].split("{")[0].strip() if match else ""
    return tuple(unit for unit in found if any(map(str.isalnum, plain_text(text[unit.start : unit.end]))))


def shown(text: str, units: Sequence[Unit]) -> str:
    """Units of a passage as Markdown: code in its fence, rows under their header, the rest without marks and tags."""
    parts: list[str] = []
    for (kind, above), same in groupby(units, key=lambda unit: (unit.kind, unit.above)):
        each = [*same]
        if kind == "code":
            parts += [f"```{above}\n{text[unit.start : unit.end]}\n```" for unit in each]
        elif kind == "row":
            rows, header = [cells_of(text[unit.start : unit.end]) for unit in each], cells_of(above)
            lines = [", ".join(filter(None, row)) for row in rows]
            if any(header):
                lines = [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)]
            parts.append("\n".join(lines))
        else:
            parts.append(_running(text, each))
    return "\n\n".join(filter(None, parts))


def plain_text(text: str) -> str:
    """A text without the marks and tags of markup, but for those of code."""
    untagged = _TAGS.sub(lambda tag: tag["code"] or "^" * bool(tag["power"]) or " " * bool(tag["cell"]), text)
    marked = _MARKUP.sub("", CENTS.sub("", untagged))
    return unescape(_EMPHASIS.sub(lambda match: match[1] or match[2], _LINK.sub(r"\1", marked))).strip()


def _running(text: str, units: Sequence[Unit]) -> str:
    """Sentences as they stand, but for line breaks that were made because the line was full."""
    start, end = units[0].start, units[-1].end
    # After the item of a list, which need not end with a stop, another begins.
    ends = {unit.end for unit in units if text[: unit.end][-1:].isalnum()}

    def joined(gap: re.Match[str]) -> str:
        place = start + gap.start()
        if text[:place].endswith("‐"):
            return ""  # as manual pages part words; the hyphen stays, since it may be the word's own
        return " " if place - text.rfind("\n", 0, place) > FULL_LINE and place not in ends else gap[0]

    return re.sub(r"\n\s*\n", "\n\n", plain_text(_LINE_BREAK.sub(joined, text[start:end])))


def _code(text: str, lines: Sequence[tuple[int, int]], language: str) -> Iterator[Unit]:
    """A block of code; a long one in pieces, each as long as can be, that end before an empty line where one does."""
    begun = 0
    while begun < len(lines):
        end = min(len(lines), begun + MOST_LINES)
        empty = [number for number in range(begun + 1, end) if lines[number][0] == lines[number][1]]
        if end < len(lines) and empty:
            end = empty[-1]
        if text[lines[begun][0] : lines[end - 1][1]].strip():
            yield Unit(lines[begun][0], lines[end - 1][1], "code", language)
        begun = end


def _prose(text: str, lines: Sequence[tuple[int, int]], begun: str) -> Iterator[Unit]:
    """Sentences, and the rows of tables, which are two neighbouring lines with cells or more."""
    for table, same in groupby(lines, key=lambda line: has_cells(text[slice(*line)])):
        part = [*same]
        rows = [line for line in part if not _RULER.fullmatch(text[slice(*line)])]
        within = bool(begun and part[0][0] == 0)
        if table and (len(part) > 1 or within) and rows:
            header = begun if within else header_of([text[slice(*line)] for line in part])
            yield from (Unit(*row, "row", header) for row in rows[bool(header) and not within :])
        else:
            start = part[0][0]
            spans = [(0, 0), *sentence_spans(prose := text[start : part[-1][1]]), (len(prose), len(prose))]
            for (_, before), (left, right), (after, end) in zip(spans, spans[1:], spans[2:], strict=False):
                line, first = prose[left:right], not before or prose[before:left].count("\n") > 1
                leads = line[0] == "#" or line[-1] in "?:？：" or (first and _is_heading(line, prose[after:end]))
                yield Unit(start + left, start + right, leads=leads)


def _is_heading(line: str, below: str) -> bool:
    """Whether what begins a paragraph is a line without a stop over sentences or a list, as headings of a text are."""
    short = len(line) < FULL_LINE and "\n" not in line and ": " not in line and line[-1].isalnum()
    over = below[-1:] in f".!?…:{STOPS}" if ITEM.match(line) or not ITEM.match(below) else True
    return short and not _STATES.match(line) and bool(below) and over and line[0] not in "-*•"


def has_cells(line: str) -> bool:
    """Whether a line looks like the row of a table."""
    return line.lstrip().startswith("|") or " | " in f"{line} "


def header_of(lines: Sequence[str]) -> str:
    """The header of a table: the row above its ruler; else the first, of two columns if it alone has no number."""
    rulers = [bool(_RULER.fullmatch(line)) for line in lines[:2]]
    if rulers != [False, False]:
        return lines[0] if rulers == [False, True] and len(lines) > 2 else ""
    first, *numbered = (re.search(r"\d", line) for line in lines)
    corner, *others = cells_of(lines[0])
    return lines[0] if not corner or len(others) > 1 or (any(numbered) and not first) else ""


def cells_of(row: str) -> list[str]:
    """The cells of a row; an empty one at either end has no bar of its own on the outer side."""
    barred = _BARRED.fullmatch(row)
    return [plain_text(cell) for cell in (barred[1] if barred else row).split("|")]

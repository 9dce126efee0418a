"""reStructuredText, as Markdown: headings, code, links and roles as that has them; what steers its tools goes."""

import csv
import re
import textwrap
from collections.abc import Sequence
from itertools import pairwise

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1+")
_GRID = re.compile(r"\s*\+[-=+]+\+|\s*=+(?: +=+)+")
_MARKED = re.compile(r"( *)\.\.(?: +(?:([\w:+.-]+)::)?(.*))?")
_OPTION = re.compile(r" +:[\w-]+:.*")
_CODE = ("code", "code-block", "sourcecode", "parsed-literal", "prompt", "doctest", "testcode", "literal")
_STEERS = ("contents", "currentmodule", "highlight", "image", "include", "index", "meta", "raw", "toctree")
_REPLACED = re.compile(r"^ *\.\. +\|([^|\n]+)\| +replace:: *(.+)", re.MULTILINE)
# A name that stands for a text: not within code, nor where its bars are those of a table.
_NAMED = re.compile(
    r"^```[^`\n]*$.*?(?:^```$|\Z)|``?[^`\n]+``?|(?<![\w|])\|(?!\s)([^|\n]+)(?<!\s)\|_{0,2}(?![\w|])", re.M | re.DOTALL
)
# A role or a link with a text of its own, one without, and a literal; each as Markdown has it.
_INLINE = re.compile(
    r":(?:[\w+.-]{1,40}:){1,3}`(?P<said>[^`<]+)<[^`>]*>`|:(?:[\w+.-]{1,40}:){1,3}`[~!]?(?P<role>[^`]+)`|``(?P<code>.+?)``(?!`)"
    r"|`(?P<link>[^`<]+)<(?P<to>[^`>]+)>`__?|`(?P<named>[^`]+)`__?(?!\w)"
)


def as_markdown(text: str) -> str:
    """A text without what only its tools read: directives, labels, comments, the adornments of headings."""
    lines = text.expandtabs().split("\n")
    told: list[str] = []
    levels: dict[tuple[str, bool], int] = {}
    place = 0
    while place < len(lines):
        line = lines[place].rstrip()
        place += 1
        below = lines[place].rstrip() if place < len(lines) else ""
        above = lines[place - 2].strip() if place > 1 else ""
        if marked := _MARKED.fullmatch(line):
            indent, kind, rest = len(marked[1]), marked[2] or "", (marked[3] or "").strip()
            end = _end(lines, place, indent)
            options = place
            while place < end and _OPTION.fullmatch(lines[place]):
                place += 1
            if not kind and rest.startswith("["):  # a footnote
                told.append(rest)
            elif (block := _block(kind, rest, lines[options:place], lines[place:end])) is not None:
                told += block
                place = end
            else:
                while place < end and not rest:
                    rest, place = lines[place].strip(), place + 1
                told += ["", f"{kind.rpartition(':')[2].capitalize()}: {_inline(rest)}"]
        elif line.endswith("::") and (line.strip() == "::" or not _RULE.fullmatch(line)):
            told.append(_inline("" if line.strip() == "::" else line.strip()[:-1]))
            end = _end(lines, place, len(line) - len(line.lstrip()))
            told += _fenced(lines[place:end], "")
            place = end
        elif _RULE.fullmatch(line) or _GRID.fullmatch(line):
            grid = ["|---" * (line.count("+") - 1) + "|"] if "+=" in line else []
            rows, place = _simple_table(lines, place) if " =" in line.strip() else (grid, place)
            told += rows
        elif line and _RULE.fullmatch(below) and len(below) >= min(len(line), 4) and (line[0] != " " or above == below):
            level = levels.setdefault((below[0], above == below), len(levels) + 1)
            told += ["", f"{'#' * min(level, 6)} {_inline(line.strip())}", ""]
            place += 1
        elif line.lstrip().startswith(">>> "):
            end = next((n for n in range(place, len(lines)) if not lines[n].strip()), len(lines))
            told += _fenced(lines[place - 1 : end], "python")
            place = end
        else:
            told.append(_inline(line.strip()))
    replaced = dict(_REPLACED.findall(text))
    return _NAMED.sub(lambda match: replaced.get(match[1], match[0]), "\n".join(told))


def _end(lines: list[str], begin: int, indent: int) -> int:
    """Where the block ends that is indented more than what it belongs to."""
    for place in range(begin, len(lines)):
        line = lines[place]
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            return place
    return len(lines)


def _simple_table(lines: list[str], begin: int) -> tuple[list[str], int]:
    """A table's rows, cut where the rule above it has columns, and where it ends: at a rule with nothing below it."""
    rule = lines[begin - 1]
    starts = [match.start() for match in re.finditer("=+", rule)]
    rows: list[list[str]] = []
    for place in range(begin, len(lines)):
        line = lines[place]
        if "=" in line and not line.strip("= "):
            if not "".join(lines[place + 1 : place + 2]).strip():
                return [*map(_barred, rows)], place + 1
            rows.append(["---"] * len(starts))
        elif line.strip(" -"):
            cells = [line[start:end].strip() for start, end in pairwise([*starts, None])]
            if cells[0] or not rows:
                rows.append(cells)
            else:  # it goes on with the row above
                rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
    return [], begin


def _block(kind: str, title: str, options: Sequence[str], lines: Sequence[str]) -> list[str] | None:
    """What is told of a directive: code, the legend of a figure, a table of CSV or of lists; None of any other."""
    if kind in _CODE:
        return _fenced(lines, title)
    if kind in ("", "figure", *_STEERS):
        return [_inline(line.strip()) for line in lines if kind == "figure"]
    if kind not in ("csv-table", "list-table"):
        return None
    ruled = [option.partition(":header:")[2] for option in options if ":header" in option]
    if kind == "csv-table":
        try:
            rows = [*csv.reader(filter(str.strip, [*ruled, *lines]), skipinitialspace=True)]
        except csv.Error:  # such as a cell that is too long for its reader
            return ["", _inline(title), "", *(_inline(line.strip()) for line in [*ruled, *lines])]
    else:
        listed = re.split(r"^\* ", textwrap.dedent("\n".join(lines)), flags=re.MULTILINE)[1:]
        rows = [[" ".join(cell.split()) for cell in re.split(r"^ *- ?", row, flags=re.MULTILINE)[1:]] for row in listed]
    ruler = [["---"] * len(row) for row in rows[:1] if ruled]
    return ["", _inline(title), "", *map(_barred, [*rows[:1], *ruler, *rows[1:]]), ""]


def _barred(row: Sequence[str]) -> str:
    return f"| {' | '.join(map(_inline, row))} |"


def _fenced(lines: Sequence[str], language: str) -> list[str]:
    code = textwrap.dedent("\n".join(lines)).strip("\n")
    return ["", f"```{language}", code, "```", ""] if code else []


def _inline(text: str) -> str:
    def shown(match: re.Match[str]) -> str:
        if match["code"] or match["role"]:
            return f"`{match['code'] or match['role']}`"
        link = match["link"]
        return f"[{link.strip()}]({match['to']})" if link else (match["said"] or match["named"]).strip()

    return _INLINE.sub(shown, text)

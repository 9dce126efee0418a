"""Splitting a text into sentences, by exact character spans."""

import re
from collections.abc import Iterator

from loopwright.retrieval.text import STOP_WORDS, fold

STOPS = "。！？।॥۔؟"
"""What ends a sentence of Chinese, Japanese, Hindi, Arabic and Urdu, with a space after it or without."""

NO_PART = r"(?:(?<=[^\W\d_]{3})|(?<=\d)|(?<=[^\W_][.,:])|(?<=[;!?)\]\"”“’»])|(?<=[;!?)\]\"”“’»][.,:]))"
"""Pattern for where a raised digit is a power or a note: behind a number, a word, a stop, but no unit, as "km"."""
CENTS = re.compile(r"(?<=\d[.,:])(?<!\d{4}.)\^(?=\d\d(?!\d))")
"""Pattern for the mark of what is a part of the number before it for all that: "2.^99"."""

_THAI = re.compile("[\u0e00-\u0e7f]")
_THAI_LENGTH = 60
# A line at least so long was broken because it was full, even where a capital follows.
FULL_LINE, _SURELY_FULL = 50, 80
# What says whether a sentence ends lies near: with all of a long text at each line it would take quadratic time.
_AROUND = 200
ITEM = re.compile(r"(?:[-*•]|\d+[.)]|[\w.-]+:) ")  # or a field, as "room: C2"
_NUMBERED = re.compile(r"(?:^|\n)[ \t]*(?:#{1,6} )?\d{1,3}$")
_BRACKETS = r"\[(?:\^[\w-]{1,20}|[1-9][\d, –-]{0,9}|[a-z](?:[a-z]{0,12} [a-z ]{1,20})?)\]"  # none of code, as "[0]"
NOTES = rf"(?:\^\d{{1,3}}(?:(?:, ?|[–-])\d{{1,3}})*\)?|[¹²³⁰-⁹]+|(?:{_BRACKETS})+|<sup>[^<>\n]{{1,20}}</sup>)?"
"""Pattern for the marks of notes that may stand behind the stop of a sentence: "due.^3", "in 2019.[4][5]", "[^6]"."""
_BREAK = re.compile(
    rf"(?<![.!?…])[.!?…]++[\"”’')\]»]*+{NOTES}(?=\s|$)|[!?{STOPS}]++(?!\[)[」』”’）)]*|[{STOPS}]|\n\s*\n|\n"
)
# "am 3. Mai 2024".
_DAY = re.compile(r"(?<!\d)\d\d?$")
_MONTH = re.compile(r"(?:J[aä]n|Feb|März|Apr|Mai|Ju[nl]i|Aug|Sept|Okt|Nov|Dez)(?:uar|ner|ruar|il|ust|ember|ober)?\b")
# "des 16. Lebensjahres": an article before a number, in German, is that of what it counts.
_ORDINAL = re.compile(r"\b(?i:de[rsmn]|das|die|eine[nmrs]?|jede[nmrs]?|am|im|vom|zum|zur|beim|ins) \d{1,3}$")
# What is one only before a number: "compartment no. 8", "in Abs. 2"; after other words "no." ends a sentence.
# So is what has no vowel, but for a unit behind a number: "Rn. 14", "Bldg. 7".
_NUMBERED_BY = re.compile(
    r"(?:\b(?i:room|compartment|flat|apartment|house|plot|unit|gate|item|account|invoice|order|page|seat|locker) no"
    r"|(?<!\d )(?<![^\W_])(?i:[b-df-hj-np-tv-xz])[b-df-hj-np-tv-xz]{1,4}"
    r"|(?:[\d(,;§]|\b(?i:see|in|of|to|at|and|or|per|under|siehe|gemäß|nach|laut|und|oder|von|bis)) "
    r"(?:A(?:rt|pp)|Tab|Ref|(?i:nos|abs|sec|para?|ziff|kap|abb|eq))|\b(?i:max|min|tel|ext|apt|approx|sect)|str)$"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Gov|Sen|Rep|No|Nos|Vol|vol|Fig|fig|pp|p|ed|eds|vs|v|cf"
    r"|ca|c|approx|est|Inc|Ltd|Co|Corp|dept|Dept|Mt|Ft|Ave|Blvd|al|viz|incl|[Ee]\.g|[Ii]\.e|etc|lit|b|d|r|né|née|Nr|bzw|z\.B"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)|(?:พ\.ศ|ค\.ศ|ดร|ผศ|รศ|ศ|จ|อ|ต|กม|ตร\.กม)|(?<!°)\b[A-Za-z](?:\.[A-Za-z])*)$"
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Split a text into sentences.

    Periods after initials, abbreviations and inside numbers do not end a sentence. Other scripts have full
    stops of their own. Thai has none: its sentences end at line breaks, and at a space once they are long enough.

    Returns:
        Start and end of each sentence in characters, in order, without white space around it.
    """
    found: list[tuple[int, int]] = []
    start = 0
    for end in [*_ends(text), len(text)]:
        for left, right in _thai_parts(text, start, end):
            part = text[left:right]
            if part.strip():
                found.append((left + len(part) - len(part.lstrip()), right - len(part) + len(part.rstrip())))
        start = end
    return found


def _ends(text: str) -> Iterator[int]:
    for match in _BREAK.finditer(text):
        mark = match[0]
        if mark.startswith("\n") and not _line_ends_sentence(text, match.start(), match.end()):
            continue
        if mark[0] in ".!?…" and _is_no_end(text, match.start(), match.end()):
            continue
        yield match.end()


def _line_ends_sentence(text: str, start: int, end: int) -> bool:
    """A single line break in running prose is only where the line was full."""
    if "\n" in text[start + 1 : end]:
        return True
    before, after = text[max(0, start - _AROUND) : start].rstrip(" "), text[end : end + _AROUND].lstrip(" ")
    if not (before[-1:].isalnum() or before[-1:] in ",;`)-‐") or ITEM.match(after):
        return True
    if after[:1].islower() or fold(before.rpartition(" ")[2]) in STOP_WORDS:  # nothing ends with "the" or "of"
        return False
    length = len(before) - before.rfind("\n") - 1
    return length < (FULL_LINE if after[:1] in "`(\"'“" else _SURELY_FULL)


def _is_no_end(text: str, start: int, end: int) -> bool:
    after = text[end : end + _AROUND].lstrip()
    if not after:
        return False
    if after[0].islower():
        return True
    if text[start] != ".":
        return False
    last = text[max(0, start - 20) : start]
    numbers = after[0].isdigit() and _NUMBERED_BY.search(last)
    if numbers or _NUMBERED.search(last) or _ORDINAL.search(last) or (_DAY.search(last) and _MONTH.match(after)):
        return True
    # "in the U.S. The" ends a sentence, "U.S. Navy" does not: what follows an abbreviation decides.
    if not _ABBREVIATION.search(last):
        return False
    several = re.search(r"[A-Z]\.[A-Z]$|\betc$", last)
    return not (several and re.match(r"(?:The|It|He|She|They|In|This|A|His|Her|On|At|After)\b", after))


def _thai_parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A stretch that is mostly Thai, cut at spaces into parts that are long enough to say something."""
    if 2 * len(_THAI.findall(text[start:end])) < end - start or end - start <= _THAI_LENGTH:
        yield start, end
        return
    left = start
    for match in re.finditer(r"\s+", text[start:end]):
        position = start + match.start()
        thai_around = _THAI.match(text[position - 1 : position]) and _THAI.match(text, start + match.end())
        if position - left >= _THAI_LENGTH and thai_around:
            yield left, position
            left = start + match.end()
    yield left, end

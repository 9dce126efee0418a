"""The words of a question that mean something here, in five languages; the words are data.

Each language is a file of `words`; its sections say what its words are: faults, praise of their absence, remedies,
what a file can tell, scales, and the small words that make a question. The language of a text is the one that covers
most of it, so that words which mean something else in another do not meet.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from loopwright.config import shipped
from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.distortions import ALIASES, SUBTYPES, Distortion, parse_distortion

LANGUAGES = ("en", "de", "fr", "es", "it")
"""The files of words; the first one wins where two cover as much of a text."""

CONTENT = frozenset(
    "faults praise topics unmeasured bad good scales rate keep drop remedies advice reference facts metrics "
    "degree".split()
)
"""The sections whose words say what a question is about."""

CONFIRMED = re.compile(
    r"(?:\b(?:not?|kein\w*|nicht)\b|n't) .*,\W*(?:right|correct)\W*$"
    r"|^\W*(?:(?:it|it's|this|that|these|those|the|my)\b.*(?:\bnot|n't)|not?) "
    r"(?!(?:quite|really|all) right)(?:\w+ )+(?:right|correct)\W*$"
)
"""A denial that wants its own words confirmed: "it isn't blurred, right?", but not "it isn't blurred, is it?"."""

_SINGLE = "="
"""The key of a section that is not divided."""

_NEUTRAL = frozenset("color colour brightness exposure contrast saturation sharp sharpness sharpening".split())
"""Names of distortions that in a question are topics, praise or remedies."""


class Span(NamedTuple):
    """Some words of a text, and what they mean."""

    section: str
    """The section that has them."""
    key: str
    """Their meaning in it, such as a distortion's canonical name; empty in a section that is not divided."""
    start: int
    """Where they begin, characters."""
    end: int
    """Where they end."""
    text: str
    """The words."""


def spoken(text: str) -> str:
    """A text in the form that words are looked up in: small letters, one space between words, no hyphens."""
    return re.sub(r"[\s_\-/‐-―]+", " ", text.lower().replace("’", "'")).strip()


@functools.lru_cache(maxsize=512)
def spans(text: str) -> tuple[Span, ...]:
    """What the words of a `spoken` text mean, in order; of words about content within longer ones, the longer ones."""
    found = [*next(iter(_read(text).values()))]
    if not any(span.section in ("faults", "praise", "topics") for span in found):
        found += [span for span in _found(text, LANGUAGES[0]) if span.section == "faults"]
    content = [span for span in found if span.section in CONTENT]
    kept = [span for span in found if span.section not in CONTENT or not any(_within(span, other) for other in content)]
    # "The lower contrast" is less of it, "the lower window" a place, and so is what stands beside "the upper or".
    beside = re.finditer(r"\b(?:upper|top) (?:\w+ )?(?:or|and|than) (?:the )?lower\b", text)
    less = {span.start - 1 for span in content} - {match.end() for match in beside}
    less |= {match.start() for match in re.finditer(r" (?:than|on|in|at)\b", text)}
    kept = [span for span in kept if span.text != "lower" or (span.section == "less") is (span.end in less)]
    return tuple(sorted(dict.fromkeys(kept), key=lambda span: (span.start, -span.end)))


@functools.lru_cache(maxsize=512)
def _read(text: str) -> Mapping[str, list[Span]]:
    """Language -> the words of a text that it knows, of those that cover most of it; "JPEG" is any language's."""
    read = {language: list(_found(text, language)) for language in LANGUAGES}
    covered = {each: len({at for span in read[each] for at in range(span.start, span.end)}) for each in read}
    return {language: read[language] for language in read if covered[language] == max(covered.values())}


def spans_of(section: str, text: str) -> list[Span]:
    """The words of a text that stand in one section."""
    return [span for span in spans(text) if span.section == section]


def all_known(text: str) -> bool:
    """Whether every word of a text means something here."""
    known = {position for span in spans(text) for position in range(span.start, span.end)}
    return all(match.start() in known for match in re.finditer(r"(?<!')[^\W\d_]+", text))


def corrected(text: str) -> str:
    """A `spoken` text, its misspelt words about faults put right: two letters swapped, one lost or doubled.

    They are put right in the language of the text only: German "viele" is no misspelt "veil".
    """
    known = {word for span in spans(text) for word in range(span.start, span.end)}
    stems = [stem for language in _read(text) for stem in _stems(language)]

    def mended(match: re.Match[str]) -> str:
        word = match[0]
        if len(word) < 5 or match.start() in known:
            return word
        return next((stem for stem, whole in stems if misspelt(word, stem, whole=whole)), word)

    return re.sub(r"[^\W\d_]+", mended, text)


def named_distortions(text: str) -> list[str]:
    """The distortions that a text names or asks about ("sharp" asks about blur), by canonical name, once each."""
    words = spoken(text)
    try:
        return [parse_distortion(words.strip(" .?!"))]
    except UnknownNameError:
        about = (span for span in spans(words) if span.section in ("faults", "praise", "topics"))
        return list(dict.fromkeys(canonical(span) for span in about if not is_format(span, words)))


def canonical(span: Span) -> str:
    """The canonical name of the distortion that words about a fault, its absence or its topic speak of."""
    return Distortion.BLURS.value if span.key == Distortion.SHARPNESS else span.key


def is_format(span: Span, text: str) -> bool:
    """Whether a coder's name is that of a file ("this JPEG image"), not of what coding does to one."""
    if span.text not in ("jpeg", "jpg", "jpeg 2000"):
        return False
    image = "|".join(_patterns(LANGUAGES[0])["image", _SINGLE])
    after = re.match(rf"\s*(?:(?:{image})(?!\w)|quality|codec|encoder)", text[span.end :])
    alone = re.search(r"\b(?:this|that|the|my|our|your|a|an|from|to|into|as) $", text[: span.start])
    others = re.search(r"\b(?:png|webp|gif|tiff?|bmp|format)\b", text)
    fault = re.match(r" (?:art[ie]|block|compress|damag|nois|ring)", text[span.end :])
    return bool(after) or bool((alone or others) and not fault)


def _found(text: str, language: str) -> Iterator[Span]:
    for (section, key), pattern in _compiled(language).items():
        for match in pattern.finditer(text):
            yield Span(section, "" if key == _SINGLE else key, *match.span(), match[0])


def _within(span: Span, other: Span) -> bool:
    # "Flawless", "noiseless": what speaks of the absence of a fault is not the fault.
    denied = span.section in ("faults", "bad") and other.section in ("praise", "good")
    return other.start <= span.start and span.end <= other.end and (denied or len(other.text) > len(span.text))


@functools.cache
def _compiled(language: str) -> Mapping[tuple[str, str], re.Pattern[str]]:
    return {
        name: re.compile(rf"(?<!\w)(?:{'|'.join(sorted(entries, key=len, reverse=True))})(?!\w)")
        for name, entries in _patterns(language).items()
    }


@functools.cache
def _patterns(language: str) -> Mapping[tuple[str, str], list[str]]:
    """Section and key -> an expression for each entry."""
    patterns = {
        (section, key): [_expression(entry) for entry in str(entries).split()]
        for section, keys in words(language).items()
        for key, entries in keys.items()
    }
    if language == LANGUAGES[0]:
        for alias, name in (*ALIASES.items(), *((name, name) for name in (*SUBTYPES, *Distortion))):
            if alias not in _NEUTRAL:
                expression = _expression(alias.replace(" ", "_"))
                known = [each for (section, _), listed in patterns.items() if section == "faults" for each in listed]
                if expression not in known:
                    patterns.setdefault(("faults", name), []).append(expression)
    return patterns


def words(language: str) -> Mapping[str, Mapping[str, str]]:
    """Section -> key -> the words of a language, as they are written in its file."""
    sections: dict[str, Any] = shipped("loopwright.workflows.iqa.question", f"words/{language}.yaml")
    return {section: keys if isinstance(keys, dict) else {_SINGLE: keys} for section, keys in sections.items()}


def _expression(entry: str) -> str:
    parts = [r"\S+(?: \S+){0,2}?" if part == "*" else re.escape(part) for part in entry.split("_")]
    return r"\s".join(part.replace(r"\*", r"[\w']*") for part in parts)


@functools.cache
def _stems(language: str) -> tuple[tuple[str, bool], ...]:
    """The words and beginnings of words about faults and quality, of four letters at least, and which are whole."""
    entries = [
        (entry.strip("*"), not entry.endswith("*"))
        for section in ("faults", "praise", "topics", "bad", "good")
        for listed in words(language)[section].values()
        for entry in listed.split()
    ]
    return tuple(sorted({each for each in entries if len(each[0]) >= 4 and not re.search(r"[_*]", each[0])}))


def misspelt(word: str, stem: str, *, whole: bool = False) -> bool:
    """Whether a word begins as another does, with two letters swapped or, of a long one, a letter doubled or lost."""
    size = len(stem)
    if whole and len(word) > size + (size > 5):
        return False  # "niece" is no "nice"; nor, below, is "anonymous" "annoying"
    swapped = word[:size]
    if swapped != stem and sorted(swapped) == sorted(stem) and (size > 5 or len(word) <= size + 3):
        differ = [i for i, (a, b) in enumerate(zip(swapped, stem, strict=True)) if a != b]
        return len(differ) == 2 and differ[1] - differ[0] == 1
    if size < 6:
        return False
    longer, shorter = word[: size + 1], word[: size - 1]
    doubled = any(longer[:i] + longer[i + 1 :] == stem and longer[i] == longer[i - 1] for i in range(1, len(longer)))
    return doubled or any(stem[:i] + stem[i + 1 :] == shorter and stem[i] == stem[i - 1] for i in range(1, size))

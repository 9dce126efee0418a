"""The objects that a query asks about.

There is no grammar here, only word lists: a noun phrase begins after "the", "my", "of", "in" or "is", and ends at the
first word that cannot be part of one. What is left of it, once words for the image and for quality are taken off, is an
object. Where the lists do not know better, an unknown word counts as part of the object's name. A position in the image
("the upper half") is read like an object, unless it only says where an object is.
"""

from __future__ import annotations

import re
from typing import Literal

from loopwright.workflows.iqa.distortions import ALIASES, known_distortions
from loopwright.workflows.iqa.query.places import mark_places
from loopwright.workflows.iqa.query.terms import spoken
from loopwright.workflows.iqa.schemas import GLOBAL
from loopwright.workflows.iqa.tools.registry import all_tools

MAX_OBJECTS = 8
"""More objects than this are no question about objects."""

MAX_WORDS = 4
"""The most words in an object's name."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DETERMINERS = _set("the this that these those my our your his her its their every both")
_ARTICLES = _set("a an some any")
_PLACE_WORDS = _set("of in on around near behind under above inside across")
_VERBS = _set("is are was were does do did has have")
_QUESTION_STARTS = _set("and or but why how where so if whether ? . , ; :")

_IMAGE = _set(
    "image images picture pictures photo photos photograph photographs photography pic pics shot shots snapshot "
    "frame frames file files video scan screenshot scene jpeg jpg png tiff webp raw version copy original reference "
    "render image's picture's photo's photograph's"
)
_GENERAL = _set(
    "whole overall entire most main major biggest worst best dominant general total same other others following "
    "given attached above rest first second third last next low high higher lower visual perceptual perceived "
    "technical real actual amount degree level levels extent severity type types kind kinds sort form cause causes "
    "reason reasons source effect effects result results difference differences way term terms case fact score "
    "scores rating ratings scale answer answers option options choice question list number value values metric "
    "metrics tool tools method model quality sharpness clarity detail details resolution focus light lighting "
    "composition appearance look impression problem problems issue issues defect defects flaw flaws fault faults "
    "artifact artifacts artefact artefacts distortion distortions degradation degradations damage imperfections "
    "texture textures tone tones color colors colour colours presence lack loss opinion region regions area box crop "
    "roi rectangle codec codecs encoder thing things everything camera lens sensor photographer viewer web print "
    "printing phone screen display glance use website dataset publication professional standard standards average "
    "comparison particular addition order short all one two three four five ten hundred percent bit moment time day "
    "exposure highlights shadows midtones bitrate edges mos"
)
_POSITIONS = _set("side sides left right middle center centre top bottom half")
_QUALITY = _set(
    "good bad better worse poor great fine ok okay excellent fair acceptable usable clear unclear clean crisp soft "
    "hazy foggy visible noticeable natural unnatural real wrong off right bright light low high sharper blurrier "
    "noisier softer darker brighter dimmer grainier blockier crisper clearer cleaner focus legible readable smooth "
    "noisiest sharpest blurriest softest grainiest darkest brightest crispest clearest cleanest blockiest haziest "
    "rough strong weak severe slight mild moderate extreme present absent "
    "enough free full sharp washed blown crushed clipped lossy lossless correct transparent tolerable sufficient "
    "accurate neutral invisible negligible unacceptable"
) | {word for name in (*ALIASES, *known_distortions()) for word in name.split() if word not in ("of", "out", "and")}
_STOPS = (
    _set(
        "is are was were be been being am do does did has have had can could will would shall should may might must "
        "and or but nor not no so very too quite rather really more most less least than as at by for from into onto "
        "with without to of in on around near behind under above inside across off out up down over between against "
        "per what which who whom whose when where why how if whether because since while that this these those the a "
        "an my our your his her its their it he she they them you i we me us there here anything something "
        "everything nothing any some each every both either look looks looked looking appear appears seem seems "
        "suffer suffers show shows contain contains get gets need needs make makes give gives like please also just "
        "only even still now then again about due affected caused hurt hurts harm harms affect affects reduce "
        "reduces improve change changes rate score tell compared compare versus vs"
    )
    | _QUALITY
)
_PARTS = _set("area areas region regions part parts zone zones corner corners tone tones spot spots background clothes")
_NOUN_ENDINGS = _set(
    "building ceiling ring wing king painting clothing string spring railing wedding bed shed seed weed red"
)
_NOUN_ABLE = _set("table cable vegetable")
_TOKEN = re.compile(r"[^\W\d_][\w']*|\d+|[^\w\s]")


def query_scope(stem: str) -> list[str] | Literal["Global"]:
    """The objects that a query asks about.

    Args:
        stem: The query, without its answer options.

    Returns:
        Different names of objects or positions in small letters, in order, or "Global" if the query is about the image
        as a whole.
    """
    text, places = mark_places(spoken(stem))
    tokens: list[str] = _TOKEN.findall(text)
    named = [places.get(token, token) for token in tokens]
    positions = frozenset(places.values())
    found = _objects(named, positions)
    if len(positions) > 1 and positions.issuperset(found):
        # No object stands in these positions, so the question is about all of them: "the sharpness of the left half and
        # the right half".
        return [name for name in dict.fromkeys(named) if name in positions][:MAX_OBJECTS]
    return found or GLOBAL


def _objects(tokens: list[str], places: frozenset[str]) -> list[str]:
    """The objects and positions that a query in tokens names; a position is one token."""
    names = {tool.name.lower() for tool in all_tools()}
    found: list[str] = []
    asked_about: list[str] = []
    position = 0
    while position < len(tokens):
        if position and tokens[position - 1] in _IMAGE and tokens[position] in ("of", "showing", "with"):
            # "the photo of the dog" is about the photo.
            position = _skip_phrase(tokens, position + 1)
            continue
        start = _phrase_start(tokens, position)
        if start is None:
            position += 1
            continue
        phrase, end = _phrase(tokens, start)
        if any(word in _IMAGE for word in phrase):
            position = max(end, position + 1)
            continue
        name = _object_name(phrase, names)
        asked = tokens[position] not in _VERBS or (end < len(tokens) and tokens[end] in _QUALITY | {"in", "too", "so"})
        if name and asked:
            owner, end = _owner(tokens, end, names)
            # "The car on the left side" asks about the car alone.
            if name not in places or tokens[position - 1] not in _PLACE_WORDS | {"at", "to"}:
                asked_about.append(name + owner)
            found.append(name + owner)
            more: list[str] = []
            end = _more(tokens, end, names, more)
            found += more
            asked_about += more
        position = max(end, position + 1)
    things = [name for name in asked_about if name in places or name.split()[-1] not in _POSITIONS]
    return list(dict.fromkeys(things or found))[:MAX_OBJECTS]


def _phrase_start(tokens: list[str], position: int) -> int | None:
    """Where a noun phrase begins that this token announces, or None."""
    token, following = tokens[position], tokens[position + 1 : position + 2]
    if not following:
        return None
    if token in _DETERMINERS:
        return position + 1
    if token in _PLACE_WORDS:
        if following[0] in _DETERMINERS:
            return None
        return position + 2 if following[0] in _ARTICLES else position + 1
    first = position == 0 or tokens[position - 1] in _QUESTION_STARTS
    if token in _VERBS and first and following[0] not in _STOPS:
        return position + 1
    return None


def _phrase(tokens: list[str], start: int) -> tuple[list[str], int]:
    """The words from `start` that can make one noun phrase, and where they end."""
    end = start
    if tokens[start : start + 1] and tokens[start] in _QUALITY:
        in_dark_areas = tokens[start + 1 : start + 2] and tokens[start + 1] in _PARTS
        while end < len(tokens) and tokens[end] in _QUALITY and not in_dark_areas:
            end += 1
        start, end = end, end + 2 if in_dark_areas else end
    while end < len(tokens) and end - start < MAX_WORDS and not _ends_phrase(tokens[end], first=end == start):
        end += 1
        if " " in tokens[end - 1]:  # a position is a phrase by itself
            break
    return tokens[start:end], end


def _ends_phrase(word: str, *, first: bool) -> bool:
    if word in _STOPS or not word[0].isalpha():
        return True
    if first or word in _NOUN_ENDINGS or word in _NOUN_ABLE:
        return False
    return word.endswith(("ing", "ly", "able", "ible")) or (word.endswith("ed") and len(word) > 4)


def _object_name(phrase: list[str], tools: set[str]) -> str | None:
    """The object that a noun phrase names, or None if it names the image or a property."""
    words = list(phrase)
    while words and (words[-1] in _GENERAL or words[-1] in tools) and not (len(words) == 2 and words[0] in _QUALITY):
        words.pop()
    while words and (words[0] in _GENERAL or words[0] in tools):
        words.pop(0)
    return " ".join(words) or None


def _owner(tokens: list[str], end: int, tools: set[str]) -> tuple[str, int]:
    """The " of the woman" after "the face", and where it ends; empty if nothing of the kind follows."""
    if tokens[end : end + 1] != ["of"]:
        return "", end
    start = end + 1
    while start < len(tokens) and tokens[start] in _DETERMINERS | _ARTICLES:
        start += 1
    if start == len(tokens):
        return "", end
    phrase, phrase_end = _phrase(tokens, start)
    name = None if any(word in _IMAGE for word in phrase) else _object_name(phrase, tools)
    return (f" of the {name}", phrase_end) if name else ("", end)


def _more(tokens: list[str], end: int, tools: set[str], found: list[str]) -> int:
    """Add "and dog", ", the tree" after an object; gives the new end."""
    while end < len(tokens) and tokens[end] in ("and", "or", ",", "&"):
        start = end
        while start < len(tokens) and tokens[start] in ("and", "or", ",", "&", "the", "my", "a"):
            start += 1
        if start == len(tokens):
            return end
        phrase, phrase_end = _phrase(tokens, start)
        name = None if any(word in _IMAGE for word in phrase) else _object_name(phrase, tools)
        if not name or tokens[start] in _VERBS:
            return end
        found.append(name)
        end = phrase_end
    return end


def _skip_phrase(tokens: list[str], position: int) -> int:
    while position < len(tokens) and tokens[position] in _DETERMINERS | _ARTICLES:
        position += 1
    return _phrase(tokens, position)[1] if position < len(tokens) else position

"""The entities that a passage names, and which of its names are short for others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from loopwright.retrieval.names import FoundMention, entity_key, find_mentions
from loopwright.retrieval.records import Alias, Mention, Passage
from loopwright.retrieval.text import fold

__all__ = ["FoundMention", "aliases_in", "entity_key", "find_mentions", "mentions_in"]

_IN_BRACKETS = re.compile(r"(?<!\s)\s*+[(（]([^()（）]{2,80})[)）]")
_NAME_BEFORE = re.compile(r"(?:[^\W\d_][\w'’\-]*(?: & | )){0,11}[^\W\d_][\w'’\-]*$")
_ACRONYM = re.compile(r"[^\W\d_](?:[.&]?[^\W_]){1,8}\.?")
_SMALL = frozenset("a an and at by de del der des di du for from in la of on or the to und van von & y".split())

_PLACE_BEFORE = re.compile(
    r"\b(?:across|at|from|in|into|near|of|throughout|to|toward|within|inside)\s+(?:the\s+)?$", re.I
)
# The last word of "North Korea" or "Lake Michigan" is another place, not a short form.
_NO_FIRST_NAME = frozenset(
    "north south east west northern southern eastern western central new old upper lower great greater inner outer air "
    "lake mount fort port cape saint st san santa los las team radio royal miss super grand city".split()
)
_KINDS = frozenset(
    "airlines airways bank brothers club college company corp corporation foundation group hotels inc industries "
    "institute limited ltd records university".split()
)
_ADJECTIVE_END = re.compile(r"(?:an|ese|ish|ch|ic|al)$")


def mentions_in(passage: Passage) -> list[Mention]:
    """The entities that a passage names.

    A surname or another short form counts as the longer name of the same passage or of the document's title: "Curie"
    is Marie Curie where "Marie Curie" stands before it. That holds for this passage only.

    Args:
        passage: The passage, with its document's title.
    """
    found = find_mentions(passage.text, title=passage.title)
    longer = _short_forms(passage.text, passage.title, found)
    return [
        Mention(
            entity=longer.get(mention.entity, mention.entity),
            name=mention.name,
            passage_id=passage.id,
            start=mention.start,
            end=mention.end,
        )
        for mention in found
    ]


def aliases_in(document_id: str, passages: Sequence[Passage]) -> list[Alias]:
    """The acronyms that a document explains: "International Business Machines (IBM)", "IBM (International ...)".

    Args:
        document_id: The document.
        passages: Its passages.

    Returns:
        The aliases in order, each once.
    """
    pairs = [pair for passage in passages for pair in _acronyms(passage.text)]
    return [
        Alias(alias=alias, entity=entity, document_id=document_id)
        for alias, entity in dict.fromkeys(pairs)
        if alias and entity and alias != entity
    ]


def _acronyms(text: str) -> Iterable[tuple[str, str]]:
    for match in _IN_BRACKETS.finditer(text):
        before = _NAME_BEFORE.search(text, max(0, match.start() - 120), match.start())
        if before is None:
            continue
        inside, words = match[1].strip(), before[0].split(" ")
        if _is_acronym(inside):
            for first in range(len(words)):
                if _spells(words[first:], inside):
                    yield entity_key(inside), entity_key(" ".join(words[first:]))
                    break
        elif _is_acronym(words[-1]) and _spells(inside.split(" "), words[-1]):
            yield entity_key(words[-1]), entity_key(inside)


def _is_acronym(word: str) -> bool:
    return bool(_ACRONYM.fullmatch(word)) and sum(character.isupper() for character in word) >= 2


def _spells(words: Sequence[str], acronym: str) -> bool:
    """Whether the initials of some words, with or without the small ones, are the letters of an acronym."""
    if len(words) < 2 or not words[0][:1].isupper():
        return False
    letters = "".join(character for character in fold(acronym) if character.isalnum())
    parts = [part for word in words for part in fold(word).split("-") if part]
    initials = "".join(part[0] for part in parts)
    return letters in (initials, "".join(part[0] for part in parts if part not in _SMALL))


def _short_forms(text: str, title: str, found: Sequence[FoundMention]) -> dict[str, str]:
    """Key of a one-word name -> key of the one longer name that it is short for."""
    single: dict[str, list[FoundMention]] = {}
    longer: dict[str, dict[str, int]] = {}
    for mention in found:
        if " " not in mention.entity:
            single.setdefault(mention.entity, []).append(mention)
        elif mention.name[:1].isupper() and _may_be_shortened(mention.entity):
            longer.setdefault(mention.entity.split()[-1], {}).setdefault(mention.entity, mention.start)
    title_key = entity_key(title)
    # What stands after a comma in a title says where: "Goodings Grove, Illinois".
    of_title = _shortened_title(entity_key(title.partition(",")[0]))
    forms: dict[str, str] = {}
    for key, mentions in single.items():
        full = longer.get(key, {})
        if key in of_title:
            forms[key] = title_key
        elif len(full) == 1 and next(iter(full.values())) < mentions[0].start and not _names_place(text, mentions):
            forms[key] = next(iter(full))
    return forms


def _names_place(text: str, mentions: Sequence[FoundMention]) -> bool:
    return any(_PLACE_BEFORE.search(text, max(0, mention.start - 20), mention.start) for mention in mentions)


def _shortened_title(key: str) -> set[str]:
    """The words that can stand for a title: a surname, or a firm's name without what kind of firm it is."""
    words = key.split()
    forms: set[str] = set()
    if _may_be_shortened(key):
        forms.add(words[-1])
    if 2 <= len(words) <= 3 and words[-1] in _KINDS and not _ADJECTIVE_END.search(words[0]):
        forms.add(words[0])
    return forms


def _may_be_shortened(key: str) -> bool:
    words = key.split()
    named = 2 <= len(words) <= 4 and words[0] not in _NO_FIRST_NAME and words[-1] not in _KINDS
    return named and words[0] != words[-1] and not any(word in _SMALL or word.isdigit() for word in words)

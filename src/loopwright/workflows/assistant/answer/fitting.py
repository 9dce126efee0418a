"""How far a record meets what was asked, and the words it has of it."""

from __future__ import annotations

import re
from functools import lru_cache

from loopwright.retrieval.text import fold, terms
from loopwright.workflows.assistant.schemas import Condition, Filters, Record
from loopwright.workflows.assistant.sources.catalogue import holds

_NO_WORD = re.compile(r"[\W_]+")


def unmet(record: Record, filters: Filters) -> tuple[Condition, ...]:
    """The conditions that a record does not meet; what it has nothing of is not judged.

    Args:
        record: The record.
        filters: What was asked.
    """
    return tuple(asked for asked in filters.include if holds(record, asked) is False)


def words_of(record: Record) -> str:
    """The words of a record's title, texts and fields, folded, each after one blank.

    Args:
        record: The record.
    """
    fields = (value for values in record.fields.values() for value in values)
    return "".join(map(folded_words, [record.title, *record.texts.values(), *fields]))


@lru_cache(maxsize=8192)
def folded_words(text: str) -> str:
    """The words of a text, folded, each after one blank.

    Args:
        text: The text.
    """
    return f" {_NO_WORD.sub(' ', fold(text)).strip()}"


@lru_cache(maxsize=2048)
def terms_of(words: str) -> frozenset[str]:
    """The terms of some words.

    Args:
        words: The words, as `folded_words` gives them.
    """
    return frozenset(terms(words))

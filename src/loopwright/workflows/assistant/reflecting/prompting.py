"""What a chat model is shown before it reflects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from loopwright.retrieval.web import untrusted_line
from loopwright.workflows.assistant.reflecting.feedback import NEAR_ENOUGH
from loopwright.workflows.assistant.schemas import Filters, PlannedQuery, SearchOutcome, Table, Understanding
from loopwright.workflows.assistant.searching import Search
from loopwright.workflows.assistant.searching.words import asked_words

_NEAR = 6
"""Records that are shown."""
_NEIGHBOURS = 4
"""Other words for each word of the topic."""
_WORDS = 8
"""Words of the topic whose neighbours are shown."""
_LENGTH = 150
"""Characters of a line."""


def shown_search(
    understanding: Understanding,
    outcomes: Sequence[SearchOutcome],
    attempts: Sequence[Sequence[PlannedQuery]],
    search: Search,
) -> dict[str, str]:
    """The values of the prompt ``reflect_and_replan`` beside the question, each safe to put into it.

    Args:
        understanding: What the question asks for.
        outcomes: What the queries of the last plan brought.
        attempts: Every plan so far.
        search: The conference and its words.

    Returns:
        ``topic``, ``filters``, ``tables``, ``vocabulary``, ``tried`` and ``near``.
    """
    counts = {outcome.query: len(outcome.hits) for outcome in outcomes}
    tried = [_shown_query(query, counts.get(query)) for plan in attempts for query in plan]
    seen = {found.record.id: found for outcome in outcomes for found in (*outcome.hits, *outcome.near_misses)}
    # What scores less is there by chance, and a small model would take it for the topic.
    close = (found for found in seen.values() if found.score >= NEAR_ENOUGH)
    near = sorted(close, key=lambda found: -found.score)[:_NEAR]
    return {
        "topic": _line(understanding.topic) or "no topic",
        "filters": _shown_filters(understanding.filters),
        "tables": ", ".join(table.value for table in Table if search.catalogue.of_table(table)) or "none",
        "vocabulary": _shown_words(understanding.topic, search),
        "tried": _listed(tried),
        "near": _listed(f"{each.score:.2f} {each.record.table.value}: {each.record.title}" for each in near),
    }


def _shown_query(query: PlannedQuery, results: int | None) -> str:
    # Only the last plan's counts are known; that an earlier one led to another search says enough.
    found = "too little" if results is None else f"{results} results"
    asked = "" if query.filters.empty else f", {_shown_filters(query.filters)}"
    # The whole record is the usual way to compare.
    mode = f", {query.search_mode}" if query.search_mode == "faceted" else ""
    shown = f'{query.table.value} "{query.query_text[:_LENGTH]}"{mode}{asked}'
    return f"{shown}, threshold {query.score_threshold:.2f}: {found}"


def _shown_filters(filters: Filters) -> str:
    return "nothing" if filters.empty else untrusted_line("; ".join(_asked(filters)))


def _asked(filters: Filters) -> Iterator[str]:
    """Each part of filters, for example ``rooms Janson, UD2``."""
    alternatives = " or ".join(f"({'; '.join(_asked(each))})" for each in filters.any_of)
    if alternatives:
        yield f"any of {alternatives}"
    asked = filters.model_dump(mode="json", exclude_defaults=True, exclude={"any_of"})
    for name, value in asked.items():
        yield f"{name.replace('_', ' ')} {', '.join(value) if isinstance(value, list) else value}"


def _shown_words(topic: str, search: Search) -> str:
    found: list[str] = []
    for word in asked_words(topic)[:_WORDS]:
        others = [neighbour.word for neighbour in search.vocabulary.neighbours(word, _NEIGHBOURS)]
        if others:
            found.append(f"{word}: {', '.join(others)}")
    return untrusted_line("; ".join(found)) or "none"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_line(line)}" for line in lines) or "none"


def _line(text: str) -> str:
    return untrusted_line(text[: 2 * _LENGTH])

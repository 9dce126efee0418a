"""The ways to search more widely, each by one named step; none of them drops what was excluded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loopwright.workflows.assistant.answer.wording import condition_said
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.schemas import Filters, PlannedQuery, Question, SearchOutcome, Slot, Strategy
from loopwright.workflows.assistant.searching.search import Search

NEAR = 0.5
"""What the threshold is multiplied with where what comes near counts too."""
_GIVEN_UP: tuple[tuple[Slot, ...], ...] = (("start", "end", "on", "minutes"), ("room",), ("track", "type"), ("day",))
"""What may be given up, the first first: a visit is planned by days. Persons and languages stay: somebody else's talk,
or one that is not understood, is no answer."""
_FEW = 5
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Step:
    """One way to search more widely."""

    name: str
    """What is widened, for developers."""
    strategy: Strategy
    """How the plan differs."""
    queries: tuple[PlannedQuery, ...]
    """The new searches."""
    told: str
    """What is done, for the person: "I ..."."""


def steps(
    question: Question, outcomes: Sequence[SearchOutcome], search: Search, config: AssistantSection
) -> Iterator[Step]:
    """The steps, what the evidence speaks for most first.

    Yields:
        Steps whose queries may have been tried already.
    """
    poor = [outcome.query for outcome in outcomes if len(outcome.hits) < config.search.enough] or [
        outcome.query for outcome in outcomes
    ]
    # Where nothing passes the conditions, no other words will find anything.
    yield from _fewer([each for each in poor if not search.catalogue.filtered(each.table, each.filters)], config)
    if question.topic or any(query.query_text for query in poor):
        for kind, told in _KINDS.items():
            yield from _other_words(poor, kind, told, search)
        # Where no word stands in anything that passes, nothing can come near it.
        yield from _fewer([each.query for each in outcomes if not each.hits and not each.near_misses], config)
        if search.by_meaning and not any(query.by_meaning for query in poor):
            yield from _nearer(poor, "meaning", "pivot", "look for what means the same in other words")
        yield from _nearer(poor, "near misses", "relax", "look at what comes near it")
    if not any(outcome.hits for outcome in outcomes):
        yield from _fewer(poor, config)


_KINDS = {
    "spelling": "take it as {}",
    "short form": "look for {} as well",
    "form": "look for {} as well",
}


def _other_words(poor: Sequence[PlannedQuery], kind: str, told: str, search: Search) -> Iterator[Step]:
    """The same in the programme's own spelling, spelled out or shortened, or in another form of a word."""
    changed: dict[str, str] = {}
    for query in poor:
        for match in _WORD.finditer(query.query_text):
            other = next((each for each in search.vocabulary.others(match[0]) if each.kind == kind), None)
            if other is not None:
                changed[match[0]] = other.text
        whole = next((each for each in search.vocabulary.others(query.query_text) if each.kind == kind), None)
        if whole is not None and kind == "short form":
            changed[query.query_text] = whole.text
    if not changed:
        return
    queries: list[PlannedQuery] = []
    for query in poor:
        text = query.query_text
        for old, new in changed.items():
            text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new if kind == "spelling" else f"{old} {new}", text)
        queries.append(query.model_copy(update={"query_text": text}))
    words = " and ".join(f"“{each}”" for each in changed.values())
    yield Step(kind, "rewrite", tuple(queries), told.format(words))


def _nearer(poor: Sequence[PlannedQuery], name: str, strategy: Strategy, told: str) -> Iterator[Step]:
    """What comes near counts too: by its meaning alone, or as before."""
    queries = [
        query.model_copy(
            update={"score_threshold": round(query.score_threshold * NEAR, 4), "by_meaning": strategy == "pivot"}
        )
        for query in poor
        if query.query_text
    ]
    yield Step(name, strategy, tuple(queries), told)


def _fewer(poor: Sequence[PlannedQuery], config: AssistantSection) -> Iterator[Step]:
    for query in poor:
        for filters, gone in fewer_conditions(query.filters, keep_kind=not query.query_text):
            wider = query.model_copy(
                update={"filters": filters, "limit": _FEW, "score_threshold": config.search.score_threshold}
            )
            yield Step("fewer conditions", "relax", (wider,), f"leave out that it is to be {gone}")


def fewer_conditions(filters: Filters, *, keep_kind: bool = False) -> list[tuple[Filters, str]]:
    """The filters with one kind of condition less each, the nearest first; exclusions stay.

    Args:
        filters: What was asked.
        keep_kind: Whether the last that says what is asked about must stay: without a topic, some condition is it.

    Returns:
        The filters, and what was given up, for people.
    """
    found: list[tuple[Filters, str]] = []
    for slots in _GIVEN_UP:
        gone = [each for each in filters.include if each.slot in slots]
        wider = filters.but(*slots)
        if (
            not gone
            or (keep_kind and not wider.include)
            or (keep_kind and slots == ("day",) and not _of_something(wider))
        ):
            continue
        found.append((wider, " ".join(filter(None, (condition_said(each) for each in gone)))))
    return found


def _of_something(filters: Filters) -> bool:
    return any(each.slot in ("person", "track", "type", "room", "on") for each in filters.include)

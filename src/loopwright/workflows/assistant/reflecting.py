"""Thinking again after a poor search: whether to, what to search next, and what of a chat model's plan is taken."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from pydantic import BaseModel

from loopwright.retrieval.text import LETTER, fold
from loopwright.retrieval.web import untrusted_line
from loopwright.retrieval.web.cleaning import collapse
from loopwright.workflows.assistant.answer.wording import NOUNS, condition_said, described, excluded, shortened, subject
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.constants import SURE
from loopwright.workflows.assistant.schemas import (
    Filters,
    Found,
    PlannedQuery,
    Question,
    Reflection,
    SearchOutcome,
    Slot,
    Strategy,
    Table,
)
from loopwright.workflows.assistant.searching.search import Search

ENOUGH_ALONE = 0.75
"""One result with so much evidence is enough, however few there are."""
MAX_QUERIES = 4
"""Queries of one new plan; a person waits for each."""


def wish_after(
    question: Question,
    outcomes: Sequence[SearchOutcome],
    query_results: Mapping[str, Sequence[Found]],
    config: AssistantSection,
) -> str | None:
    """Say in a few words why another search would help; pure, and blind to how many are left.

    None where nothing was asked, what was found over all plans is good, or nothing could find more.
    """
    if not question.searches or not outcomes or question.operation in ("count", "most"):
        return None
    asked = list(dict.fromkeys(outcome.query.table for outcome in outcomes))
    found = {table: list(query_results.get(table, ())) for table in asked}
    empty = [table for table, results in found.items() if not results]
    if not any(outcome.query.query_text for outcome in outcomes):
        # A question about no topic lists whatever is there: few are all that there are.
        if len(empty) < len(found) or not fewer_conditions(outcomes[0].query.filters, keep_kind=True):
            return None
        return "nothing at that time and place"
    if empty:
        return f"no {' or '.join(empty)} found"
    first = next((table for table in question.tables if table in found), asked[0])
    best = max(each.score for each in found[first])
    if best < SURE:
        return f"the {first.value} found fit only loosely"
    # What a person gives is few by nature, and a title that was meant is found alone.
    few = len(found[first]) < config.search.enough and not question.filters.values("person")
    if few and best < ENOUGH_ALONE and question.operation == "find" and not question.parts:
        return f"only {len(found[first])} {NOUNS[first][len(found[first]) != 1]} found"
    return None


def untried(queries: Iterable[PlannedQuery], attempts: Sequence[Sequence[PlannedQuery]]) -> tuple[PlannedQuery, ...]:
    """The first of some queries that equal none of any plan so far in every parameter, each once.

    Texts are compared without case, accents and repeated spaces.
    """
    tried = {_form(query) for query in chain.from_iterable(attempts)}
    new = {form: query for query in queries if (form := _form(query)) not in tried}
    return tuple(new.values())[:MAX_QUERIES]


def _form(query: PlannedQuery) -> str:
    return query.model_copy(update={"query_text": " ".join(fold(query.query_text).split())}).model_dump_json()


NEAR = 0.5
"""What the threshold is multiplied with where what comes near counts too."""
_GIVEN_UP: tuple[tuple[Slot, ...], ...] = (("start", "end", "on", "minutes"), ("room",), ("track", "type"), ("day",))
"""What may be given up, the first first: a visit is planned by days. Persons and languages stay: somebody else's talk,
or one that is not understood, is no answer."""
_OF_SOMETHING = ("person", "track", "type", "room", "on")
"""What says what is asked about where the day is given up."""
_FEW = 5
_WORD = re.compile(f"{LETTER}+")


def steps(
    question: Question, outcomes: Sequence[SearchOutcome], search: Search, config: AssistantSection
) -> Iterator[Reflection]:
    """The ways to search more widely, what the evidence speaks for most first; their queries may have been tried.

    Of each the reasoning says what is widened, and the message what is done: "I ...".
    """
    few = [outcome for outcome in outcomes if len(outcome.hits) < config.search.enough]
    poor = [outcome.query for outcome in few or outcomes]
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


_KINDS = {"spelling": "take it as {}", "short form": "look for {} as well", "form": "look for {} as well"}


def _other_words(poor: Sequence[PlannedQuery], kind: str, told: str, search: Search) -> Iterator[Reflection]:
    """The same in the programme's own spelling, spelled out or shortened, or in another form of a word."""
    changed: dict[str, str] = {}
    for query in poor:
        whole = [query.query_text] if kind == "short form" else []
        for said in [*_WORD.findall(query.query_text), *whole]:
            others = (each for each, of in search.vocabulary.others(said).items() if of == kind)
            if other := next(others, ""):
                changed[said] = other
    if not changed:
        return
    queries: list[PlannedQuery] = []
    for query in poor:
        text = query.query_text
        for old, new in changed.items():
            text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new if kind == "spelling" else f"{old} {new}", text)
        queries.append(query.model_copy(update={"query_text": text}))
    words = " and ".join(f"“{each}”" for each in changed.values())
    yield Reflection(reasoning=kind, strategy="rewrite", message=told.format(words), queries=tuple(queries))


def _nearer(poor: Sequence[PlannedQuery], name: str, strategy: Strategy, told: str) -> Iterator[Reflection]:
    """What comes near counts too: by its meaning alone, or as before."""
    queries = (lowered(query, by_meaning=strategy == "pivot") for query in poor if query.query_text)
    yield Reflection(reasoning=name, strategy=strategy, message=told, queries=tuple(queries))


def lowered(query: PlannedQuery, **more: Any) -> PlannedQuery:
    """A query for which what comes near counts too, with what else is changed."""
    return query.model_copy(update={"score_threshold": round(query.score_threshold * NEAR, 4), **more})


def _fewer(poor: Sequence[PlannedQuery], config: AssistantSection) -> Iterator[Reflection]:
    for query in poor:
        for filters, gone in fewer_conditions(query.filters, keep_kind=not query.query_text):
            times = (each for each in query.filters.include if each.slot in ("start", "end", "on"))
            near = next((each.most if each.least is None else each.least for each in times), None)
            update = {"filters": filters, "limit": _FEW, "score_threshold": config.search.score_threshold, "near": near}
            told = f"leave out that it is to be {gone}"
            wider = (query.model_copy(update=update),)
            yield Reflection(reasoning="fewer conditions", strategy="relax", message=told, queries=wider)


def fewer_conditions(filters: Filters, *, keep_kind: bool = False) -> list[tuple[Filters, str]]:
    """The filters with one kind of condition less each, the nearest first, and what was given up; exclusions stay.

    Without a topic, some condition says what is asked about, and the last that does must stay (``keep_kind``).
    """
    found: list[tuple[Filters, str]] = []
    for slots in _GIVEN_UP:
        gone = [each for each in filters.include if each.slot in slots]
        wider = filters.but(*slots)
        kinds = [each for each in wider.include if slots != ("day",) or each.slot in _OF_SOMETHING]
        if gone and (kinds or not keep_kind):
            found.append((wider, " ".join(filter(None, (condition_said(each) for each in gone)))))
    return found


_LONGEST_TOPIC = 80
_SHOWN_NEAR = 6
_SHOWN_WORDS = 8
_LENGTH = 150


def reflect(
    question: Question,
    outcomes: Sequence[SearchOutcome],
    attempts: Sequence[Sequence[PlannedQuery]],
    search: Search,
    config: AssistantSection,
) -> Reflection:
    """Look at what was searched and found, and plan what to search next; nothing is searched here.

    Each pass widens by one named step that was not taken yet: see `steps`. What was excluded stays excluded. No query
    of the plan equals an earlier one in every parameter; it has none if nothing is left.
    """
    seen = _seen(outcomes)
    for step in steps(question, outcomes, search, config):
        if queries := untried(step.queries, attempts):
            shown = shortened(subject(question.topic), _LONGEST_TOPIC)
            about = f" on “{shown}”" if shown else " at that time and place"
            found = any(outcome.hits for outcome in outcomes)
            begin = f"There is little{about} so far" if found else f"I found nothing{about} yet"
            told = {"reasoning": f"{seen} Next: {step.reasoning}.", "message": f"{begin}, so I {step.message}."}
            return step.model_copy(update={**told, "queries": queries})
    return Reflection(
        reasoning=f"{seen} Nothing is left that was not searched.",
        strategy="",
        message="There is no other way to look for this, so here is what I have.",
        queries=(),
    )


def shown_search(
    question: Question, outcomes: Sequence[SearchOutcome], attempts: Sequence[Sequence[PlannedQuery]], search: Search
) -> dict[str, str]:
    """The values of the prompt ``reflect_and_replan`` beside the question, each safe to put into it."""
    counts = {outcome.query: len(outcome.hits) for outcome in outcomes}
    tried = [_shown_query(query, counts.get(query)) for plan in attempts for query in plan]
    seen = {found.record.id: found for outcome in outcomes for found in (*outcome.hits, *outcome.near_misses)}
    near = sorted(seen.values(), key=lambda found: -found.score)[:_SHOWN_NEAR]
    words = question.topic.split()[:_SHOWN_WORDS]
    others = ((word, search.vocabulary.others(word)) for word in words)
    vocabulary = "; ".join(f"{word}: {', '.join(found)}" for word, found in others if found)
    asked = described(question.filters)
    without = excluded(question.filters)
    return {
        "topic": _line(question.topic) or "no topic",
        "filters": untrusted_line("; ".join(filter(None, (asked, f"not {without}" if without else "")))) or "nothing",
        "tables": ", ".join(table.value for table in Table if search.catalogue.of_table(table)) or "none",
        "vocabulary": untrusted_line(vocabulary) or "none",
        "tried": _listed(tried),
        "near": _listed(f"{each.score:.2f} {each.record.table.value}: {each.record.title}" for each in near),
    }


def _shown_query(query: PlannedQuery, results: int | None) -> str:
    # Only the last plan's counts are known; that an earlier one led to another search says enough.
    found = "too little" if results is None else f"{results} results"
    asked = described(query.filters)
    shown = f'{query.table.value} "{query.query_text[:_LENGTH]}"{f", {asked}" if asked else ""}'
    return f"{shown}, threshold {query.score_threshold:.2f}: {found}"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_line(line)}" for line in lines) or "none"


def _line(text: str) -> str:
    return untrusted_line(text[: 2 * _LENGTH])


def _seen(outcomes: Sequence[SearchOutcome]) -> str:
    brought = [
        f"{outcome.query.table.value} {outcome.query.query_text!r}: {len(outcome.hits)} hits, best "
        f"{max((found.score for found in (*outcome.hits, *outcome.near_misses)), default=0.0):.2f}"
        for outcome in outcomes
    ]
    return f"{'; '.join(brought) or 'Nothing was searched'}."


LOWEST_THRESHOLD = 0.2
"""A model may not count as a result what scores less: below, anything resembles anything."""
_MOST = 300
"""Characters of a message to the person, and of a query."""


class ReflectionQuery(BaseModel):
    """One search that a chat model proposes; it names no filters, so that it cannot invent rooms or times."""

    table: Table
    """Where to look."""
    query_text: str = ""
    """What to look for, in a few words."""
    keep_filters: bool = True
    """Whether what was asked of time, place and track still holds; persons, languages and exclusions always do."""
    score_threshold: float | None = None
    """The least score of a result; null for the usual one."""


class ReflectionReply(BaseModel):
    """How a chat model reflects on a poor search.

    How the plan differs from earlier ones is told from the searches themselves: small models name it wrongly.
    """

    reasoning: str
    """What was seen and what follows, for developers."""
    message: str
    """One friendly sentence to the person, without jargon."""
    queries: list[ReflectionQuery]
    """What to search next."""


def reflection_of(
    reply: ReflectionReply,
    question: Question,
    attempts: Sequence[Sequence[PlannedQuery]],
    own: Reflection,
    config: AssistantSection,
) -> Reflection:
    """Turn a chat model's reply into a plan, and refuse what was searched before or searches for nothing.

    The filters of the question are the only ones. The rules' `own` plan stands where nothing of the reply is left.
    """
    planned = [_planned(proposed, question, config) for proposed in reply.queries]
    queries = untried((each for each in planned if each.query_text or not each.filters.empty), attempts)
    refused = len(planned) - len(queries)
    noted = f" Of the model's {len(planned)} searches {refused} were refused: searched before, or for nothing."
    if not queries:
        return own.model_copy(update={"reasoning": f"{own.reasoning}{noted}"})
    sought = " and ".join(dict.fromkeys(f'"{query.query_text}"' for query in queries if query.query_text))
    return Reflection(
        reasoning=f"{collapse(reply.reasoning)[:2000]}{noted if refused else ''}",
        strategy=_strategy(queries[0], attempts),
        message=collapse(reply.message)[:_MOST] or f"There is too little so far, so I look for {sought or 'more'}.",
        queries=queries,
    )


def _planned(proposed: ReflectionQuery, question: Question, config: AssistantSection) -> PlannedQuery:
    asked, usual = question.filters, config.search.score_threshold
    filters = asked if proposed.keep_filters else asked.but(*chain.from_iterable(_GIVEN_UP))
    wanted = usual if proposed.score_threshold is None else proposed.score_threshold
    return PlannedQuery(
        table=proposed.table,
        query_text=collapse(proposed.query_text)[:_MOST],
        filters=filters,
        limit=config.search.limit,
        score_threshold=min(1.0, max(wanted, min(LOWEST_THRESHOLD, usual))),
    )


def _strategy(query: PlannedQuery, attempts: Sequence[Sequence[PlannedQuery]]) -> Strategy:
    """How the most promising search of a plan differs from what was searched."""
    tried = [*chain.from_iterable(attempts)]
    text = fold(query.query_text)
    if any(each.table is query.table and fold(each.query_text) == text for each in tried):
        return "relax"
    return "pivot" if tried and query.table not in {each.table for each in tried} else "rewrite"

"""Does it help to think again? A question answered in every way, and what each brings and costs."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import chain, islice, zip_longest
from typing import Any, Literal

from langchain_core.messages import HumanMessage
from pydantic import Field

from loopwright.engine import BoundedGraph, arun
from loopwright.engine.nodes.policy import cause_of
from loopwright.errors import NodeFailed
from loopwright.models import UsageRecorder
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.constants import PLAN_QUERIES
from loopwright.workflows.assistant.graph import build_graph
from loopwright.workflows.assistant.nodes import NODES
from loopwright.workflows.assistant.schemas import (
    ChatResult,
    Frozen,
    PlannedQuery,
    RetryMode,
    SearchMode,
    Status,
    Table,
    UserContext,
)
from loopwright.workflows.assistant.searching import Vocabulary
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState, ChatInput
from loopwright.workflows.assistant.workflow import achat, result_of
from loopwright.workflows.evaluation.scores import PLACES, ndcg_at, recall_at
from loopwright.workflows.runtime import prices, usage_of_the_run

Way = Literal["none", "mechanical", "reflection", "wide"]
"""How a question is answered: in one of the retry modes, or by one wide search with as many queries as the reflection
took, all planned before anything is searched."""


class Variant(Frozen):
    """One way of answering a question, and what it brings and costs."""

    way: Way
    """How it was answered."""
    status: Status
    """How honest an end it came to."""
    text: str = ""
    """The answer as Markdown."""
    cited: tuple[str, ...] = ()
    """The ids that it cites, in order."""
    recall: float | None = None
    """recall@10; None if nothing is relevant."""
    ndcg: float | None = None
    """nDCG@10; None if nothing is relevant."""
    passes: int = Field(default=0, ge=0)
    """Searches of a plan: 1, and one more for each retry."""
    queries: int = Field(default=0, ge=0)
    """Queries of all plans together."""
    seconds: float = 0.0
    """Wall time."""
    model_calls: int = 0
    """Calls of chat models."""
    tokens: int = 0
    """Tokens of these calls, in and out."""
    cost: float | None = None
    """Their price in US dollars; None if it is not known."""
    error: str | None = None
    """What failed on the way, or None."""


class Comparison(Frozen):
    """The same question answered in every way."""

    question: str
    """The question."""
    relevant: tuple[str, ...]
    """The ids that the ways are measured against."""
    against: Literal["labels", "citations"]
    """Where these come from: known beforehand, or cited by the answer after a reflection, which then has 1 by
    definition."""
    variants: dict[Way, Variant]
    """Way -> what it brings and costs."""

    def table(self) -> str:
        """The comparison as text for people."""
        return comparison_table(self)


_MEASURED = {
    "labels": "measured against the labelled records",
    "citations": "measured against what the answer after the reflection cites",
}


def comparison_table(comparison: Comparison) -> str:
    """Show a comparison: one line for each way.

    Args:
        comparison: The comparison.
    """
    rows = [["way", "recall@10", "nDCG@10", "cited", "passes", "queries", "ms", "calls", "tokens", "cost", "status"]]
    for way, variant in comparison.variants.items():
        numbers = (len(variant.cited), variant.passes, variant.queries)
        spent = (f"{variant.seconds * 1000:.1f}", variant.model_calls, variant.tokens)
        cost = "-" if variant.cost is None or not variant.model_calls else f"${variant.cost:.4f}"
        measured = (_percent(variant.recall), _percent(variant.ndcg))
        rows.append([way, *measured, *map(str, (*numbers, *spent)), cost, variant.status.replace("_", " ")])
    lines = [*_rows(rows), "", _MEASURED[comparison.against]]
    errors = [f"{way} failed: {variant.error}" for way, variant in comparison.variants.items() if variant.error]
    return "\n".join([*lines, *errors])


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f}"


def _rows(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width) for place, (cell, width) in enumerate(row))
        for row in ([*zip(row, widths, strict=True)] for row in rows)
    ]


_LOWER = 0.5
"""By this the threshold is multiplied."""
_WIDER = 2
"""By this the limit is multiplied."""
_MOST = 200
"""The widest limit that a query may have."""
_OTHER: dict[SearchMode, SearchMode] = {"master": "faceted", "faceted": "master"}


def wide_plan(first: Sequence[PlannedQuery], count: int, vocabulary: Vocabulary) -> list[PlannedQuery]:
    """A plan of as many queries as are allowed, from a first plan and nothing that was found.

    To the first plan come, for each of its queries in turn: the same with half the threshold and twice the limit, the
    same in the other words that the vocabulary offers, and the same in the other search mode. No query comes twice.
    Filters stay: dropped unseen, what they keep out would push what is asked for off the answer.

    Args:
        first: The first plan.
        count: How many queries there may be; the first plan is kept whole.
        vocabulary: What other words there are.

    Returns:
        The first plan and what follows it; fewer than `count` if there is no more to vary.
    """
    variants = [list(_variants(query, vocabulary)) for query in first if query.query_text]
    in_turn = (query for queries in zip_longest(*variants) for query in queries if query is not None)
    return list(islice(dict.fromkeys(chain(first, in_turn)), max(count, len(first))))


def _variants(query: PlannedQuery, vocabulary: Vocabulary) -> Iterator[PlannedQuery]:
    loose = query.model_copy(
        update={"score_threshold": query.score_threshold * _LOWER, "limit": min(query.limit * _WIDER, _MOST)}
    )
    yield loose
    for words in vocabulary.expand(query.query_text):
        yield query.model_copy(update={"query_text": words})
    yield loose.model_copy(update={"search_mode": _OTHER[query.search_mode]})


async def prepare(services: Services) -> None:
    """Ask once what is not measured: what every question needs is made at the first one, and is not its own time.

    Beside the calls of a chat model that is little, and nothing is asked.

    Args:
        services: The conference and the models.
    """
    if not any(services.chat(node) for node in AssistantConfig.model_nodes):
        await answered("Which talks are about music?", services, "none")


async def answered(question: str, services: Services, mode: RetryMode, now: datetime | None = None) -> Variant:
    """Answer a question in a retry mode.

    Args:
        question: The question.
        services: The conference and the models.
        mode: What follows a poor search.
        now: The moment of asking, if it matters.

    Returns:
        What came of it, not measured yet; failed if a node failed for good.

    Raises:
        InputError: If the question is empty or no text.
    """
    try:
        return _variant(mode, await achat(question, services=services, mode=mode, user_context=_context(now)))
    except NodeFailed as error:
        return _failed(mode, error)


async def answered_widely(question: str, services: Services, count: int, now: datetime | None = None) -> Variant:
    """Answer a question by one wide search without any retry; see `wide_plan`.

    Args:
        question: The question.
        services: The conference and the models.
        count: How many queries there may be.
        now: The moment of asking, if it matters.

    Returns:
        As `answered`.
    """

    async def planned(state: AssistantState) -> dict[str, Any]:
        update = await NODES[PLAN_QUERIES].work(state, services)
        plan = wide_plan(update["planned_queries"], count, services.search.vocabulary)
        return {**update, "planned_queries": plan}

    graph = build_graph(services=services.in_mode("none"), nodes={PLAN_QUERIES: planned})
    try:
        return _variant("wide", await _run(graph, question, now))
    except NodeFailed as error:
        return _failed("wide", error)


def measured(variant: Variant, relevant: Sequence[str], tables: Collection[str]) -> Variant:
    """A variant with its measures.

    Args:
        variant: What came of a question.
        relevant: The ids that are relevant.
        tables: The tables in which records were judged; what is cited of others takes no place.
    """
    ranked = [cited for cited in variant.cited if cited.partition(":")[0] in tables]
    return variant.model_copy(
        update={"recall": recall_at(ranked, relevant, PLACES), "ndcg": ndcg_at(ranked, relevant, PLACES)}
    )


async def _run(graph: BoundedGraph, question: str, now: datetime | None) -> ChatResult:
    usage = UsageRecorder(prices())
    token = usage_of_the_run.set(usage)
    try:
        run = await arun(graph, ChatInput(messages=[HumanMessage(question)], user_context=_context(now)))
    finally:
        usage_of_the_run.reset(token)
    return result_of(uuid.uuid4().hex, question, run, usage.total(), usage.cost())


def _context(now: datetime | None) -> UserContext:
    return {"now": now.isoformat()} if now else {}


def _variant(way: Way, result: ChatResult) -> Variant:
    return Variant(
        way=way,
        status=result.status,
        text=result.answer,
        cited=result.referenced_ids,
        passes=result.retry_count + 1,
        queries=len(result.queries),
        seconds=result.seconds,
        model_calls=result.model_calls,
        tokens=result.tokens,
        cost=result.cost,
        error=result.error,
    )


def _failed(way: Way, error: NodeFailed) -> Variant:
    # Without the node's input, which is long, and the same for every way.
    cause = cause_of(error)
    return Variant(way=way, status="failed", error=f"node {error.node!r}: {type(cause).__name__}: {cause}")


STAND = "stand:"
"""What stands before an exhibitor's title."""


def record_id(name: str) -> str:
    """The record's id for what people call it.

    Args:
        name: A session's own id, ``stand:TITLE``, or a record's id already, for example ``speakers:12``.
    """
    if name.startswith(STAND):
        return f"{Table.EXHIBITORS}:{name.removeprefix(STAND)}"
    return name if name.partition(":")[0] in tuple(Table) else f"{Table.SESSIONS}:{name}"


def compare(
    question: str,
    services: Services,
    *,
    relevant: Sequence[str] | None = None,
    tables: Collection[str] | None = None,
    now: datetime | None = None,
) -> Comparison:
    """Answer a question without any retry, with the mechanical one, with the reflection, and by one wide search.

    The wide search has as many queries as the reflection took, all planned before anything is searched. Nothing is
    remembered of the question.

    Args:
        question: The question.
        services: The conference and the models.
        relevant: The ids of the records that answer it, none where there is no answer; None takes those that the answer
            after the reflection cites.
        tables: The tables in which records were judged; what is cited of others takes no place. None takes those of
            `relevant`.
        now: The moment of asking, if it matters.

    Returns:
        What each way brings and costs.

    Raises:
        InputError: If the question is empty or no text.
        StoreError: If there is no conference.
        RuntimeError: Inside of the services' own event loop; there, ``await acompare(...)``.
    """
    return services.background.call(acompare, question, services, relevant=relevant, tables=tables, now=now)


async def acompare(
    question: str,
    services: Services,
    *,
    relevant: Sequence[str] | None = None,
    tables: Collection[str] | None = None,
    now: datetime | None = None,
) -> Comparison:
    """The same without blocking the event loop; see `compare`."""
    await prepare(services)
    none = await answered(question, services, "none", now)
    mechanical = await answered(question, services, "mechanical", now)
    reflection = await answered(question, services, "reflection", now)
    wide = await answered_widely(question, services, reflection.queries, now)
    against = reflection.cited if relevant is None else tuple(relevant)
    judged = frozenset(record.partition(":")[0] for record in against) if tables is None else tables
    variants: dict[Way, Variant] = {
        variant.way: measured(variant, against, judged) for variant in (none, mechanical, reflection, wide)
    }
    return Comparison(
        question=question,
        relevant=against,
        against="citations" if relevant is None else "labels",
        variants=variants,
    )

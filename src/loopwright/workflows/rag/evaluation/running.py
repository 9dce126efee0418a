"""Evaluating: the corpus is read into a store, every question is asked, and asked again without each loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from loopwright.retrieval.stores import KnowledgeStore, open_store
from loopwright.workflows.rag.config import ByComplexity, RAGConfig
from loopwright.workflows.rag.evaluation.observing import observe
from loopwright.workflows.rag.evaluation.questions import Question, read_questions
from loopwright.workflows.rag.evaluation.schemas import Evaluation, LoopGain, QuestionOutcome
from loopwright.workflows.rag.evaluation.summary import abstention_of, figures_of, gain_of, grouped, retries_of_all
from loopwright.workflows.rag.ingestion import aingest
from loopwright.workflows.rag.reading import read_source
from loopwright.workflows.rag.services import Services

AT_ONCE = 4
"""Questions that are asked at the same time."""

Listener = Callable[[int, int], None]
"""Told how many runs are done, and how many there are as far as is known: runs without a loop come last."""

T = TypeVar("T")

_NO_LIMITS: dict[str, dict[str, object]] = {
    "transform": {"transformations": ByComplexity(one_hop=0, multi_hop=0, comparison=0)},
    "regenerate": {"not_supported": 0},
    "hops": {"hops": 0},
}
"""Loop -> the limits that allow it no pass."""


def evaluate(
    questions: Path,
    corpus: Path,
    *,
    config: RAGConfig,
    limit: int | None = None,
    loops: bool = True,
    store: KnowledgeStore | None = None,
    on_progress: Listener | None = None,
) -> Evaluation:
    """Ask questions whose answers are known, and compare.

    Args:
        questions: JSONL, one ``{"id", "question", "answers", "gold", "type", "hops"}`` a line; ``gold`` names
            passages by their ids in the corpus, and ``answers`` is empty where the corpus has no answer.
        corpus: JSONL, one ``{"id", "title", "text"}`` a line.
        config: The configuration; its store is neither read nor written.
        limit: At most so many questions, from the first; None asks all.
        loops: Whether the questions for which a loop went round are asked again without it, to tell what it brings.
        store: Where the corpus is read into, and stays; by default a temporary one.
        on_progress: Told before the first run and after each; see `Listener`.

    Returns:
        The figures.

    Raises:
        InputError: If a line of the questions is broken, the corpus cannot be read, or a gold passage is not in it.
        StoreError: If the store fails.
        WeightsError: If the files of a configured model are not there.
        RuntimeError: Inside a running event loop; there, ``await aevaluate(...)``.
    """
    return asyncio.run(
        aevaluate(questions, corpus, config=config, limit=limit, loops=loops, store=store, on_progress=on_progress)
    )


async def aevaluate(
    questions: Path,
    corpus: Path,
    *,
    config: RAGConfig,
    limit: int | None = None,
    loops: bool = True,
    store: KnowledgeStore | None = None,
    on_progress: Listener | None = None,
) -> Evaluation:
    """Ask questions whose answers are known, without blocking the event loop; see `evaluate`."""
    known = await asyncio.to_thread(_keys_of, corpus)
    asked = read_questions(questions, known=known, corpus=str(corpus), limit=limit)
    with ExitStack() as exits:
        if store is None:
            folder = exits.enter_context(TemporaryDirectory(prefix="loopwright-"))
            store = exits.enter_context(open_store(f"sqlite:{Path(folder) / 'knowledge.db'}"))
        services = exits.enter_context(Services.of(_without_checkpoints(config), store=store))
        evaluation = _Evaluation(services, asked, on_progress or _unheard)
        await evaluation.ingest(corpus)
        return await evaluation.run(loops=loops)


class _Evaluation:
    """One evaluation on its way."""

    def __init__(self, services: Services, questions: Sequence[Question], on_progress: Listener) -> None:
        self._services = services
        self._questions = questions
        self._on_progress = on_progress
        self._keys: dict[str, str] = {}
        self._ingest_seconds = 0.0
        self._done = self._total = 0

    async def ingest(self, corpus: Path) -> None:
        """Read the corpus into the store."""
        began = time.monotonic()
        settings = self._services.config.rag.ingest
        embedder = await asyncio.to_thread(lambda: self._services.embedder)
        await aingest(
            [corpus], self._services.store, embedder=embedder, batch=settings.batch, size=settings.passage_words
        )  # fmt: skip
        self._ingest_seconds = time.monotonic() - began
        found = await asyncio.to_thread(self._services.store.documents)
        self._keys = {document.id: document.key for document in found}

    async def run(self, *, loops: bool) -> Evaluation:
        """Ask everything, and sum up."""
        began = time.monotonic()
        outcomes = await self._ask(self._questions, self._services)
        seconds = time.monotonic() - began
        gains = {loop: await self._gain(loop, outcomes) for loop in _NO_LIMITS} if loops else {}
        stats = await asyncio.to_thread(self._services.store.stats)
        return Evaluation(
            questions=len(outcomes),
            passages=stats.passages,
            figures=figures_of(outcomes),
            by_hops=grouped(outcomes, lambda outcome: outcome.hops),
            by_type=grouped(outcomes, lambda outcome: outcome.type),
            abstention=abstention_of(
                outcomes, frozenset(question.id for question in self._questions if not question.answers)
            ),
            retries=retries_of_all(outcomes),
            loops=gains,
            model_calls=sum(outcome.model_calls for outcome in outcomes),
            failed=sum(outcome.status == "failed" for outcome in outcomes),
            ingest_seconds=self._ingest_seconds,
            seconds=seconds,
            outcomes=tuple(outcomes),
        )

    async def _gain(self, loop: str, outcomes: Sequence[QuestionOutcome]) -> LoopGain:
        """Ask again, without the loop, where it went round."""
        config = self._services.config
        limits = config.rag.limits.model_copy(update=_NO_LIMITS[loop])
        without = config.model_copy(update={"rag": config.rag.model_copy(update={"limits": limits})})
        went_round = {outcome.id: outcome for outcome in outcomes if outcome.passes.get(loop)}
        again = [question for question in self._questions if question.id in went_round]
        # A copy of the services shares the store and the models that are open.
        services = replace(self._services, config=without)
        others = await self._ask(again, services, went_round)
        return gain_of(loop, outcomes, {outcome.id: outcome for outcome in others})

    async def _ask(
        self,
        questions: Sequence[Question],
        services: Services,
        before: dict[str, QuestionOutcome] | None = None,
    ) -> list[QuestionOutcome]:
        self._total += len(questions)
        self._on_progress(self._done, self._total)

        async def one(question: Question) -> QuestionOutcome:
            recall = before[question.id].recall if before else None
            outcome = await observe(question, services, self._keys, recall=recall)
            self._done += 1
            self._on_progress(self._done, self._total)
            return outcome

        return await _at_once([lambda question=question: one(question) for question in questions])


async def _at_once(work: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Do pieces of work, a few at a time; when one fails, the others are given up."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(piece: Callable[[], Awaitable[T]]) -> T:
        async with places:
            return await piece()

    tasks = [asyncio.ensure_future(one(piece)) for piece in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _keys_of(corpus: Path) -> set[str]:
    """The ids of a corpus; records that cannot be read are warned of, and gold passages cannot be among them."""
    return {document.key for document in read_source(corpus)}


def _without_checkpoints(config: RAGConfig) -> RAGConfig:
    """The configuration for runs that nobody will resume."""
    checkpoint = config.pipeline.checkpoint.model_copy(update={"enable": False})
    return config.model_copy(update={"pipeline": config.pipeline.model_copy(update={"checkpoint": checkpoint})})


def _unheard(_done: int, _total: int) -> None:
    """What is told of progress where nobody listens."""

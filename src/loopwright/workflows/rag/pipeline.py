"""Answer one question."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, TypedDict, Unpack

from loopwright.engine import BoundedGraph, RunEvent, RunResult
from loopwright.engine import astream as engine_astream
from loopwright.engine.checkpoints import open_checkpointer, state_types
from loopwright.engine.diagram import mermaid
from loopwright.engine.events import RunFinished
from loopwright.engine.fingerprint import FORCE
from loopwright.engine.following import afollowing, closing
from loopwright.engine.loops import is_count
from loopwright.errors import CheckpointError, InputError, unknown_name_message
from loopwright.models import UsageRecorder
from loopwright.retrieval.records import Filter
from loopwright.workflows.opened import prices, usage_of_the_run
from loopwright.workflows.rag.config import RAGConfig
from loopwright.workflows.rag.graph import build_graph
from loopwright.workflows.rag.results import RagResult, result_of
from loopwright.workflows.rag.services import Services
from loopwright.workflows.rag.state import GraphState, QuestionInput
from loopwright.workflows.threads import free_thread

LONGEST_QUESTION = 10_000
"""Characters; a longer question is more likely a document."""


class AskOptions(TypedDict, total=False):
    """What `ask` takes besides the question."""

    history: Sequence[str]
    """Earlier questions and answers of a chat, in turns, oldest first."""
    where: Filter | None
    """Which documents count; None takes all."""
    max_retry_count: int | None
    """Query transformations that are allowed; None lets the question's complexity decide, 0 allows none."""
    config: RAGConfig | None
    """The configuration; by default the embedded one, without a model."""
    services: Services | None
    """The models, the store and the web search; by default those of the configuration, closed at the end."""
    run_id: str | None
    """Names the run's checkpoint; by default a hash of what is asked."""
    resume: bool
    """Go on from the run's last checkpoint; finished nodes do not run again."""
    force: bool
    """Resume also if a graph of another structure began the run."""


def ask(question: str, **options: Unpack[AskOptions]) -> RagResult:
    """Answer one question.

    Args:
        question: The question.
        **options: See `AskOptions`.

    Returns:
        The answer with its citations, and how honest an end it is.

    Raises:
        InputError: If the question is empty or no text.
        StoreError: If there is no knowledge store (within `NodeFailed`, if it fails during the run).
        NodeFailed: If a node failed for good; its cause is the original error.
    """
    if services := options.get("services"):
        return services.background.call(aask, question, **options)
    with Services.of(options.get("config") or RAGConfig()) as services:
        return services.background.call(aask, question, **{**options, "services": services})


async def aask(question: str, **options: Unpack[AskOptions]) -> RagResult:
    """Answer one question without blocking the event loop; see `ask`."""
    result = None
    async for event in astream_ask(question, **options):
        if isinstance(event, RagResult):
            result = event
    if result is None:
        raise RuntimeError("the run ended without a result")
    return result


async def astream_ask(question: str, **options: Unpack[AskOptions]) -> AsyncIterator[RunEvent | RagResult]:
    """Answer one question and yield what happens as it happens, the result last; see `ask`.

    The answer's text comes as `TextStreamed` events. What a later attempt replaces has come by then: a new visit of
    ``answer_generation`` begins a new answer.
    """
    with _Session(question, **options) as session:
        events: list[RunEvent] = []
        stream = engine_astream(session.graph, session.input, **session.options)
        async with closing(afollowing(stream, usage_of_the_run, session.usage)) as counted:
            async for event in counted:
                events.append(event)
                yield event
        finished = next(event for event in reversed(events) if isinstance(event, RunFinished))
        run = RunResult(finished.state, tuple(events))
        yield result_of(question, run, session.usage.total(), session.usage.cost())


def visualize_graph(graph: BoundedGraph | None = None) -> str:
    """The workflow as a Mermaid diagram, with the limits on the loops' edges.

    Args:
        graph: A graph of `build_graph`; by default that of the embedded configuration.
    """
    return mermaid((graph or build_graph()).topology())


class _Session:
    """One run: its graph, its saver, the thread that it is kept under, and the input, None where it goes on."""

    def __init__(self, question: str, **options: Unpack[AskOptions]) -> None:
        unknown = set(options) - set(AskOptions.__annotations__)
        if unknown:
            raise TypeError(unknown_name_message("option", min(unknown), AskOptions.__annotations__))
        given = options.get("services")
        self._services = given or Services.of(options.get("config") or RAGConfig())
        self._owns_services = given is None
        self._config = self._services.config
        if given and options.get("config") not in (None, given.config):
            raise TypeError("config and services were given, and differ: make the services with Services.of(config)")
        self._given = question_input(question, options)
        self._run_id = options.get("run_id") or _run_id(self._given)
        self._resume, self._force = options.get("resume", False), options.get("force", False)
        self._exits = ExitStack()
        self.usage = UsageRecorder(prices())
        self.graph: BoundedGraph
        self.input: QuestionInput | None = self._given
        self.options: dict[str, Any] = {}

    def __enter__(self) -> _Session:
        if self._owns_services:
            self._exits.callback(self._services.close)
        checkpoint, saver = self._config.pipeline.checkpoint, None
        if checkpoint.enable or self._resume:
            allow = state_types(GraphState)
            saver = self._exits.enter_context(open_checkpointer(f"json:{checkpoint.save_dir}", allow=allow))
        self.graph = build_graph(self._config, services=self._services, checkpointer=saver)
        if saver:
            thread, last = free_thread(saver, self._run_id)
            if self._resume:
                thread = self._resumed(last)
            self.options = {
                "thread_id": thread,
                "config": {"configurable": {FORCE: True} if self._force else {}},
            }
        return self

    def __exit__(self, *problem: object) -> None:
        self._exits.close()

    def _resumed(self, last: str | None) -> str:
        if last is None:
            raise CheckpointError(f"there is no checkpoint of run {self._run_id!r} to resume; ask without resume first")
        kept = self.graph.get_state({"configurable": {"thread_id": last}}).values
        for key in ("question", "history", "where", "max_retry_count"):
            if kept and _plain(kept.get(key)) != _plain(self._given.get(key)):
                raise CheckpointError(
                    f"the checkpoint of run {self._run_id!r} belongs to {key} {kept.get(key)!r}, not "
                    f"{self._given.get(key)!r}. Give another run id, or ask without resume."
                )
        self.input = None
        return last


def question_input(question: str, options: AskOptions) -> QuestionInput:
    """What the graph is run with.

    Args:
        question: The question.
        options: Reads ``history``, ``where`` and ``max_retry_count``.

    Raises:
        InputError: If the question is empty or no text, or an option is none.
    """
    if not isinstance(question, str) or not question.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"the question is {question!r}: give a text that asks something")
    if len(question) > LONGEST_QUESTION:
        raise InputError(f"the question has {len(question)} characters; at most {LONGEST_QUESTION} are read")
    if any("\ud800" <= character <= "\udfff" for character in question):
        raise InputError("the question holds half of a surrogate pair: give it as UTF-8")
    limit = options.get("max_retry_count")
    if limit is not None and not is_count(limit):
        raise InputError(f"max_retry_count is {limit!r}: give a whole number from 0, or None")
    history: Any = options.get("history") or ()
    if isinstance(history, str) or not all(isinstance(turn, str) for turn in history):
        raise InputError("history must be a list of texts: questions and answers in turns")
    return QuestionInput(
        question=question.strip(),
        history=[*history],
        where=options.get("where"),
        retry_count=0,
        max_retry_count=limit,
    )


def _run_id(given: QuestionInput) -> str:
    return hashlib.sha256(_plain(given).encode()).hexdigest()[:16]


def _plain(value: Any) -> str:
    """A value as text that is the same before and after it was kept, where tuples come back as lists."""
    return json.dumps(
        value, default=lambda part: asdict(part) if isinstance(part, Filter) else str(part), sort_keys=True
    )

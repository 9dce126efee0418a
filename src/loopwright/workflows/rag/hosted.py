"""Question answering as a host runs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, date, datetime
from pathlib import Path, PurePath
from typing import Any, Self, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic_core import to_jsonable_python

from loopwright.engine import BoundedGraph, RunEvent, RunResult
from loopwright.engine.events import LoopDecided, NodeFinished, NodeStarted, Told
from loopwright.errors import InputError, unknown_name_message
from loopwright.models import UsageRecorder
from loopwright.retrieval.records import Filter
from loopwright.workflows.graphs import HostedGraphs
from loopwright.workflows.hosting import Citation, ClientEvent, HostedRun, Outcome, Setting
from loopwright.workflows.opened import prices, usage_of_the_run
from loopwright.workflows.rag.config import RAGConfig
from loopwright.workflows.rag.form import EXAMPLES, NODE_INFO, PROGRESS, SCHEMA
from loopwright.workflows.rag.graph import GENERATION, TRANSFORMATION, build_graph
from loopwright.workflows.rag.nodes.prompting import prompts
from loopwright.workflows.rag.pipeline import question_input
from loopwright.workflows.rag.results import RagResult, result_of
from loopwright.workflows.rag.sample import sample_store
from loopwright.workflows.rag.schemas import AnswerGrade
from loopwright.workflows.rag.schemas import Citation as Quoted
from loopwright.workflows.rag.services import Services
from loopwright.workflows.rag.state import GraphState
from loopwright.workflows.sections import MODEL_NODES

_IDS = ("id", "document_id", "evidence_id")
"""Keys whose values begin with the path of a file, where documents come from files."""


class RagHosted(HostedGraphs):
    """Question answering over a knowledge graph."""

    name = "rag"
    title = "Ask the documents"
    description = (
        "Answers questions from documents with verified quotes. Where the search or the answer is poor it asks in "
        "other words, follows a trail, writes anew or looks on the web, each a bounded number of times."
    )
    input_schema = SCHEMA
    streams_answer = True
    nodes = NODE_INFO
    # Facts are extracted while documents are read, not while questions are answered.
    model_nodes = tuple(node for node in MODEL_NODES["rag"] if node != "extraction")
    state_schema = GraphState
    allow = (GraphState,)
    examples = EXAMPLES

    def __init__(self, services: Services) -> None:
        """Prepare; nothing is opened yet.

        Args:
            services: The models, the knowledge store and the web search; closed by `close`.
        """
        self.services = services
        """The models, the knowledge store and the web search."""
        super().__init__(services.models, prompts())

    @classmethod
    def sample(cls, config: RAGConfig | None = None) -> Self:
        """The same over the made-up town that comes with the package, read into a store in memory.

        Args:
            config: The configuration; its store is not used.
        """
        services = Services.of(config or RAGConfig())
        services.opened.entered("store", sample_store)
        return cls(services)

    def build(self, saver: BaseCheckpointSaver[str] | None) -> BoundedGraph:
        """Make the graph; see `HostedGraphs.build`.

        Args:
            saver: Where its runs are kept.
        """
        return build_graph(services=self.services, checkpointer=saver)

    def run(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> HostedRun:
        """Prepare a run.

        Args:
            given: The question, and what limits the search.
            uploads: Not needed.
            run_id: Not needed.

        Raises:
            InputError: If the question is empty, or there is what nobody knows.
        """
        return _RagRun(given)

    def close(self) -> None:
        """Close the services."""
        self.services.close()


class _RagRun(HostedRun):
    """One question."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        _check_known(given, SCHEMA["properties"], "the input")
        question: Any = given.get("question")
        graph_input = question_input(
            question,
            {
                "history": given.get("history") or (),
                "where": _filter(given.get("where")),
                "max_retry_count": given.get("max_retry_count"),
            },
        )
        super().__init__(given, graph_input, question)
        self._usage = UsageRecorder(prices())

    def settings(self) -> Sequence[Setting]:
        """Where the run's model calls are counted."""
        return (Setting(usage_of_the_run, self._usage),)

    def told(self, event: RunEvent) -> Iterable[Told]:
        """What is being done, and why and how the question is asked again or the answer written anew.

        Args:
            event: The engine's event.
        """
        if isinstance(event, NodeStarted) and event.node in PROGRESS:
            yield Told(kind="progress", node=event.node, message=PROGRESS[event.node])
        elif isinstance(event, NodeFinished) and not event.error:
            yield from _told_of(event.node, event.update)
        elif isinstance(event, LoopDecided) and event.loop == "regenerate" and event.decision == "granted":
            yield Told(
                kind="thinking",
                node=GENERATION,
                message="The sources do not bear out all of that. Let me write the answer anew.",
                data={"reason": event.reason, "attempt": event.spent, "limit": event.limit},
            )

    def plain(self, key: str, value: Any) -> Any:
        """A value of the state in plain JSON, documents by the names of their files.

        Args:
            key: Its key.
            value: The value.
        """
        if is_dataclass(value) and not isinstance(value, type):
            value = asdict(value)
        return _without_folders(to_jsonable_python(value, fallback=str))

    async def ended(self, result: RunResult) -> tuple[Outcome, Sequence[ClientEvent]]:
        """The answer with its quotes.

        Args:
            result: The final state and the events.
        """
        found = result_of(self.graph_input["question"], result, self._usage.total(), self._usage.cost())
        return _outcome_of(found, result.state.get("answer_grade")), ()


def _told_of(node: str, update: Mapping[str, Any]) -> Iterable[Told]:
    queries: Sequence[str] = update.get("queries") or ()
    if node == "next_hop" and queries:
        yield Told(kind="progress", node=node, message=f"That leads on to: {queries[-1]}")
    elif node == TRANSFORMATION and len(queries) > 1:
        reason: str = update["failures"][-1]
        yield Told(
            kind="thinking",
            node=node,
            message=f"{reason[:1].upper()}{reason[1:].rstrip('.')}. Let me ask in other words: {queries[-1]}",
            data={
                "reason": reason,
                "old_query": queries[-2],
                "new_query": queries[-1],
                "retry_count": update["retry_count"],
            },
        )


def _outcome_of(found: RagResult, grade: AnswerGrade | None) -> Outcome:
    answer = found.answer
    scores: dict[str, float] = {}
    quality = None
    if grade is not None:
        # Half for an answer that its sources bear out, half for one that answers the question.
        scores = {"supported": float(grade.supported), "useful": float(grade.useful)}
        quality = 0.0 if answer.abstained else (scores["supported"] + scores["useful"]) / 2
    if answer.confidence:
        scores["confidence"] = answer.confidence
    return Outcome(
        answer=answer.text,
        status=found.status,
        citations=tuple(_citation(quoted) for quoted in answer.citations),
        quality=quality,
        scores=scores,
        details=_without_folders(found.model_dump(mode="json")),
        error=found.error,
    )


def _citation(quoted: Quoted) -> Citation:
    details = {"page": quoted.page, "heading": quoted.heading, "document": _file_name(quoted.document_id)}
    web = quoted.origin == "web" and quoted.evidence_id.startswith(("http://", "https://"))
    return Citation(
        mark=str(quoted.number),
        title=quoted.title,
        quote=quoted.quote,
        url=quoted.evidence_id if web else None,
        details={"origin": quoted.origin, **{name: value for name, value in details.items() if value}},
    )


def _without_folders(value: Any) -> Any:
    """Plain JSON in which ids of documents and passages begin with the name of the file, not with where it lies."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {
            key: _file_name(inner) if key in _IDS and isinstance(inner, str) else _without_folders(inner)
            for key, inner in fields.items()
        }
    return [_without_folders(inner) for inner in cast("list[Any]", value)] if isinstance(value, list) else value


def _file_name(identity: str) -> str:
    path, mark, key = identity.partition("#")
    return f"{PurePath(path).name}{mark}{key}" if PurePath(path).is_absolute() else identity


def _filter(given: Any) -> Filter | None:
    if given is None or given == {}:
        return None
    if not isinstance(given, dict):
        raise InputError(f"where is {given!r}: give an object with tags, after or before")
    fields = cast("dict[str, Any]", given)
    _check_known(fields, SCHEMA["properties"]["where"]["properties"], "where")
    tags: Any = fields.get("tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in cast("list[Any]", tags)):
        raise InputError(f"tags is {tags!r}: give a list of texts")
    return Filter(
        tags=tuple(cast("list[str]", tags)), after=_day(fields.get("after")), before=_day(fields.get("before"))
    )


def _day(given: Any) -> datetime | None:
    if given is None:
        return None
    try:
        return datetime.combine(date.fromisoformat(given), datetime.min.time(), UTC)
    except (TypeError, ValueError):
        raise InputError(f"{given!r} is no day: give it as YYYY-MM-DD") from None


def _check_known(given: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise InputError(unknown_name_message(f"key of {where}", key, known))

"""Question answering over documents: the only door to it, for Python, the command line, the server and the page."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, time
from itertools import chain
from pathlib import Path, PurePath
from typing import Annotated, Any, Self, TypedDict, Unpack, cast

from pydantic import Field, NonNegativeInt
from pydantic_core import to_jsonable_python

from loopwright.config import shipped
from loopwright.engine import BoundedGraph, RunEvent, RunResult
from loopwright.engine.events.schema import LoopDecided, NodeFinished, NodeRetried, NodeStarted, Told
from loopwright.errors import unknown_name_message
from loopwright.retrieval.records import Evidence, Filter
from loopwright.workflows.api import (
    LONGEST_TEXT,
    Citation,
    ClientEvent,
    Example,
    NodeInfo,
    Outcome,
    Run,
    Text,
    Workflow,
    WorkflowInput,
)
from loopwright.workflows.evaluation.questions import Expected
from loopwright.workflows.evaluation.scores import answer_scores, citation_scores, expected_name, recall_at
from loopwright.workflows.files.source import file_and_key
from loopwright.workflows.rag.config import RAGConfig, RAGSection
from loopwright.workflows.rag.graph import BACKEND, GENERATION, TRANSFORMATION, build_graph
from loopwright.workflows.rag.nodes import NODES
from loopwright.workflows.rag.schemas import Answer, AnswerGrade, Frozen, Status
from loopwright.workflows.rag.schemas import Citation as Quoted
from loopwright.workflows.rag.services import Services
from loopwright.workflows.rag.state import GraphState, QuestionInput

logger = logging.getLogger("loopwright.rag")

_IDS = ("id", "document_id", "evidence_id")
"""Keys whose values begin with the path of a file, where documents come from files."""


class Documents(WorkflowInput):
    """Which documents count; what is not given does not restrict."""

    tags: tuple[str, ...] = Field(default=(), title="Tags", description="At least one of them.")
    """At least one of these tags."""
    after: date | None = Field(default=None, title="From", description="Dated on this day or later.")
    """The first day."""
    before: date | None = Field(default=None, title="Until", description="Dated before this day.")
    """The day after the last one."""

    def filter(self) -> Filter | None:
        """The same as the store takes it; None if it restricts nothing."""
        after, before = (day and datetime.combine(day, time(), UTC) for day in (self.after, self.before))
        return Filter(tags=self.tags, after=after, before=before) if self.tags or after or before else None


class RagInput(WorkflowInput):
    """What a question takes."""

    question: Text = Field(title="Question")
    """The question."""
    history: list[Annotated[str, Field(max_length=LONGEST_TEXT)]] = Field(
        default=[], max_length=100, title="History",
        description="Earlier questions and answers in turns, oldest first.",
    )  # fmt: skip
    """Earlier questions and answers of a chat, in turns, oldest first."""
    max_retry_count: NonNegativeInt | None = Field(
        default=None, title="Query transformations",
        description="How often it may ask in other words; by default as configured for the kind of question.",
    )  # fmt: skip
    """Query transformations that are allowed."""
    where: Documents = Field(default=Documents(), title="Documents that count")
    """Which documents count."""


_SHOWN: dict[str, Any] = shipped("loopwright.workflows.rag", "data/workflow.yaml")

_PROGRESS: dict[str, str] = {node: each["progress"] for node, each in _SHOWN["nodes"].items() if "progress" in each}
"""Node -> what people are told when it begins."""

_KINDS = {"nodes_and_edges_grading": "nothing_relevant", "generation_grading": "not_useful"}
"""The source of a query transformation -> the kind of failure that it was wanted for."""


class RetryMetrics(Frozen):
    """How often a run tried again, and why."""

    nothing_relevant: int = Field(default=0, ge=0)
    """Query transformations because nothing relevant was found."""
    not_useful: int = Field(default=0, ge=0)
    """Query transformations because the answer did not answer the question."""
    not_supported: int = Field(default=0, ge=0)
    """Further attempts at the answer because its sources did not support it."""
    backend_error: int = Field(default=0, ge=0)
    """Further attempts of a node because the store or the search engine failed."""
    refused: int = Field(default=0, ge=0)
    """Further passes of loops that were wanted and not granted."""
    gained: int = Field(default=0, ge=0)
    """Relevant passages that were found after the first answer or search, and had not been found before."""


class RagResult(Frozen):
    """The outcome of one question; of a resumed run, what is counted begins with the resume."""

    question: str
    """The question as asked."""
    answer: Answer
    """The answer with its verified citations."""
    status: Status
    """Whether it is answered, a best effort, or an honest "I don't know"."""
    stop_reason: dict[str, Any] | list[dict[str, Any]] | None
    """Which loop reached its bound, or None."""
    queries: tuple[str, ...]
    """Everything that was searched, in order."""
    found: tuple[str, ...] = ()
    """The documents that any search found, in order, by the names of their files."""
    path: tuple[str, ...]
    """The nodes in the order in which they ran."""
    retries: RetryMetrics
    """How often it tried again, and why."""
    model_calls: int
    """Calls of chat models."""
    tokens: int
    """Tokens of these calls, in and out."""
    cost: float | None
    """Their price in US dollars; None if it is not known."""
    seconds: float
    """Wall time."""
    error: str | None
    """What failed on the way, or None."""


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
    """Go on from the run's last checkpoint; finished nodes do not run again. Without one, start anew."""
    force: bool
    """Resume also if a graph of another structure began the run."""


class RagWorkflow(Workflow[Services]):
    """Question answering over a knowledge graph: passages, and the names that they share."""

    name = "rag"
    title = "Ask the documents"
    description = (
        "Answers questions from documents with verified quotes. Where the search or the answer is poor it asks in "
        "other words, follows a trail, writes anew or looks on the web, each a bounded number of times."
    )
    Input = RagInput
    Config = RAGConfig
    Services = Services
    streams_answer = True
    nodes: Mapping[str, NodeInfo] = {
        node: NodeInfo(
            label=each["label"],
            icon=each["icon"],
            has_llm="prompt" in each,
            prompt=each.get("prompt"),
            description=(NODES[node].__doc__ or "").partition("\n")[0],
        )
        for node, each in _SHOWN["nodes"].items()
    }
    model_nodes = RAGConfig.model_nodes
    state_schema = GraphState
    examples = tuple(Example(**each) for each in _SHOWN["examples"])
    prompts = Services.prompts()
    routes = "loopwright.workflows.rag.http:router"
    file_routes = ("/rag/ingest",)

    @classmethod
    def open(cls, config: str | Path | None = None, overrides: Mapping[str, Any] | None = None) -> Self:
        """Open the store that is configured; where none is named and nothing was read in yet, the sample."""
        services = Services.of(RAGConfig.load(config, overrides))
        store = services.config.rag.store
        services.shows_sample = store == RAGSection.model_fields["store"].default and services.is_empty
        if services.shows_sample:
            told = "a made-up town is asked about until `loopwright rag ingest` or POST /rag/ingest reads yours into"
            logger.warning("no documents were read yet: %s %s", told, store)
        return cls(services)

    def uncitable(self, names: Sequence[str]) -> Sequence[str]:
        """The documents that are not in the store; what lies on the web is not known."""
        known = {name for each in self.services.store.documents() for name in names_of(each.id)}
        return [name for name in names if name not in known and not name.startswith(("http://", "https://"))]

    def score(self, expected: Expected, outcome: Outcome) -> dict[str, float | None]:
        """What can be said of an answer from documents, which `names_of` says how to name.

        Returns:
            ``em``, ``f1`` and ``contains`` of the short answer; of what is cited also ``citation_recall``, None if it
            abstains; ``gathered_recall``, the share of the documents to cite that any search found; ``abstained``.
        """
        if not outcome.details:
            return {"abstained": 0.0}
        answer = Answer.model_validate(outcome.details["answer"])
        scores: dict[str, float | None] = {"abstained": float(outcome.status == "abstained")}
        if expected.answers is not None:
            said = " ".join(sentence.text for sentence in answer.sentences)
            short = "" if answer.abstained else answer.short or said
            whole = "" if answer.abstained else f"{answer.short}. {said}"
            scores |= answer_scores(short, expected.answers)
            scores["contains"] = answer_scores(whole, expected.answers)["contains"]
        if expected.citations is not None:
            gold = expected.citations
            sources = [citation.document_id or citation.evidence_id for citation in answer.citations]
            cited = [expected_name(names_of(source), gold) for source in sources]
            found = [expected_name(names_of(document), gold) for document in outcome.details["found"]]
            scores |= citation_scores(cited, gold)
            scores["citation_recall"] = None if answer.abstained else recall_at(cited, gold)
            scores["gathered_recall"] = recall_at(found, gold)
        return scores

    def build(self, services: Services) -> BoundedGraph:
        """Make the graph."""
        return build_graph(services=services)

    def start(self, given: RagInput, uploads: Mapping[str, Path], run_id: str) -> QuestionInput:
        """What the graph is run with."""
        return QuestionInput(
            question=given.question,
            history=given.history,
            where=given.where.filter(),
            retry_count=0,
            max_retry_count=given.max_retry_count,
        )

    def run(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> Run:
        """Prepare a run."""
        return _RagRun(given, self.start(cast("RagInput", self.read(given)), uploads, run_id), given["question"], self)

    def outcome(self, state: Mapping[str, Any]) -> Outcome:
        """The answer with its quotes."""
        answer, grade = _answer_of(state), cast("AnswerGrade | None", state.get("answer_grade"))
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
            status=_status_of(state),
            citations=tuple(map(_citation, answer.citations)),
            quality=quality,
            scores=scores,
            error=state.get("error"),
        )


class _RagRun(Run):
    """One question."""

    def told(self, event: RunEvent) -> Iterable[Told]:
        """What is being done, and why and how the question is asked again or the answer written anew."""
        if isinstance(event, NodeStarted) and event.node in _PROGRESS:
            yield Told(kind="progress", node=event.node, message=_PROGRESS[event.node])
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
        """A value of the state in plain JSON, documents by the names of their files."""
        return _without_folders(to_jsonable_python(value, fallback=str))

    async def ended(self, result: RunResult) -> tuple[Outcome, Sequence[ClientEvent]]:
        """The answer with its quotes."""
        outcome, events = await super().ended(result)
        found = self.result(result).model_dump(mode="json")
        return outcome.model_copy(update={"details": _without_folders(found)}), events

    def result(self, result: RunResult) -> RagResult:
        """The outcome as Python has it."""
        state, usage = result.state, self.usage.total()
        searches = (event.update.get("retrieved") for event in result.events if isinstance(event, NodeFinished))
        found: Iterable[Evidence] = chain.from_iterable(each or () for each in searches)
        return RagResult(
            question=self.graph_input["question"],
            answer=_answer_of(state),
            status=_status_of(state),
            stop_reason=state.get("stop_reason"),
            queries=tuple(state.get("queries") or ()),
            found=tuple(dict.fromkeys(_file_name(each.document_id) for each in found)),
            path=tuple(result.path),
            retries=_retries_of(result.events),
            model_calls=usage.calls,
            tokens=usage.total_tokens,
            cost=self.usage.cost(),
            seconds=result.seconds,
            error=state.get("error"),
        )


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
    file = file_and_key(identity)[0]
    return PurePath(file).name + identity[len(file) :] if PurePath(file).is_absolute() else identity


def names_of(document: str) -> tuple[str, ...]:
    """What a document may be called: its id, its own id in a file of many, the file, and the file's name."""
    path, key = file_and_key(document)
    return document, key, path, PurePath(path).name


def ask(question: str, **options: Unpack[AskOptions]) -> RagResult:
    """Answer one question, with the options that `AskOptions` describes.

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
    events = [event async for event in astream_ask(question, **options)]
    return cast("RagResult", events[-1])


async def astream_ask(question: str, **options: Unpack[AskOptions]) -> AsyncIterator[RunEvent | RagResult]:
    """Answer one question and yield what happens as it happens, the result last; see `ask`.

    The answer's text comes as `TextStreamed` events. What a later attempt replaces has come by then: a new visit of
    ``answer_generation`` begins a new answer.
    """
    if unknown := options.keys() - AskOptions.__annotations__.keys():
        raise TypeError(unknown_name_message("option", min(unknown), AskOptions.__annotations__))
    given = options.get("services")
    if given and options.get("config") not in (None, given.config):
        raise TypeError("config and services were given, and differ: make the services with Services.of(config)")
    services = given or Services.of(options.get("config") or RAGConfig())
    workflow = services.opened.once(f"workflow of {id(services)}", lambda: RagWorkflow(services))
    try:
        said = cast("dict[str, Any]", options)
        asked = {key: said[key] for key in ("history", "max_retry_count") if said.get(key) is not None}
        run = cast("_RagRun", workflow.run({"question": question, **asked}, {}, ""))
        if where := options.get("where"):
            run.graph_input["where"] = where
            run.given = {**run.given, "where": to_jsonable_python(asdict(where), fallback=str)}
        kept = {key: said[key] for key in ("run_id", "resume", "force") if key in said}
        async for event in workflow.follow(run, **kept):
            yield run.result(event) if isinstance(event, RunResult) else event
    finally:
        if given is None:
            workflow.close()


def _answer_of(state: Mapping[str, Any]) -> Answer:
    return state.get("generation") or Answer(text="No answer was written.", abstained=True)


def _status_of(state: Mapping[str, Any]) -> Status:
    """As the last node says; where a budget or a step limit ended the run before, what the state has."""
    ended = "best_effort" if state.get("generation") else "abstained"
    return state.get("status") or ("failed" if state.get("error") else ended)


def _retries_of(events: Sequence[RunEvent]) -> RetryMetrics:
    """What was tried again in one run, and what it brought."""
    counts = Counter[str]()
    known: set[str] = set()
    for event in events:
        if isinstance(event, LoopDecided):
            kinds = ["not_supported"] if event.loop == "regenerate" else map(_KINDS.get, event.sources)
            counts.update(kind for kind in kinds if kind and event.loop != "hops" and event.decision == "granted")
            counts["passes" if event.decision == "granted" else "refused"] += 1
        elif isinstance(event, NodeRetried) and event.rule == BACKEND:
            counts["backend_error"] += 1
        elif isinstance(event, NodeFinished) and "documents" in event.update and event.update.get("grades"):
            found = {each.id for each in event.update["documents"]}
            counts["gained"] += len(found - known) if counts["passes"] else 0
            known |= found
    del counts["passes"]
    return RetryMetrics(**counts)

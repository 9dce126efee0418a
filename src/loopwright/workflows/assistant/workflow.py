"""The conference assistant: the only door to it, for Python, the command line, the server and the page."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import ExitStack, aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Self, cast

from langchain_core.messages import HumanMessage
from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from loopwright.config import shipped
from loopwright.engine import BoundedGraph, RunEvent, RunResult, Usage
from loopwright.engine.events.schema import NodeFinished, Told
from loopwright.engine.nodes.policy import cause_of, is_transient
from loopwright.errors import InputError, LoopwrightError, NodeFailed
from loopwright.retrieval.records import Filter
from loopwright.workflows import api
from loopwright.workflows.assistant import events, schemas
from loopwright.workflows.assistant.config import AssistantConfig, AssistantSection
from loopwright.workflows.assistant.constants import GENERATE_ACKNOWLEDGMENT, REFLECT_AND_REPLAN
from loopwright.workflows.assistant.graph import build_graph
from loopwright.workflows.assistant.nodes import NODES
from loopwright.workflows.assistant.nodes.fetching import MOST_ENTRIES
from loopwright.workflows.assistant.question.personal import forgets_all
from loopwright.workflows.assistant.question.understanding import understand
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.sources.sample import sample_store
from loopwright.workflows.assistant.sources.storing import CONFERENCE_TAG
from loopwright.workflows.assistant.state import AssistantState, ChatInput, moment
from loopwright.workflows.evaluation.questions import Expected
from loopwright.workflows.evaluation.scores import citation_scores

logger = logging.getLogger("loopwright.assistant")

LONGEST_NAME = 200
"""Characters of an identifier that a client chooses."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME, pattern=r"\S")]
_Entries = Annotated[tuple[Annotated[str, Field(max_length=LONGEST_NAME)], ...], Field(max_length=MOST_ENTRIES)]


class ProfileInput(api.WorkflowInput):
    """What is known of a person."""

    name: str = Field(default="", max_length=LONGEST_NAME, title="Name")
    """How to address the person."""
    interests: _Entries = Field(default=(), title="Interests")
    """Topics, in the person's words, newest last."""
    seeking: _Entries = Field(default=(), title="Seeking")
    """What the person wants to buy, learn or find."""
    offering: _Entries = Field(default=(), title="Offering")
    """What the person sells, teaches or brings."""


class AskedBy(api.WorkflowInput):
    """Who asks, and when."""

    user_id: Name | None = Field(default=None, title="Person", description="Whose profile is used and kept.")
    """Names the person."""
    conversation_id: Name | None = Field(
        default=None, title="Conversation", description="Its earlier turns are used and this one is kept."
    )
    """Names the conversation."""
    now: Annotated[datetime, AfterValidator(moment)] | None = Field(
        default=None, title="Now", description="The moment of asking, ISO time; by default the present one."
    )
    """The moment of asking."""
    profile: ProfileInput | None = Field(
        default=None, title="Profile", description="What is known of the person, for this question alone."
    )
    """Used for this question alone."""


class ChatMessage(api.WorkflowInput):
    """A message to the assistant."""

    message: api.Text = Field(title="Message")
    """The message."""
    user_context: AskedBy | None = Field(default=None, title="Who asks, and when")
    """Who asks, and when."""


class AssistantWorkflow(api.Workflow[Services]):
    """The conference assistant."""

    name = "assistant"
    title = "Conference assistant"
    description = (
        "Answers questions about a conference: what is on, where and when, who speaks, whom to meet. A poor search is "
        "thought over and asked in another way, a few times at most."
    )
    Input = ChatMessage
    Config = AssistantConfig
    Services = Services
    streams_answer = True
    nodes: Mapping[str, api.NodeInfo] = {name: node.info for name, node in NODES.items()}
    state_schema = AssistantState
    examples = tuple(api.Example(**each) for each in shipped(Services.package, "data/workflow.yaml")["examples"])
    expected = ("tables",)
    prompts = Services.prompts()
    routes = "loopwright.workflows.assistant.http:router"
    schemas: Mapping[str, Any] = {"ChatEvent": events.ChatEvent}

    @classmethod
    def open(cls, config: str | Path | None = None, overrides: Mapping[str, Any] | None = None) -> Self:
        """Open the conference that is configured; where none is named and none was read, the sample.

        Raises:
            InputError: If the store holds no conference.
            StoreError: If the store that is named is not there.
        """
        settings = AssistantConfig.load(config, overrides)
        store = settings.assistant.store
        usual = store == AssistantSection.model_fields["store"].default and "assistant.store" not in (overrides or {})
        if not usual or Path(store.partition(":")[2]).exists():
            with ExitStack() as unused:
                services = unused.enter_context(Services.of(settings))
                if services.store.documents(Filter(tags=(CONFERENCE_TAG,)), limit=1):
                    unused.pop_all()
                    return cls(services)
            if not usual:
                raise InputError("the store holds no conference: run `loopwright assistant ingest SCHEDULE` first")
        logger.warning("no conference was read yet: this is the sample; `loopwright assistant ingest` reads yours")
        return cls.sample(settings)

    def warm_up(self) -> None:
        """Make now what the first question would wait for: the graph, and what is derived from the conference."""
        super().warm_up()
        understand("now", self.services.search)
        self.services.search.run(schemas.PlannedQuery(table=schemas.Table.SESSIONS, query_text="welcome"))

    @classmethod
    def sample(cls, config: AssistantConfig | None = None) -> Self:
        """The same over the made-up conference that comes with the package, in a store in memory."""
        services = Services.of(config or AssistantConfig())
        services.opened.entered("store", sample_store)
        return cls(services)

    def uncitable(self, names: Sequence[str]) -> Sequence[str]:
        """The records that the conference does not have."""
        return [name for name in names if name not in self.services.search.catalogue.records]

    def score(self, expected: Expected, outcome: api.Outcome) -> Mapping[str, float | None]:
        """How right the records are that an answer cites, as ``sessions:12``.

        What is cited of a table in which nobody judged records takes no place: ``tables``, by default those expected.
        """
        if expected.citations is None:
            return {}
        judged = expected.own.get("tables") or [name.partition(":")[0] for name in expected.citations]
        cited = [citation.mark for citation in outcome.citations]
        return citation_scores([mark for mark in cited if mark.partition(":")[0] in judged], expected.citations)

    def build(self, services: Services) -> BoundedGraph:
        """Make the graph."""
        return build_graph(services=services)

    def start(self, given: ChatMessage, uploads: Mapping[str, Path], run_id: str) -> ChatInput:
        """What the graph is run with."""
        who = (given.user_context or AskedBy()).model_dump(mode="json", exclude_unset=True, exclude_none=True)
        context = cast("schemas.UserContext", {"now": datetime.now(UTC).isoformat(), **who})
        return ChatInput(messages=[HumanMessage(given.message)], user_context=context)

    def run(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> api.Run:
        """Prepare a run; `InputError` is raised if the message is empty, or there is what nobody knows."""
        return _AssistantRun(self, given, run_id)

    def recovered(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> api.Run:
        """Prepare to go on with a run; a turn that was kept already is not kept again."""
        return _AssistantRun(self, given, run_id, recovered=True)

    def outcome(self, state: Mapping[str, Any]) -> api.Outcome:
        """The answer with the records that it cites."""
        results: dict[str, list[schemas.Found]] = state.get("query_results") or {}
        cited: Sequence[str] = state.get("referenced_ids") or ()
        records = {found.record.id: found.record for hits in results.values() for found in hits}
        if not records.keys() >= set(cited):
            # An answer to a later turn may cite what an earlier one found.
            records = {**self.services.search.catalogue.records, **records}
        scores = _scores_of(state)
        return api.Outcome(
            answer=state.get("response_text") or "",
            status=state.get("status") or "failed",
            citations=tuple(_citation(records[id]) for id in cited if id in records),
            quality=scores.get("quality"),
            scores=scores,
            error=state.get("error"),
            error_node=state.get("error_node"),
        )

    def holds(self) -> int:
        """How many documents the conference has."""
        return self.services.store.stats().documents


class _AssistantRun(api.Run):
    """One turn of a conversation."""

    def __init__(
        self, workflow: AssistantWorkflow, given: Mapping[str, Any], run_id: str, *, recovered: bool = False
    ) -> None:
        graph_input = workflow.start(cast("ChatMessage", workflow.read(given)), {}, run_id)
        super().__init__(given, graph_input, given["message"], workflow)
        self._context: schemas.UserContext = graph_input.get("user_context", {})
        self.services = workflow.services
        self._run_id = run_id
        self._recovered = recovered
        self._translator = events.Translator(self.services, self.usage)
        self._last: RunEvent | None = None
        self._translated: list[events.ChatEvent] = []

    def told(self, event: RunEvent) -> Iterable[Told]:
        """The acknowledgment, what is being done, and each reflection with its reasoning and its queries."""
        for said in self.client_events(event):
            if isinstance(said, events.Progress):
                yield Told(kind="progress", node=said.node, message=said.message)
            elif isinstance(said, events.Acknowledgment):
                yield Told(kind="acknowledgment", node=GENERATE_ACKNOWLEDGMENT, message=said.message)
            elif isinstance(said, events.Thinking) and isinstance(event, NodeFinished):
                data = {
                    "strategy": said.strategy,
                    "reasoning": event.update.get("reflection_reasoning", ""),
                    "original_queries": events.brief(event.update.get("original_planned_queries") or []),
                    "new_queries": events.brief(event.update.get("planned_queries") or []),
                    "retry_count": said.retry_count,
                }
                yield Told(kind="thinking", node=REFLECT_AND_REPLAN, message=said.message, data=data)

    def client_events(self, event: RunEvent) -> Sequence[events.ChatEvent]:
        """The events of the streaming contract."""
        # The translator counts along, so it sees each event once, however often it is asked about.
        if event is not self._last:
            self._last, self._translated = event, [*self._translator.translate(event)]
        return self._translated

    def plain(self, key: str, value: Any) -> Any:
        """A value of the state, records by id, title and score alone."""
        return events.brief(value)

    async def ended(self, result: RunResult) -> tuple[api.Outcome, Sequence[api.ClientEvent]]:
        """The answer with the records that it cites; the turn is kept."""
        answered = self.result(result)
        await self._remember(answered)
        outcome, _events = await super().ended(result)
        summary = events.PipelineSummary(**{name: getattr(answered, name) for name in schemas.Summary.model_fields})
        details = {**events.brief(answered), "summary": summary.model_dump(mode="json", exclude={"event"})}
        last: events.ChatEvent = events.Done(**{name: getattr(answered, name) for name in schemas.Ending.model_fields})
        if answered.status == "failed":
            error = answered.error or "the run ended before an answer was written"
            last = events.Failed(error=error, error_type="NoAnswer", can_retry=True)
        return outcome.model_copy(update={"details": details}), (summary, last)

    def result(self, result: RunResult) -> schemas.ChatResult:
        """The outcome as Python has it."""
        message = self.graph_input["messages"][-1].text
        return result_of(self._run_id, message, result, self.usage.total(), self.usage.cost())

    def failed(self, error: BaseException) -> Sequence[api.ClientEvent]:
        """What a client is told of an exception."""
        if isinstance(error, LoopwrightError):
            return (failure_of(error),)
        told, kind = "something went wrong inside the server: its log says what", "InternalError"
        if isinstance(error, asyncio.CancelledError):
            told, kind = "the run was cancelled", "Cancelled"
        elif isinstance(error, TimeoutError):
            told, kind = "the run took too long and was stopped", "RunTimeout"
        return (events.Failed(error=told, error_type=kind, can_retry=kind != "InternalError"),)

    async def _remember(self, answered: schemas.ChatResult) -> None:
        """Keep the turn; a memory that fails loses the turn, not the answer. A wish to be forgotten is not kept."""
        conversation, user = self._context.get("conversation_id"), self._context.get("user_id")
        if not conversation or forgets_all(answered.message):
            return
        now = datetime.now(UTC)
        asked = schemas.Turn(role="user", text=answered.message, at=now)
        told = schemas.Turn(role="assistant", text=answered.answer, referenced_ids=answered.referenced_ids, at=now)
        try:
            async with asyncio.timeout(self.services.config.assistant.timeout.memory):
                memory = self.services.memory
                # A process that was killed, or the run that this one was forked from, may have kept it.
                before = await memory.turns(conversation, 2, user_id=user) if self._recovered else []
                if not any(turn.role == "user" and turn.text == asked.text for turn in before):
                    await memory.add_turns(conversation, [asked, told], user_id=user)
        except (LoopwrightError, TimeoutError) as error:
            reason = error or "the memory is too slow"
            logger.warning("The turn of conversation %r is not kept: %s", conversation, reason)


def _citation(record: schemas.Record) -> api.Citation:
    fields = {name: list(values) for name, values in record.fields.items() if values}
    times = {name: at.isoformat() for name, at in (("start", record.start), ("end", record.end)) if at is not None}
    return api.Citation(
        mark=record.id,
        title=record.title,
        url=record.url if record.url.startswith(("http://", "https://")) else None,
        details={"table": record.table.value, **fields, **times},
    )


def chat(
    message: str, *, user_context: schemas.UserContext | None = None, services: Services, run_id: str | None = None
) -> schemas.ChatResult:
    """Answer one message.

    Args:
        message: The message.
        user_context: Who asks and when: ``user_id``, ``conversation_id``, ``now`` (ISO time; by default the present
            moment), ``profile``.
        services: The conference, the memory and the models.
        run_id: Names the run; by default a new name.

    Returns:
        The answer with the records that it cites, how honest an end it is, and how it was come by.

    Raises:
        InputError: If the message is empty or no text, or the context has what nobody knows.
        StoreError: If there is no conference (within `NodeFailed`, if the store fails during the run).
        NodeFailed: If a node failed for good; its cause is the original error.
    """
    return services.background.call(achat, message, user_context=user_context, services=services, run_id=run_id)


async def achat(
    message: str, *, user_context: schemas.UserContext | None = None, services: Services, run_id: str | None = None
) -> schemas.ChatResult:
    """Answer one message without blocking the event loop; see `chat`."""
    run, events = _begun(message, user_context, services, run_id)
    *_, last = [event async for event in events]
    result = cast("RunResult", last)
    await run.ended(result)
    return run.result(result)


async def astream_chat(
    message: str, *, user_context: schemas.UserContext | None = None, services: Services, run_id: str | None = None
) -> AsyncIterator[events.ChatEvent]:
    """Answer one message and yield what a client sees, as it happens; the last event is ``done`` or ``error``.

    What a later attempt at the answer replaces has come by then: a new ``node_start`` of ``generate_response`` begins a
    new answer where the model of the one before failed half-way. See `chat` for the arguments.
    """
    try:
        run, begun = _begun(message, user_context, services, run_id)
        async with aclosing(cast("AsyncGenerator[RunEvent | RunResult]", begun)) as events:
            async for event in events:
                if isinstance(event, RunResult):
                    _outcome, last = await run.ended(event)
                    for told in last:
                        yield cast("events.ChatEvent", told)
                else:
                    for told in run.client_events(event):
                        yield told
    except LoopwrightError as error:
        yield failure_of(error)


def _begun(
    message: str, context: schemas.UserContext | None, services: Services, run_id: str | None
) -> tuple[_AssistantRun, AsyncIterator[RunEvent | RunResult]]:
    """A run, and what happens in it."""
    workflow = services.opened.once("workflow", lambda: AssistantWorkflow(services))
    given: dict[str, Any] = {"message": message}
    if context:  # in plain JSON: a profile may be given as an object
        fields = {*ProfileInput.model_fields}
        objects = {key: value for key, value in context.items() if isinstance(value, BaseModel)}
        plain = {key: value.model_dump(mode="json", include=fields) for key, value in objects.items()}
        given["user_context"] = {**context, **plain}
    run = _AssistantRun(workflow, given, run_id or uuid.uuid4().hex[:16])
    return run, workflow.follow(run)


def failure_of(error: LoopwrightError) -> events.Failed:
    """What a client sees when a run has ended with an exception; a node's input is for the log."""
    cause, told = cause_of(error), str(error)
    if isinstance(cause, NodeFailed):
        told = cause.told
    elif isinstance(error, NodeFailed):
        told = f"node {error.node!r} failed: {events.told_of(type(cause).__name__, str(cause))}"
    if isinstance(error, NodeFailed) and not isinstance(cause, LoopwrightError):
        logger.error("a run failed", exc_info=error)
    return events.Failed(error=told, error_type=type(cause).__name__, can_retry=is_transient(cause))


def result_of(run_id: str, message: str, run: RunResult, usage: Usage, cost: float | None) -> schemas.ChatResult:
    """Read the outcome from a run."""
    state = run.state
    return schemas.ChatResult(
        run_id=run_id,
        message=message,
        answer=state.get("response_text") or "",
        referenced_ids=tuple(state.get("referenced_ids") or ()),
        status=state.get("status") or "failed",
        stop_reason=state.get("stop_reason"),
        acknowledgment=state.get("acknowledgment") or "",
        thinking_updates=tuple(state.get("thinking_updates") or ()),
        path=tuple(run.path),
        original_planned_queries=tuple(state.get("original_planned_queries") or ()),
        queries=tuple(query for plan in state.get("attempts") or () for query in plan),
        results={table: tuple(found) for table, found in (state.get("query_results") or {}).items()},
        retry_count=state.get("retry_count", 0),
        scores=_scores_of(state),
        model_calls=usage.calls,
        tokens=usage.total_tokens,
        cost=cost,
        duration_ms=round(run.seconds * 1000, 3),
        error=state.get("error"),
        error_node=state.get("error_node"),
    )


def _scores_of(state: Mapping[str, Any]) -> dict[str, float]:
    scores = {name: state.get(f"{name}_score") for name in ("quality", "confidence", "faithfulness")}
    return {name: score for name, score in scores.items() if score is not None}

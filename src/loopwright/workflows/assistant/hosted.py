"""The conference assistant as a host runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from langgraph.checkpoint.base import BaseCheckpointSaver

from loopwright.engine import BoundedGraph, RunEvent, RunResult
from loopwright.engine.events import NodeFinished, Told
from loopwright.errors import InputError, LoopwrightError, unknown_name_message
from loopwright.models import UsageRecorder
from loopwright.workflows.assistant.conference.sample import sample_store
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.constants import GENERATE_ACKNOWLEDGMENT, REFLECT_AND_REPLAN
from loopwright.workflows.assistant.events import Acknowledgment, ChatEvent, Failed, Progress, Thinking
from loopwright.workflows.assistant.form import EXAMPLES, SCHEMA
from loopwright.workflows.assistant.graph import build_graph
from loopwright.workflows.assistant.nodes import DECLARATIONS
from loopwright.workflows.assistant.nodes.asking import prompts
from loopwright.workflows.assistant.pipeline import failure_of, last_events, remember, turn_input
from loopwright.workflows.assistant.results import ChatResult, result_of
from loopwright.workflows.assistant.schemas import Record, UserContext
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState
from loopwright.workflows.assistant.streaming import Translator, brief
from loopwright.workflows.graphs import HostedGraphs
from loopwright.workflows.hosting import (
    Citation,
    ClientEvent,
    HostedRun,
    NodeInfo,
    Outcome,
    Setting,
)
from loopwright.workflows.opened import prices, usage_of_the_run
from loopwright.workflows.sections import MODEL_NODES

_NODES = {
    node.name: NodeInfo(
        label=node.label,
        icon=node.icon,
        has_llm=node.has_llm,
        prompt=node.prompt_key,
        description=(node.work.__doc__ or "").partition("\n")[0],
    )
    for node in DECLARATIONS
}


class AssistantHosted(HostedGraphs):
    """The conference assistant."""

    name = "assistant"
    title = "Conference assistant"
    description = (
        "Answers questions about a conference: what is on, where and when, who speaks, whom to meet. A poor search is "
        "thought over and asked in another way, a few times at most."
    )
    input_schema = SCHEMA
    streams_answer = True
    nodes = _NODES
    model_nodes = MODEL_NODES["assistant"]
    state_schema = AssistantState
    allow = (AssistantState,)
    examples = EXAMPLES

    def __init__(self, services: Services) -> None:
        """Prepare; nothing is opened yet.

        Args:
            services: The conference, the memory and the models; closed by `close`.
        """
        self.services = services
        """The conference, the memory and the models."""
        super().__init__(services.models, prompts())

    @classmethod
    def sample(cls, config: AssistantConfig | None = None) -> Self:
        """The same over the made-up conference that comes with the package, in a store in memory.

        Args:
            config: The configuration; its store is not used.
        """
        services = Services.of(config or AssistantConfig())
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
            given: The message and who asks.
            uploads: Not needed.
            run_id: Names the run.

        Raises:
            InputError: If the message is empty, or there is what nobody knows.
        """
        return _AssistantRun(given, run_id, self.services)

    def recovered(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> HostedRun:
        """Prepare to go on with a run; a turn that was kept already is not kept again.

        Args:
            given: The message and who asks.
            uploads: Not needed.
            run_id: Names the run.
        """
        return _AssistantRun(given, run_id, self.services, recovered=True)

    def close(self) -> None:
        """Close the services."""
        self.services.close()


class _AssistantRun(HostedRun):
    """One turn of a conversation."""

    def __init__(self, given: Mapping[str, Any], run_id: str, services: Services, *, recovered: bool = False) -> None:
        for key in given:
            if key not in SCHEMA["properties"]:
                raise InputError(unknown_name_message("key of the input", key, SCHEMA["properties"]))
        context: Any = given.get("user_context") or {}
        if not isinstance(context, dict):
            raise InputError(f"user_context is {context!r}: give an object")
        message: Any = given.get("message")
        self._context: UserContext = context
        graph_input = turn_input(message, self._context)
        super().__init__(given, graph_input, message)
        self._run_id = run_id
        self.services = services
        self._recovered = recovered
        self._remembered = False
        self._usage = UsageRecorder(prices())
        self._translator = Translator(services, self._usage)
        self._last: RunEvent | None = None
        self._translated: list[ChatEvent] = []

    def settings(self) -> Sequence[Setting]:
        """Where the run's model calls are counted."""
        return (Setting(usage_of_the_run, self._usage),)

    def told(self, event: RunEvent) -> Iterable[Told]:
        """The acknowledgment, what is being done, and each reflection with its reasoning and its queries.

        Args:
            event: The engine's event.
        """
        for said in self.client_events(event):
            if isinstance(said, Acknowledgment):
                yield Told(kind="acknowledgment", node=GENERATE_ACKNOWLEDGMENT, message=said.message)
            elif isinstance(said, Progress):
                yield Told(kind="progress", node=said.node, message=said.message)
            elif isinstance(said, Thinking) and isinstance(event, NodeFinished):
                yield Told(
                    kind="thinking",
                    node=REFLECT_AND_REPLAN,
                    message=said.message,
                    data={
                        "strategy": said.strategy,
                        "reasoning": event.update.get("reflection_reasoning", ""),
                        "original_queries": brief(event.update.get("original_planned_queries") or []),
                        "new_queries": brief(event.update.get("planned_queries") or []),
                        "retry_count": said.retry_count,
                    },
                )

    def client_events(self, event: RunEvent) -> Sequence[ChatEvent]:
        """The events of the streaming contract.

        Args:
            event: The engine's event.
        """
        # The translator counts along, so it sees each event once, however often it is asked about.
        if event is not self._last:
            self._last, self._translated = event, [*self._translator.translate(event)]
        return self._translated

    def plain(self, key: str, value: Any) -> Any:
        """A value of the state, records by id, title and score alone.

        Args:
            key: Its key.
            value: The value.
        """
        return brief(value)

    async def ended(self, result: RunResult) -> tuple[Outcome, Sequence[ClientEvent]]:
        """The answer with the records that it cites; the turn is kept.

        Args:
            result: The final state and the events.
        """
        total, cost = self._usage.total(), self._usage.cost()
        answered = result_of(self._run_id, self.graph_input["messages"][-1].text, result, total, cost)
        if not self._remembered and not await self._kept_before(answered):
            await remember(answered, self._context, self.services)
        self._remembered = True
        return _outcome_of(answered, self.services), last_events(answered)

    def failed(self, error: BaseException) -> Sequence[ClientEvent]:
        """What a client is told of an exception.

        Args:
            error: The exception.
        """
        if isinstance(error, LoopwrightError):
            return (failure_of(error),)
        if isinstance(error, asyncio.CancelledError):
            return (Failed(error="the run was cancelled", error_type="Cancelled", can_retry=True),)
        if isinstance(error, TimeoutError):
            return (Failed(error="the run took too long and was stopped", error_type="RunTimeout", can_retry=True),)
        told = "something went wrong inside the server: its log says what"
        return (Failed(error=told, error_type="InternalError", can_retry=False),)

    async def _kept_before(self, answered: ChatResult) -> bool:
        """Whether a process that was killed, or the run that this one was forked from, kept the turn."""
        conversation = self._context.get("conversation_id")
        if not self._recovered or not conversation:
            return False
        try:
            turns = await self.services.memory.turns(conversation, 2, user_id=self._context.get("user_id"))
        except LoopwrightError:
            return False  # the attempt to keep it says in the log what is wrong with the memory
        return any(turn.role == "user" and turn.text == answered.message for turn in turns)


def _outcome_of(answered: ChatResult, services: Services) -> Outcome:
    records = {found.record.id: found.record for hits in answered.results.values() for found in hits}
    if not records.keys() >= set(answered.referenced_ids):
        # An answer to a later turn may cite what an earlier one found.
        records = {**services.search.catalogue.records, **records}
    found = map(records.get, answered.referenced_ids)
    return Outcome(
        answer=answered.answer,
        status=answered.status,
        citations=tuple(_citation(record) for record in found if record),
        quality=answered.scores.get("quality"),
        scores=answered.scores,
        details=brief(answered),
        error=answered.error,
        error_node=answered.error_node,
    )


def _citation(record: Record) -> Citation:
    details: dict[str, Any] = {name: list(values) for name, values in record.fields.items() if values}
    for name, moment in (("start", record.start), ("end", record.end)):
        if moment is not None:
            details[name] = moment.isoformat()
    return Citation(
        mark=record.id,
        title=record.title,
        url=record.url if record.url.startswith(("http://", "https://")) else None,
        details={"table": record.table.value, **details},
    )

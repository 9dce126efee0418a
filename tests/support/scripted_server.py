"""A real uvicorn server on loopback, in a thread of its own, with an assistant that does what the message says."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy
from listening import in_thread
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from loopwright.engine import BoundedGraph, RunEvent, RunResult, bounded
from loopwright.engine.events.schema import TextStreamed, emit
from loopwright.errors import InputError, NodeFailed, StoreError
from loopwright.runs.schemas import ENDED, RunRecord
from loopwright.server.serving import Server
from loopwright.workflows import runtime
from loopwright.workflows.api import ClientEvent, NodeInfo, Outcome, Run, Workflow, WorkflowInput
from loopwright.workflows.assistant.events import Failed
from loopwright.workflows.assistant.workflow import AssistantWorkflow, _AssistantRun
from loopwright.workflows.sections import WorkflowConfig


class Told(BaseModel):
    """An event with any fields."""

    model_config = ConfigDict(extra="allow")

    event: str


@dataclass
class Gates:
    """Where scripted runs wait until the test lets them go on, and what they left behind."""

    opened: set[str] = field(default_factory=set)
    ended: list[str] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)


class ScriptState(TypedDict, total=False):
    """What a scripted run is given."""

    message: str
    user_context: dict[str, Any] | None
    run_id: str


class ScriptInput(WorkflowInput):
    message: str
    user_context: dict[str, Any] | None = None


class Script(Workflow):
    """Answers as the message says: JSON with a list of steps."""

    name = "assistant"
    title = "Scripted"
    description = "Does what the message says."
    Input = ScriptInput
    nodes = {"play": NodeInfo(label="Play")}  # noqa: RUF012
    streams_answer = True
    state_schema = ScriptState
    routes = AssistantWorkflow.routes
    file_routes = ("/rag/ingest",)
    schemas = AssistantWorkflow.schemas

    def __init__(self, services: Any = None) -> None:
        super().__init__(runtime.Services(WorkflowConfig()))
        self.models = None
        self.services = services or self.services
        self.gates = Gates()

    def holds(self) -> int | None:
        store = getattr(self.services, "store", None)
        return store.stats().documents if store else None

    def close(self) -> None:
        return

    def build(self, services: Any) -> BoundedGraph:
        builder = StateGraph(ScriptState)
        # The engine tells what a node streams as it comes only where some node can be tried again.
        builder.add_node("play", self._play, retry_policy=RetryPolicy(max_attempts=1))
        builder.add_edge(START, "play")
        return bounded(builder)

    def run(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> Run:
        return ScriptRun(given, {**given, "run_id": run_id}, given["message"][:100])

    async def _play(self, state: ScriptState) -> dict[str, Any]:
        run_id = state["run_id"]
        self.gates.asked.append({"user_context": None, **state})
        try:
            for step in json.loads(state["message"]):
                async for told in self._step(step, run_id):
                    emit(TextStreamed(node="play", text=told.model_dump_json()).model_dump(mode="json"))
        finally:
            self.gates.ended.append(run_id)
        return {}

    async def _step(self, step: dict[str, Any], run_id: str) -> AsyncIterator[Told]:
        (do, value), *_more = step.items()
        if do == "chunks":
            for number in range(value):
                yield Told(event="chunk", text=step.get("text", f"<{number}>") + "x" * step.get("size", 0))
                await asyncio.sleep(step.get("pause", 0))
        elif do == "wait":
            while value not in self.gates.opened:
                await asyncio.sleep(0.005)
        elif do == "done":
            fields = {"referenced_ids": [], "status": "answered", "stop_reason": None}
            yield Told(event="done", run_id=run_id, **fields | value)
        elif do == "raise":
            raise PROBLEMS[value]
        else:
            yield Told(event=do, **value)


class ScriptRun(Run):
    """One run of a script."""

    _ended = False

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._details: dict[str, Any] = {"answer": ""}

    def client_events(self, event: RunEvent) -> Iterable[ClientEvent]:
        if isinstance(event, TextStreamed):
            told = Told.model_validate_json(event.text)
            self._ended |= told.event in ("done", "error")
            fields = told.model_dump(exclude={"event"})
            if told.event == "chunk":
                self._details["answer"] += fields["text"]
            elif told.event == "done":
                self._details |= fields
            yield told

    async def ended(self, result: RunResult) -> tuple[Outcome, Sequence[ClientEvent]]:
        if self._ended:
            return Outcome(answer="It is done.", status="answered", quality=0.5, details=self._details), ()
        no_answer = Failed(error="there is no answer", error_type="NoAnswer", can_retry=True)
        return Outcome(status="failed"), (no_answer,)

    failed = _AssistantRun.failed


PROBLEMS: dict[str, Exception] = {
    "unforeseen": ValueError("the password is hunter2"),
    "input": InputError("the message makes no sense"),
    "store": StoreError("the database is away", transient=True),
    "node": NodeFailed("plan_queries", "it broke", snapshot="{'secret': 'state'}"),
}


def script(*steps: dict[str, Any]) -> dict[str, str]:
    return {"message": json.dumps(steps)}


DONE: dict[str, Any] = {"done": {}}


@dataclass
class Services:
    """A real store, as much as the health check needs, and nothing configured."""

    store: Any
    config: WorkflowConfig = field(default_factory=WorkflowConfig)


@dataclass
class Served:
    """A running server."""

    url: str
    app: Any
    script: Script

    @property
    def gates(self) -> Gates:
        return self.script.gates

    def record(self, run_id: str) -> RunRecord:
        """A run as it is kept."""
        found = self.app.state.context.hub.store.get(run_id)
        assert found is not None, run_id
        return found

    def ended(self, run_id: str) -> bool:
        return self.record(run_id).status in ENDED


def running(app: Any) -> AbstractContextManager[str]:
    """Serve an application as the product does, from a thread, and say where."""
    return in_thread(Server(app, log_level="error"), socket.create_server(("127.0.0.1", 0), backlog=512))


@dataclass
class Event:
    """An event as a client received it."""

    id: str
    name: str
    data: Any

    @property
    def number(self) -> int:
        return int(self.id.rpartition(":")[2])

    @property
    def run_id(self) -> str:
        return self.id.rpartition(":")[0]


async def events_of(response: httpx.Response, comments: list[str] | None = None) -> AsyncIterator[Event]:
    """The events of a response as they come, read as the HTML standard has it."""
    fields: dict[str, list[str]] = {}
    async for line in response.aiter_lines():
        if not line:
            if "data" in fields:
                yield Event(fields["id"][0], fields["event"][0], json.loads("\n".join(fields["data"])))
            fields = {}
        elif line.startswith(":"):
            if comments is not None:
                comments.append(line[1:].strip())
        else:
            name, _colon, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))


async def read_all(client: httpx.AsyncClient, method: str, url: str, **options: Any) -> list[Event]:
    """All events until the server ends the reply."""
    async with client.stream(method, url, **options) as response:
        assert response.status_code == 200, await response.aread()
        return [event async for event in events_of(response)]

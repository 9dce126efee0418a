"""A small workflow with a loop, parallel nodes, a model and a question, as a host runs it; a test says what it does."""

import asyncio
import operator
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from langchain_core.language_models import BaseChatModel
from langgraph.types import interrupt
from pydantic import BaseModel
from shapes import graph
from typing_extensions import TypedDict

from loopwright.checkpoints import aopen_checkpointer
from loopwright.engine import BoundedGraph, Loop, RunEvent, RunResult, bounded
from loopwright.engine.events.schema import NodeFinished, TextStreamed, Told, emit
from loopwright.errors import InputError
from loopwright.models import ModelRegistry
from loopwright.models.prompts import Prompt, PromptLibrary
from loopwright.runs.hub import RunHub
from loopwright.runs.schemas import Channel, RunRecord
from loopwright.runs.store import KeptEvent, open_runs
from loopwright.workflows.api import ClientEvent, Outcome, Run, Workflow
from loopwright.workflows.runtime import Services
from loopwright.workflows.sections import WorkflowConfig

PATH = ("plan", "left", "right", "check")
"""The nodes of one round; ``answer`` comes last."""


class Finding(BaseModel):
    """What a round found."""

    text: str
    score: float


class State(TypedDict, total=False):
    given: dict[str, Any]
    trace: Annotated[list[str], operator.add]
    findings: list[Finding]
    rounds: int
    past: list[str]
    answer: str
    anything: Any


class Heard(BaseModel):
    """What a client of this workflow sees."""

    event: str
    text: str


class Desk:
    """Where nodes say that they began, wait to be let go on, and are told to fail. For nodes in threads too."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()
        """``node`` -> how often it began in this process, of all runs together."""
        self.opened: set[str] = set()
        """What those who wait for it do not wait for any more."""
        self.waiting: Counter[str] = Counter()
        """What is waited for -> how many wait."""
        self._lock = threading.Lock()

    def begin(self, node: str) -> None:
        with self._lock:
            self.begun[node] += 1

    def wait(self, name: str) -> None:
        self.waiting[name] += 1
        while name not in self.opened:
            time.sleep(0.002)

    async def await_(self, name: str) -> None:
        self.waiting[name] += 1
        while name not in self.opened:
            await asyncio.sleep(0.002)


class WalkRun(Run):
    def told(self, event: RunEvent) -> Iterable[Told]:
        if isinstance(event, NodeFinished) and event.node == "plan":
            yield Told(kind="progress", node="plan", message=f"round {event.update['rounds']}")

    def client_events(self, event: RunEvent) -> Iterable[ClientEvent]:
        if isinstance(event, TextStreamed):
            yield Heard(event="chunk", text=event.text)

    def plain(self, key: str, value: Any) -> Any:
        if key == "anything" and value == "unspeakable":
            raise RuntimeError("no words")
        return value

    async def ended(self, result: RunResult) -> tuple[Outcome, Sequence[ClientEvent]]:
        answer = result.state.get("answer", "")
        return Outcome(answer=answer, status="answered", quality=0.5), [Heard(event="done", text=answer)]

    def failed(self, error: BaseException) -> Sequence[ClientEvent]:
        return [Heard(event="error", text=type(error).__name__)]


class Walk(Workflow):
    """``plan`` -> ``left`` and ``right`` at once -> ``check`` -> ``plan`` again, at most three times -> ``answer``.

    A run's input: ``rounds`` after how many rounds ``check`` is content; ``hold`` a node (``check#2``: in its second
    round) that waits for the desk to open that name; ``fail`` a node that raises once, in whichever process it is;
    ``ask`` whether ``answer`` asks a person; ``chunks`` pieces of text that ``answer`` streams; ``anything`` a value
    for the state; ``model`` whether ``left`` and ``right`` ask the model.
    """

    name, title, description = "walk", "Walk", "Goes round."
    nodes: Mapping[str, Any] = {}
    model_nodes = ("left", "right")
    state_schema = State

    def __init__(self, desk: Desk | None = None, model: BaseChatModel | None = None, asynchronous: bool = True) -> None:
        self.desk = desk or Desk()
        super().__init__(Services(WorkflowConfig(), ModelRegistry({"default": model}, nodes=self.model_nodes)))
        self.prompts = PromptLibrary([Prompt("look", 1, "Look for {{what}}.")])
        self.values: dict[str, Any] = {}
        self._asynchronous = asynchronous
        self._failed: set[str] = set()

    def run(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> Run:
        if not isinstance(given.get("question"), str):
            raise InputError("the input needs a question")
        value = self.values.get(given.get("anything", ""), given.get("anything"))
        return WalkRun(given, {"given": dict(given), "trace": [], "anything": value}, given["question"])

    def build(self, services: Any) -> BoundedGraph:
        edges = "START-plan plan-left plan-right left+right-check check?plan check?answer answer-END"
        routes = {"check": lambda state: "answer" if state["rounds"] >= state["given"].get("rounds", 1) else "plan"}
        made = graph(edges, State, routes, **{node: self._node(node) for node in (*PATH, "answer")})
        loop = Loop(
            name="again", target="plan", sources=("check",), limit=3, exhausted="answer", history="past",
            reason=lambda state: f"round {state.get('rounds')} is not enough",
        )  # fmt: skip
        return bounded(made, [loop], name="walk")

    def _node(self, node: str) -> Any:
        async def work(state: State) -> dict[str, Any]:
            if name := self._begin(node, state):
                await self.desk.await_(name)
            if chat := self._chat(node, state):
                async for _chunk in chat.astream(self._question(node)):
                    pass
            return self._end(node, state)

        def work_in_thread(state: State) -> dict[str, Any]:
            if name := self._begin(node, state):
                self.desk.wait(name)
            if chat := self._chat(node, state):
                chat.invoke(self._question(node))
            return self._end(node, state)

        return work if self._asynchronous else work_in_thread

    def _begin(self, node: str, state: State) -> str | None:
        self.desk.begin(node)
        place = f"{node}#{state.get('rounds', 0) + (node == 'plan')}"
        given = state["given"]
        if given.get("fail") in (node, place) and place not in self._failed:
            self._failed.add(place)
            raise ConnectionError("the line is dead")
        return given["hold"] if given.get("hold") in (node, place) else None

    def _chat(self, node: str, state: State) -> BaseChatModel | None:
        return self.models.chat(node) if node in self.model_nodes and state["given"].get("model") else None

    def _question(self, node: str) -> str:
        return self.prompts.get("look").render(what=node)

    def _end(self, node: str, state: State) -> dict[str, Any]:
        update: dict[str, Any] = {"trace": [node]}
        if node == "plan":
            update["rounds"] = state.get("rounds", 0) + 1
        if node == "check":
            update["findings"] = [Finding(text=f"round {state['rounds']}", score=state["rounds"] / 4)]
        if node == "answer":
            for number in range(state["given"].get("chunks", 0)):
                emit(TextStreamed(node=node, text=f"<{number}>").model_dump(mode="json"))
            said = interrupt("shall I?") if state["given"].get("ask") else "done"
            update["answer"] = f"{said} after {state.get('rounds', 0)}"
        return update


@asynccontextmanager
async def opened(folder: Path, *workflows: Workflow, saver: str = "sqlite", **options: Any) -> AsyncIterator[RunHub]:
    """A hub on real stores in a folder (`saver`: sqlite, json, memory); what runs when it is left is ended at once."""
    store = open_runs(f"sqlite:{folder}/runs.db")
    place = {"sqlite": f"sqlite:{folder}/checkpoints.db", "json": f"json:{folder}/checkpoints", "memory": "memory"}
    async with AsyncExitStack() as stack:
        stack.callback(store.close)
        kept = await stack.enter_async_context(aopen_checkpointer(place[saver], allow=[State, Finding]))
        hub = RunHub(store, workflows, kept, **options)
        await hub.open()
        try:
            yield hub
        finally:
            await hub.close(grace=0.0)


@asynccontextmanager
async def standing(
    folder: Path, at: str, given: Mapping[str, Any], **options: Any
) -> AsyncIterator[tuple[RunHub, RunRecord, Desk]]:
    """A hub, a run that stands at a node, and the desk that lets it go on; the options are the walk's."""
    desk = Desk()
    async with opened(folder, Walk(desk, **options)) as hub:
        run = await hub.start("walk", {**given, "hold": at})
        await until(lambda: desk.waiting[at])
        yield hub, run, desk


async def ran(hub: RunHub, given: Mapping[str, Any], workflow: str = "walk", **options: Any) -> RunRecord:
    """Run to the end."""
    return await hub.until_ended((await hub.start(workflow, given, **options)).id)


async def log(hub: RunHub, run_id: str, channel: Channel = "run") -> list[KeptEvent]:
    """All events of a run to its end."""
    found: list[KeptEvent] = []
    while True:
        events, ended = await hub.follow(run_id, channel, found[-1].seq if found else 0)
        found += events
        if ended:
            return found


async def until(condition: Callable[[], Any], every: float = 0.002) -> None:
    """Wait until something is so, and look every so many seconds."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(every)

"""What happens in a run, as one tagged union, and how it reaches whoever watches the run.

The engine's own nodes `emit` these events as plain dicts: to LangGraph's ``custom`` stream, for those who read that
themselves, and to the run's own listener. Listening costs next to nothing, while LangGraph sends every superstep
through a thread as soon as ``custom`` is asked for. `loopwright.engine.events.stream` adds the start and the end of
every node from LangGraph's ``tasks`` stream and yields them all in order, typed.
"""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar, cast, get_args
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, Callbacks
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.runtime import get_runtime
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from loopwright.engine.langgraph_private import ERROR_HANDLER
from loopwright.engine.loop import Decision

T = TypeVar("T")


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    """When it happened, UTC."""


def tasks_of(namespace: str = "", nameless: bool = False) -> list[str]:
    """The ``task_id`` of each visit that a checkpoint namespace, by default this code's, is within; outermost first."""
    namespace = namespace or (var_child_runnable_config.get() or {}).get("configurable", {}).get("checkpoint_ns", "")
    # A task's second graph is ``1``; a visit around one with ``checkpointer=True`` has no name but its node's.
    parts = [part.partition(":") for part in namespace.split("|") if part and not part.isdigit()]
    return [task for node, _, task in parts if (task or nameless) and not node.startswith(ERROR_HANDLER)]


class _InVisit(_Event):
    tasks: list[str] = Field(default_factory=list[str])
    """The ``task_id`` of each visit that it happened in, outermost first; empty where that is not known, as in logs of
    earlier versions."""


class RunStarted(_Event):
    """A run began or was resumed."""

    type: Literal["run_started"] = "run_started"
    graph: str
    """The graph's name."""
    thread_id: str | None
    """The thread under which checkpoints are kept, if any."""
    resumed: bool
    """Whether it goes on from a checkpoint."""


class NodeStarted(_Event):
    """A visit of a node began; a node that runs three times starts three times."""

    type: Literal["node_started"] = "node_started"
    node: str
    """The node's name; of a node of a graph inside another node its path: ``research/look``."""
    task_id: str
    """Names this visit."""
    visit: int
    """Which visit of this node it is in the run, from 1."""
    within: str = ""
    """The ``task_id`` of the visit around it, where it is of a graph inside a node."""
    given: Any = None
    """What a ``Send`` gave it; None where it reads the graph's state."""


class NodeFinished(_Event):
    """A visit of a node ended."""

    type: Literal["node_finished"] = "node_finished"
    node: str
    """The node's name."""
    task_id: str
    """Names this visit."""
    visit: int
    """Which visit of this node it is in the run, from 1."""
    seconds: float
    """Wall time of the visit, retries included."""
    update: dict[str, Any]
    """What the node wrote to the state."""
    error: str | None = None
    """The error that ended it, or None."""
    known: bool = Field(default=False, exclude=True, repr=False)
    """Whether the node did not run, as its result was known: from a cache, or from before the run went on. It is not
    written with the event."""


class NodeRetried(_InVisit):
    """An attempt of a node failed and another one follows."""

    type: Literal["node_retried"] = "node_retried"
    node: str
    """The node's name."""
    attempt: int
    """The attempt that failed, from 1."""
    attempts: int
    """How many attempts there are at most."""
    kind: str
    """The exception's class."""
    message: str
    """The exception's message, truncated."""
    rule: str
    """The name of the retry rule that grants the next attempt."""
    wait: float
    """Seconds before the next attempt."""
    retry_after: float | None = None
    """Seconds that the server asked to wait, or None if it did not."""


class NodeGaveUp(_InVisit):
    """A node failed for good, and the run goes on without its result."""

    type: Literal["node_gave_up"] = "node_gave_up"
    node: str
    """The node's name."""
    kind: str
    """The exception's class."""
    message: str
    """The exception's message, truncated."""
    goto: str
    """Where control goes instead."""


class ModelFellBack(_InVisit):
    """A chat model failed for good, and the next one of its fallbacks takes its place."""

    type: Literal["model_fell_back"] = "model_fell_back"
    node: str | None
    """The node that asked, if it is known."""
    from_model: str
    """The model that failed."""
    to_model: str
    """The model that is asked instead."""
    kind: str
    """The exception's class."""
    failure: str
    """What kind of failure it was, for example ``rate_limit``."""
    message: str
    """The exception's message, truncated and without keys."""


class TextStreamed(_InVisit):
    """A node wrote a piece of text that people may read as it comes."""

    type: Literal["text"] = "text"
    node: str
    """The node's name."""
    text: str
    """The piece; all pieces of one visit, which ``tasks`` tells apart, together are the whole."""


class LoopDecided(_Event):
    """A gate answered a request for another pass."""

    type: Literal["loop"] = "loop"
    loop: str
    """The loop's name; of a loop of a graph inside a node with that node's path before it."""
    decision: Decision
    """Granted, exhausted, stalled or over budget."""
    spent: int
    """Passes granted so far in this scope, this one included."""
    limit: int
    """The limit in force."""
    reason: str
    """Why the pass was wanted."""
    goto: list[str]
    """Where control goes."""
    step: int
    """The superstep of the decision."""
    waited: float = 0.0
    """Seconds that the gate waited before granting."""
    why: str = ""
    """The stall rule that found no progress, or what the loop's budget lacks; empty for the other decisions."""
    sources: list[str] = []
    """The sources that asked; all that could, where the loop does not tell them apart."""
    within: str = ""
    """The ``task_id`` of the visit around it, where it is of a graph inside a node; ``step`` is of that graph then."""
    kept: bool = False
    """Whether it was read from what is kept of a run that was cut off, so that no gate decides it again."""


class BudgetSpent(_Event):
    """The run's budget is spent: it takes its fallback."""

    type: Literal["budget"] = "budget"
    resource: str
    """What is spent: model_calls, tokens, money or seconds."""
    limit: float
    """How much of it the run had; before the fallback without what is kept for it."""
    spent: float
    """How much of it is spent."""
    reason: str
    """The same in words."""
    goto: str
    """Where control goes."""


class StateSaved(_Event):
    """A superstep ended, and its state is kept under a checkpoint; told only to who asks for ``states``."""

    type: Literal["state"] = "state"
    step: int
    """The superstep, as LangGraph counts: -1 for the input."""
    checkpoint_id: str
    """Names the checkpoint; a run can be forked from it."""
    next: list[str]
    """The nodes that run next; none at the end."""
    changed: dict[str, Any] = Field(default_factory=dict[str, Any])
    """What differs from the state before, in plain JSON; filled in by who records the run."""
    removed: list[str] = []
    """The keys that the state before had and this one has not; filled in by who records the run."""
    values: dict[str, Any] = Field(default_factory=dict[str, Any], exclude=True, repr=False)
    """The whole state, for who follows the run in this process; it is not written with the event."""


class ModelMessage(BaseModel):
    """A message to or from a chat model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: str
    """system, human, ai or tool."""
    content: str
    """Its text; parts that are no text, such as images, in words."""


class ModelCalled(_InVisit):
    """A chat model was asked."""

    type: Literal["model_called"] = "model_called"
    node: str | None
    """The node that asked, if it is known."""
    model: str
    """The model's name."""
    messages: list[ModelMessage]
    """What it was sent, without secrets, each text shortened."""
    reply: str
    """What it answered, shortened; empty where it failed."""
    tool_calls: list[dict[str, Any]] = []
    """The tools that it called, with their arguments."""
    seconds: float
    """Wall time."""
    input_tokens: int | None = None
    """Tokens of the prompt, as the provider counted them; None if it did not."""
    output_tokens: int | None = None
    """Tokens of the reply, as the provider counted them; None if it did not."""
    cost: float | None = None
    """Its price in US dollars; None if it is not known."""
    error: str | None = None
    """The exception's class and message, or None."""
    prompt: str | None = None
    """The id of the prompt that it was asked with, if it has one."""
    prompt_version: int | None = None
    """The version of that prompt; None if it is not kept (a draft)."""


class Told(_InVisit):
    """What people are told while a run goes on."""

    type: Literal["told"] = "told"
    kind: Literal["acknowledgment", "progress", "thinking"]
    """The first word, what is being done, or what a failed attempt made the run think."""
    node: str
    """The node that it concerns."""
    message: str
    """The words."""
    data: dict[str, Any] = Field(default_factory=dict[str, Any])
    """What belongs to it in plain JSON, for example a reflection's strategy, reasoning and queries."""


class RunFinished(_Event):
    """A run ended, by itself or at a bound."""

    type: Literal["run_finished"] = "run_finished"
    seconds: float
    """Wall time of the run."""
    stop_reason: dict[str, Any] | list[dict[str, Any]] | None
    """The bound that was reached, or None."""
    interrupted: bool = False
    """Whether it waits for a person's answer."""
    state: dict[str, Any] = Field(default_factory=dict[str, Any], exclude=True, repr=False)
    """The final state, for who follows the run in this process; it is not written with the event."""


class RunFailed(_Event):
    """A run ended with an exception."""

    type: Literal["run_failed"] = "run_failed"
    kind: str
    """The exception's class."""
    message: str
    """The exception's message."""


RunEvent = Annotated[
    RunStarted | NodeStarted | NodeFinished | NodeRetried | NodeGaveUp | ModelFellBack | TextStreamed | LoopDecided
    | BudgetSpent | StateSaved | ModelCalled | Told | RunFinished | RunFailed, Field(discriminator="type"),
]  # fmt: skip
"""Any event of a run; ``type`` tells them apart."""

run_event: TypeAdapter[RunEvent] = TypeAdapter(RunEvent)
"""Validates and writes any `RunEvent`."""

_TAGS = frozenset(kind.model_fields["type"].default for kind in get_args(get_args(RunEvent)[0]))


def is_told(payload: Any) -> bool:
    """Whether what came in LangGraph's ``custom`` stream is an event that was emitted here."""
    return isinstance(payload, Mapping) and payload.get("type") in _TAGS and "at" in payload


# Emitting and hearing them


class Listener:
    """Keeps the events of one run until they are asked for; those of graphs inside its nodes are left out."""

    def __init__(self) -> None:
        self._heard: deque[Mapping[str, Any]] = deque()
        self.void: deque[tuple[str, ...]] = deque()  # nodes and visits whose attempt failed: its text is dropped
        self._depth = len(tasks_of(nameless=True))

    def hear(self, event: Mapping[str, Any], *, of_node: bool) -> None:
        """Keep an event that a node tells, or the graph around the nodes."""
        if len(tasks_of(nameless=True)) - of_node == self._depth:
            self._heard.append(event)

    def told(self) -> Iterator[Mapping[str, Any]]:
        """Give away what was kept, in order."""
        while self._heard:
            yield self._heard.popleft()


listener: ContextVar[Listener | None] = ContextVar("loopwright_listener", default=None)
"""Who listens to the run that this code is a part of."""


def emit(event: Mapping[str, Any]) -> None:
    """Tell an event, in plain JSON; outside of a graph nobody hears it."""
    event = {**event, "tasks": tasks_of()} if event.get("tasks") == [] else event
    if (heard_by := listener.get()) is not None:
        heard_by.hear(event, of_node=True)
    show(event, var_child_runnable_config.get())
    runtime: Any = get_runtime() if "configurable" in (var_child_runnable_config.get() or {}) else None
    if runtime is not None:
        runtime.stream_writer(event)


# Observing every run


class Observer(BaseCallbackHandler):
    """Follows one run of a bounded graph from within, whoever runs it and whether or not its stream is read.

    LangChain's callbacks tell it of nodes, models and tools, in the context in which these run; an exception in it is
    logged and changes nothing.
    """

    run_inline = True

    def on_run_event(self, event: Mapping[str, Any], run_id: UUID | None) -> None:
        """Hear an event of the engine's nodes, and the callback's run that it happens in; None outside of any node."""

    def running(self, course: Any) -> AbstractContextManager[None]:
        """What the whole of a run, a `Course`, is within, with the error that comes of it."""
        return nullcontext()

    def making(self) -> AbstractContextManager[Any]:
        """What each chunk of the run's stream is made within; between two of them its caller goes on."""
        return nullcontext()


observers: list[Callable[[Any], Observer]] = []
"""The newest makes an observer for each run of a bounded graph, which it is given; there are none by default."""


def observed(graph: Any, config: RunnableConfig) -> tuple[RunnableConfig, Observer | None]:
    """A run's configuration with its observer, and this; none where a run around it has one already."""
    if not observers or _observer_of(config):
        return config, None
    own = observers[-1](graph)
    return {**config, "callbacks": with_handlers(config.get("callbacks"), own)}, own


def show(event: Mapping[str, Any], config: RunnableConfig | None) -> None:
    """Let the observer of a run hear an event, by the configuration of the run or of the node that tells it."""
    if observers and config and (observer := _observer_of(config)):
        observer.on_run_event(event, getattr(config.get("callbacks"), "parent_run_id", None))


def _observer_of(config: RunnableConfig) -> Observer | None:
    """The observer of a run: the one that its configuration names, or that of the node inside of which it is begun."""
    around = var_child_runnable_config.get() or {}
    handlers = [*handlers_of(config.get("callbacks")), *handlers_of(around.get("callbacks"))]
    return next((each for each in handlers if isinstance(each, Observer)), None)


# The handlers of a run


def handlers_of(callbacks: Callbacks) -> Sequence[BaseCallbackHandler]:
    """The handlers that a configuration's callbacks hold."""
    return callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks or ()


def with_handlers(callbacks: Callbacks, *more: BaseCallbackHandler) -> BaseCallbackManager:
    """A run's callbacks with more handlers, for everything that the run's config is handed to.

    A manager and no list: LangGraph joins these with callbacks that it knows already, and only in a manager does each
    handler stand once.
    """
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
    else:
        manager = BaseCallbackManager([*(callbacks or ())], [*(callbacks or ())])
    for handler in more:
        manager.add_handler(handler, inherit=True)
    return manager


# Following a run's stream


@contextmanager
def holding(variable: ContextVar[T], value: T) -> Generator[None]:
    """Set a context variable for a while."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def following(stream: Iterator[T], within: Callable[[], AbstractContextManager[None]]) -> Iterator[T]:
    """Yield a stream's chunks, each of which is made within a context, a variable that is set, say.

    LangGraph starts its tasks in a copy of the context in which the stream's next chunk is asked for. The caller's own
    context stays as it is between two chunks.
    """
    while True:
        with within():
            try:
                chunk = next(stream)
            except StopIteration:
                return
        yield chunk


async def afollowing(stream: AsyncIterator[T], within: Callable[[], AbstractContextManager[None]]) -> AsyncGenerator[T]:
    """Yield a stream's chunks; see `following`."""
    try:
        while True:
            with within():
                try:
                    chunk = await anext(stream)
                except StopAsyncIteration:
                    return
            yield chunk
    finally:
        with within():
            await cast("AsyncGenerator[T]", stream).aclose()

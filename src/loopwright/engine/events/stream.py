"""Run, watch and resume a bounded graph.

Everything is LangGraph's own streaming and checkpointing; this only turns its streams into typed events.
"""

import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, cast

from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import RunnableConfig

from loopwright.engine.events import schema
from loopwright.engine.events.schema import RunEvent, afollowing, following, holding
from loopwright.engine.graph import BoundedGraph
from loopwright.engine.langgraph_private import ROOT, SENT, ensure_config, merge_configs
from loopwright.engine.ledger import STOP_REASON
from loopwright.engine.nodes.failures import words_of
from loopwright.engine.proof.fingerprint import FORCE
from loopwright.errors import CheckpointError

MODES = ["tasks", "values", "updates"]
_PIECE = 32
"""Characters of a model's text that are told at once: an event for each token would fill a run's log."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    state: dict[str, Any]
    """The final state."""
    events: tuple[RunEvent, ...]
    """What happened, in order."""

    @property
    def path(self) -> list[str]:
        """The nodes in the order in which they ran, gates and book-keeping left out."""
        known = {event.task_id for event in self.events if isinstance(event, schema.NodeFinished) and event.known}
        started = [event for event in self.events if isinstance(event, schema.NodeStarted)]
        return [event.node for event in started if event.task_id not in known]

    @property
    def seconds(self) -> float:
        """Wall time of the run."""
        return next(event.seconds for event in reversed(self.events) if isinstance(event, schema.RunFinished))


def run(graph: BoundedGraph, input: Any, *, thread_id: str | None = None, **options: Any) -> RunResult:
    """Run a graph to its end, for the final state and the events.

    Args:
        graph: The graph.
        input: The input; None goes on from the thread's checkpoint.
        thread_id: The thread under which a saver keeps the run.
        **options: As for LangGraph's ``stream``; with a saver, ``durability`` is ``"sync"`` unless given. With
            ``states=True`` and a saver, a `StateSaved` event tells of each checkpoint. With ``texts=True``, what chat
            models write, in subgraphs too, is told piece by piece as `TextStreamed` of the node outside.
    """
    return _result([*stream(graph, input, thread_id=thread_id, **options)])


async def arun(graph: BoundedGraph, input: Any, *, thread_id: str | None = None, **options: Any) -> RunResult:
    """Run a graph to its end; see `run`."""
    return _result([event async for event in astream(graph, input, thread_id=thread_id, **options)])


def _result(events: list[RunEvent]) -> RunResult:
    *_, last = events
    assert isinstance(last, schema.RunFinished)  # a run that fails raises
    return RunResult(last.state, tuple(events))


def stream(graph: BoundedGraph, input: Any, *, thread_id: str | None = None, **options: Any) -> Iterator[RunEvent]:
    """Run a graph and yield its events as they happen; see `run` for the arguments."""
    watched = _Watch(graph, input, thread_id, options)
    yield watched.start
    chunks = graph.stream(input, watched.config, **watched.options)
    try:
        for chunk in following(chunks, watched.listening):
            yield from watched.events(chunk)
    except Exception as error:
        yield from watched.failed(error)
        raise
    yield from watched.finished()


async def astream(
    graph: BoundedGraph, input: Any, *, thread_id: str | None = None, **options: Any
) -> AsyncIterator[RunEvent]:
    """Run a graph and yield its events as they happen; see `run` for the arguments."""
    watched = _Watch(graph, input, thread_id, options)
    yield watched.start
    chunks = graph.astream(input, watched.config, **watched.options)
    try:
        async with aclosing(afollowing(chunks, watched.listening)) as heard:
            async for chunk in heard:
                for event in watched.events(chunk):
                    yield event
    except Exception as error:
        for event in watched.failed(error):
            yield event
        raise
    for event in watched.finished():
        yield event


def resume(graph: BoundedGraph, *, thread_id: str, force: bool = False, **options: Any) -> RunResult:
    """Go on from a thread's last checkpoint: finished nodes do not run again.

    Args:
        graph: The graph, compiled with a saver.
        thread_id: The thread.
        force: Go on also if a graph of another structure began the run.
        **options: As for `run`.

    Returns:
        The final state and the events since the checkpoint. A run that had ended already is returned as it is.

    Raises:
        CheckpointError: If the thread has no checkpoint, or a graph of another structure began it.
    """
    if force:
        options["config"] = merge_configs(options.get("config"), {"configurable": {FORCE: True}})
    state = graph.get_state(_config(graph, thread_id, options.get("config")))
    if not state.values and not state.next:
        raise CheckpointError(f"thread {thread_id!r} has no checkpoint to resume from; run it with an input first")
    return run(graph, None, thread_id=thread_id, **options)


def _config(graph: BoundedGraph, thread_id: str | None, given: RunnableConfig | None = None) -> RunnableConfig:
    config = merge_configs(given, {"configurable": {"thread_id": thread_id}} if thread_id else None)
    named = ensure_config(graph.config, config).get("configurable", {}).get("thread_id")
    if graph.checkpointer and named is None:
        raise CheckpointError(f"graph {graph.name!r} has a checkpointer: give a thread_id under which to keep the run")
    return config


class _Watch:
    """Turns LangGraph's stream into events, and keeps the last values."""

    def __init__(self, graph: BoundedGraph, input: Any, thread_id: str | None, given: dict[str, Any]) -> None:
        self.config = _config(graph, thread_id, given.get("config"))
        self.options = {key: value for key, value in given.items() if key != "config"}
        if graph.checkpointer:
            self.options.setdefault("durability", "sync")
        # What a node tells while it runs comes at once only with the custom stream, which has its price: it is worth it
        # where attempts are told of, and for who shows a run as it goes on.
        retried = any(spec.retry_policy for spec in graph.builder.nodes.values())
        states = self._states = bool(self.options.pop("states", False))
        self._node = ""
        self._texts = bool(self.options.pop("texts", False))
        modes = [*MODES, "custom"] if retried or states or self._texts else [*MODES]
        if states and graph.checkpointer:
            modes.append("checkpoints")
        if self._texts:
            modes.append("messages")
        # Models inside graphs that are nodes are heard only where these graphs are streamed, too.
        self.options |= {"stream_mode": modes, "subgraphs": self._texts}
        self._pieces: dict[tuple[str, ...], str] = {}
        """Node of this graph and the visits inside of which a model writes -> what is not told yet."""
        self.listener = schema.Listener()
        self.listening = partial(holding, schema.listener, self.listener)
        self.values: dict[str, Any] = {}
        self.start = schema.RunStarted(graph=str(graph.name), thread_id=thread_id, resumed=input is None)
        self._began, self._reports = time.perf_counter(), graph.builder.reports
        self._interrupted = False
        self._own: int | None = None
        """How many parts of a namespace are the run's own: where it runs inside a node, its first chunk has them."""
        self._visits: Counter[str] = Counter()
        self._running: dict[str, tuple[schema.NodeStarted, float]] = {}
        self._known: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
        """Node and the visit around it -> what its visits wrote whose results were known."""

    def heard(self) -> Iterator[RunEvent]:
        for event in map(schema.run_event.validate_python, self.listener.told()):
            if isinstance(event, schema.NodeRetried | schema.NodeGaveUp) and event.tasks:
                self.listener.void.append((event.node, *event.tasks))
            yield event

    def events(self, chunk: tuple[Any, ...]) -> Iterator[RunEvent]:
        mode, payload = chunk[-2:]
        if mode == "messages":  # the word of an attempt's end is here before the last of what it wrote
            yield from self._written(*payload)
            return
        yield from self.heard()
        self._drop()
        yield from map(self._piece, [*self._pieces])
        space: tuple[str, ...] = chunk[0] if self._texts else ()
        self._own = len(space) if self._own is None else self._own
        inside = mode == "custom" and schema.is_told(payload) and payload["type"] == "node_gave_up"  # the failed visit
        around = self._around(space[:-1] if inside else space)
        # What a graph inside a node does is told with the node's path before every name
        place, within = "".join(f"{node}/" for node, _ in around), around[-1][1] if around else ""
        if mode == "tasks" and "triggers" in payload:
            yield self._began_visit(payload, place, within)
        elif mode == "tasks":
            node = place + payload["name"]
            yield self._ended_visit(node, payload["id"], payload["result"], payload["error"])
            yield from self._known_visits(node, within)
        elif mode == "updates":
            self._interrupted |= not place and "__interrupt__" in payload
            # A visit whose result was known is not told to end, and no update says whose it is.
            for node in payload.keys() - {"__metadata__"} if "__metadata__" in payload else ():
                wrote = payload[node]
                if isinstance(wrote, list) and all(
                    isinstance(part, dict) and len(cast("dict[str, Any]", part)) == 1
                    for part in cast("list[Any]", wrote)
                ):
                    wrote = {key: part[key] for part in wrote for key in part}  # a key that was written twice
                self._known[place + node, within].append(wrote)
                yield from self._known_visits(place + node, within)
        elif mode == "custom" and not schema.is_told(payload):
            if self._states:
                words = payload if isinstance(payload, str) else ""
                yield schema.Told(kind="progress", node=self._node, message=words, data={"custom": payload})
        elif mode == "custom" and place:  # what the engine tells of the run's own graph only wakes us: it was heard
            yield _placed(schema.run_event.validate_python(payload), place, within)
        elif mode == "values" and not place:
            self.values = _keyed(payload)
        elif mode == "checkpoints" and not place:
            here, kept = payload["config"]["configurable"]["checkpoint_id"], _keyed(payload["values"] or {})
            step = payload["metadata"].get("step", -1)
            yield schema.StateSaved(step=step, checkpoint_id=here, next=[*payload["next"]], values=kept)

    def _around(self, space: Sequence[str]) -> list[tuple[str, str]]:
        """The nodes, and their visits, inside of which a graph of this namespace is; none of the run's own graph."""
        # A node's second graph is ``1``.
        parts = [part.partition(":") for part in space[self._own or 0 :] if not part.isdigit()]
        if all(visit for _, _, visit in parts):
            return [(node, visit) for node, _, visit in parts]
        # A visit around a graph with ``checkpointer=True`` has no name there: it is its node's last that goes on.
        paths = accumulate((node for node, _, _ in parts), "{}/{}".format)
        latest = {begun.node: task for task, (begun, _) in self._running.items()}
        return [(node, visit or latest.get(path, "")) for (node, _, visit), path in zip(parts, paths, strict=True)]

    def _written(self, message: Any, metadata: dict[str, Any]) -> Iterator[RunEvent]:
        if not isinstance(message, AIMessageChunk) or not message.text:
            return
        self._drop()
        space = metadata["langgraph_checkpoint_ns"]
        key = (self._around(space.split("|"))[0][0], *schema.tasks_of(space))
        self._pieces[key] = self._pieces.get(key, "") + message.text
        if len(self._pieces[key]) >= _PIECE:
            yield self._piece(key)

    def _drop(self) -> None:
        while self.listener.void:
            void = self.listener.void.popleft()
            self._pieces = {key: text for key, text in self._pieces.items() if key[: len(void)] != void}

    def _piece(self, key: tuple[str, ...]) -> RunEvent:
        return schema.TextStreamed(node=key[0], text=self._pieces.pop(key), tasks=[*key[1:]])

    def _began_visit(self, task: dict[str, Any], place: str, within: str) -> RunEvent:
        node = self._node = place + task["name"]
        self._visits[node] += 1
        given = task["input"] if SENT in task["triggers"] else None
        begun = schema.NodeStarted(node=node, task_id=task["id"], visit=self._visits[node], within=within, given=given)
        self._running[begun.task_id] = begun, time.perf_counter()
        return begun

    def _ended_visit(self, node: str, task_id: str, update: Any, error: Any = None, *, known: bool = False) -> RunEvent:
        now = time.perf_counter()
        begun, began = self._running.pop(task_id, (None, now))
        if begun is None:  # an error handler's task is told at its end only: it runs within the failed node's superstep
            self._visits[node] += 1
        return schema.NodeFinished(
            node=node, task_id=task_id, visit=begun.visit if begun else self._visits[node], seconds=now - began,
            update=dict(_keyed(update)), error=words_of(error) if error else None, known=known,
        )  # fmt: skip

    def _known_visits(self, node: str, within: str) -> Iterator[RunEvent]:
        """End a node's visits whose results were known; which these are is certain once its other visits have ended."""
        if known := self._known.get((node, within)):
            left = [task for task, (begun, _) in self._running.items() if (begun.node, begun.within) == (node, within)]
            for task_id in left if len(left) == len(known) else ():
                yield self._ended_visit(node, task_id, known.pop(0), known=True)

    def finished(self) -> Iterator[RunEvent]:
        yield from self.heard()
        seconds, stop = time.perf_counter() - self._began, self.values.get(STOP_REASON) if self._reports else None
        yield schema.RunFinished(seconds=seconds, stop_reason=stop, interrupted=self._interrupted, state=self.values)

    def failed(self, error: Exception) -> Iterator[RunEvent]:
        yield from self.heard()
        yield schema.RunFailed(kind=type(error).__name__, message=words_of(error))


def _placed(event: RunEvent, place: str, within: str) -> RunEvent:
    """An event that the engine tells of a graph inside a node, with the node's path before every name."""
    names = {name: place + getattr(event, name) for name in ("loop", "node") if hasattr(event, name)}
    for name in {"goto", "sources"} & {*type(event).model_fields}:
        value = getattr(event, name)
        names[name] = place + value if isinstance(value, str) else [place + each for each in value]
    return event.model_copy(update=names | ({"within": within} if "loop" in names else {}))


def _keyed(values: Any) -> dict[str, Any]:
    """A state, or what is written to one, by key; where it has no keys under the name of its one channel."""
    return cast("dict[str, Any]", values) if isinstance(values, dict) else {} if values is None else {ROOT: values}

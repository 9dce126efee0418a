"""One run of a bounded graph: what LangGraph is asked to do, and what follows when it ends before its time.

LangGraph raises when a run reaches its step limit, or when it is drained because its budget is spent. Here both become
outcomes: the run goes on with its fallback or ends with what it has, and says so.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs, var_child_runnable_config
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained, GraphRecursionError
from langgraph.graph import END
from langgraph.types import Command
from pydantic import BaseModel

from loopwright.engine.books import SPENT, STOP_REASON, THE_RUN, StopReason, fresh_books, no_requests
from loopwright.engine.budgets import CLOSED, Overspent, Spent, merge_spent
from loopwright.engine.events import BudgetSpent
from loopwright.engine.fingerprint import FORCE, require_same_graph
from loopwright.engine.listening import listener
from loopwright.engine.meter import Meter
from loopwright.engine.spending import price_of

if TYPE_CHECKING:
    from loopwright.engine.bounded_graph import BoundedGraph

logger = logging.getLogger("loopwright.loops")

RECURSION_LIMIT = "recursion_limit"
"""The name of LangGraph's own step limit, as a config key and as the ``loop`` of its stop reason."""

LENT_SAVER = "__pregel_checkpointer"
"""Where LangGraph keeps the saver that a graph lends to the graphs inside it: a private key, the same since 0.2."""

RESUMING = "__pregel_resuming"
"""Where LangGraph tells a graph inside another one to go on from its checkpoint: a private key, the same since 0.2."""


TASK = "__pregel_task_id"
"""Where LangGraph names the task that a graph runs inside of: a private key, the same since 0.2."""

SCRATCHPAD = "__pregel_scratchpad"
"""Where LangGraph counts the graphs that one task calls, so that each has a namespace of its own: a private key."""


class Course:
    """What is asked of LangGraph in one run, and what is known of it so far.

    Args:
        graph: The graph.
        input: The input, a ``Command``, or None to go on from a checkpoint.
        config: The run's configuration.
        options: The other arguments of LangGraph's ``stream``.
        asynchronous: Whether it runs in an event loop.
    """

    def __init__(
        self,
        graph: BoundedGraph,
        input: Any,
        config: RunnableConfig | None,
        options: Mapping[str, Any],
        *,
        asynchronous: bool = False,
    ) -> None:
        self.graph = graph
        fresh = input is not None and not isinstance(input, Command)
        self.input = _with_fresh_books(graph, input) if fresh else input
        config = _ambient(config)
        self.config = _with_own_namespace(config) if graph.metered else config
        # A graph inside another one is given its input anew when that goes on from a checkpoint.
        self._goes_on_from_checkpoint = not fresh or bool((config or {}).get("configurable", {}).get(RESUMING))
        self.options = dict(options)
        self.saver = self._saver()
        self.asynchronous = asynchronous
        self.notes: set[asyncio.Task[None]] = set()
        self.meter: Meter | None = None
        self.last = LastValues(graph, config, options)

    # Before

    @property
    def place(self) -> RunnableConfig:
        """Where the run's last checkpoint is: not at the ``checkpoint_id`` from which a fork began."""
        merged = merge_configs(self.graph.config, self.config)
        here = {key: value for key, value in merged.get("configurable", {}).items() if key != "checkpoint_id"}
        if not self._inside_a_task:
            here.pop("checkpoint_ns", None)
        return {**merged, "configurable": here}

    @property
    def begun_at(self) -> RunnableConfig | None:
        """The checkpoint to read before the run goes on, if it goes on from one."""
        if self.saver is None or not self._goes_on_from_checkpoint:
            return None
        begun = merge_configs(self.graph.config, self.config)
        here = begun.get("configurable", {})
        if self._inside_a_task or not here.get("checkpoint_ns"):
            return begun
        # A checkpoint of a graph inside this one: LangGraph goes on from the one of this graph that it belongs to.
        own = {**here, "checkpoint_ns": "", "checkpoint_id": here.get("checkpoint_map", {}).get("")}
        return {**begun, "configurable": own}

    @property
    def _inside_a_task(self) -> bool:
        return TASK in (self.config or {}).get("configurable", {})

    def begin(self, saved: CheckpointTuple | None) -> None:
        """Get ready to run.

        Args:
            saved: What is stored at `begun_at`.

        Raises:
            CheckpointError: If a graph of another structure wrote it.
        """
        graph = self.graph
        if saved and not (self.config or {}).get("configurable", {}).get(FORCE):
            require_same_graph(str(graph.name), graph.structure, graph.nodes, saved)
        if not graph.metered:
            return
        kept = self.saver is not None and self.options.get("durability") != "exit"
        note = self._note if kept else None
        price, spent = price_of(graph.loops, graph.budget), self._spent_before(saved)
        self.meter = Meter(graph.budget, price, spent, note, self.options.get("control"))
        if graph.budget:
            self.options["control"] = self.meter.control
            if self.saver is None:
                self._lend_memory()

    @property
    def can_be_cut_short(self) -> bool:
        """Whether the run could end before its time: at a budget, or at a step limit below the certificate's."""
        most, limit = self.graph.certificate.max_supersteps, self.last.limit
        return self.meter is not None or most is None or limit is None or limit <= most

    def _spent_before(self, saved: CheckpointTuple | None) -> Spent:
        """What is known to be spent at a checkpoint: by finished supersteps, and by the one that was under way."""
        if saved is None:
            return {}
        spent: Spent = saved.checkpoint["channel_values"].get(SPENT, {})
        if (self.config or {}).get("configurable", {}).get("checkpoint_id"):
            return spent  # the run goes back there on purpose: what came afterwards is another branch's
        for _task, channel, value in saved.pending_writes or ():
            # A dispatcher's write without its checkpoint: the fallback did not begin.
            if channel == SPENT and bool(value.get(CLOSED)) <= bool(spent.get(CLOSED)):
                spent = merge_spent(spent, value)
        return spent

    def _note(self, spent: Spent) -> None:
        """Keep what is spent beside the checkpoint of the superstep that is under way, as a write of no task.

        LangGraph passes over such a write; `_spent_before` does not.
        """
        here: dict[str, Any] = dict((var_child_runnable_config.get() or {}).get("configurable", {}))
        namespace = self.place.get("configurable", {}).get("checkpoint_ns", "") if self._inside_a_task else ""
        checkpoint = (here.get("checkpoint_map") or {}).get(namespace)
        if self.saver is None or checkpoint is None:
            return
        place = {"thread_id": here["thread_id"], "checkpoint_ns": namespace, "checkpoint_id": checkpoint}
        writes, task = [(SPENT, spent)], f"{SPENT}-{uuid.uuid4()}"
        if not self.asynchronous or not _in_event_loop():
            self.saver.put_writes({"configurable": place}, writes, task)
        else:
            noting = asyncio.get_running_loop().create_task(
                self.saver.aput_writes({"configurable": place}, writes, task)
            )
            self.notes.add(noting)
            noting.add_done_callback(self.notes.discard)

    def _saver(self) -> BaseCheckpointSaver[Any] | None:
        lent = (self.config or {}).get("configurable", {}).get(LENT_SAVER, self.graph.checkpointer)
        return cast("BaseCheckpointSaver[Any]", lent) if isinstance(lent, BaseCheckpointSaver) else None

    def _lend_memory(self) -> None:
        """Keep the state of this one run in memory, so that it can go on with its fallback; written only at its end."""
        self.saver = InMemorySaver()
        here = (self.config or {}).get("configurable", {})
        lent = {"thread_id": str(uuid.uuid4()), **here, LENT_SAVER: self.saver}
        self.config = merge_configs(self.config, {"configurable": lent})
        self.options["durability"] = "exit"

    # After

    @property
    def refused_a_call(self) -> bool:
        """Whether a model call was refused, and the node that wanted it went on as if nothing were."""
        return self.meter is not None and self.graph.budget is not None and self.meter.refused_a_call

    def ended_with(self, values: Any) -> None:
        """Take the state with which the run was cut short."""
        self.last.values = values

    def spent_up(self, error: Exception | None) -> Command[Any]:
        """What to write, in the dispatcher's name, when the run's budget is spent; the run then goes on.

        Args:
            error: What LangGraph raised: that it was drained, or what a node made of the refusal of a model call; None
                if a node kept the refusal to itself.

        Raises:
            Exception: The error, if this run's budget is not its cause.
        """
        meter, budget = self.meter, self.graph.budget
        if meter is None or budget is None or meter.refusal is None or not _comes_of_draining(error):
            raise error or RuntimeError("nothing was refused")
        if error and not isinstance(error, GraphDrained):
            logger.info("the refusal of a model call became %s: %s", type(error).__name__, error)
        over = meter.refusal
        goto = END if meter.closed else budget.exhausted or END
        stop = StopReason(
            loop=THE_RUN, outcome="over_budget", limit=over.limit, spent=over.spent, reason=str(over), step=meter.step,
            resource=over.resource,
        )  # fmt: skip
        logger.warning("the run's budget is spent: %s; it goes to %s", over, goto)
        self._stopped = (over, goto, stop)
        # Who asked before the budget was spent asks no more.
        update = {STOP_REASON: stop, SPENT: meter.begin_fallback(), **no_requests(self.graph.loops)}
        self.options["control"] = meter.control
        self.input = None
        self.config = merge_configs(self.place, {"configurable": {RESUMING: True}})
        return Command(update=update, goto=[] if goto == END else [goto])

    @property
    def goes_on(self) -> bool:
        """Whether the run goes on with a fallback."""
        return self._stopped[1] != END

    def told(self) -> Iterator[Any]:
        """The stream's chunks that say that the budget is spent, and the last ones where the run is at its end."""
        over, goto, stop = self._stopped
        event = BudgetSpent(resource=over.resource, limit=over.limit, spent=over.spent, reason=str(over), goto=goto)
        if heard_by := listener.get():
            heard_by.hear(event.model_dump(mode="json"), of_node=False)
        yield from self.last.chunks({"custom": event.model_dump(mode="json")})
        if not self.goes_on:
            yield from self.last.closing(THE_RUN, stop)

    _stopped: tuple[Overspent, str, StopReason]


def _comes_of_draining(error: BaseException | None) -> bool:
    """Whether an error is that a graph was drained, or was made of it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, GraphDrained):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return not seen


def _ambient(config: RunnableConfig | None) -> RunnableConfig | None:
    """The configuration with what LangGraph would add to it: that of the node in which this code runs."""
    around = (var_child_runnable_config.get() or {}).get("configurable", {})
    here = (config or {}).get("configurable", {})
    if not around or not here.keys().isdisjoint({"thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map"}):
        return config
    return {**(config or {}), "configurable": {**around, **here}}


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _with_own_namespace(config: RunnableConfig | None) -> RunnableConfig | None:
    """For a graph inside a task: settle which of the graphs it is that the task calls.

    LangGraph would take the fallback's part of the run for a call of its own, with a namespace of its own.
    """
    here = (config or {}).get("configurable", {})
    scratchpad = here.get(SCRATCHPAD)
    if scratchpad is None:
        return config
    calls = scratchpad.subgraph_counter()
    namespace = f"{here.get('checkpoint_ns', '')}|{calls}" if calls else here.get("checkpoint_ns", "")
    settled = dataclasses.replace(scratchpad, subgraph_counter=lambda: 0)
    return merge_configs(config, {"configurable": {SCRATCHPAD: settled, "checkpoint_ns": namespace}})


def _with_fresh_books(graph: BoundedGraph, input: Any) -> Any:
    """A new input, and with it what starts new ledgers."""
    return {**_plain(input), **fresh_books(graph.loops, structure=graph.structure, metered=graph.metered)}


def _plain(input: Any) -> Mapping[str, Any]:
    """An input as a mapping; of a model or dataclass the fields that LangGraph would take."""
    if isinstance(input, Mapping):
        return cast("Mapping[str, Any]", input)
    if isinstance(input, BaseModel):
        given = input.model_fields_set
        fields = type(input).model_fields
        return {key: value for key, value in dict(input).items()
                if value is not None or key in given or fields[key].default is not None}  # fmt: skip
    if dataclasses.is_dataclass(input):
        named = {field.name: getattr(input, field.name) for field in dataclasses.fields(input)}
        return {key: value for key, value in named.items() if value is not None}
    return cast("Mapping[str, Any]", dict(input))


class LastValues:
    """Follows a stream, so that a run that is cut short can still end with its last values.

    Attributes:
        limit: The step limit in force.
    """

    def __init__(self, graph: BoundedGraph, config: RunnableConfig | None, options: Mapping[str, Any]) -> None:
        limits = [(source or {}).get(RECURSION_LIMIT) for source in (config, graph.config)]
        self.limit: int | None = next((limit for limit in limits if limit), None)
        modes = options.get("stream_mode") or graph.stream_mode
        self._modes: list[str] = [modes] if isinstance(modes, str) else list(modes)
        self._single = isinstance(modes, str)
        self._subgraphs = bool(options.get("subgraphs"))
        self._v2 = options.get("version") == "v2"
        self.values: Any = {}

    def see(self, chunk: Any) -> None:
        """Take a chunk of the stream."""
        if self._v2:
            mode, space, payload = chunk["type"], chunk["ns"], chunk["data"]
        else:
            parts: tuple[Any, ...] = (chunk,) if self._single and not self._subgraphs else chunk
            payload = parts[-1]
            mode = self._modes[0] if self._single else parts[-2]
            space = parts[0] if self._subgraphs else ()
        if mode == "values" and not space:
            self.values = payload

    def stop_reason(self, error: GraphRecursionError) -> StopReason:
        """Turn the exception into an outcome; one from a graph inside a node goes on as it is.

        LangGraph adds a note to every exception that comes out of a node, and none to its own step limit.
        """
        if getattr(error, "__notes__", None):
            raise error
        limit = int(self.limit or 0)
        logger.warning(
            "step limit %s reached before the graph came to its end: it stops with what it has. "
            "Raise or drop recursion_limit to let every loop use its own limit.", limit,
        )  # fmt: skip
        return StopReason(
            loop=RECURSION_LIMIT, outcome="exhausted", limit=limit, spent=limit, reason="the step limit was reached",
            step=limit,
        )  # fmt: skip

    def closing(self, name: str, stop: StopReason) -> Iterator[Any]:
        """The last chunks of a run that ends with what it has."""
        payloads: dict[str, Any] = {"updates": {name: {STOP_REASON: stop}}}
        if isinstance(self.values, dict):  # and not the value of a single key that the caller asked for
            payloads["values"] = {**cast("dict[str, Any]", self.values), STOP_REASON: stop}
        yield from self.chunks(payloads)

    def chunks(self, payloads: Mapping[str, Any]) -> Iterator[Any]:
        """Chunks by stream mode, of those that the caller asked for and in the shape that he asked for."""
        for mode in self._modes:
            if mode not in payloads:
                continue
            if self._v2:
                more = {"interrupts": ()} if mode == "values" else {}
                yield {"type": mode, "ns": (), "data": payloads[mode], **more}
                continue
            parts = [*([()] if self._subgraphs else []), *([] if self._single else [mode]), payloads[mode]]
            yield parts[0] if len(parts) == 1 else tuple(parts)

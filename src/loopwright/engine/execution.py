"""One run of a bounded graph: what LangGraph is asked to do, and what follows when it ends before its time.

LangGraph raises when a run reaches its step limit, or when it is drained because its budget is spent. Here both become
outcomes: the run goes on with its fallback or ends with what it has, and says so.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import DEFAULT_RECURSION_LIMIT, var_child_runnable_config
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained, GraphRecursionError
from langgraph.graph import END
from langgraph.types import Command, StateUpdate

from loopwright.engine import langgraph_private
from loopwright.engine.budget.budget import CLOSED, Spent, merge_spent, new_run
from loopwright.engine.budget.meter import Meter, allowance, comes_of_draining, meter_around, prices_of
from loopwright.engine.events.last_values import LastValues
from loopwright.engine.events.schema import BudgetSpent, listener, observed, show, with_handlers
from loopwright.engine.gate import DISPATCHER
from loopwright.engine.jumps import changed
from loopwright.engine.langgraph_private import ANEW, LIMIT_AROUND, RECURSION_LIMIT, RESUMING, TASK, ensure_config
from loopwright.engine.ledger import REQUESTS, SPENT, STOP_REASON, StopReason, fresh_books
from loopwright.engine.loop import RUN
from loopwright.engine.proof.fingerprint import FORCE, require_same_graph
from loopwright.errors import BrokenAssumptionError

if TYPE_CHECKING:
    from loopwright.engine.graph import BoundedGraph

logger = logging.getLogger("loopwright.loops")


class Course:
    """What is asked of LangGraph in one run, as it is of `BoundedGraph.stream`, and what is known of it so far."""

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
        self.options = dict(options)
        if self.options.get("stream_mode") is None:  # settled by the config as it is given, before it says of a task
            as_node = TASK in (config or {}).get("configurable", {})
            self.options["stream_mode"] = "values" if as_node else graph.stream_mode
        fresh = input is not None and not isinstance(input, Command)
        self.input = input
        config, self._observer = observed(graph, _within_limit(graph, config or {}))
        self.config: RunnableConfig = langgraph_private.with_own_namespace(config) if graph.builder.metered else config
        self.limit: int = config.get(RECURSION_LIMIT) or ensure_config(graph.config, config).get(RECURSION_LIMIT, 0)
        """The step limit in force."""
        # A graph inside another one is given its input anew when that goes on from a checkpoint.
        self._goes_on_from_checkpoint = not fresh or bool(self._here.get(RESUMING))
        # What a graph around it lends, or its own.
        saver = self._here.get(langgraph_private.LENT_SAVER, graph.checkpointer)
        wanted = graph.checkpointer is not False and isinstance(saver, BaseCheckpointSaver)
        self.saver: BaseCheckpointSaver[Any] | None = saver if wanted else None
        self._loop = asyncio.get_running_loop() if asynchronous else None
        self.notes: set[asyncio.Task[None]] = set()
        self.meter: Meter | None = None
        self.over: StopReason | None = None
        """At which bound it ended with what it had, if it did."""
        self._named: dict[str, Any] = {}  # the checkpoint behind which the first update of an ending is written

    @cached_property
    def last(self) -> LastValues:
        """What the stream told last, for a run that somebody looks after; LangGraph names each chunk's mode for it."""
        told = LastValues(self.graph, self.options, self.place.get("configurable", {}).get("checkpoint_ns"))
        self.options["stream_mode"] = told.modes
        return told

    # Before

    @property
    def place(self) -> RunnableConfig:
        """Where the run's last checkpoint is: not at the ``checkpoint_id`` from which a fork began."""
        other = {"checkpoint_id"} if self._inside_a_task else {"checkpoint_id", "checkpoint_ns"}
        return self._with({key: value for key, value in self._here.items() if key not in other})

    def _with(self, here: dict[str, Any]) -> RunnableConfig:
        return {**self.config, "configurable": here}

    @property
    def _here(self) -> dict[str, Any]:
        return self.config.get("configurable", {})

    @property
    def begun_at(self) -> RunnableConfig | None:
        """The checkpoint to read before the run goes on, if it goes on from one."""
        if self.saver is None or not self._goes_on_from_checkpoint:
            return None
        here = self._here
        if self._inside_a_task or not here.get("checkpoint_ns"):
            return langgraph_private.own_place(self.graph, {"configurable": here})
        # A checkpoint of a graph inside this one: LangGraph goes on from the one of this graph that it belongs to.
        return {"configurable": {**here, "checkpoint_ns": "", "checkpoint_id": here.get("checkpoint_map", {}).get("")}}

    @property
    def _inside_a_task(self) -> bool:
        return TASK in self._here

    @property
    def may_open_a_turn(self) -> bool:
        """Whether it begins with a Command that opens a turn of its thread, if nothing of the last one is left."""
        return self._is_order and self.graph.builder.reports and not self._inside_a_task

    @property
    def _is_order(self) -> bool:
        """Whether it begins with a Command that answers no question."""
        return isinstance(self.input, Command) and self.input.resume is None

    def begin(self, saved: CheckpointTuple | None, is_turn: bool) -> list[list[StateUpdate]]:
        """Get ready to run, from a checkpoint or, with a Command that opens a turn, behind it.

        Returns:
            What is left to write, where the process died while it ended this run before its time.
        """
        graph = self.graph
        if saved and not self._here.get(FORCE):
            require_same_graph(str(graph.name), graph.structure, graph.nodes, saved)
        spent = self._spent_before(None if is_turn else saved)
        if saved and is_turn:  # what any other input writes beside itself, by START
            held, given = saved.checkpoint["channel_values"], cast("Command[Any]", self.input)
            books = fresh_books(graph.loops, graph.channels, graph.structure, held, spent, None)
            self.input = changed(given, update=[*langgraph_private.updates_of(given), *books.items()])
            saved = None
        if not graph.builder.metered and allowance.get() is None:
            return []
        callbacks = ensure_config(graph.config, self.config).get("callbacks")
        outer = meter_around(callbacks)
        shared = allowance.get() if outer is None else None
        if not graph.builder.metered and shared is None:
            return []
        if graph.budget and self._inside_a_task and self._durability == "exit":
            self.options["durability"] = "async"  # of a graph inside that is drained, nothing is kept at its exit
        kept = graph.builder.metered and self.saver is not None and self._durability != "exit"
        note, price = self._note if kept else None, next(iter(prices_of(graph.loops, graph.budget)), None)
        caller = self.options.get("control") or langgraph_private.control_around(self.config)
        self.meter = Meter(graph.budget, price, spent, note, caller, outer, shared, keeps=self.saver is not None)
        self.config = {**self.config, "callbacks": with_handlers(callbacks, self.meter)}
        if graph.budget or shared:
            self.options["control"] = self.meter.control
        if graph.budget and (self.saver is None or isinstance(self.saver, _Lent)):
            self._lend_memory()
        if saved is None or _ENDING not in saved.metadata or self._is_order:
            return []
        self._stopped = json.loads(cast("Any", saved.metadata)[_ENDING])
        self._named = (self.begun_at or {}).get("configurable", {}) if self._here.get("checkpoint_id") else {}
        return self._dispatched(self.meter)

    def contexts(self) -> list[Callable[[], AbstractContextManager[None]]]:
        """What each chunk of the stream is made within."""
        made = [self._observer.making] if self._observer else []
        return [*made, *([self.meter.in_force()] if self.meter else [])]

    def followed(self) -> AbstractContextManager[None]:
        """What all of the run is within."""
        return self._observer.running(self) if self._observer else nullcontext()

    @property
    def is_followed(self) -> bool:
        """Whether somebody must look at the stream, to end the run before its time.

        Without a budget, only a step limit below the certificate's can do that.
        """
        return self.meter is not None or self._limit_is_the_users

    @property
    def _limit_is_the_users(self) -> bool:
        """Whether the step limit is smaller than what the proof allows; LangGraph needs one step more than it runs."""
        most = self.graph.certificate.max_supersteps
        return most is None or self.limit <= most

    def _spent_before(self, saved: CheckpointTuple | None) -> Spent:
        """What is known to be spent at a checkpoint: by finished supersteps, and by the one that was under way."""
        if saved is None:
            return new_run()
        spent: Spent = saved.checkpoint["channel_values"].get(SPENT, {})
        answers = isinstance(self.input, Command) and self.input.resume is not None  # the node goes on that spent it
        if self._here.get("checkpoint_id") and not answers:
            return spent  # the run goes back there on purpose: what came afterwards is another branch's
        for _task, channel, value in saved.pending_writes or ():
            # A dispatcher's write without its checkpoint: the fallback did not begin.
            if channel == SPENT and bool(value.get(CLOSED)) <= bool(spent.get(CLOSED)):
                spent = merge_spent(spent, value)
        return spent

    def _note(self, spent: Spent) -> None:
        """Keep what is spent beside the checkpoint under way, as a write of no task, which LangGraph passes over."""
        here: dict[str, Any] = dict((var_child_runnable_config.get() or {}).get("configurable", {}))
        namespace = langgraph_private.own_place(self.graph, self.place).get("configurable", {}).get("checkpoint_ns", "")
        checkpoint = (here.get("checkpoint_map") or {}).get(namespace)
        if self.saver is None or checkpoint is None:
            return
        named = {"thread_id": here["thread_id"], "checkpoint_ns": namespace, "checkpoint_id": checkpoint}
        place: RunnableConfig = {"configurable": named}
        writes, task = [(SPENT, spent)], f"{SPENT}-{uuid.uuid4()}"
        running = None
        with suppress(RuntimeError):
            running = asyncio.get_running_loop()
        if self._loop is None or running is not self._loop:  # a thread of the run's may run a loop of its own
            self.saver.put_writes(place, writes, task)
        else:
            noting = self._loop.create_task(self.saver.aput_writes(place, writes, task))
            self.notes.add(noting)
            noting.add_done_callback(self.notes.discard)

    def _lend_memory(self) -> None:
        """Keep the state of this one run in memory, so that it can go on with its fallback; written only at its end."""
        self.saver = _Lent(serde=_Live())
        lent = {langgraph_private.LENT_SAVER: self.saver}
        self.config = self._with({"thread_id": str(uuid.uuid4()), **self._here, **lent})
        self.options["durability"] = "async" if self._inside_a_task else "exit"

    @property
    def _durability(self) -> str | None:
        return self.options.get("durability") or self._here.get(langgraph_private.DURABILITY)

    # After

    def ending(self, error: Exception | None) -> list[list[StateUpdate]]:
        """What to write, update by update, when the run ends before its time; it may go on with its fallback then.

        Args:
            error: What LangGraph raised: that the steps are used up, that it was drained, or what a node made of the
                refusal of a model call; None if a node kept the refusal to itself.

        Raises:
            Exception: The error, if no bound of this run is its cause.
            BrokenAssumptionError: If the certificate allows no run of so many steps.
        """
        if isinstance(error, GraphRecursionError):
            self._stopped = END, self._out_of_steps(error)
            command: Any = Command(update={STOP_REASON: self._stopped[1]})
            return [[StateUpdate(command, DISPATCHER)]]
        return self._spent_up(error)

    def _out_of_steps(self, error: GraphRecursionError) -> StopReason:
        if not langgraph_private.is_of_this_graph(error):
            raise error
        graph, limit = self.graph, self.limit
        if not self._limit_is_the_users:
            allowed, rests_on = graph.certificate.max_supersteps or 0, graph.certificate.assumptions
            raise BrokenAssumptionError(str(graph.name), limit, allowed, rests_on) from None
        inherited = self._inside_a_task and limit != (graph.config or {}).get(RECURSION_LIMIT)
        whose = "of the graph around it" if inherited else "that was set for it"
        logger.warning(
            "graph %r: cut short by the step limit of %d %s: it stops with what it has. "
            "Raise or drop recursion_limit to let every loop use its own limit.", str(graph.name), limit, whose,
        )  # fmt: skip
        return StopReason(
            loop=RECURSION_LIMIT, outcome="exhausted", limit=limit, spent=limit, reason="the step limit was reached",
            step=limit,
        )  # fmt: skip

    def _spent_up(self, error: Exception | None) -> list[list[StateUpdate]]:
        meter, budget = self.meter, self.graph.budget
        if meter is None or meter.refusal is None or not comes_of_draining(error):
            raise error or RuntimeError("nothing was refused")
        if error and not isinstance(error, GraphDrained):
            logger.info("the refusal of a model call became %s: %s", type(error).__name__, error)
        over = meter.refusal
        goto = END if meter.closed or budget is None else budget.exhausted or self.graph.builder.way_out
        stop = StopReason(
            loop=RUN, outcome="over_budget", limit=over.limit, spent=over.spent, reason=str(over), step=meter.step,
            resource=over.resource,
        )  # fmt: skip
        if over.note:
            stop["why"] = over.note
        logger.warning("the run's budget is spent: %s; it goes to %s", over, goto)
        self._stopped = (goto, stop)
        return self._dispatched(meter)

    def _dispatched(self, meter: Meter) -> list[list[StateUpdate]]:
        goto, stop = self._stopped
        # Who asked before the budget was spent asks no more.
        update: dict[str, Any] = {STOP_REASON: stop, SPENT: meter.begin_fallback(), REQUESTS: {}}
        update = {channel: value for channel, value in update.items() if channel in self.graph.channels}
        self.input = None
        self.config = self._with({**self.place.get("configurable", {}), RESUMING: True, ANEW: True})
        command: Any = Command(update=update, goto=[] if goto == END else [goto])
        # What finished beside a refused call is kept, by the first update. What that lets run at a join, and what waits
        # for all others, runs no more: one update for each consumes what would start it.
        given = self.graph.builder
        waits = given.waiting_edges or any(spec.defer for spec in given.nodes.values())
        return [[StateUpdate(None, END)]] * (3 if waits else 1) + [[StateUpdate(command, DISPATCHER)]]

    def place_of(self, update: Sequence[StateUpdate]) -> RunnableConfig:
        """Where an update that ends the run is written; what only goes before the last one says so, and how it ends."""
        place, self._named = self._with({**self.place.get("configurable", {}), **self._named}), {}
        if update[0].as_node == DISPATCHER:
            return place
        return {**place, "metadata": {**place.get("metadata", {}), _ENDING: json.dumps(self._stopped)}}

    @property
    def goes_on(self) -> bool:
        """Whether the run goes on with a fallback."""
        return self._stopped[0] != END

    def told(self) -> Iterator[Any]:
        """The stream's chunks that say that a budget is spent, and the last ones where the run is at its end."""
        goto, stop = self._stopped
        if resource := stop.get("resource"):
            limit, spent, reason = stop["limit"], stop["spent"], stop["reason"]
            told = BudgetSpent(resource=resource, limit=limit, spent=spent, reason=reason, goto=goto)
            event = told.model_dump(mode="json")
            if heard_by := listener.get():
                heard_by.hear(event, of_node=False)
            show(event, self.config)
            yield from self.last.chunks({"custom": event})
        if not self.goes_on:
            self.over = stop
            yield from self.last.closing(stop)

    _stopped: tuple[str, StopReason]


class _Live:
    """Keeps values as they are: what only this process and this run go back to needs no bytes, and may have none."""

    def dumps_typed(self, obj: Any) -> tuple[str, Any]:
        return "live", obj

    def loads_typed(self, data: tuple[str, Any]) -> Any:
        return data[1]


class _Lent(InMemorySaver):
    """The memory of one run with a budget, to which only the engine goes back: graphs inside find nothing there."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        here = config.get("configurable", {})
        return super().get_tuple(config) if ANEW in here or not here.get("checkpoint_ns") else None


_ENDING = "loopwright_ending"
"""What the metadata of a checkpoint call that a run's last but one is, at which it is not at its end."""

_FILLED_IN = {"callbacks", "tags", "metadata"}
"""A config that has all of these was filled in by LangChain, for a ``batch`` or a chain; its 25 steps nobody set."""

_PLACE = {"thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map"}
"""What a run is configured with that has a place of its own: then nothing is configured by the node that begins it."""


def _within_limit(graph: BoundedGraph, config: RunnableConfig) -> RunnableConfig:
    """The configuration with all that is configured here, and the graph's own step limit unless the caller gives one.

    The limit is no part of the graph's configuration, which snapshots show. Nor do nodes see it, and the graphs that
    they call: `WatchedNode` hands them the limit that plain LangGraph would, which is kept beside. Inside another graph
    it holds against a larger one around it: what was proven of a graph holds there too.
    """
    here = {**(graph.config or {}).get("configurable", {}), **config.get("configurable", {})}
    if here.keys().isdisjoint(_PLACE):
        here = {**(var_child_runnable_config.get() or {}).get("configurable", {}), **here}
    set_for_it, most = (graph.config or {}).get(RECURSION_LIMIT), graph.certificate.max_supersteps
    # LangGraph needs one step more than it runs.
    own = min((limit for limit in (set_for_it, most and most + 1) if limit), default=None)
    around = given = config.get(RECURSION_LIMIT)
    if given == DEFAULT_RECURSION_LIMIT and _FILLED_IN <= config.keys():
        given = None
    if not here and graph.checkpointer:
        return config  # LangGraph asks for the thread_id, and takes any key for one
    if own is None or (given is not None and not (TASK in here and given > own)):
        return {**config, "configurable": {key: value for key, value in here.items() if key != LIMIT_AROUND}}
    return {**config, RECURSION_LIMIT: own, "configurable": {**here, LIMIT_AROUND: around or set_for_it or 0}}

"""Every part of LangGraph on which the engine rests and which LangGraph does not promise to keep.

Each has a test in ``tests/unit/engine/test_langgraph_private.py`` that fails if LangGraph changes it, so that a new
version is checked by one file.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph._internal import _constants as keys
from langgraph._internal._config import ensure_config as ensure_config  # what LangGraph makes of a run's configuration
from langgraph._internal._config import merge_configs as merge_configs  # LangChain's own takes a limit of 25 for none
from langgraph._internal._config import recast_checkpoint_ns
from langgraph._internal._runnable import RunnableCallable
from langgraph._internal._typing import MISSING as MISSING  # what an empty channel holds
from langgraph.checkpoint.base import id as ids
from langgraph.errors import GraphRecursionError
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel._call import identifier
from langgraph.runtime import RunControl
from langgraph.types import Command, Send

LENT_SAVER, DURABILITY = keys.CONFIG_KEY_CHECKPOINTER, keys.CONFIG_KEY_DURABILITY
"""The keys of a run's ``configurable`` by which a graph lends its saver to the graphs inside it and says when it saves.
By the first, a run without a saver is lent one in memory, so that it can go on with its fallback."""

TASK, SCRATCHPAD, RESUMING = keys.CONFIG_KEY_TASK_ID, keys.CONFIG_KEY_SCRATCHPAD, keys.CONFIG_KEY_RESUMING
"""The keys of the task inside of which a graph runs (none for one that runs by itself), of what is kept for that task,
which counts the graphs that it calls, and of whether one inside goes on from its checkpoint, whatever its input is."""

ERROR_HANDLER = "__error_handler__"
"""How the names of error handlers begin; one runs in a namespace below that of the node that failed."""

SENT, _TASKS = keys.PUSH, keys.TASKS
"""What triggers a task that a ``Send`` made, and the channel of what was sent."""

AHEAD = "branch:to:"
"""How the channels begin that start a node, named behind it, in the next superstep."""

LATEST = "_last_v6_timestamp"
"""The name, in LangGraph's module of ids, of the time in the newest id that this process gave."""

RECURSION_LIMIT = "recursion_limit"
"""The name of LangGraph's own step limit, as a config key and as the ``loop`` of its stop reason."""

LIMIT_AROUND = "__pregel_loopwright_limit_around"
"""The key of a run's ``configurable`` that keeps, beside a limit that follows from a proof, the one that LangGraph
would have, 0 for none; it begins as LangGraph's own keys do, which no snapshot shows."""

ANEW = "__pregel_loopwright_anew"
"""The key of a run's ``configurable`` by which nodes begin anew: those of its fallback, or of a fork."""

Compiled = CompiledStateGraph[Any, Any, Any, Any]


def with_own_namespace(config: RunnableConfig) -> RunnableConfig:
    """For a graph that a task calls: settle which of the task's graphs it is.

    LangGraph gives each graph that a task calls a namespace of its own, by counting them; it would take the fallback's
    part of a run for another call.
    """
    here = config.get("configurable", {})
    scratchpad = here.get(SCRATCHPAD)
    if scratchpad is None:
        return config
    calls = scratchpad.subgraph_counter()
    namespace = f"{here.get('checkpoint_ns', '')}|{calls}" if calls else here.get("checkpoint_ns", "")
    settled = dataclasses.replace(scratchpad, subgraph_counter=lambda: 0)
    return {**config, "configurable": {**here, SCRATCHPAD: settled, "checkpoint_ns": namespace}}


def own_place(graph: Compiled, config: RunnableConfig) -> RunnableConfig:
    """Where a graph's checkpoints are: one with ``checkpointer=True`` keeps them in one place for all tasks."""
    here = config.get("configurable", {})
    if graph.checkpointer is not True or not here.get("checkpoint_ns"):
        return config
    return {**config, "configurable": {**here, "checkpoint_ns": recast_checkpoint_ns(here["checkpoint_ns"])}}


def updates_of(command: Any) -> Sequence[tuple[str, Any]]:
    """What a Command that is a run's input writes, as LangGraph reads its ``update``, of whatever kind that is."""
    return command._update_as_tuples()


def is_for(command: Command[Any], namespace: str, node: str) -> bool:
    """Whether a Command that came out of the graph inside a node is for the graph around that node."""
    return command.graph in (namespace, recast_checkpoint_ns(namespace), node)


def is_of_this_graph(error: GraphRecursionError) -> bool:
    """Whether a step limit was reached by the graph that was run, and not by one inside a node of it.

    LangGraph adds a note to every exception that comes out of a node, and none to its own step limit.
    """
    return not getattr(error, "__notes__", None)


def limit_around(config: RunnableConfig | None) -> None:
    """For the time of a node: graphs that it calls inherit from it what they do from plain LangGraph's.

    That is its step limit; and in a fallback, that they begin with their input though the run itself goes on. LangGraph
    makes a configuration of its own for each part of a node, and keeps the same one in the variable, by which a node
    hands it on that names no parameter for it; so it is changed in place.
    """
    if config is None:
        return
    here = config.get("configurable", {})
    around: int | None = here.get(LIMIT_AROUND)
    if around:
        config[RECURSION_LIMIT] = around
    elif around == 0:
        config.pop(RECURSION_LIMIT, None)
    if ANEW in here:
        info = getattr(here.get(keys.CONFIG_KEY_RUNTIME), "execution_info", None)
        off = {ANEW} if info and info.node_attempt > 1 else {ANEW, RESUMING}  # a second attempt does go on
        config["configurable"] = {key: value for key, value in here.items() if key not in off}


def begin_ids_after(checkpoint: str) -> None:
    """Give what this process saves later ids than a checkpoint's: another host's clock may run ahead of this one's.

    The newest checkpoint of a thread is that with the highest id.
    """
    with suppress(ValueError):  # an id that is not LangGraph's
        found = ids.UUID(checkpoint)
        if found.version == 6:
            setattr(ids, LATEST, max(getattr(ids, LATEST) or 0, found.time))


def control_around(config: RunnableConfig) -> RunControl | None:
    """By what the run around a graph inside a task is asked to end; LangGraph hands it on."""
    return getattr(config.get("configurable", {}).get(keys.CONFIG_KEY_RUNTIME), "control", None)


def write_beside(config: RunnableConfig | None, update: Mapping[str, Any]) -> None:
    """Write to channels for the node that runs, beside what it or its router returns; in no stream and no schema."""
    if update:
        (config or {}).get("configurable", {})[keys.CONFIG_KEY_SEND]([*update.items()])


def read(config: RunnableConfig, channels: list[str]) -> dict[str, Any]:
    """What channels held when the superstep began; those that are empty are left out."""
    return config.get("configurable", {})[keys.CONFIG_KEY_READ](channels)


def obey(command: Command[Any], config: RunnableConfig) -> Command[Any]:
    """Write what a Command says: an update of channels, hidden ones too, and a list of where to go.

    What is left for the writers of a node that returns it is a Command that says nothing.
    """
    goto: Any = command.goto
    ahead = [(_TASKS, each) if isinstance(each, Send) else (f"{AHEAD}{each}", None) for each in goto if each != END]
    config.get("configurable", {})[keys.CONFIG_KEY_SEND]([*cast("dict[str, Any]", command.update).items(), *ahead])
    return Command()


def _add_writer(compiled: Compiled, node: str, place: int, act: Callable[..., Any]) -> None:
    """Put one more among the runnables through which LangGraph hands what a node returned, or an update in its name."""
    spec = compiled.nodes[node]
    untraced = isinstance(spec.node, RunnableCallable)
    spec.writers.insert(place, RunnableCallable(act, trace=False, recurse=False))
    for made in ("node", "flat_writers"):  # of the writers before: of a node with a timeout when it compiled
        vars(spec).pop(made, None)
    if untraced:  # START's one writer is no run that tracers see; as a chain, two of them would be

        def each(result: Any, config: RunnableConfig) -> None:
            for writer in spec.writers:
                result = writer.invoke(result, config)

        vars(spec)["node"] = RunnableCallable(each, trace=False, recurse=False)


def write_with(compiled: Compiled, node: str, update: Callable[[RunnableConfig, Any], Mapping[str, Any]]) -> None:
    """Write to channels whenever a node has run, behind its own result, START with each new input: `update` sees it."""

    def act(result: Any, config: RunnableConfig) -> Any:
        write_beside(config, update(config, result))
        return result

    _add_writer(compiled, node, 1, act)


def change_result(compiled: Compiled, node: str, change: Callable[[Any], Any]) -> None:
    """Change what a node returns before LangGraph looks at it, and what an update in its name writes."""
    _add_writer(compiled, node, 0, change)


def obey_updates(compiled: Compiled, node: str, obey: Callable[..., Any]) -> None:
    """Let updates in a node's name be Commands that write hidden channels too; the node itself never runs."""
    compiled.nodes[node].writers = [RunnableCallable(obey, trace=False, recurse=False)]


def run_bare(compiled: Compiled, node: str, beside: Mapping[str, Any] = {}) -> None:
    """Let a node that obeys its own Commands run by itself, and in no run of its own, which tracers would see.

    An update that is made in its name lets the jumps stand that are ahead, and writes so much `beside` them; by itself,
    LangGraph forgets a Command.
    """
    names = [name for name in compiled.channels if name == _TASKS or name.startswith(AHEAD)]

    def repeat(result: Any, config: RunnableConfig) -> Any:
        if not isinstance(result, Command):  # else the node itself ran, in a copy that has its writers again
            write_beside(config, {**read(config, names), **beside})
        return result

    _add_writer(compiled, node, 1, repeat)
    vars(compiled.nodes[node])["node"] = compiled.nodes[node].bound


ROOT = "__root__"
"""The one channel of a state without keys, such as ``StateGraph(list)``."""

DEFAULT_HANDLER = "__default_error_handler__"
"""The node that LangGraph makes of a builder's default error handler when it compiles; `StateGraph` exports no name."""

NODE_DEFAULTS = "_node_defaults"
"""Where a builder keeps the defaults for retries, timeouts, caches and errors of its nodes; it has no public reader."""


def replace_bound(compiled: Compiled, node: str, bound: Runnable[Any, Any], *, apart: str) -> None:
    """Put something else in the place of what a compiled node runs; what was learnt of it when it compiled stays.

    Wrapped before compiling, LangGraph would no longer find the graphs inside it, nor see that it is async. What it
    finds a node's results by in a cache is the name of what the node runs: it is handed on, with `apart` behind it,
    since these results hold where the node goes.
    """
    spec = compiled.nodes[node]
    vars(bound)["__qualname__"] = f"{identifier(spec) or '__dynamic__'} -> {apart}"
    spec.bound = bound
    vars(spec).pop("node", None)  # the cached chain of the node and its writers

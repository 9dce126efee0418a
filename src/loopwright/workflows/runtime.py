"""What every workflow runs on: services opened lazily, an event loop's thread, graphs made once, a run's session."""

import asyncio
import hashlib
import json
import logging
import threading
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from inspect import CO_COROUTINE
from itertools import count
from pathlib import Path
from traceback import walk_tb
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from loopwright.checkpoints import open_checkpointer
from loopwright.config import EngineConfig
from loopwright.diagram import save_mermaid
from loopwright.engine import BoundedGraph, Loop, bounded
from loopwright.engine.langgraph_private import change_result
from loopwright.engine.nodes.runner import Guarded
from loopwright.engine.proof.fingerprint import FORCE
from loopwright.errors import CheckpointError, ConfigError, InputError, unknown_name_message
from loopwright.models import ModelRegistry, PromptLibrary
from loopwright.models.prices import prices as prices  # hosts have it from here
from loopwright.workflows.sections import WorkflowConfig

T = TypeVar("T")
C = TypeVar("C", bound=WorkflowConfig)
logger = logging.getLogger("loopwright.runs")

DEBUG_LOG = "graph_debug.log"
"""The file of the debug log: what every node saw, did and took."""

_PATIENCE = 10.0
"""Seconds that a cancelled coroutine gets to end."""
_AGAIN = 5.0
"""Seconds after which a task that has not ended is cancelled once more."""
_INPUT = "loopwright_input"
"""The key of a checkpoint's metadata that holds what was asked, as JSON."""


class LoopThread:
    """Runs coroutines for synchronous callers, from any number of threads, all in one event loop of its own.

    The clients of chat models belong to the loop in which they were first used, so ``asyncio.run`` for each question
    would break them at the second one.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._running: set[Future[Any]] = set()
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="loopwright-runs", daemon=True)
        self._thread.start()

    def call(self, function: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run a coroutine function to its end and give its result; interrupted, it is cancelled and waited for.

        Raises:
            RuntimeError: If it was closed, or if this is called from within the loop, where it would wait for itself.
            CancelledError: If it is closed meanwhile.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("this runs in the services' own event loop: await aask(...) here, not ask(...)")
        ended = threading.Event()

        async def run() -> T:
            try:
                return await function(*args, **options)
            finally:
                ended.set()

        with self._lock:
            if self._closed:
                raise RuntimeError("the services are closed")
            future = asyncio.run_coroutine_threadsafe(run(), self._loop)
            self._running.add(future)
        try:
            return future.result()
        except BaseException:
            # What it was doing ends before anything that it uses is closed.
            if future.cancel():
                ended.wait(_PATIENCE)
            raise
        finally:
            self._running.discard(future)

    def _run(self) -> None:
        while True:
            with suppress(SystemExit, KeyboardInterrupt):  # of a task, which has kept it for whoever waits
                return self._loop.run_forever()

    def close(self) -> None:
        """Cancel what runs, and end the loop and its thread."""
        with self._lock:
            self._closed = True
            running = [*self._running]
        for future in running:
            future.cancel()
        wait(running, timeout=_PATIENCE)
        asyncio.run_coroutine_threadsafe(_wind_up(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def to_its_end(
    coroutine: Coroutine[Any, Any, T], loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> T:
    """Run a coroutine in an event loop of its own, also where a node calls ``sys.exit``, by which asyncio ends one."""
    from loopwright.check.factories import runner as runner_of

    with runner_of(loop_factory) as runner:
        task = runner.get_loop().create_task(coroutine)
        while not task.done():
            try:
                runner.run(asyncio.wait([task]))
            except SystemExit as error:  # who waits for the node has it; but a signal may raise one too
                if not any(frame.f_code.co_flags & CO_COROUTINE for frame, _ in walk_tb(error.__traceback__)):
                    raise
    return task.result()


async def cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait until they have ended.

    Again and again: until Python 3.12, `asyncio.wait_for` drops a cancellation that comes just as its result does, and
    database pools wait by it; what then goes on would be waited for without an end.
    """
    going = every = {*tasks}
    while going:
        for task in going:
            task.cancel()
        _ended, going = await asyncio.wait(going, timeout=_AGAIN)
    await asyncio.gather(*every, return_exceptions=True)  # what they raised while they ended is no news


async def _wind_up() -> None:
    """Cancel every task that is left, and let generators and worker threads end."""
    await cancel(asyncio.all_tasks() - {asyncio.current_task()})
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()


class Opened:
    """Keeps things by name, each made at its first use; safe in threads."""

    def __init__(self) -> None:
        self._exits = ExitStack()
        self._lock = threading.RLock()
        self._things: dict[str, object] = {}

    def once(self, name: str, make: Callable[[], T]) -> T:
        """The thing of a name, made now if this is its first use."""
        with self._lock:
            if name not in self._things:
                self._things[name] = make()
            return cast("T", self._things[name])

    def entered(self, name: str, make: Callable[[], AbstractContextManager[T]]) -> T:
        """The same for what is closed by `close`."""
        return self.once(name, lambda: self._exits.enter_context(make()))

    def close(self) -> None:
        """Close everything; what is used again afterwards is opened again."""
        with self._lock:
            things, self._things = self._things, {}
            exits = self._exits.pop_all()
        # Outside of the lock, for which a run may be waiting; and the loop first, since runs use the rest.
        background = things.get("background")
        if isinstance(background, LoopThread):
            background.close()
        exits.close()


@dataclass
class Services(Generic[C]):
    """What nodes need besides the state: the configuration, the models, and what a workflow adds.

    What is not given is opened at its first use and closed with `close`, or at the end of a ``with`` statement.
    """

    package: ClassVar[str] = ""
    """The workflow's package, which is called as its section of the configuration and holds its prompts."""
    config: C
    """The configuration."""
    models: ModelRegistry = field(default_factory=ModelRegistry)
    """The chat model of each node, if any."""
    opened: Opened = field(default_factory=Opened, repr=False, kw_only=True)
    """What was opened so far."""

    @classmethod
    def of(cls, config: C, *given: Any, **named: Any) -> Self:
        """The services that a configuration describes, but for what is given; nothing is opened yet.

        Raises:
            ConfigError: If a model's settings are wrong.
        """
        return cls(config, ModelRegistry(config.own_models(), nodes=config.model_nodes), *given, **named)

    @classmethod
    @cache
    def prompts(cls) -> PromptLibrary:
        """The workflow's prompts."""
        return PromptLibrary.of_package(cls.package)

    def chat(self, node: str) -> BaseChatModel | None:
        """The chat model of a node, or None for the embedded default."""
        return self.models.chat(node)

    @property
    def background(self) -> LoopThread:
        """Runs coroutines for callers without an event loop."""
        return self.opened.once("background", LoopThread)

    def close(self) -> None:
        """Close what was opened here; what is used again afterwards is opened again."""
        self.opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def compiled(
    builder: StateGraph[Any, Any, Any], loops: Sequence[Loop], config: EngineConfig, **options: Any
) -> BoundedGraph:
    """Bound and compile a workflow's graph; its step limit, debug log and diagram as configured.

    A key that the state has not, in the input or in what a node returns, is an `InputError` that names the nearest one;
    LangGraph drops it without a word. The options are as for its ``compile``.

    Raises:
        GraphError: If the graph cannot be bounded.
    """
    for name, node in builder.nodes.items():
        if isinstance(node.runnable, Guarded):
            node.runnable.check = _known_keys(f"{name} writes an", "state key", [*builder.channels, *builder.managed])
    graph = bounded(builder, loops, **options)
    change_result(graph, START, _known_keys("the input has an", "key", builder.schemas[builder.input_schema]))
    return configured(graph, config)


def configured(graph: BoundedGraph, config: EngineConfig) -> BoundedGraph:
    """The same graph with its step limit, debug log and diagram as configured; twice is as once."""
    if config.langgraph.recursion_limit:
        graph = graph.with_config(recursion_limit=config.langgraph.recursion_limit)
    if config.langgraph.debug_mode:
        enable_debug_log(config.langgraph.log_dir)
    if config.langgraph.save_graph_visualization:
        save_mermaid(graph.topology(), config.langgraph.log_dir)
    return graph


def enable_debug_log(folder: Path) -> None:
    """Write everything that Loopwright logs, down to DEBUG, to ``graph_debug.log``; calling it again changes nothing.

    The folder is made if it is missing.

    Raises:
        ConfigError: If the folder cannot be written.
    """
    path = (folder / DEBUG_LOG).absolute()
    root = logging.getLogger("loopwright")
    if any(isinstance(handler, logging.FileHandler) and handler.baseFilename == str(path) for handler in root.handlers):
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write the debug log {path}: {error.strerror}; set langgraph.log_dir") from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    # Other handlers keep their own levels; the console's is the command line's business.
    root.setLevel(logging.DEBUG)


def _known_keys(said: str, kind: str, known: Collection[str]) -> Callable[[Any], Any]:
    """What lets a mapping, or the update of a Command, pass if all of its keys are known."""

    def check(result: Any) -> Any:
        for item in cast("Sequence[Any]", result) if isinstance(result, list | tuple) else (result,):
            update = item.update if isinstance(item, Command) else item
            for key in cast("Mapping[Any, Any]", update) if isinstance(update, Mapping) else ():
                if key not in known:
                    raise InputError(f"{said} {unknown_name_message(kind, str(key), known)}")
        return result

    return check


@dataclass
class Session:
    """One run outside of a server; enter it to open what keeps the run."""

    graph: BoundedGraph
    """The graph, without a saver until it is entered."""
    config: EngineConfig
    """Says whether and where runs are kept."""
    input: Any
    """What the graph is run with; None where it goes on."""
    identity: Mapping[str, Any]
    """What tells this run from others, in plain JSON: a resume refuses a run of another identity."""
    allow: Iterable[Any] | None
    """What a checkpoint may bring back, as for `open_checkpointer`."""
    run_id: str = ""
    """Names the run's checkpoint; where nothing (or None) is given, a hash of identity and configuration."""
    resume: bool = False
    """Go on from the run's last checkpoint; finished nodes do not run again. Without one, start anew."""
    force: bool = False
    """Resume also if a graph of another structure began the run."""
    options: dict[str, Any] = field(default_factory=dict[str, Any], init=False)
    """The thread that keeps the run, as the engine takes it."""

    def __post_init__(self) -> None:
        """Name the run."""
        self.identity = json.loads(json.dumps(self.identity, default=str))
        self._checkpoint = self.config.pipeline.checkpoint
        whole = json.dumps([self.identity, self.config.model_dump(mode="json")], sort_keys=True)
        self.run_id = self.run_id or hashlib.sha256(whole.encode()).hexdigest()[:16]
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        if self._checkpoint.enable or self.resume:
            place = f"json:{self._checkpoint.save_dir}"
            saver = self._exits.enter_context(open_checkpointer(place, allow=self.allow))
            self.graph = self.graph.copy({"checkpointer": saver})
            try:
                thread = self._thread(saver)
            except BaseException:
                self._exits.close()
                raise
            # What was asked is kept beside the state, so that a resume notices another question or another file.
            metadata = {_INPUT: json.dumps(self.identity)}
            configurable = {FORCE: True} if self.force else {}
            self.options = {"thread_id": thread, "config": {"metadata": metadata, "configurable": configurable}}
        return self

    def __exit__(self, *problem: object) -> None:
        self._exits.close()

    def _thread(self, saver: BaseCheckpointSaver[str]) -> str:
        # The next free one of ``NAME``, ``NAME~2``, ``NAME~3``, ...: no new run mixes with an old one.
        free, last, kept, numbers = self.run_id, None, None, count(2)
        while (found := saver.get_tuple({"configurable": {"thread_id": free}})) is not None:
            free, last, kept = f"{self.run_id}~{next(numbers)}", free, found
        if not self.resume:
            return free
        if last is None:
            logger.warning(
                "nothing to resume: there is no checkpoint of run %r in %r (pipeline.checkpoint.save_dir), so the run "
                "starts anew and keeps one. Checkpoints are %s", self.run_id, str(self._checkpoint.save_dir),
                "enabled; another input or configuration is another run, unless it is named." if self._checkpoint.enable
                else "disabled, so runs without --resume keep none: set pipeline.checkpoint.enable to true in the file "
                "that --config names.",
            )  # fmt: skip
            return free
        before: dict[str, Any] = json.loads((kept.metadata if kept else {}).get(_INPUT, "{}"))
        for key in before.keys() | self.identity.keys() if before else ():
            if before.get(key) != self.identity.get(key):
                raise CheckpointError(
                    f"the checkpoint of run {self.run_id!r} belongs to {key} {before.get(key)!r}, not "
                    f"{self.identity.get(key)!r}. Give another run id, or run without resume."
                )
        self.input = None
        return last

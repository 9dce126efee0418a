"""Functions that make graphs, as LangGraph's server calls them, and the event loop in which their runs go on."""

import asyncio
import atexit
import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import AsyncExitStack, contextmanager
from inspect import iscoroutine, signature
from typing import Any

from langgraph.store.memory import InMemoryStore

logger = logging.getLogger("loopwright.check")


def called(factory: Callable[..., Any]) -> Any:
    """What a factory makes; of what LangGraph's server gives it, a configuration and a runtime, nothing is set."""
    given: dict[str, Any] = {}
    for name, each in signature(factory).parameters.items():
        if each.default is each.empty and (name == "config" or "RunnableConfig" in str(each.annotation)):
            given[name] = {"configurable": {}}
        elif each.default is each.empty and (name == "runtime" or "ServerRuntime" in str(each.annotation)):
            from langgraph_sdk.runtime import _ExecutionRuntime  # pyright: ignore[reportPrivateUsage]  # no other makes it

            given[name] = _ExecutionRuntime(access_context="threads.create_run", store=InMemoryStore())
    made = factory(**given)
    if not iscoroutine(made) and not hasattr(made, "__aenter__") and not hasattr(made, "__enter__"):
        return made
    if not _runners:
        _runners.append(asyncio.Runner())
    return _runners[0].run(made if iscoroutine(made) else _entered(made))


_runners, _held = list[asyncio.Runner](), dict[asyncio.Task[None], asyncio.Event]()
"""Where factories were called, if they were; what keeps open what these opened around their graphs, and until when."""
_PATIENCE = 10.0
"""Seconds that closing it may take."""


async def _entered(manager: Any) -> Any:
    """What a context manager gives; it is left by the task that entered it, as many must be."""
    given, over = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def hold() -> None:
        async with AsyncExitStack() as stack:
            enter: Any = stack.enter_async_context if hasattr(manager, "__aenter__") else stack.enter_context
            try:
                entered = enter(manager)
                given.set_result(await entered if iscoroutine(entered) else entered)
            except BaseException as error:  # else nobody would hear of a cancellation
                given.set_exception(error)
            await over.wait()

    _held[asyncio.create_task(hold())] = over
    return await given


@contextmanager
def runner(loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None) -> Generator[asyncio.Runner]:
    """What runs coroutines, in the event loop of the factories that were called: clients belong to theirs.

    What the factories opened is closed at the end.
    """
    with _runners.pop() if _runners else asyncio.Runner(loop_factory=loop_factory) as running:
        held = {**_held}
        _held.clear()
        try:
            yield running
        finally:
            if held:
                running.run(_closed(held))


async def _closed(held: Mapping[asyncio.Task[None], asyncio.Event]) -> None:
    for over in held.values():
        over.set()
    ended, _going = await asyncio.wait(held, timeout=_PATIENCE)
    for error in filter(None, (task.exception() for task in ended if not task.cancelled())):
        logger.warning("what a graph's factory opened cannot be closed: %s: %s", type(error).__name__, error)


@atexit.register
def _end() -> None:
    if _runners:  # the graphs were only read
        with runner():
            pass

"""Runs nodes under their policies.

Retrying and jumping to a handler are LangGraph's own. Added here are timeouts for sync nodes (LangGraph has them for
async nodes only), errors that name the node and show its input, an event and a log line for each attempt, and the debug
log.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphBubbleUp, NodeError
from langgraph.runtime import get_runtime
from langgraph.types import Command, RetryPolicy

from loopwright.engine.binding import Builder
from loopwright.engine.events import NodeGaveUp, NodeRetried
from loopwright.engine.policies import GiveUp, NodePolicy
from loopwright.engine.snapshot import snapshot
from loopwright.engine.threads import OutOfTime, from_thread, in_thread
from loopwright.errors import NodeFailed, NodeTimeout

logger = logging.getLogger("loopwright.nodes")
debug_logger = logging.getLogger("loopwright.debug")


def add_node(builder: Builder, name: str, function: Callable[..., Any], policy: NodePolicy, **options: Any) -> None:
    """Add a node to a graph under a policy.

    Args:
        builder: The graph.
        name: The node's name.
        function: The node, sync or async, with any of the parameters that LangGraph knows.
        policy: How it is run.
        **options: As for LangGraph's ``add_node``.
    """
    calls = policy.max_model_calls
    limits = {
        "loopwright_max_seconds": policy.max_seconds,
        "loopwright_max_model_calls": None if calls is None else calls * (policy.retries + 1),
    }
    retry = RetryPolicy(
        initial_interval=policy.initial_wait, backoff_factor=policy.factor, max_interval=policy.max_wait,
        max_attempts=policy.retries + 1, jitter=policy.jitter, retry_on=policy.retry_on,
    )  # fmt: skip
    builder.add_node(
        name,
        function,
        retry_policy=retry if policy.retries else None,
        error_handler=_handler(policy.give_up) if policy.give_up else None,
        metadata={**{key: value for key, value in limits.items() if value is not None}, **options.pop("metadata", {})},
        **options,
    )
    spec = builder.nodes[name]
    spec.runnable = cast("Any", Guarded(cast("Runnable[Any, Any]", spec.runnable), name, policy))
    if policy.give_up and spec.error_handler_node:
        handler = builder.nodes[spec.error_handler_node]
        handler.ends = (policy.give_up.goto,)
        handler.metadata = {"loopwright_max_seconds": 0, "loopwright_max_model_calls": 0}


def error_text(error: NodeFailed) -> str:
    """A node's failure as the state's ``error`` says it: node, kind, message, attempt."""
    cause = error.__cause__ if type(error) is NodeFailed and error.__cause__ else error
    kind = type(cause).__name__
    message = f"no result within {error.seconds:g} s" if isinstance(error, NodeTimeout) else str(cause)
    return f"{error.node}: {kind}: {message} (attempt {error.attempt})"


def _handler(give_up: GiveUp) -> Callable[..., Command[Any]]:
    def handle(state: Any, error: NodeError) -> Command[Any]:
        failure = error.error
        if not isinstance(failure, NodeFailed):
            # The run is resumed: LangGraph calls the handler again, with what it stored of the error, and would never
            # run the node again.
            logger.info("trying node %r again, which failed before the run was resumed", error.node)
            return Command(goto=error.node)
        if not give_up.when(state):
            raise _again(failure) from failure.__cause__
        message = error_text(failure)
        logger.error("going on to %s without node %r: %s", give_up.goto, failure.node, message, exc_info=failure)
        cause = failure.__cause__ or failure
        event = NodeGaveUp(node=failure.node, kind=type(cause).__name__, message=str(cause)[:500], goto=give_up.goto)
        get_runtime().stream_writer(event.model_dump(mode="json"))
        return Command(goto=give_up.goto, update=give_up.update(state, message))

    return handle


def _again(failure: NodeFailed) -> NodeFailed:
    """The same failure as another object.

    LangGraph takes a handler that raises its own error for one that handled it, and a resumed run would be at its end.
    """
    again = type(failure).__new__(type(failure), *failure.args)
    again.args = failure.args
    vars(again).update(vars(failure))
    return again


class Guarded(Runnable[Any, Any]):
    """A node under its policy.

    Args:
        bound: The node as LangGraph wrapped it.
        name: The node's name.
        policy: How it is run.
    """

    def __init__(self, bound: Runnable[Any, Any], name: str, policy: NodePolicy) -> None:
        self.bound = bound
        self.name = self.node = name
        self.policy = policy

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node once.

        Raises:
            NodeTimeout: If it takes longer than its timeout. Its thread cannot be stopped and ends by itself.
            NodeFailed: If it raises.
        """
        started = time.perf_counter()
        self._enter(input)
        try:
            if self.policy.timeout is None:
                result = self.bound.invoke(input, config, **kwargs)
            else:
                result = in_thread(lambda: self.bound.invoke(input, config, **kwargs), self.policy.timeout)
        except Exception as error:
            raise self._failed(error, input, started) from _cause(error)
        return self._leave(result, started)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node once.

        Raises:
            NodeTimeout: If it takes longer than its timeout. Code that blocks the event loop is not cut short.
            NodeFailed: If it raises.
        """
        started = time.perf_counter()
        self._enter(input)
        deadline = asyncio.timeout(self.policy.timeout)
        try:
            async with deadline:
                if self.policy.timeout is not None and _is_sync(self.bound):
                    result = await from_thread(lambda: self.bound.invoke(input, config, **kwargs))
                else:
                    result = await self.bound.ainvoke(input, config, **kwargs)
        except TimeoutError as error:
            problem = OutOfTime() if deadline.expired() else error
            raise self._failed(problem, input, started) from _cause(problem)
        except Exception as error:
            raise self._failed(error, input, started) from _cause(error)
        return self._leave(result, started)

    def _enter(self, state: Any) -> None:
        if self.policy.debug:
            debug_logger.debug("node %s: input %s", self.node, snapshot(state))

    def _leave(self, result: Any, started: float) -> Any:
        if self.policy.debug:
            update = result.update if isinstance(result, Command) else result
            debug_logger.debug(
                "node %s: finished in %.3f s, update %s", self.node, time.perf_counter() - started, snapshot(update)
            )
        return result

    def _failed(self, error: Exception, state: Any, started: float) -> Exception:
        """The exception to raise in place of the node's own; LangGraph's control flow passes unchanged."""
        if isinstance(error, GraphBubbleUp | NodeFailed):
            return error
        info = get_runtime().execution_info
        attempt, attempts = info.node_attempt if info else 1, self.policy.retries + 1
        if isinstance(error, OutOfTime):
            failure: NodeFailed = NodeTimeout(
                self.node, self.policy.timeout or 0, attempt=attempt, snapshot=snapshot(state)
            )
        else:
            message = f"{type(error).__name__}: {error}"
            failure = NodeFailed(self.node, message, attempt=attempt, snapshot=snapshot(state))
            failure.__cause__ = error
        if self.policy.debug:
            seconds = time.perf_counter() - started
            debug_logger.debug("node %s: failed after %.3f s", self.node, seconds, exc_info=error)
        if attempt < attempts and self.policy.retry_on(failure):
            wait = self.policy.wait(attempt)
            logger.warning(
                "node %r failed on attempt %d of %d: %s: %s; next attempt in about %.1f s",
                self.node, attempt, attempts, type(error).__name__, str(error)[:500], wait,
            )  # fmt: skip
            event = NodeRetried(
                node=self.node, attempt=attempt, attempts=attempts, kind=type(error).__name__, message=str(error)[:500],
                wait=wait,
            )  # fmt: skip
            get_runtime().stream_writer(event.model_dump(mode="json"))
        return failure


def _is_sync(node: Any) -> bool:
    """Whether LangGraph would run the node in asyncio's pool, whose threads ``asyncio.run`` waits for at its end."""
    function = getattr(node, "func", None)
    return function is not None and getattr(getattr(node, "afunc", None), "__wrapped__", None) is function


def _cause(error: Exception) -> BaseException | None:
    return error.__cause__ if isinstance(error, GraphBubbleUp | NodeFailed | OutOfTime) else error

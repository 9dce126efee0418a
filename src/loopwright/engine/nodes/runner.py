"""Runs nodes under their policies.

Repeating a node and jumping to a handler are LangGraph's own. Added here are timeouts for sync nodes (LangGraph has
them for async nodes only), the waits between attempts, errors that name the node and show its input, an event and a log
line for each attempt, and the debug log.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphBubbleUp, NodeError
from langgraph.runtime import get_runtime
from langgraph.types import Command, RetryPolicy

from loopwright.engine import clock
from loopwright.engine.bind import Builder
from loopwright.engine.budget.meter import comes_of_refusal
from loopwright.engine.events.schema import NodeGaveUp, NodeRetried, emit, holding
from loopwright.engine.nodes.failures import words_of
from loopwright.engine.nodes.policy import Granted, NodePolicy, TryAgain, Visit, cause_of, current_visit, objection
from loopwright.engine.nodes.redact import snapshot
from loopwright.engine.nodes.timeout import OutOfTime, from_thread, in_thread
from loopwright.errors import NodeFailed, NodeTimeout

logger = logging.getLogger("loopwright.nodes")
debug_logger = logging.getLogger("loopwright.debug")


def add_node(builder: Builder, name: str, function: Callable[..., Any], policy: NodePolicy, **options: Any) -> None:
    """Add a node to a graph under a policy, with options as for LangGraph's ``add_node``.

    Its function is sync or async, with any of the parameters that LangGraph knows.
    """
    calls = policy.max_model_calls and policy.max_model_calls * policy.max_attempts
    limits = {"loopwright_max_seconds": policy.max_seconds, "loopwright_max_model_calls": calls}
    # LangGraph repeats a node as often as `TryAgain` says; the waits are over by then.
    again = RetryPolicy(
        initial_interval=0.0, backoff_factor=1.0, max_interval=0.0, jitter=False, max_attempts=policy.max_attempts,
        retry_on=TryAgain,
    )  # fmt: skip
    builder.add_node(
        name, function, retry_policy=again if policy.rules else None,
        error_handler=_handler(policy) if policy.give_up else None,
        metadata={**{key: value for key, value in limits.items() if value is not None}, **options.pop("metadata", {})},
        **options,
    )  # fmt: skip
    spec = builder.nodes[name]
    spec.runnable = cast("Any", Guarded(cast("Runnable[Any, Any]", spec.runnable), name, policy))
    if policy.give_up and spec.error_handler_node:
        handler = builder.nodes[spec.error_handler_node]
        handler.ends = (policy.give_up.goto,)
        # On a resume it goes back to the node that failed, which is another attempt and no jump.
        handler.metadata = {"loopwright_max_seconds": 0, "loopwright_max_model_calls": 0, "loopwright_again": name}


def _with(message: str, remark: str) -> str:
    return f"{message.rstrip('.')}; {remark}" if remark else message


def _handler(policy: NodePolicy) -> Callable[..., Command[Any]]:
    give_up = policy.give_up
    assert give_up is not None

    def handle(state: Any, error: NodeError) -> Command[Any]:
        failure: Any = error.error
        if isinstance(failure, BaseException) and not isinstance(failure, Exception):
            raise copy(failure)  # an interrupt from the keyboard, say: nobody is to go on
        if not isinstance(failure, NodeFailed):
            # The run is resumed: LangGraph calls the handler again, with what it stored of the error, and would never
            # run the node again.
            logger.info("trying node %r again, which failed before the run was resumed", error.node)
            return Command(goto=error.node)
        if comes_of_refusal(failure) or not give_up.when(state):
            # LangGraph takes a handler that raises its own error for one that handled it, and a resumed run would be at
            # its end.
            raise copy(failure) from failure.__cause__
        remark, cause = objection(policy, failure), cause_of(failure)
        said = f"no result within {failure.seconds:g} s" if isinstance(failure, NodeTimeout) else words_of(cause)
        kind = type(cause).__name__
        message = f"{failure.node}: {kind}: {_with(said, remark)} (attempt {failure.attempt})"
        logger.error("going on to %s without node %r: %s", give_up.goto, failure.node, message, exc_info=failure)
        said = _with(words_of(cause)[:500], remark)
        emit(NodeGaveUp(node=failure.node, kind=kind, message=said, goto=give_up.goto).model_dump(mode="json"))
        return Command(goto=give_up.goto, update=give_up.update(state, message))

    return handle


class Guarded(Runnable[Any, Any]):
    """A node, as LangGraph wrapped it, under its policy."""

    def __init__(self, bound: Runnable[Any, Any], name: str, policy: NodePolicy) -> None:
        self.bound = bound
        self.name = self.node = name
        self.policy = policy
        self.check: Callable[[Any], object] | None = None
        """Looks at what the node returns, and raises if it is wrong: the node has failed then."""
        self._failed_visits: dict[tuple[str, float | None], Visit] = {}
        """The visits between two attempts, by task and start: one graph may serve many runs at once."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node once.

        Raises:
            NodeTimeout: If it takes longer than its timeout. Its thread cannot be stopped and ends by itself.
            NodeFailed: If it raises.
        """
        started = time.perf_counter()
        visit = self._enter(input)
        try:
            with holding(current_visit, visit):
                call = partial(self.bound.invoke, input, config, **kwargs)
                result = call() if self.policy.timeout is None else in_thread(call, self.policy.timeout)
            if self.check:
                self.check(result)
        except Exception as error:
            failure, granted = self._failed_attempt(error, visit, input, started)
        else:
            return self._leave(result, started)
        clock.sleep(granted.wait)
        raise self._to_be_repeated(visit) from failure

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node once; see `invoke`. Code that blocks the event loop is not cut short."""
        started = time.perf_counter()
        visit = self._enter(input)
        deadline = asyncio.timeout(self.policy.timeout)
        try:
            with holding(current_visit, visit):
                async with deadline:
                    if self.policy.timeout is not None and _is_sync(self.bound):
                        result = await from_thread(partial(self.bound.invoke, input, config, **kwargs))
                    else:
                        result = await self.bound.ainvoke(input, config, **kwargs)
            if self.check:
                self.check(result)
        except Exception as error:
            problem = OutOfTime() if isinstance(error, TimeoutError) and deadline.expired() else error
            failure, granted = self._failed_attempt(problem, visit, input, started)
        else:
            return self._leave(result, started)
        await clock.asleep(granted.wait)
        raise self._to_be_repeated(visit) from failure

    def _enter(self, state: Any) -> Visit | None:
        """Begin an attempt; the visit is None for a node that lets every error pass."""
        if self.policy.debug:
            debug_logger.debug("node %s: input %s", self.node, snapshot(state))
        if not self.policy.retries and not self.policy.give_up:
            return current_visit.get()
        outer = None if self.policy.give_up else current_visit.get()
        return self._failed_visits.pop(_key(), None) or Visit(self.policy, outer)

    def _leave(self, result: Any, started: float) -> Any:
        if self.policy.debug:
            seconds, update = time.perf_counter() - started, result.update if isinstance(result, Command) else result
            debug_logger.debug("node %s: finished in %.3f s, update %s", self.node, seconds, snapshot(update))
        return result

    def _failed_attempt(
        self, error: Exception, visit: Visit | None, state: Any, started: float
    ) -> tuple[Exception, Granted]:
        """What failed, and the further attempt, which is logged and an event; where none is granted, it is raised."""
        attempt = info.node_attempt if (info := get_runtime().execution_info) else 1
        failure = self._failed(error, attempt, state, started)
        may_retry = self.policy.retries and not isinstance(failure, GraphBubbleUp) and not comes_of_refusal(failure)
        granted = visit.grant(failure) if visit and may_retry else None
        if granted is None:
            raise failure from error.__cause__ if isinstance(error, GraphBubbleUp | NodeFailed | OutOfTime) else error
        cause, attempts = cause_of(failure), self.policy.max_attempts
        kind, message = type(cause).__name__, words_of(cause)[:500]
        logger.warning(
            "node %r failed on attempt %d of %d: %s: %s; next attempt in %.2f s (%s)",
            self.node, attempt, attempts, kind, message, granted.wait, granted.rule.name,
        )  # fmt: skip
        event = NodeRetried(
            node=self.node, attempt=attempt, attempts=attempts, kind=kind, message=message, rule=granted.rule.name,
            wait=granted.wait, retry_after=granted.asked or None,
        )  # fmt: skip
        emit(event.model_dump(mode="json"))
        return failure, granted

    def _failed(self, error: Exception, attempt: int, state: Any, started: float) -> Exception:
        """The exception to raise in place of the node's own; LangGraph's control flow passes unchanged."""
        if isinstance(error, GraphBubbleUp | NodeFailed):
            return error
        shown = snapshot(state)
        if isinstance(error, OutOfTime):
            failure: NodeFailed = NodeTimeout(self.node, self.policy.timeout or 0, attempt=attempt, snapshot=shown)
        else:
            message = _with(f"{type(error).__name__}: {words_of(error)}", objection(self.policy, error))
            failure = NodeFailed(self.node, message, attempt=attempt, snapshot=shown)
            failure.__cause__ = error
        if self.policy.debug:
            debug_logger.debug("node %s: failed after %.3f s", self.node, time.perf_counter() - started, exc_info=error)
        return failure

    def _to_be_repeated(self, visit: Visit | None) -> TryAgain:
        if visit is not None:
            self._failed_visits[_key()] = visit
        return TryAgain(f"node {self.node!r} is to be run again")


def _key() -> tuple[str, float | None]:
    """Names the visit that runs now."""
    return (info.task_id, info.node_first_attempt_time) if (info := get_runtime().execution_info) else ("", None)


def _is_sync(node: Any) -> bool:
    """Whether LangGraph would run the node in asyncio's pool, whose threads ``asyncio.run`` waits for at its end."""
    function = getattr(node, "func", None)
    return function is not None and getattr(getattr(node, "afunc", None), "__wrapped__", None) is function

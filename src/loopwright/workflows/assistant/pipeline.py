"""Answer one message of a conversation."""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import HumanMessage
from pydantic import ValidationError

from loopwright.engine import BoundedGraph, RunEvent, RunResult
from loopwright.engine import astream as engine_astream
from loopwright.engine.diagram import mermaid
from loopwright.engine.events import RunFinished
from loopwright.engine.following import afollowing, closing
from loopwright.engine.policies import cause_of, is_transient
from loopwright.errors import InputError, LoopwrightError, NodeFailed, unknown_name_message
from loopwright.models import UsageRecorder
from loopwright.workflows.assistant.events import ChatEvent, Done, Failed
from loopwright.workflows.assistant.graph import build_graph
from loopwright.workflows.assistant.memory.updating import forgets_all
from loopwright.workflows.assistant.reasons import given_profile, moment
from loopwright.workflows.assistant.results import ChatResult, result_of
from loopwright.workflows.assistant.schemas import PlannedQuery, RetryMode, Table, Turn, UserContext
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import ChatInput
from loopwright.workflows.assistant.streaming import Translator, summary_of, told_of
from loopwright.workflows.assistant.understanding import understand
from loopwright.workflows.opened import prices, usage_of_the_run

logger = logging.getLogger("loopwright.assistant")

LONGEST_MESSAGE = 10_000
"""Characters; a longer message is more likely a document."""

_HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair."""
_CONTEXT = ("user_id", "conversation_id", "now", "profile")


def chat(
    message: str,
    *,
    user_context: UserContext | None = None,
    services: Services,
    mode: RetryMode | None = None,
    run_id: str | None = None,
) -> ChatResult:
    """Answer one message.

    Args:
        message: The message.
        user_context: Who asks and when: ``user_id``, ``conversation_id``, ``now`` (ISO time; by default the present
            moment), ``profile``.
        services: The conference, the memory and the models.
        mode: What follows a poor search; None as configured.
        run_id: Names the run; by default a new name.

    Returns:
        The answer with the records that it cites, how honest an end it is, and how it was come by.

    Raises:
        InputError: If the message is empty or no text, or the context has what nobody knows.
        StoreError: If there is no conference (within `NodeFailed`, if the store fails during the run).
        NodeFailed: If a node failed for good; its cause is the original error.
    """
    return services.background.call(
        achat, message, user_context=user_context, services=services, mode=mode, run_id=run_id
    )


async def achat(
    message: str,
    *,
    user_context: UserContext | None = None,
    services: Services,
    mode: RetryMode | None = None,
    run_id: str | None = None,
) -> ChatResult:
    """Answer one message without blocking the event loop; see `chat`."""
    result = None
    async for event in _followed(message, user_context or {}, services, mode, run_id or new_run_id(), _usage()):
        if isinstance(event, ChatResult):
            result = event
    if result is None:
        raise RuntimeError("the run ended without a result")
    return result


async def astream_chat(
    message: str,
    *,
    user_context: UserContext | None = None,
    services: Services,
    mode: RetryMode | None = None,
    run_id: str | None = None,
) -> AsyncIterator[ChatEvent]:
    """Answer one message and yield what a client sees, as it happens; the last event is ``done`` or ``error``.

    What a later attempt at the answer replaces has come by then: a new ``node_start`` of ``generate_response`` begins a
    new answer, whether the one before was judged poor or its model failed half-way. See `chat` for the arguments.
    """
    usage = _usage()
    translator = Translator(services, usage)
    try:
        async with closing(
            _followed(message, user_context or {}, services, mode, run_id or new_run_id(), usage)
        ) as events:
            async for event in events:
                if isinstance(event, ChatResult):
                    for told in last_events(event):
                        yield told
                else:
                    for told in translator.translate(event):
                        yield told
    except LoopwrightError as error:
        yield failure_of(error)


def warm_up(services: Services) -> None:
    """Make now what the first question would wait for: the graph, and what is derived from the conference.

    Args:
        services: The conference and the models.

    Raises:
        StoreError: If the store cannot be opened.
        WeightsError: If the embedding model's files are not there.
    """
    _graph(services)
    understand("now", services.search.catalogue)
    services.search.run(PlannedQuery(table=Table.SESSIONS, query_text="welcome"))


def new_run_id() -> str:
    """A name that no run has yet."""
    return uuid.uuid4().hex[:16]


def visualize_graph(graph: BoundedGraph | None = None) -> str:
    """The workflow as a Mermaid diagram, with the limits on the loops' edges.

    Args:
        graph: A graph of `build_graph`; by default that of the embedded configuration.
    """
    return mermaid((graph or build_graph()).topology())


def _graph(services: Services) -> BoundedGraph:
    return services.opened.once("graph", lambda: build_graph(services=services))


def _usage() -> UsageRecorder:
    return UsageRecorder(prices())


async def _followed(
    message: str,
    context: UserContext,
    services: Services,
    mode: RetryMode | None,
    run_id: str,
    usage: UsageRecorder,
) -> AsyncIterator[RunEvent | ChatResult]:
    given = turn_input(message, context)
    if mode is not None:
        services = services.in_mode(mode)
    graph = _graph(services)
    events: list[RunEvent] = []
    async with closing(afollowing(engine_astream(graph, given), usage_of_the_run, usage)) as counted:
        async for event in counted:
            events.append(event)
            yield event
    finished = next(event for event in reversed(events) if isinstance(event, RunFinished))
    result = result_of(run_id, message, RunResult(finished.state, tuple(events)), usage.total(), usage.cost())
    await remember(result, context, services)
    yield result


async def remember(result: ChatResult, context: UserContext, services: Services) -> None:
    """Keep the turn; a memory that fails loses the turn, not the answer. A wish to be forgotten is not kept.

    Args:
        result: What was asked and answered.
        context: Says whose conversation it is; without one nothing is kept.
        services: The memory.
    """
    conversation = context.get("conversation_id")
    if not conversation or forgets_all(result.message):
        return
    now = datetime.now(UTC)
    turns = [
        Turn(role="user", text=result.message, at=now),
        Turn(role="assistant", text=result.answer, referenced_ids=result.referenced_ids, at=now),
    ]
    try:
        async with asyncio.timeout(services.config.assistant.timeout.memory):
            await services.memory.add_turns(conversation, turns, user_id=context.get("user_id"))
    except (LoopwrightError, TimeoutError) as error:
        logger.warning("The turn of conversation %r is not kept: %s", conversation, error or "the memory is too slow")


def last_events(result: ChatResult) -> tuple[ChatEvent, ...]:
    """What a client sees when a run has ended by itself or at a bound.

    Args:
        result: The run's outcome.
    """
    if result.status == "failed":
        error = result.error or "the run ended before an answer was written"
        return summary_of(result), Failed(error=error, error_type="NoAnswer", can_retry=True)
    done = Done(
        run_id=result.run_id,
        referenced_ids=result.referenced_ids,
        status=result.status,
        stop_reason=result.stop_reason,
    )
    return summary_of(result), done


def failure_of(error: LoopwrightError) -> Failed:
    """What a client sees when a run has ended with an exception.

    Args:
        error: The exception.
    """
    cause = cause_of(error)
    if isinstance(error, NodeFailed) and not isinstance(cause, LoopwrightError):
        logger.error("a run failed", exc_info=error)
    return Failed(error=_told(error), error_type=type(cause).__name__, can_retry=is_transient(cause))


def _told(error: LoopwrightError) -> str:
    """What went wrong, as clients may know it; a node's input is for the log."""
    if not isinstance(error, NodeFailed):
        return str(error)
    cause = cause_of(error)
    if isinstance(cause, NodeFailed):
        return cause.told
    return f"node {error.node!r} failed: {told_of(type(cause).__name__, str(cause))}"


def turn_input(message: str, context: UserContext) -> ChatInput:
    """What the graph is run with.

    Args:
        message: The message.
        context: Who asks and when.

    Raises:
        InputError: If the message is empty or no text, or the context has what nobody knows.
    """
    if not isinstance(message, str) or not message.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"the message is {message!r}: give a text that asks something")
    if len(message) > LONGEST_MESSAGE:
        raise InputError(f"the message has {len(message)} characters; at most {LONGEST_MESSAGE} are read")
    if _HALF.search(message):
        raise InputError("the message holds half of a surrogate pair: give it as UTF-8")
    for key in context:
        if key not in _CONTEXT:
            raise InputError(unknown_name_message("key of user_context", str(key), _CONTEXT))
    for key in ("user_id", "conversation_id"):
        value: Any = context.get(key)
        if value is not None and not (isinstance(value, str) and value.strip() and not _HALF.search(value)):
            raise InputError(f"{key} is {value!r}: give a text that is not blank")
    now = context.get("now") or datetime.now(UTC).isoformat()
    given = ChatInput(messages=[HumanMessage(message.strip())], user_context={**context, "now": now})
    moment(context.get("now"))
    try:
        given_profile(given)
    except (ValidationError, TypeError) as error:
        raise InputError(f"profile does not fit: {error}") from None
    return given

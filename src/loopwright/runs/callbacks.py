"""What LangChain's callbacks tell of a run and LangGraph's streams do not: calls of models, and repeated nodes."""

import time
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphBubbleUp

from loopwright.engine import BoundedGraph
from loopwright.engine.budget.budget import PriceTable, Usage
from loopwright.engine.budget.meter import model_asked, reply_of
from loopwright.engine.events.schema import ModelCalled, ModelMessage, NodeRetried, listener, tasks_of
from loopwright.engine.nodes.failures import words_of
from loopwright.engine.nodes.policy import TryAgain
from loopwright.models.prompts import prompt_in_use
from loopwright.runs.plain import message_text, plain, shortened

MESSAGES = 100
"""Messages shown of one call; of more the first and the last."""

TEXT = 20_000
"""Characters shown of one message or reply."""

ALL_TEXT = 200_000
"""Characters shown of all messages of one call together, about; then each is cut to `SHORT`."""

SHORT = 1_000
"""Characters shown of one message of a call with very much text."""


class ModelCalls(BaseCallbackHandler):
    """Makes an event of every call of a chat model: which node, what was sent, what came back. From any thread.

    It is added to every call by a context variable, as the engine's own meter is, and so reaches calls in parallel
    tasks, in threads, and in graphs inside of nodes.
    """

    run_inline = True
    # LangChain reads these on every call; it means them to be overridden, and types them as properties.
    ignore_chain = ignore_agent = ignore_retriever = ignore_custom_event = ignore_retry = True  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __init__(self, tell: Callable[[ModelCalled], None], price: PriceTable | None = None) -> None:
        self._tell = tell
        self._price = price
        self._asked: dict[UUID, tuple[float, ModelCalled]] = {}
        """Each call that is under way -> when it began, and its event without what came back."""

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Note a call that is about to be sent."""
        given = [(message.type, message_text(message)) for message in (messages[0] if messages else ())]
        self._begin(run_id, serialized, given, **kwargs)

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        """As `on_chat_model_start`, for models that complete a text."""
        self._begin(run_id, serialized, [("human", prompt) for prompt in prompts], **kwargs)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Tell of a call that was answered."""
        if asked := self._asked.pop(run_id, None):
            self._tell(self._event(*asked, response, None))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Tell of a call that failed, or whose stream was broken off."""
        if asked := self._asked.pop(run_id, None):
            begun = kwargs.get("response")
            message = shortened(f"{type(error).__name__}: {error}", SHORT)
            self._tell(self._event(*asked, begun if isinstance(begun, LLMResult) else None, message))

    def _begin(
        self, run_id: UUID, serialized: Any, texts: list[tuple[str, str]], metadata: Any = None, **_others: Any
    ) -> None:
        about, prompt = metadata or {}, prompt_in_use.get()
        model = model_asked(serialized, about)
        visit = str(about.get("langgraph_checkpoint_ns") or "")
        # The node of the run's own graph, also from within a graph inside of it.
        node = visit.partition("|")[0].partition(":")[0] or about.get("langgraph_node")
        called = ModelCalled(
            node=str(node) if node else None, tasks=tasks_of(visit), model=model, messages=shown_messages(texts),
            reply="", seconds=0,
            prompt=prompt.id if prompt else None, prompt_version=(prompt.version or None) if prompt else None,
        )  # fmt: skip
        self._asked[run_id] = time.monotonic(), called

    def _event(self, began: float, called: ModelCalled, response: LLMResult | None, error: str | None) -> ModelCalled:
        message = reply_of(response)
        usage = Usage.of(message)
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        metered = not usage.unmetered_calls
        came = {
            "at": datetime.now(UTC),
            "reply": shortened(message_text(message), TEXT),
            "tool_calls": [{"name": call["name"], "args": plain(call["args"])} for call in calls],
            "seconds": time.monotonic() - began,
            "input_tokens": usage.input_tokens if metered else None,
            "output_tokens": usage.output_tokens if metered else None,
            "cost": self._price(called.model, usage) if self._price and metered else None,
            "error": error,
        }
        return called.model_copy(update=came)


def shown_messages(texts: list[tuple[str, str]]) -> list[ModelMessage]:
    """Messages, each its role and text, as they are shown: without keys, and bounded in number and length."""
    most = TEXT if sum(len(text) for _role, text in texts) <= ALL_TEXT else SHORT
    left_out = len(texts) - MESSAGES
    if left_out > 0:
        head, tail = texts[: MESSAGES // 2], texts[-MESSAGES // 2 :]
        texts = [*head, ("system", f"… {left_out:,} more messages"), *tail]
    return [ModelMessage(role=role, content=shortened(text, most)) for role, text in texts]


model_calls: ContextVar[ModelCalls | None] = ContextVar("loopwright_model_calls", default=None)
"""Who is told of the model calls of the run that this code is a part of."""

register_configure_hook(model_calls, inheritable=False)


class Attempts(BaseCallbackHandler):
    """Tells of each attempt of a node that failed, as soon as the next one begins. For one run of one graph.

    LangGraph's streams report a node when it begins and when it is done, with whatever failed in between left out. But
    each attempt by a ``retry_policy`` is a run of its own for callbacks. Nodes under a policy of Loopwright tell of
    their attempts themselves, see `loopwright.engine.nodes.runner`.
    """

    run_inline = True

    def __init__(self, graph: BoundedGraph, told: Callable[[NodeRetried], None]) -> None:
        self._graph = graph
        self._told = told
        self._running: dict[UUID, str] = {}
        self._failed: dict[str, tuple[BaseException, float]] = {}
        self._failures: Counter[str] = Counter()

    def on_chain_start(self, serialized: dict[str, Any], inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Something begins: an attempt of a node, or a part of one, which is passed over."""
        about: dict[str, Any] = kwargs.get("metadata") or {}
        node, visit = about.get("langgraph_node"), about.get("langgraph_checkpoint_ns")
        # LangGraph marks what it runs itself; a graph within a node has a namespace below that node's.
        own = any(tag.startswith("graph:step:") for tag in kwargs.get("tags") or ())
        if not own or not isinstance(node, str) or not isinstance(visit, str) or "|" in visit:
            return
        self._running[run_id] = visit
        if visit in self._failed:
            error, at = self._failed.pop(visit)
            policies = self._graph.nodes[node].retry_policy or self._graph.retry_policy
            retried = NodeRetried(
                node=node, tasks=tasks_of(visit), attempt=self._failures[visit],
                attempts=max((policy.max_attempts for policy in policies), default=self._failures[visit] + 1),
                kind=type(error).__name__, message=words_of(error), wait=time.monotonic() - at,
                rule="retry_policy",  # in the place of a rule's name
            )  # fmt: skip
            self._told(retried)
            if heard_by := listener.get():
                heard_by.void.append((node, *retried.tasks))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Something is done."""
        self._running.pop(run_id, None)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Something failed: if it is an attempt of a node, another one may follow."""
        visit = self._running.pop(run_id, None)
        if visit is not None and not isinstance(error, GraphBubbleUp | TryAgain):
            self._failures[visit] += 1
            self._failed[visit] = (error, time.monotonic())

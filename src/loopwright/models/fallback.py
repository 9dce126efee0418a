"""Another model in place of one that failed for good.

LangChain's ``with_fallbacks`` chooses by exception class alone and tells nobody. Here the kind of failure decides, the
retries of the node come first, and every switch is a warning and an event.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, get_args

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_config

from loopwright.engine.budget.meter import cut_off_usage
from loopwright.engine.events.schema import ModelFellBack, emit
from loopwright.engine.nodes.failures import failure_kind
from loopwright.engine.nodes.policy import will_retry
from loopwright.errors import ConfigError, StructuredReplyError, unknown_name_message
from loopwright.models.guard import redact
from loopwright.models.spec import FALLBACK_REASONS, FallbackReason
from loopwright.models.usage import model_name

logger = logging.getLogger(__name__)

_SHOWN = 500
"""So many characters of an exception's message are shown."""


@dataclass(frozen=True, slots=True)
class Link:
    """One model of a chain."""

    model: BaseChatModel
    """The model."""
    leave_on: frozenset[FallbackReason]
    """Which failures make the next model take its place."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """What must not be seen in messages."""


def _speaks(chunk: Any) -> bool:
    """Whether a piece of a stream says anything: OpenAI's protocol begins with one that does not."""
    if not isinstance(chunk, AIMessageChunk):
        return True
    return bool(chunk.content or chunk.additional_kwargs or chunk.tool_call_chunks)


class _InTurn:
    """What has a ``chain`` and ``models``, one runnable for each link of it; the first that does not fail answers."""

    def mapped(self: Any, change: Callable[[Any], Runnable[Any, Any]]) -> _Bound:
        """The same models, with a change made to each in its own way."""
        return _Bound(self.chain, [change(model) for model in self.models])

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> _Bound:
        """Offer tools to each model in its own format; agents do so also with a model that has some."""
        return self.mapped(lambda model: model.bind_tools(tools, **kwargs))

    def invoke(self: Any, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Ask the models in turn."""
        for position, model in enumerate(self.models):
            with self.chain.asking(position):
                return model.invoke(input, config, **kwargs)

    async def ainvoke(self: Any, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Ask the models in turn."""
        for position, model in enumerate(self.models):
            with self.chain.asking(position):
                return await model.ainvoke(input, config, **kwargs)

    def stream(self: Any, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Ask the models in turn; one that has begun to answer is not replaced any more."""
        for position, model in enumerate(self.models):
            with self.chain.asking(position) as said:
                for chunk in model.stream(input, config, **kwargs):
                    if not said and _speaks(chunk):
                        said.append(True)
                    yield chunk
                return

    async def astream(self: Any, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Ask the models in turn; one that has begun to answer is not replaced any more."""
        for position, model in enumerate(self.models):
            with self.chain.asking(position) as said:
                async for chunk in model.astream(input, config, **kwargs):
                    if not said and _speaks(chunk):
                        said.append(True)
                    yield chunk
                return


class _Bound(_InTurn, Runnable[Any, Any]):
    """Models that were each bound to something in its own way."""

    def __init__(self, chain: FallbackChatModel, models: Sequence[Runnable[Any, Any]]) -> None:
        self.chain, self.models = chain, models


class FallbackChatModel(_InTurn, BaseChatModel):
    """A chat model that asks the next one where one failed for good; made by `with_fallback` and `ModelRegistry`.

    It sends nothing itself: callbacks, traces and usage see the calls of the models behind it, each under its own name.
    """

    links: tuple[Link, ...]
    """The models in the order in which they are asked."""

    @property
    def chain(self) -> FallbackChatModel:
        """Whose links are asked: its own."""
        return self

    @property
    def models(self) -> tuple[BaseChatModel, ...]:
        """The models in the order in which they are asked."""
        return tuple(link.model for link in self.links)

    @contextmanager
    def asking(self, position: int, node: str | None = None) -> Generator[list[bool]]:
        """Ask a model within; that it fails is logged and an event where the next one is to be asked, and else raised.

        It is raised if there is no next one, if another would not help, if the node is about to be tried again, or once
        the list that this gives holds that something was said. The node is by default the one that runs this code.
        """
        said: list[bool] = []
        try:
            yield said
        except Exception as error:
            link, bad = self.links[position], isinstance(error, StructuredReplyError) or cut_off_usage(error)
            why = "bad_reply" if bad else failure_kind(error)
            last = any(said) or position + 1 == len(self.links)
            if last or why not in link.leave_on or will_retry(error):
                raise
            before, after = model_name(link.model), model_name(self.links[position + 1].model)
            kind, message = type(error).__name__, redact(str(error), [*link.secrets])[:_SHOWN]
            with suppress(RuntimeError):  # outside of a graph
                node = node or get_config().get("metadata", {}).get("langgraph_node")
            who = f"node {node!r}: " if node else ""
            logger.warning("%smodel %r failed (%s): %s: %s; asking %r instead", who, before, why, kind, message, after)
            event = ModelFellBack(
                node=node, from_model=before, to_model=after, kind=kind, failure=str(why), message=message
            )
            emit(event.model_dump(mode="json"))

    @property
    def model_name(self) -> str:
        """The first model's name."""
        return model_name(self.models[0])

    @property
    def _llm_type(self) -> str:
        return "fallback"

    def with_structured_output(self, schema: dict[str, Any] | type, **kwargs: Any) -> Runnable[LanguageModelInput, Any]:
        """Bind each model to a schema in its own way."""
        return self.mapped(lambda model: model.with_structured_output(schema, **kwargs))

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any,
    ) -> ChatResult:  # fmt: skip
        return ChatResult(generations=[ChatGeneration(message=self.invoke(messages, stop=stop, **kwargs))])


def with_fallback(
    model: BaseChatModel, *fallbacks: BaseChatModel, on: Collection[FallbackReason] = FALLBACK_REASONS
) -> FallbackChatModel:
    """A chat model that asks the next one where one failed for good.

    Args:
        model: Asked first.
        *fallbacks: Asked in this order; one that has fallbacks itself brings them along.
        on: Which failures count.

    Raises:
        ConfigError: If a failure is unknown.
    """
    for reason in on:
        if reason not in get_args(FallbackReason):
            raise ConfigError(unknown_name_message("reason for a fallback", reason, get_args(FallbackReason)))
    return FallbackChatModel(
        links=tuple(link for each in (model, *fallbacks) for link in chain_of(each, frozenset(on)).links)
    )


def chain_of(model: BaseChatModel, leave_on: frozenset[FallbackReason] = frozenset()) -> FallbackChatModel:
    """The chain behind a chat model: of one without fallbacks, itself alone, and when it is left."""
    return model if isinstance(model, FallbackChatModel) else FallbackChatModel(links=(Link(model, leave_on),))

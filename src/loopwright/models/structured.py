"""Structured replies: ask, validate, tell the model what was wrong, ask again, a bounded number of times."""

from __future__ import annotations

from typing import TypeVar

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel

from loopwright.models.conversation import Answer, Conversation, Messages, Question
from loopwright.models.spec import StructuredMethod
from loopwright.models.usage import UsageRecorder

T = TypeVar("T", bound=BaseModel)


def ask(
    model: BaseChatModel,
    messages: Messages,
    schema: type[T],
    *,
    repairs: int = 2,
    node: str | None = None,
    usage: UsageRecorder | None = None,
    method: StructuredMethod | None = None,
) -> T:
    """Ask a model for a reply that fits a schema.

    A reply that does not fit is answered with what was wrong, and the model is asked again. What the model's client
    raises (no connection, 429, 500, a timeout, a reply cut off by the token limit) is not a reply: it is counted and
    raised unchanged, so that the node's retry policy sees it. Where that has no retry left, and the model has a
    fallback, the fallback is asked instead.

    Args:
        model: The chat model.
        messages: The prompt.
        schema: The pydantic model of the reply; describe its fields, use enums for closed lists.
        repairs: How often each model is asked again after a bad reply; 0 never.
        node: The node that asks, for usage, logs and messages.
        usage: Counts every call, those with bad replies and those that raised too.
        method: How to ask; None takes what the model's `ModelSpec` declares, else ``"auto"``.

    Returns:
        The validated reply.

    Raises:
        StructuredReplyError: If the last reply that was allowed does not fit either.
        ModelError: If the method is ``"json_schema"`` and the model's class does not offer it.
        ConfigError: If `repairs` is negative.
    """
    return consult(model, messages, schema, repairs=repairs, node=node, usage=usage, method=method).reply


def consult(
    model: BaseChatModel,
    messages: Messages,
    schema: type[T],
    *,
    repairs: int = 2,
    node: str | None = None,
    usage: UsageRecorder | None = None,
    method: StructuredMethod | None = None,
    needs_images: bool = False,
    log_probabilities: bool = False,
) -> Answer[T]:
    """Do what `ask` does, and say how the reply came about.

    Images in the messages are LangChain's standard blocks (``{"type": "image", "base64": ..., "mime_type": ...}``). A
    model that is known to see none is asked without them; one whose provider refuses them is asked again without them,
    with a warning, and from then on at once. The model reads in their place that they are missing, and `Answer.notes`
    says so too.

    Args:
        model: See `ask`.
        messages: See `ask`.
        schema: See `ask`.
        repairs: See `ask`.
        node: See `ask`.
        usage: See `ask`.
        method: See `ask`.
        needs_images: Whether the question makes no sense without its images: then models that see none are passed over.
        log_probabilities: Whether to ask for token log-probabilities, where the model's class and provider give them;
            they are in the ``response_metadata`` of `Answer.message`.

    Returns:
        The validated reply, the message that it was in, and notes.

    Raises:
        StructuredReplyError: If the last reply that was allowed does not fit either.
        ModelError: If the method is ``"json_schema"`` and the model's class does not offer it, or `needs_images` and no
            model sees any.
        ConfigError: If `repairs` is negative.
    """
    question = Question(messages, schema, repairs, node, usage, method, needs_images, log_probabilities)
    talk = Conversation(model, question)
    while True:
        try:
            with talk.counting_failure():
                reply = talk.runnable.invoke(talk.prompt)
            answer = talk.read(reply)
        except Exception as error:
            if not talk.goes_on_after(error):
                raise
        else:
            if answer is not None:
                return answer


async def aask(
    model: BaseChatModel,
    messages: Messages,
    schema: type[T],
    *,
    repairs: int = 2,
    node: str | None = None,
    usage: UsageRecorder | None = None,
    method: StructuredMethod | None = None,
) -> T:
    """Do what `ask` does, without blocking the event loop.

    Args:
        model: See `ask`.
        messages: See `ask`.
        schema: See `ask`.
        repairs: See `ask`.
        node: See `ask`.
        usage: See `ask`; a call that is cancelled counts as failed.
        method: See `ask`.

    Returns:
        The validated reply.

    Raises:
        StructuredReplyError: If the last reply that was allowed does not fit either.
        ModelError: If the method is ``"json_schema"`` and the model's class does not offer it.
        ConfigError: If `repairs` is negative.
    """
    talk = Conversation(model, Question(messages, schema, repairs, node, usage, method, False, False))
    while True:
        try:
            with talk.counting_failure():
                reply = await talk.runnable.ainvoke(talk.prompt)
            answer = talk.read(reply)
        except Exception as error:
            if not talk.goes_on_after(error):
                raise
        else:
            if answer is not None:
                return answer.reply

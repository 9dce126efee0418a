"""Structured replies: ask, validate, tell the model what was wrong, ask again, a bounded number of times."""

from __future__ import annotations

from typing import TypeVar, Unpack

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel

from loopwright.models.conversation import Answer, Conversation, Messages, Options

T = TypeVar("T", bound=BaseModel)


def ask(model: BaseChatModel, messages: Messages, schema: type[T], **options: Unpack[Options]) -> T:
    """Ask a model for a reply that fits a schema.

    A reply that does not fit is answered with what was wrong, and the model is asked again. What the model's client
    raises (no connection, 429, 500, a timeout, a reply cut off by the token limit) is not a reply: it is counted and
    raised unchanged, so that the node's retry policy sees it. Where that has no retry left, and the model has a
    fallback, the fallback is asked instead.

    Images in the messages are LangChain's standard blocks (``{"type": "image", "base64": ..., "mime_type": ...}``). A
    model that is known to see none is asked without them; one whose provider refuses them is asked again without them,
    with a warning, and from then on at once. The model reads in their place that they are missing.

    Args:
        model: The chat model.
        messages: The prompt.
        schema: The pydantic model of the reply; describe its fields, use enums for closed lists.
        **options: See `Options`.

    Returns:
        The validated reply.

    Raises:
        StructuredReplyError: If the last reply that was allowed does not fit either.
        ModelError: If the method is ``"json_schema"`` and the model's class does not offer it, or images are needed and
            no model sees any.
        ConfigError: If the repairs are negative.
    """
    return consult(model, messages, schema, **options).reply


def consult(model: BaseChatModel, messages: Messages, schema: type[T], **options: Unpack[Options]) -> Answer[T]:
    """Do what `ask` does, and say what the reader must know of the reply."""
    talk = Conversation(model, messages, schema, options)
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


async def aask(model: BaseChatModel, messages: Messages, schema: type[T], **options: Unpack[Options]) -> T:
    """Do what `ask` does, without blocking the event loop."""
    talk = Conversation(model, messages, schema, options)
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

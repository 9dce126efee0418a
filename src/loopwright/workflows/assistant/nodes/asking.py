"""Asking a node's chat model with the node's prompt."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from pydantic import BaseModel

from loopwright.errors import ModelError
from loopwright.models import PromptLibrary, aask
from loopwright.retrieval.web import untrusted_line
from loopwright.workflows.assistant.services import Services

T = TypeVar("T", bound=BaseModel)


@cache
def prompts() -> PromptLibrary:
    """The prompts of this workflow."""
    return PromptLibrary.of_package("loopwright.workflows.assistant")


async def ask_model(services: Services, node: str, schema: type[T], *, question: str, **values: str) -> T:
    """Ask the chat model of a node for a reply that fits a schema.

    Args:
        services: The models, and where their calls are counted.
        node: The node; its prompt has its name.
        schema: The reply's schema.
        question: The person's question.
        **values: What else goes into the prompt, made safe by the caller.

    Raises:
        ModelError: If the node has no chat model.
        StructuredReplyError: If the reply still breaks the schema after the repairs.
    """
    chat = services.chat(node)
    if chat is None:
        raise ModelError(f"node {node!r} has no chat model: name one under 'models' in the configuration")
    text = prompts().get(node).render(question=untrusted_line(question), **values)
    return await aask(chat, text, schema, repairs=services.config.assistant.repairs, node=node, usage=services.usage)

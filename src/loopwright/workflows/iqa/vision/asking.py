"""One question to a chat model about an image that it must see."""

from __future__ import annotations

from typing import TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel

from loopwright.models import UsageRecorder, consult
from loopwright.workflows.iqa.images import LoadedImage
from loopwright.workflows.iqa.vision.images import image_blocks, longest_side_for

T = TypeVar("T", bound=BaseModel)


def ask_about(
    chat: BaseChatModel,
    image: LoadedImage,
    instruction: str,
    question: str,
    schema: type[T],
    *,
    repairs: int,
    usage: UsageRecorder | None = None,
) -> T:
    """Show a model an image and ask for a structured reply.

    Args:
        chat: A chat model that sees images.
        image: The image.
        instruction: What to do, as the system's message.
        question: What is asked of this image.
        schema: The reply.
        repairs: How often the model may correct a reply that breaks the schema.
        usage: Where the calls are counted.

    Returns:
        The validated reply.

    Raises:
        ModelError: If the model is known to see no images.
        StructuredReplyError: If the reply still breaks the schema after the repairs.
    """
    shown = image_blocks(image, "The image", longest_side_for(chat))
    messages = [SystemMessage(instruction), HumanMessage(content=[*shown, {"type": "text", "text": question}])]
    return consult(chat, messages, schema, repairs=repairs, node="executor", usage=usage, needs_images=True).reply

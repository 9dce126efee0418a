"""Which chat models see images, and what is asked of those that do not.

LangChain's profile of a model says whether it takes images; a model on somebody's own server has no profile. There it
is tried, and what the provider answers to the first image decides for this model object from then on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from loopwright.engine.nodes.failures import status_code

VISION_KEY = "loopwright_vision"
"""In a model's ``metadata``: whether it sees images, as declared in its `ModelSpec` or learned from a refusal."""

IMAGE_SIDE_KEY = "loopwright_image_side"
"""In a model's ``metadata``: the longest side of an image that it is sent, in pixels."""

IMAGE_SIDE = 1568
"""The longest side of an image that a model is sent where nothing else is configured, in pixels.

Anthropic's models before 2026 make longer sides smaller themselves ("Vision", docs of the Messages API), OpenAI's fit
an image into 2048 x 2048 or into a number of patches, Google's cut it into tiles. A reduction that we make is told to
the model and to the reader; one that the provider makes is not.
"""

Refusal = Literal["model", "image"]
"""What a provider refused: images for this model altogether, or only the image that it was sent."""

_NO_VISION = re.compile(
    r"not (support|accept|take)[^.]{0,30}\b(image|vision|multi-?modal)"
    r"|image (input )?is not supported|image_url is only supported|support(s)? image input"
    r"|not a multi-?modal model|not (compiled for )?multi-?modal|at most 0 image"
    r"|unsupported content part type|unknown variant .?image_url|content must be a string|image support is not",
    re.IGNORECASE,
)
"""How OpenAI, Anthropic, Google, Ollama, llama.cpp, vLLM, LM Studio, OpenRouter and DeepSeek say it, as far as their
sources and users' reports show."""

_BAD_IMAGE = re.compile(r"\bimage", re.IGNORECASE)

_REFUSING = frozenset({400, 404, 413, 415, 422, 500, 501})
"""500 because llama.cpp and vLLM answered so for long; their text must then be one of `_NO_VISION`."""

_CHAIN = 10


def sees(model: BaseChatModel) -> bool | None:
    """Whether a model sees images.

    Returns:
        What its `ModelSpec` declares or a refusal has shown, else what LangChain's profile says; None if nobody knows.
    """
    declared = (model.metadata or {}).get(VISION_KEY)
    return declared if isinstance(declared, bool) else (model.profile or {}).get("image_inputs")


def image_side(model: BaseChatModel) -> int:
    """The longest side of an image that a model is sent.

    Returns:
        Pixels, as its `ModelSpec` says, else `IMAGE_SIDE`.
    """
    declared = (model.metadata or {}).get(IMAGE_SIDE_KEY)
    return declared if isinstance(declared, int) else IMAGE_SIDE


def remember_blindness(model: BaseChatModel) -> None:
    """Note that a model takes no images, so that the next question is sent without."""
    model.metadata = {**(model.metadata or {}), VISION_KEY: False}


def image_refusal(error: BaseException) -> Refusal | None:
    """Whether an exception is a provider's refusal of images, rather than of the question or the key.

    Returns:
        ``"model"`` if this model takes no images, ``"image"`` if it does not take this one (too large, broken, of a
        format that it does not know); None for anything else.
    """
    link: BaseException | None = error
    for _ in range(_CHAIN):
        if link is None:
            return None
        status, said = status_code(link), str(link)
        if status in _REFUSING and _NO_VISION.search(said):
            return "model"
        if status in _REFUSING and status < 500 and _BAD_IMAGE.search(said):
            return "image"
        link = link.__cause__
    return None


def has_images(messages: Sequence[BaseMessage]) -> bool:
    """Whether any of the messages has an image in LangChain's standard form."""
    return any(_is_image(block) for message in messages for block in _blocks(message))


def without_images(messages: Sequence[BaseMessage], why: str) -> list[BaseMessage]:
    """The same messages with a sentence in the place of each image.

    A message that then is text alone becomes one string, since servers without vision may take nothing else.

    Args:
        messages: The prompt.
        why: Why the image is missing, for the model to read.

    Returns:
        New messages; those without images are the same objects.
    """
    return [_without(message, why) for message in messages]


def _without(message: BaseMessage, why: str) -> BaseMessage:
    blocks = _blocks(message)
    if not any(map(_is_image, blocks)):
        return message
    told = [{"type": "text", "text": f"(Not attached: {why}.)"} if _is_image(block) else block for block in blocks]
    texts = [block if isinstance(block, str) else block.get("text") for block in told]
    content: Any = "\n".join(cast("list[str]", texts)) if all(isinstance(text, str) for text in texts) else told
    return message.model_copy(update={"content": content})


def _blocks(message: BaseMessage) -> list[Any]:
    content: Any = message.content
    return cast("list[Any]", content) if isinstance(content, list) else []


def _is_image(block: Any) -> bool:
    return isinstance(block, dict) and cast("dict[str, Any]", block).get("type") == "image"

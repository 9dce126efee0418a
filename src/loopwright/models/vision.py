"""Which chat models see images, and what is asked of those that do not.

LangChain's profile of a model says whether it takes images; a model on somebody's own server has no profile, and is
sent none unless the configuration says that it sees them: providers refuse them in words of their own, or drop them.
"""

from collections.abc import Sequence
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

VISION_KEY = "loopwright_vision"
"""In a model's ``metadata``: whether it sees images, as declared in its `ModelSpec`."""

IMAGE_SIDE_KEY = "loopwright_image_side"
"""In a model's ``metadata``: the longest side of an image that it is sent, in pixels."""

IMAGE_SIDE = 1568
"""The longest side of an image that a model is sent where nothing else is configured, in pixels.

Anthropic's models before 2026 make longer sides smaller themselves ("Vision", docs of the Messages API), OpenAI's fit
an image into 2048 x 2048 or into a number of patches, Google's cut it into tiles. A reduction that we make is told to
the model and to the reader; one that the provider makes is not.
"""


def sees(model: BaseChatModel) -> bool:
    """Whether a model sees images, as its `ModelSpec` declares, else as LangChain's profile says."""
    declared = (model.metadata or {}).get(VISION_KEY)
    return declared if isinstance(declared, bool) else bool((model.profile or {}).get("image_inputs"))


def image_side(model: BaseChatModel) -> int:
    """The longest side of an image that a model is sent, in pixels: as its `ModelSpec` says, else `IMAGE_SIDE`."""
    declared = (model.metadata or {}).get(IMAGE_SIDE_KEY)
    return declared if isinstance(declared, int) else IMAGE_SIDE


def has_images(messages: Sequence[BaseMessage]) -> bool:
    """Whether any of the messages has an image in LangChain's standard form."""
    return any(_is_image(block) for message in messages for block in _blocks(message))


def without_images(messages: Sequence[BaseMessage], why: str) -> list[BaseMessage]:
    """The same messages with a sentence in the place of each image.

    A message that then is text alone becomes one string, since servers without vision may take nothing else. One
    without images stays the same object. The model reads why its image is missing.
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

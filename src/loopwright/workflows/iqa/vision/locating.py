"""Where named objects are in an image, as a chat model with vision sees it."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Self

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, create_model, model_validator

from loopwright.models import consult
from loopwright.workflows.iqa.schemas import Box
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.sources.images import LoadedImage, widened
from loopwright.workflows.iqa.vision.encoded import image_blocks

_SCALE = 1000
"""Boxes come in thousandths of the width and height: they mean the same whatever size the provider looks at."""


class LocatedObject(BaseModel):
    """One object that the model sees, and the box around it."""

    name: str
    """The object, as it was asked for."""
    left: int = Field(ge=0, le=_SCALE)
    """The left side, in thousandths of the image's width."""
    top: int = Field(ge=0, le=_SCALE)
    """The upper side, in thousandths of the image's height."""
    right: int = Field(ge=0, le=_SCALE)
    """The right side, in thousandths of the image's width."""
    bottom: int = Field(ge=0, le=_SCALE)
    """The lower side, in thousandths of the image's height."""

    @model_validator(mode="after")
    def _has_an_area(self) -> Self:
        if self.right <= self.left or self.bottom <= self.top:
            raise ValueError("right must be greater than left, and bottom greater than top")
        return self


class Locations(BaseModel):
    """The objects that the model sees; the others are left out."""

    objects: list[LocatedObject]
    """One entry for each object that is in the image."""


def locate(chat: BaseChatModel, image: LoadedImage, objects: Sequence[str], *, repairs: int) -> dict[str, Box]:
    """Ask a chat model where objects are.

    Args:
        chat: A chat model that sees images.
        image: The image.
        objects: The objects' names, at least one.
        repairs: How often the model may correct a reply that breaks the schema.

    Returns:
        Object -> its box in pixels of the image, inside it, and at least `MIN_SIDE` pixels a side so that it can be
        judged; of several boxes of one object, the one around them all. An object that the model does not see is
        absent.

    Raises:
        ModelError: If the model is known to see no images.
        StructuredReplyError: If the reply still breaks the schema after the repairs.
    """
    names = tuple(dict.fromkeys(objects))
    question = {"type": "text", "text": json.dumps({"objects": names}, ensure_ascii=False)}
    shown = image_blocks(chat, image, "The image")
    messages = [SystemMessage(Services.prompts().get("locator").render()), HumanMessage(content=[*shown, question])]
    found = consult(chat, messages, _schema(names), repairs=repairs, node="executor", needs_images=True)
    seen = {name: [item for item in found.reply.objects if item.name == name] for name in names}
    return {name: _box(items, image.width, image.height) for name, items in seen.items() if items}


def _box(found: Sequence[LocatedObject], width: int, height: int) -> Box:
    left, right = _side(min(item.left for item in found), max(item.right for item in found), width)
    top, bottom = _side(min(item.top for item in found), max(item.bottom for item in found), height)
    return left, top, right - left, bottom - top


def _side(first: int, last: int, length: int) -> tuple[int, int]:
    """Thousandths as pixels, wide enough to be judged."""
    return widened(first * length // _SCALE, -(-last * length // _SCALE), length)


@cache
def _schema(names: tuple[str, ...]) -> type[Locations]:
    """`Locations` with a closed list of names, so that a wrong name is repaired."""

    def check(text: str) -> str:
        matching = [name for name in names if name.casefold() == text.strip().casefold()]
        if not matching:
            raise ValueError(f"{text!r} was not asked for; known: {', '.join(names)}")
        return matching[0]

    name = Annotated[str, AfterValidator(check), WithJsonSchema({"type": "string", "enum": [*names]})]
    entry: Any = create_model("LocatedObject", __base__=LocatedObject, name=(name, ...))
    entries: dict[str, Any] = {"objects": (list[entry], ...)}
    return create_model("Locations", __base__=Locations, **entries)

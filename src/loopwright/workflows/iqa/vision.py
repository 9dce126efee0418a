"""What a chat model is shown of an image, and what it is asked to see in it.

An image goes without any loss, or smaller and told so. JPEG would add the very faults that the model is asked about, so
nothing is ever encoded as JPEG here. Where an image must be made smaller, each new pixel is the mean of the area that
it covers, and the caption says what can no longer be judged.
"""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Self

import numpy as np
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from PIL import Image
from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, create_model, model_validator

from loopwright.models import consult
from loopwright.models.fallback import chain_of
from loopwright.models.vision import image_side
from loopwright.workflows.iqa.measuring.features.planes import whole_view
from loopwright.workflows.iqa.schemas import Box
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.sources.images import LoadedImage, check_pair, load_image, widened

MAX_BYTES = 3_750_000
"""The largest file that is sent: its base64 text has five million characters, and Anthropic's API takes 5 MiB for an
image, which is the least of the published limits."""

_OWN_FORMATS = {"JPEG": "image/jpeg", "PNG": "image/png"}
"""Formats whose own bytes are sent. WebP is not among them: servers built on llama.cpp do not decode it."""

_METADATA = frozenset({"exif", "xmp", "comment", "photoshop"})
"""What Pillow calls the parts of a file that can say where and by whom a photograph was taken: a question about its
quality is no reason to tell a provider that."""

_SHRINK = 0.8
"""The factor by which the sides of an image are reduced as long as its PNG is larger than `MAX_BYTES`."""

Blocks = list[dict[str, Any]]
"""LangChain's standard content blocks."""


def image_blocks(chat: BaseChatModel, image: LoadedImage, name: str) -> Blocks:
    """An image with its caption.

    Args:
        chat: The model that it is for; it is made no larger than that and all of its fallbacks take.
        image: The image, or a region of one.
        name: What it is, for example ``"The image"``; begins the caption.

    Returns:
        A block of text that says what follows, with its size, and the block of the image.
    """
    longest_side = min(image_side(link.model) for link in chain_of(chat).links)
    content, media_type, (width, height) = encode(image, longest_side)
    size = f"{image.width} x {image.height} pixels"
    if (width, height) == (image.width, image.height):
        caption = f"{name}, {size}, without loss:"
    else:
        caption = (
            f"{name}, {size}, here made smaller to {width} x {height} by averaging areas. Fine noise, sharpness and "
            "compression artefacts cannot be judged from this copy; the measured numbers are those of the full size:"
        )
    encoded = base64.b64encode(content).decode("ascii")
    return [{"type": "text", "text": caption}, {"type": "image", "base64": encoded, "mime_type": media_type}]


def encode(image: LoadedImage, longest_side: int) -> tuple[bytes, str, tuple[int, int]]:
    """An image as the bytes that are sent.

    The file's own bytes, if it is a JPEG or PNG without metadata that decodes to exactly the image's pixels; else a
    PNG. Only where a side is longer than allowed, or the PNG larger than `MAX_BYTES`, it is a PNG of a smaller copy.

    Returns:
        The bytes, their media type, and the width and height in pixels that they decode to.
    """
    size = (image.width, image.height)
    if max(size) <= longest_side and (own := _own_bytes(image)) is not None:
        return *own, size
    while True:
        # From the full image each time: a copy of a copy would be blurred twice.
        rgb = whole_view(image.rgb, longest_side, 1)
        held = io.BytesIO()
        # Half of the usual effort takes less than half of the time, and the file is 4 % larger.
        Image.fromarray(np.ascontiguousarray(rgb)).save(held, "PNG", compress_level=3)
        if held.tell() <= MAX_BYTES:
            return held.getvalue(), "image/png", (rgb.shape[1], rgb.shape[0])
        longest_side = int(max(rgb.shape[:2]) * _SHRINK)


def _own_bytes(image: LoadedImage) -> tuple[bytes, str] | None:
    """The file's bytes and media type, if a provider that decodes them sees these pixels and no others."""
    if image.path.stat().st_size > MAX_BYTES:
        return None
    content = image.path.read_bytes()
    with Image.open(io.BytesIO(content)) as file:
        plain = file.format in _OWN_FORMATS and file.mode in ("RGB", "L") and getattr(file, "n_frames", 1) == 1
        if not plain or file.size != (image.width, image.height):
            return None
        same = np.array_equal(np.asarray(file.convert("RGB")), image.rgb)
        # Asked after decoding: a PNG may have its texts behind the pixels.
        told = _METADATA & file.info.keys() or file.getexif() or getattr(file, "text", None)
        return (content, _OWN_FORMATS[str(file.format)]) if same and not told else None


MOST_OBJECTS = 2
"""So many located objects are shown apart from the whole image; each costs as much as the image itself."""


def attachments(
    chat: BaseChatModel,
    state: Mapping[str, Any],
    *,
    region: Box | None,
    max_pixels: int,
    objects: Mapping[str, Box] | None = None,
) -> Blocks:
    """The image in question and its reference, each with a caption.

    Args:
        chat: The model that they are for.
        state: Gives ``image_path`` and ``reference_path``.
        region: The part of both that the question is about, which is then all that is shown of them.
        max_pixels: The largest image that is decoded, in pixels.
        objects: Objects that were located in the image; the first `MOST_OBJECTS` are shown apart, at their full size
            where the whole image had to be made smaller.

    Returns:
        LangChain's standard content blocks: for each image a text and the image.

    Raises:
        ImageError: If an image cannot be read, their sizes differ, or too little of the region is inside of them.
    """
    image = load_image(state["image_path"], max_pixels=max_pixels)
    reference = None
    if state.get("reference_path"):
        reference = load_image(state["reference_path"], max_pixels=max_pixels)
        check_pair(image, reference)
    shown = _pair(image, reference, region)
    for name, box in list((objects or {}).items())[:MOST_OBJECTS]:
        shown += [(f"{title}: the {name} alone", part) for title, part in _pair(image, reference, box)]
    # Ollama's format keeps images apart from the text, so that only their order says which caption is whose.
    numbered = [(f"Image {number} of {len(shown)}: {title}", part) for number, (title, part) in enumerate(shown, 1)]
    return [block for title, part in numbered for block in image_blocks(chat, part, title)]


def _pair(image: LoadedImage, reference: LoadedImage | None, box: Box | None) -> list[tuple[str, LoadedImage]]:
    pair = (("the image in question", image), ("its pristine reference", reference))
    return [(title, each if box is None else each.crop(box)) for title, each in pair if each is not None]


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

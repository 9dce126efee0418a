"""An image as a chat model gets it: without any loss, or smaller and told so.

JPEG would add the very faults that the model is asked about, so nothing is ever encoded as JPEG here. Where an image
must be made smaller, each new pixel is the mean of the area that it covers, and the caption says what can no longer be
judged.
"""

import base64
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from langchain_core.language_models import BaseChatModel
from PIL import Image

from loopwright.models.fallback import chain_of
from loopwright.models.vision import image_side
from loopwright.workflows.iqa.measuring.features.planes import whole_view
from loopwright.workflows.iqa.schemas import Box
from loopwright.workflows.iqa.sources.images import LoadedImage, check_pair, load_image

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

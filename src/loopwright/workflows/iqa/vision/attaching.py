"""The images that the planner's and the summarizer's chat models are shown beside the words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel

from loopwright.workflows.iqa.schemas import Box
from loopwright.workflows.iqa.sources.images import LoadedImage, check_pair, load_image
from loopwright.workflows.iqa.vision.encoded import Blocks, image_blocks, longest_side_for

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
    side = longest_side_for(chat)
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
    return [block for title, part in numbered for block in image_blocks(part, title, side)]


def _pair(image: LoadedImage, reference: LoadedImage | None, box: Box | None) -> list[tuple[str, LoadedImage]]:
    pair = [("the image in question", image)]
    if reference is not None:
        pair.append(("its pristine reference", reference))
    if box is None:
        return pair
    part = _inside(box, image)
    return [(title, each.crop(part)) for title, each in pair]


def _inside(box: Box, image: LoadedImage) -> Box:
    """What the executor measures of a region that leaves the image: the part inside."""
    left, top, width, height = box
    first, upper = min(max(0, left), image.width), min(max(0, top), image.height)
    last, lower = min(image.width, left + width), min(image.height, top + height)
    return first, upper, last - first, lower - upper

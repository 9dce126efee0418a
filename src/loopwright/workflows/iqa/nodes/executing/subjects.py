"""What is measured: the whole image, the region that was given, or the place of each object that was asked about."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from langgraph.errors import GraphBubbleUp

from loopwright.errors import ImageError, InputError
from loopwright.workflows.iqa.question.places import REGION_PREFIX, box_of
from loopwright.workflows.iqa.question.reading import MAX_SCOPES
from loopwright.workflows.iqa.schemas import GLOBAL, Box, PlannerOutput, ReferenceMode
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.sources.images import MIN_SIDE, LoadedImage, check_pair, load_image
from loopwright.workflows.iqa.state import AgenticIQAState
from loopwright.workflows.iqa.vision.locating import locate

logger = logging.getLogger("loopwright.iqa")

MAX_SUBJECTS = MAX_SCOPES + 1
"""The most parts of an image that are measured in one pass: the objects of a query, and the whole image."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One part of the image to be measured, beside the same part of its reference."""

    scope: str
    """Its name, as a key of the evidence."""
    image: LoadedImage
    """The part."""
    reference: LoadedImage | None
    """The same part of the reference, if there is one."""
    box: Box | None
    """Where it lies in the image; None for all of it."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """Everything to be measured in one pass."""

    image: LoadedImage
    """The whole image."""
    parts: list[Subject]
    """At least one, the first that was asked about first; its scores are the answer's."""
    notes: list[str] = field(default_factory=list[str])
    """What was done to the files, where objects were found, and which were not."""


def scope_of(region: Box | None) -> str:
    """The name of the scope that a region gives, as a key of the evidence.

    Args:
        region: Left, top, width, height in pixels, or None for the whole image.

    Returns:
        ``"region 10,20,100,80"`` or ``"Global"``.
    """
    return GLOBAL if region is None else REGION_PREFIX + ",".join(map(str, region))


def load_subjects(state: AgenticIQAState, plan: PlannerOutput, services: Services) -> Subjects:
    """Read the files and find what the plan asks about.

    A region in the state is all that is measured. Else each name of the plan's scope is a position in words or numbers,
    or an object that the executor's chat model is asked to locate. Where that fails, the whole image stands in.

    Args:
        state: Needs ``image_path``; reads ``reference_path`` and ``region``.
        plan: What is to be done.
        services: The chat model and the largest image that is read.

    Returns:
        The parts and the notes.

    Raises:
        InputError: If a file or a region cannot be used, or the plan wants a reference and there is none.
    """
    max_pixels = services.config.iqa.tools.max_pixels
    image = load_image(state["image_path"], max_pixels=max_pixels)
    notes = [f"The image: {note}" for note in image.notes]
    reference = None
    if plan.reference_mode is ReferenceMode.FULL:
        path = state.get("reference_path")
        if not path:
            raise InputError("the plan compares with a reference image, and there is none; give one or plan without")
        reference = load_image(path, max_pixels=max_pixels)
        notes += [f"The reference: {note}" for note in reference.notes]
        check_pair(image, reference)
    names = [] if isinstance(plan.query_scope, str) else list(dict.fromkeys(plan.query_scope))[:MAX_SCOPES]
    region = state.get("region")
    if region:
        left, top, width, height = region
        box = _inside((left, top, width, height), image, notes)
        notes += [f"{name}: taken to be what the {scope_of(box)} shows" for name in names]
        boxes: dict[str, Box | None] = {scope_of(box): box}
    elif names:
        boxes = _places(names, image, services, notes)
    else:
        boxes = {GLOBAL: None}
    return Subjects(image, [_cut(scope, box, image, reference) for scope, box in boxes.items()], notes)


def _cut(scope: str, box: Box | None, image: LoadedImage, reference: LoadedImage | None) -> Subject:
    if box is None:
        return Subject(scope, image, reference, None)
    return Subject(scope, image.crop(box), reference.crop(box) if reference else None, box)


def _inside(box: Box, image: LoadedImage, notes: list[str]) -> Box:
    """The part of a box that lies in the image, with a note if that is not all of it."""
    left, top, width, height = box
    first, last = max(0, left), min(image.width, left + width)
    upper, lower = max(0, top), min(image.height, top + height)
    if last - first < MIN_SIDE or lower - upper < MIN_SIDE:
        raise ImageError(_unusable(box, image, max(0, last - first), max(0, lower - upper)))
    inside = (first, upper, last - first, lower - upper)
    if inside != box:
        notes.append(
            f"The {scope_of(box)} leaves the image of {image.width} x {image.height} pixels; "
            f"{scope_of(inside)} of it was measured"
        )
    return inside


def _unusable(box: Box, image: LoadedImage, columns: int, rows: int) -> str:
    """What is wrong with a box of which too little lies in the image, and one that would do."""
    left, top, width, height = box
    given = f"{scope_of(box)} (left, top, width, height)"
    size = f"the image, which is {image.width} x {image.height} pixels"
    if width < MIN_SIDE or height < MIN_SIDE:
        lacking = f"{given} is too small to judge in {size}"
    elif columns and rows:
        lacking = f"{given} leaves {size}: only {columns} x {rows} pixels of it lie inside"
    else:
        lacking = f"{given} lies outside of {size}"
    wide, high = min(max(width, MIN_SIDE), image.width), min(max(height, MIN_SIDE), image.height)
    near = (min(max(0, left), image.width - wide), min(max(0, top), image.height - high), wide, high)
    return f"{lacking}. Give at least {MIN_SIDE} pixels a side inside the image, for example {','.join(map(str, near))}"


def _places(names: Sequence[str], image: LoadedImage, services: Services, notes: list[str]) -> dict[str, Box | None]:
    """Scope -> its box, in the order in which they were asked about; objects without a place share the whole image."""
    given = {name: box_of(name, image.width, image.height) for name in names}
    boxes = {name: _inside(box, image, notes) for name, box in given.items() if box is not None}
    objects = [name for name in names if name not in boxes]
    located = _located(objects, image, services, notes) if objects else {}
    found: dict[str, Box | None] = {}
    for name in names:
        box = boxes.get(name) or located.get(name)
        if box is None:
            notes.append(f"{name}: could not be located, so the whole image was measured")
            found.setdefault(GLOBAL, None)
            continue
        if not name.startswith(REGION_PREFIX):
            by_whom = "located by the chat model at" if name in located else "measured at"
            notes.append(f"{name}: {by_whom} {','.join(map(str, box))} (left, top, width, height)")
        found[name] = box
    return found


def _located(objects: Sequence[str], image: LoadedImage, services: Services, notes: list[str]) -> dict[str, Box]:
    """Where the chat model sees objects; nothing without one, and nothing but a note if it fails."""
    chat = services.chat("executor")
    if chat is None:
        return {}
    try:
        return locate(chat, image, objects, repairs=services.config.iqa.repairs, usage=services.usage)
    except GraphBubbleUp:  # a spent budget or an interrupt concerns the whole run
        raise
    except Exception as error:
        logger.warning("the chat model could not locate %s: %s", ", ".join(objects), error)
        notes.append(f"The chat model was asked for {', '.join(objects)} and failed: {type(error).__name__}: {error}")
        return {}

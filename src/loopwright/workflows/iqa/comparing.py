"""Which of two images is better, and by how much.

Every difference is B minus A, in points of the scale from 1 (bad) to 5 (excellent).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from loopwright.errors import InputError
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.measuring.detection_parts import detect_in_parts
from loopwright.workflows.iqa.measuring.features import measure, measure_pair
from loopwright.workflows.iqa.schemas import DistortionFinding, FileName, ReferenceMode
from loopwright.workflows.iqa.sources.images import LoadedImage, check_pair, load_image
from loopwright.workflows.iqa.tools.calibration import get_calibration
from loopwright.workflows.iqa.tools.execution import run_tools
from loopwright.workflows.iqa.tools.registry import all_tools

_SAME_RATE = 0.005
"""A change of the bytes that is not worth telling."""

_ADVICE = (
    "scores without a reference depend on the scale: halving both sides of a photograph moves its own by up to 0.4 "
    "points, up or down. Bring both to one size, or give the pristine image with --reference"
)


class Side(BaseModel, frozen=True):
    """One image of the two."""

    path: FileName
    """The file."""
    width: int
    """Pixels from left to right."""
    height: int
    """Pixels from top to bottom."""
    bytes: int
    """The size of the file."""
    raw: dict[str, float]
    """Tool -> its own value."""
    scores: dict[str, float]
    """Tool -> its score, 1 (bad) to 5 (excellent)."""
    failed: dict[str, str]
    """Tool -> why it gave no score."""
    notes: list[str]
    """What was done to the image to read it."""
    distortions: list[DistortionFinding]
    """What is wrong with it, strongest first."""
    abstained: str | None = None
    """Why distortions could not be told, or None."""
    pixels: str = Field(exclude=True)
    """A digest of the decoded pixels and their size."""


class ToolDifference(BaseModel, frozen=True):
    """Both images by one tool that scored them."""

    tool: str
    """Its name."""
    primary: bool
    """Whether the verdict rests on it."""
    a: float
    """Score of A."""
    b: float
    """Score of B."""
    error: float
    """Root mean square error of the tool's score on one image."""

    @property
    def difference(self) -> float:
        """Score of B minus score of A."""
        return self.b - self.a

    @property
    def side(self) -> int:
        """1 if B is better by this tool, -1 if A is, 0 if the difference is within the tool's error."""
        return (self.difference > self.error) - (self.difference < -self.error)


class Comparison(BaseModel, frozen=True):
    """What a comparison found; the keys of its JSON are these fields."""

    a: Side
    """The first image."""
    b: Side
    """The second."""
    reference: FileName | None
    """The pristine image."""
    reference_mode: ReferenceMode
    """Whether the tools compared with it."""
    identical: bool
    """Whether both have the same pixels."""
    better: Literal["A", "B"] | None
    """The better one; None if that cannot be told."""
    verdict: str
    """The same in one sentence, with how much and how sure."""
    warning: str | None
    """Why the verdict may mislead: the images differ in size, and there is no reference."""
    bytes_change: float
    """Bytes of B by those of A, less 1."""
    tools: list[ToolDifference]
    """The tools that scored both, the primary one first."""


def compare(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    reference: str | os.PathLike[str] | None = None,
    *,
    config: IQAConfig | None = None,
) -> Comparison:
    """Say which of two images is better, by every tool.

    With a reference, the tools compare with it; without, they look at each image alone, which is less certain.

    Args:
        a: An image.
        b: The other.
        reference: The pristine image of both.
        config: The configuration; of it, what `iqa.tools` says of time and size.

    Raises:
        InputError: If A and B are one path.
        ImageError: If an image cannot be used, or its size is not the reference's.
    """
    config = config or IQAConfig()
    path_a, path_b = Path(a), Path(b)
    pristine = None if reference is None else Path(reference)
    limit = config.iqa.tools.max_pixels
    loaded = None if pristine is None else load_image(pristine, max_pixels=limit)
    images = [load_image(path, max_pixels=limit) for path in (path_a, path_b)]
    if images[0].path.samefile(images[1].path):
        raise InputError(f"A and B are the same: {str(path_a)!r}; give two different paths, or a copy")
    first, second = (_side(image, loaded, config) for image in images)
    mode = ReferenceMode.NONE if pristine is None else ReferenceMode.FULL
    tools = [
        ToolDifference(
            tool=tool.name,
            primary=tool.primary,
            a=first.scores[tool.name],
            b=second.scores[tool.name],
            error=get_calibration(tool.name).error,
        )
        for tool in sorted(all_tools(), key=lambda tool: not tool.primary)
        if tool.reference is mode and tool.name in first.scores and tool.name in second.scores
    ]
    identical, change = first.pixels == second.pixels, second.bytes / first.bytes - 1
    better, text = verdict(tools, identical, change, blind=pristine is None)
    warning = None
    if pristine is None and (first.width, first.height) != (second.width, second.height):
        sizes = f"A has {first.width} x {first.height} pixels and B {second.width} x {second.height}"
        warning = f"{sizes}; {_ADVICE}."
    return Comparison(
        a=first,
        b=second,
        reference=None if pristine is None else str(pristine),
        reference_mode=mode,
        identical=identical,
        better=better,
        verdict=text,
        warning=warning,
        bytes_change=change,
        tools=tools,
    )


def _side(image: LoadedImage, reference: LoadedImage | None, config: IQAConfig) -> Side:
    if reference is not None:
        check_pair(image, reference)
    mode = ReferenceMode.NONE if reference is None else ReferenceMode.FULL
    tools = [tool for tool in all_tools() if tool.reference is mode]
    logs = run_tools(tools, image, reference, timeout_s=config.iqa.tools.timeout)
    pair = None if reference is None else measure_pair(image.rgb, reference.rgb)
    found = detect_in_parts(image.rgb, None if reference is None else reference.rgb, measure(image.rgb), pair)
    return Side(
        path=str(image.path),
        width=image.width,
        height=image.height,
        bytes=image.path.stat().st_size,
        raw={log.tool: log.raw for log in logs if log.raw is not None},
        scores={log.tool: log.score for log in logs if log.score is not None},
        failed={log.tool: log.error for log in logs if log.error is not None},
        notes=list(image.notes),
        distortions=found.findings,
        abstained=found.abstained,
        pixels=hashlib.sha256(f"{image.width}x{image.height}".encode() + image.rgb.tobytes()).hexdigest(),
    )


def verdict(
    tools: Sequence[ToolDifference], identical: bool, change: float, *, blind: bool
) -> tuple[Literal["A", "B"] | None, str]:
    """Which is better, and a sentence that says so, by the first tool that scored both.

    A difference counts if it exceeds the tool's error on one image. There is no verdict where another tool says the
    opposite by the same rule.

    Args:
        tools: The tools, the primary one first.
        identical: Whether both have the same pixels.
        change: Bytes of B by those of A, less 1.
        blind: Whether there was no reference.
    """
    if identical:
        return None, "A and B are identical, pixel for pixel: no difference."
    if not tools:
        return None, "No tool could score both images, so nothing can be said."
    first, *others = tools
    values = f"A has {first.a:.2f} and B {first.b:.2f} of 5{' without a reference' if blind else ''}"
    said = f"{values}, B - A is {first.difference:+.2f}; its error on one image is {first.error:.2f} points."
    if not first.side:
        return None, f"No difference that {first.tool} can tell: {said}"
    against = [f"{tool.difference:+.2f} on {tool.tool}" for tool in others if tool.side == -first.side]
    if against:
        contradiction = f"B - A is {first.difference:+.2f} on {first.tool}, {', '.join(against)}"
        return None, f"No verdict, for the tools contradict each other: {contradiction}."
    better: Literal["A", "B"] = "B" if first.side > 0 else "A"
    weight = change if better == "B" else 1 / (1 + change) - 1
    rate = f"{abs(weight):.1%} {'fewer' if weight < 0 else 'more'} bytes"
    at = "the same bytes" if abs(weight) < _SAME_RATE else rate
    return better, f"{better} is better by {abs(first.difference):.2f} points on {first.tool} at {at}: {said}"

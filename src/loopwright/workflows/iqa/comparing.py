"""Which of two images is better, and by how much.

Every difference is B minus A, in points of the scale from 1 (bad) to 5 (excellent).
"""

import os
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import BaseModel

from loopwright.errors import InputError
from loopwright.workflows.iqa.answer.answers import what_is_wrong
from loopwright.workflows.iqa.answer.facts import Facts
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.passes import Pass
from loopwright.workflows.iqa.schemas import ExecutorOutput, FileName, PlanControlFlags, PlannerOutput, ReferenceMode
from loopwright.workflows.iqa.sources.file_facts import file_facts
from loopwright.workflows.iqa.sources.images import LoadedImage, check_pair, load_image
from loopwright.workflows.iqa.tools.registry import all_tools, calibrations

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
    wrong: str
    """What is wrong with it, in a sentence."""
    evidence: ExecutorOutput
    """Everything that was measured, by every tool; `file` has the size."""


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
    limit = config.iqa.tools.max_pixels
    pristine = None if reference is None else load_image(reference, max_pixels=limit)
    images = [load_image(path, max_pixels=limit) for path in (a, b)]
    if images[0].path.samefile(images[1].path):
        raise InputError(f"A and B are the same: {str(images[0].path)!r}; give two different paths, or a copy")
    mode = ReferenceMode.NONE if pristine is None else ReferenceMode.FULL
    first, second = (_side(image, pristine, mode, config) for image in images)
    scores = first.evidence.quality_scores, second.evidence.quality_scores
    tools = [
        ToolDifference(
            tool=tool.name,
            primary=tool.primary,
            a=scores[0][tool.name],
            b=scores[1][tool.name],
            error=calibrations()[tool.name].error,
        )
        for tool in all_tools()
        if tool.reference is mode and tool.name in scores[0] and tool.name in scores[1]
    ]
    identical = np.array_equal(images[0].rgb, images[1].rgb)
    change = images[1].path.stat().st_size / images[0].path.stat().st_size - 1
    better, text = verdict(tools, identical, change, blind=pristine is None)
    apart = {f"of {name}, {side.evidence.apart}" for name, side in (("A", first), ("B", second)) if side.evidence.apart}
    if apart and not identical:
        better, text = None, f"No verdict: {'; '.join(sorted(apart))}."
    warning = None
    if pristine is None and images[0].rgb.shape != images[1].rgb.shape:
        sizes = [f"{image.width} x {image.height}" for image in images]
        warning = f"A has {sizes[0]} pixels and B {sizes[1]}; {_ADVICE}."
    return Comparison(
        a=first,
        b=second,
        reference=None if pristine is None else str(pristine.path),
        reference_mode=mode,
        identical=identical,
        better=better,
        verdict=text,
        warning=warning,
        bytes_change=change,
        tools=tools,
    )


def _side(image: LoadedImage, reference: LoadedImage | None, mode: ReferenceMode, config: IQAConfig) -> Side:
    if reference is not None:
        check_pair(image, reference)
    tools = [tool.name for tool in all_tools() if tool.reference is mode]
    plan = PlannerOutput(reference_mode=mode, required_tools=tools, plan=PlanControlFlags(tool_selection=False))
    evidence = Pass(plan, config.iqa.tools, image, reference).run()
    evidence.file, evidence.notes = file_facts(image), [*image.notes, *evidence.notes]
    return Side(path=str(image.path), wrong=what_is_wrong(Facts(plan, evidence)), evidence=evidence)


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

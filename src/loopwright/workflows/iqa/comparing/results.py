"""What the comparison of two images found; the keys of its JSON are these fields. Every difference is B minus A."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from loopwright.workflows.iqa.schemas import DistortionFinding, FileName, ReferenceMode

Letter = Literal["A", "B"]
"""One of the two that are compared."""


class Result(BaseModel):
    """A part of a comparison's result."""

    model_config = ConfigDict(frozen=True)


class Measured(Result):
    """One image that was measured."""

    path: FileName
    """The file; of a folder's image, relative to the folder."""
    reference: FileName | None
    """Its reference, in the same way, or None."""
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
    pixels: str = Field(exclude=True)
    """A digest of the decoded pixels and their size."""

    @property
    def bits_per_pixel(self) -> float:
        """The rate of the file."""
        return 8 * self.bytes / (self.width * self.height)


class Interval(Result):
    """A 95 % bootstrap interval."""

    low: float
    """Its lower end."""
    high: float
    """Its upper end."""

    @property
    def side(self) -> int:
        """1 if all of it is above 0, -1 if all of it is below, 0 if it contains 0."""
        return (self.low > 0) - (self.high < 0)


class Verdict(Result):
    """Which is better, in one sentence."""

    better: Letter | None
    """The better one; None if that cannot be told."""
    text: str
    """The sentence."""
    contradicted_by: list[str] = []
    """The tools that say the opposite, each beyond its own uncertainty."""


class ToolDifference(Result):
    """Two images by one tool."""

    tool: str
    """Its name."""
    primary: bool
    """Whether the verdict rests on it."""
    raw_a: float | None
    """The tool's own value of A; None if it is infinite or failed."""
    raw_b: float | None
    """The same of B."""
    score_a: float | None
    """Score of A, 1 (bad) to 5 (excellent); None if the tool failed."""
    score_b: float | None
    """The same of B."""
    difference: float | None
    """Score of B minus score of A."""
    error: float
    """Root mean square error of the tool's score against people's, in the same points."""
    failed: str | None
    """Why there is no score of one of them."""


class ImageSide(Result):
    """One of two images, and what is wrong with it."""

    image: Measured
    """The image."""
    bits_per_pixel: float
    """The rate of the file."""
    distortions: list[DistortionFinding]
    """What was found, strongest first."""
    abstained: str | None
    """Why distortions could not be told, or None."""


class ImageComparison(Result):
    """Two images."""

    kind: Literal["images"] = "images"
    """Tells the two kinds of result apart."""
    a: ImageSide
    """The first."""
    b: ImageSide
    """The second."""
    reference_mode: ReferenceMode
    """Whether the tools compared with a reference."""
    identical: Literal["file", "pixels"] | None
    """Whether both are the same, byte for byte or pixel for pixel."""
    tools: list[ToolDifference]
    """Every tool, the primary one first."""
    verdict: Verdict
    """Which is better."""
    warning: str | None = None
    """Why the verdict may mislead: the images differ in size, and there is no reference."""

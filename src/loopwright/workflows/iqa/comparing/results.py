"""What a comparison found; the keys of its JSON are these fields. Every difference is B minus A."""

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


class LeftOut(Result):
    """A file that took no part."""

    side: Literal["A", "B", "references"]
    """The folder that it lies in."""
    path: FileName
    """The file, relative to the folder."""
    why: FileName
    """The reason."""
    bad: bool = False
    """Whether the file itself is at fault; otherwise nothing matches it."""


class Pairing(Result):
    """An image of A and the one of B that it is compared with."""

    name: FileName
    """What the two have in common: the path without extension, or the reference's."""
    a: FileName
    """The image of A, relative to the folder."""
    b: FileName
    """The image of B, relative to the folder."""
    reference: FileName | None
    """Their reference, relative to its folder."""
    identical: bool
    """Whether both have the same pixels."""
    differences: dict[str, float]
    """Tool -> score of B minus score of A."""


class ToolSummary(Result):
    """All pairs by one tool."""

    tool: str
    """Its name."""
    primary: bool
    """Whether the verdict rests on it."""
    pairs: int
    """Pairs of which it scored both images."""
    groups: int
    """References that they share, or without references the pairs: what the interval resamples."""
    mean_a: float
    """Mean score of A over the pairs."""
    mean_b: float
    """Mean score of B."""
    difference: float
    """Mean difference, B minus A, in points of 5."""
    interval: Interval | None
    """Its interval; None for a single group."""
    share_a: float
    """Share of the pairs, 0..1, in which A scores higher."""
    share_b: float
    """Share of the pairs in which B scores higher; the rest is ties."""
    sign_p: float | None
    """Two-sided sign test over the groups' means; None if all are 0."""
    wilcoxon_p: float | None
    """Two-sided Wilcoxon signed-rank test over the groups' means; None if all are 0."""
    error: float
    """Root mean square error of the tool's score on one image."""


class Rates(Result):
    """What the files of the pairs weigh."""

    bits_per_pixel_a: float
    """All bits of A by all its pixels."""
    bits_per_pixel_b: float
    """The same of B."""
    change: float
    """Bits per pixel of B by those of A, less 1."""


class CurvePoint(Result):
    """One encoding on a curve of quality over rate."""

    path: FileName
    """The image, relative to its folder."""
    bits_per_pixel: float
    """The rate of the file."""
    score: float
    """The tool's score, 1..5."""
    raw: float | None
    """The tool's own value; None if it is infinite."""


class CurvePair(Result):
    """The curves of one reference by one tool."""

    reference: FileName
    """The reference, relative to its folder."""
    tool: str
    """The tool."""
    a: list[CurvePoint]
    """The encodings of A, by rate."""
    b: list[CurvePoint]
    """The encodings of B, by rate."""
    bd_rate: float | None
    """Mean change of the rate from A to B at equal score: -0.2 is 20 % fewer bits."""
    bd_quality: float | None
    """Mean change of the score from A to B at equal rate, in points of 5."""
    bd_rate_raw: float | None
    """`bd_rate` at equal values of the tool itself, to compare with figures elsewhere."""
    overlap: float | None
    """Share of the range of scores of both curves that both have."""
    problem: str | None
    """Why there is no Bjøntegaard delta, or None."""


class RateSummary(Result):
    """The curves of all references by one tool."""

    tool: str
    """The tool."""
    primary: bool
    """Whether the verdict rests on it."""
    references: int
    """References whose curves could be compared."""
    left_out: int
    """References whose curves could not; `CurvePair.problem` says why."""
    bd_rate: float | None
    """Geometric mean of the rates' ratios over the references, less 1."""
    bd_rate_interval: Interval | None
    """Its interval; None for a single reference."""
    bd_quality: float | None
    """Mean over the references."""
    bd_quality_interval: Interval | None
    """Its interval; None for a single reference."""
    bd_rate_raw: float | None
    """Geometric mean as `bd_rate`, at equal values of the tool itself."""


class ToolFailure(Result):
    """A tool that gave no score of some images."""

    tool: str
    """The tool."""
    images: int
    """How many images."""
    example: str
    """The reason for the first of them."""


class FolderComparison(Result):
    """Two folders."""

    kind: Literal["folders"] = "folders"
    """Tells the two kinds of result apart."""
    a: FileName
    """The first folder."""
    b: FileName
    """The second folder."""
    references: FileName | None
    """The folder of references, or None."""
    reference_mode: ReferenceMode
    """Whether the tools compared with references."""
    images_a: list[Measured]
    """The images of A that were measured."""
    images_b: list[Measured]
    """The images of B that were measured."""
    pairs: list[Pairing]
    """Which were compared with which."""
    rates: Rates | None
    """What the pairs weigh; None without pairs."""
    tools: list[ToolSummary]
    """The pairs by each tool, the primary one first; empty without pairs."""
    curves: list[CurvePair]
    """Quality over rate, where a reference has enough encodings in both folders."""
    codecs: list[RateSummary]
    """The curves by each tool, the primary one first; empty without curves."""
    failures: list[ToolFailure]
    """The tools that some images are too small for, or that failed otherwise; such images do not count for them."""
    left_out: list[LeftOut]
    """The files that took no part."""
    verdict: Verdict
    """Which is better."""
    warning: str | None = None
    """Why the verdict may mislead: the images of pairs differ in size, and there are no references."""
    seed: int
    """What the bootstrap's chance began with."""

    @property
    def by_curves(self) -> bool:
        """Whether the verdict rests on curves of quality over rate; otherwise on the pairs."""
        return any(item.bd_rate is not None for item in self.codecs)

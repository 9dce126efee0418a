"""Comparing two images."""

from __future__ import annotations

import os
from pathlib import Path

from loopwright.errors import InputError
from loopwright.workflows.iqa.comparing.results import ImageComparison, ImageSide, Measured, ToolDifference
from loopwright.workflows.iqa.comparing.scoring import calibrated, measure_image, tools_of
from loopwright.workflows.iqa.comparing.winners import images_verdict, size_warning
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.measuring.detection_parts import detect_in_parts
from loopwright.workflows.iqa.measuring.features import measure, measure_pair
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.sources.images import LoadedImage, load_image
from loopwright.workflows.iqa.tools.calibration import get_calibration


def compare_images(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    reference: str | os.PathLike[str] | None = None,
    *,
    config: IQAConfig | None = None,
) -> ImageComparison:
    """Say which of two images is better, by every tool, and what is wrong with each.

    With a reference, the tools compare with it; without one they look at each image alone, which is less certain, and
    the two may then differ in size.

    Args:
        a: One image.
        b: The other.
        reference: The pristine image of both.
        config: The configuration; of it, what `iqa.tools` says of calibration, time and size.

    Returns:
        The tools' values side by side, the distortions, and a verdict.

    Raises:
        InputError: If A and B are one path.
        ImageError: If an image cannot be used, or its size is not the reference's.
        ConfigError: If the configured calibration cannot be read.
    """
    config = config or IQAConfig()
    path_a, path_b = Path(a), Path(b)
    check_different(path_a, path_b)
    with calibrated(config):
        max_pixels = config.iqa.tools.max_pixels
        pristine = None if reference is None else load_image(reference, max_pixels=max_pixels)
        sides = [_side(load_image(path, max_pixels=max_pixels), pristine, config) for path in (path_a, path_b)]
        side_a, side_b = sides
        mode = ReferenceMode.NONE if pristine is None else ReferenceMode.FULL
        tools = [_difference(tool.name, tool.primary, side_a.image, side_b.image) for tool in tools_of(mode)]
    identical = None
    if side_a.image.pixels == side_b.image.pixels:
        identical = "file" if path_a.read_bytes() == path_b.read_bytes() else "pixels"
    return ImageComparison(
        a=side_a,
        b=side_b,
        reference_mode=mode,
        identical=identical,
        tools=tools,
        verdict=images_verdict(tools, identical, blind=pristine is None),
        warning=size_warning([(side_a.image, side_b.image)]) if pristine is None else None,
    )


def check_different(a: Path, b: Path) -> None:
    """Make sure that two paths are not one.

    Args:
        a: The first.
        b: The second.

    Raises:
        InputError: If they lead to the same file or folder.
    """
    if a.exists() and b.exists() and a.samefile(b):
        raise InputError(f"A and B are the same: {str(a)!r}; give two different paths, or a copy")


def _side(image: LoadedImage, pristine: LoadedImage | None, config: IQAConfig) -> ImageSide:
    measured = measure_image(
        image, pristine, config, path=str(image.path), reference_path=None if pristine is None else str(pristine.path)
    )
    pair = None if pristine is None else measure_pair(image.rgb, pristine.rgb)
    found = detect_in_parts(image.rgb, None if pristine is None else pristine.rgb, measure(image.rgb), pair)
    return ImageSide(
        image=measured, bits_per_pixel=measured.bits_per_pixel, distortions=found.findings, abstained=found.abstained
    )


def _difference(tool: str, primary: bool, a: Measured, b: Measured) -> ToolDifference:
    score_a, score_b = a.scores.get(tool), b.scores.get(tool)
    failures = [f"{letter}: {side.failed[tool]}" for letter, side in (("A", a), ("B", b)) if tool in side.failed]
    return ToolDifference(
        tool=tool,
        primary=primary,
        raw_a=a.raw.get(tool),
        raw_b=b.raw.get(tool),
        score_a=score_a,
        score_b=score_b,
        difference=None if score_a is None or score_b is None else score_b - score_a,
        error=get_calibration(tool).error,
        failed="; ".join(failures) or None,
    )

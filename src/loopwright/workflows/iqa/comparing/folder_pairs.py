"""Comparing two images, or two folders: pair by pair, and as curves of quality over rate where there are several."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from loopwright.errors import InputError
from loopwright.workflows.iqa.batch.processes import Progress
from loopwright.workflows.iqa.batch.samples import read_folder
from loopwright.workflows.iqa.comparing.curves import curve_pairs, rate_summaries
from loopwright.workflows.iqa.comparing.matching import Matching, Pair, match
from loopwright.workflows.iqa.comparing.results import (
    FolderComparison,
    ImageComparison,
    ImageSide,
    LeftOut,
    Letter,
    Measured,
    Pairing,
    Rates,
    ToolDifference,
    ToolFailure,
    ToolSummary,
)
from loopwright.workflows.iqa.comparing.scoring import Job, calibrated, measure_image, score_all, tools_of
from loopwright.workflows.iqa.comparing.winners import (
    chance,
    codecs_verdict,
    images_verdict,
    mean_interval,
    pairs_verdict,
    size_warning,
)
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.measuring.detection_parts import detect_in_parts
from loopwright.workflows.iqa.measuring.features import measure, measure_pair
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.sources.images import LoadedImage, load_image
from loopwright.workflows.iqa.tools.calibration import get_calibration
from loopwright.workflows.iqa.tools.registry import Tool


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


_Images = dict[tuple[str, str], Measured]
"""Side and path -> what was measured."""


def compare_folders(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    references: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    seed: int = 0,
    config: IQAConfig | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> FolderComparison:
    """Say which of two folders of images is better, with intervals.

    How files are matched: `loopwright.workflows.iqa.comparing.matching`. Where references have at least four encodings
    in both folders, and the curves of quality over rate can be compared, the verdict rests on these (`bjontegaard`),
    else on the pairs.

    Args:
        a: One folder, for example one codec's output.
        b: The other.
        references: The folder of pristine images; without it, no-reference tools look at each image alone.
        workers: Processes; 1 measures in this one; by default one for each processor, as far as it is worth it.
        seed: What the bootstrap's chance begins with; the same seed gives the same intervals.
        config: The configuration; of it, what `iqa.tools` says of calibration, time and size.
        on_progress: Told after each image.

    Returns:
        The pairs, the curves, each tool's summary, what was left out and why, and a verdict.

    Raises:
        InputError: If a folder is missing, has no images or is given twice, if nothing matches, or if no pair could be
            measured.
        ConfigError: If the configured calibration cannot be read.
        BackendError: If no worker process can be started.
    """
    config = config or IQAConfig()
    path_a, path_b = Path(a), Path(b)
    path_r = None if references is None else Path(references)
    for folder in (path_a, path_b, *([] if path_r is None else [path_r])):
        if not folder.is_dir():
            raise InputError(f"{str(folder)!r} is no folder; give folders for A, B and --reference, or three images")
    check_different(path_a, path_b)
    mode = ReferenceMode.NONE if path_r is None else ReferenceMode.FULL
    found = match(_paths(path_a), _paths(path_b), None if path_r is None else _paths(path_r))
    with calibrated(config):
        images, bad = _measure(_jobs(found, path_a, path_b, path_r), config, workers, on_progress)
        tools = tools_of(mode)
        pairs = [_pairing(pair, found, images) for pair in found.pairs if _both(pair, images)]
        curves = curve_pairs(found.encodings, images, tools)
        if not pairs and not curves:
            raise InputError(f"nothing is left to compare: {bad[0].path!r} of {bad[0].side}: {bad[0].why}")
        summaries = [summary for tool in tools if (summary := _summary(tool, pairs, images, seed))]
        codecs = rate_summaries(curves, tools, seed)
    rates = _rates(pairs, images) if pairs else None
    if rates is None or any(item.bd_rate is not None for item in codecs):
        verdict = codecs_verdict(codecs)
    else:
        verdict = pairs_verdict(
            summaries, rates, sum(pair.identical for pair in pairs), len(pairs), blind=path_r is None
        )
    return FolderComparison(
        a=str(path_a),
        b=str(path_b),
        references=None if path_r is None else str(path_r),
        reference_mode=mode,
        images_a=[images[key] for key in sorted(images) if key[0] == "A"],
        images_b=[images[key] for key in sorted(images) if key[0] == "B"],
        pairs=pairs,
        rates=rates,
        tools=summaries,
        curves=curves,
        codecs=codecs,
        failures=_failures(tools, images),
        left_out=[*bad, *found.left_out],
        verdict=verdict,
        warning=None if path_r else size_warning([(images["A", pair.a], images["B", pair.b]) for pair in pairs]),
        seed=seed,
    )


def _paths(folder: Path) -> list[str]:
    return [sample.path for sample in read_folder(folder, "")]


def _jobs(found: Matching, a: Path, b: Path, references: Path | None) -> list[Job]:
    """Every image that takes part, those of one reference in a row."""
    used_a = {pair.a for pair in found.pairs}.union(*(item.a for item in found.encodings))
    used_b = {pair.b for pair in found.pairs}.union(*(item.b for item in found.encodings))
    sides: list[tuple[Letter, Path, set[str]]] = [("A", a, used_a), ("B", b, used_b)]
    jobs = [
        Job(side, folder, path, references, found.reference_of.get((side, path)))
        for side, folder, used in sides
        for path in used
    ]
    return sorted(jobs, key=lambda job: (job.reference or job.path, job.side, job.path))


def _measure(
    jobs: Sequence[Job], config: IQAConfig, workers: int | None, on_progress: Callable[[Progress], None] | None
) -> tuple[_Images, list[LeftOut]]:
    images: _Images = {}
    bad: list[LeftOut] = []
    progress = Progress(total=len(jobs))
    for scored in score_all(jobs, config, workers):
        job = scored.job
        if scored.measured is None:
            bad.append(LeftOut(side=job.side, path=job.path, why=scored.why or "", bad=True))
        else:
            images[job.side, job.path] = scored.measured
        progress.count(failed=scored.measured is None)
        if on_progress is not None:
            on_progress(progress)
    return images, sorted(bad, key=lambda item: (item.side, item.path))


def _both(pair: Pair, images: _Images) -> bool:
    return ("A", pair.a) in images and ("B", pair.b) in images


def _pairing(pair: Pair, found: Matching, images: _Images) -> Pairing:
    of_a, of_b = images["A", pair.a], images["B", pair.b]
    differences = {tool: of_b.scores[tool] - score for tool, score in of_a.scores.items() if tool in of_b.scores}
    return Pairing(
        name=pair.name,
        a=pair.a,
        b=pair.b,
        reference=found.reference_of.get(("A", pair.a)),
        identical=of_a.pixels == of_b.pixels,
        differences=differences,
    )


def _summary(tool: Tool, pairs: Sequence[Pairing], images: _Images, seed: int) -> ToolSummary | None:
    """All pairs by one tool; None if it scored no pair."""
    scored = [pair for pair in pairs if tool.name in pair.differences]
    if not scored:
        return None
    differences = [pair.differences[tool.name] for pair in scored]
    groups = [pair.reference or pair.name for pair in scored]
    by_chance = chance(differences, groups)
    return ToolSummary(
        tool=tool.name,
        primary=tool.primary,
        pairs=len(scored),
        groups=len(set(groups)),
        mean_a=sum(images["A", pair.a].scores[tool.name] for pair in scored) / len(scored),
        mean_b=sum(images["B", pair.b].scores[tool.name] for pair in scored) / len(scored),
        difference=sum(differences) / len(differences),
        interval=mean_interval(differences, groups, seed),
        share_a=sum(difference < 0 for difference in differences) / len(differences),
        share_b=sum(difference > 0 for difference in differences) / len(differences),
        sign_p=by_chance.sign,
        wilcoxon_p=by_chance.wilcoxon,
        error=get_calibration(tool.name).error,
    )


def _rates(pairs: Sequence[Pairing], images: _Images) -> Rates:
    def bits_per_pixel(measured: Sequence[Measured]) -> float:
        return 8 * sum(item.bytes for item in measured) / sum(item.width * item.height for item in measured)

    rate_a = bits_per_pixel([images["A", pair.a] for pair in pairs])
    rate_b = bits_per_pixel([images["B", pair.b] for pair in pairs])
    return Rates(bits_per_pixel_a=rate_a, bits_per_pixel_b=rate_b, change=rate_b / rate_a - 1)


def _failures(tools: Sequence[Tool], images: _Images) -> list[ToolFailure]:
    found: list[ToolFailure] = []
    for tool in tools:
        reasons = [images[key].failed[tool.name] for key in sorted(images) if tool.name in images[key].failed]
        if reasons:
            found.append(ToolFailure(tool=tool.name, images=len(reasons), example=reasons[0]))
    return found

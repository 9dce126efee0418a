"""Which of two versions is better, and by how much: two images, or two folders whose files have the same names.

Every difference is B minus A, in points of the scale from 1 (bad) to 5 (excellent). Two images are a single pair.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from loopwright.errors import InputError
from loopwright.workflows.iqa.batch.processes import Died, Progress, over_processes, processors
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.measuring.detection_parts import detect_in_parts
from loopwright.workflows.iqa.measuring.features import measure, measure_pair
from loopwright.workflows.iqa.schemas import DistortionFinding, FileName, ReferenceMode
from loopwright.workflows.iqa.sources.images import LoadedImage, check_pair, load_image
from loopwright.workflows.iqa.tools.calibration import get_calibration
from loopwright.workflows.iqa.tools.execution import run_tools
from loopwright.workflows.iqa.tools.registry import Tool, all_tools

FEW = 6
"""With fewer pairs, all lie on one side by chance in more than 5 % of cases, and a bootstrap would not notice."""

_SAME_RATE = 0.005
"""A change of the bytes that is not worth telling."""

_WORTH_A_PROCESS = 8
"""Pairs for each further process: starting one takes as long as measuring about so many small ones."""

_ADVICE = (
    "scores without a reference depend on the scale: halving both sides of a photograph moves its own by up to 0.4 "
    "points, up or down. Bring both to one size, or give the pristine image with --reference"
)


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True)


class Side(_Result):
    """One image of a pair."""

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
    """What is wrong with it, strongest first; looked for where two images are compared, not two folders."""
    abstained: str | None = None
    """Why distortions could not be told, or None."""
    pixels: str = Field(exclude=True)
    """A digest of the decoded pixels and their size."""


class Pair(_Result):
    """Two images that were compared."""

    name: FileName
    """What their files have in common: the path inside the folders, without extension."""
    a: Side
    """The image of A."""
    b: Side
    """The image of B."""
    identical: bool
    """Whether both have the same pixels."""
    differences: dict[str, float]
    """Tool -> score of B minus score of A."""


class ToolSummary(_Result):
    """All pairs by one tool."""

    tool: str
    """Its name."""
    primary: bool
    """Whether the verdict rests on it."""
    pairs: int
    """Pairs of which it scored both images."""
    mean_a: float
    """Mean score of A over the pairs."""
    mean_b: float
    """Mean score of B."""
    difference: float
    """Mean difference."""
    interval: tuple[float, float] | None
    """Its 95 % bootstrap interval; None for a single pair."""
    share_a: float
    """Share of the pairs, 0..1, in which A scores higher."""
    share_b: float
    """Share of the pairs in which B scores higher; the rest is ties."""
    error: float
    """Root mean square error of the tool's score on one image."""

    @property
    def side(self) -> int:
        """1 if B is surely higher by this tool, -1 if A is, 0 if it could be chance or is within its error."""
        low, high = self.interval or (self.difference, self.difference)
        # Few pairs make a rough interval, and one makes none: the tool's error on one image stands in.
        least = self.error if self.pairs < FEW else 0.0
        return (min(low, self.difference - least) > 0) - (max(high, self.difference + least) < 0)


class LeftOut(_Result):
    """A file that took no part."""

    side: Literal["A", "B", "pair"]
    """The folder that it lies in; ``pair`` where two of one name could not be compared."""
    path: FileName
    """The file, relative to the folder."""
    why: FileName
    """The reason."""
    bad: bool = False
    """Whether a file itself is at fault; otherwise nothing matches it."""


class Comparison(_Result):
    """What a comparison found; the keys of its JSON are these fields."""

    a: FileName
    """The first image or folder."""
    b: FileName
    """The second."""
    reference: FileName | None
    """The pristine image, or the folder of them."""
    reference_mode: ReferenceMode
    """Whether the tools compared with references."""
    better: Literal["A", "B"] | None
    """The better one; None if that cannot be told."""
    verdict: str
    """The same in one sentence, with how much and how sure."""
    warning: str | None
    """Why the verdict may mislead: the images of a pair differ in size, and there is no reference."""
    bytes_change: float
    """Bytes of B by those of A over all pairs, less 1."""
    tools: list[ToolSummary]
    """The tools, the primary one first."""
    pairs: list[Pair]
    """What was compared, by name."""
    left_out: list[LeftOut]
    """The files that took no part."""


class _Job(NamedTuple):
    name: str
    a: Path
    b: Path
    reference: Path | None
    looks: bool
    """Whether distortions are looked for."""


def compare(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    reference: str | os.PathLike[str] | None = None,
    *,
    config: IQAConfig | None = None,
    workers: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """Say which of two images or folders is better, by every tool.

    With references, the tools compare with them; without, they look at each image alone, which is less certain. Files
    of folders belong together that have the same path inside the folder, without the extension.

    Args:
        a: An image, or a folder of images.
        b: The other.
        reference: The pristine image of both, or the folder of these.
        config: The configuration; of it, what `iqa.tools` says of time and size.
        workers: Processes for folders; 1 measures in this one; by default one for each processor, as far as worth it.
        on_progress: Told after each pair of folders.

    Raises:
        InputError: If A and B are one path, one is missing or a folder where the other is a file, nothing matches, or
            no pair could be measured.
        ImageError: If one of two images cannot be used, or its size is not the reference's.
        BackendError: If no worker process can be started.
    """
    config = config or IQAConfig()
    path_a, path_b, path_r = Path(a), Path(b), None if reference is None else Path(reference)
    _check(path_a, path_b, path_r)
    left_out: list[LeftOut] = []
    if path_a.is_dir():
        jobs = _matched(path_a, path_b, path_r, left_out)
        pairs = _measured(jobs, config, workers, on_progress, left_out)
    else:
        pairs = [_compared(_Job(path_a.name, path_a, path_b, path_r, looks=True), config)]
    mode = ReferenceMode.NONE if path_r is None else ReferenceMode.FULL
    tools = [summary for tool in _tools(mode) if (summary := _summary(tool, pairs))]
    change = sum(pair.b.bytes for pair in pairs) / sum(pair.a.bytes for pair in pairs) - 1
    better, text = verdict(tools, pairs, change, blind=path_r is None)
    return Comparison(
        a=str(path_a),
        b=str(path_b),
        reference=None if path_r is None else str(path_r),
        reference_mode=mode,
        better=better,
        verdict=text,
        warning=_warning(pairs) if path_r is None else None,
        bytes_change=change,
        tools=tools,
        pairs=pairs,
        left_out=left_out,
    )


def _check(a: Path, b: Path, reference: Path | None) -> None:
    for path in (a, b, *([] if reference is None else [reference])):
        if not path.exists():
            raise InputError(f"there is no {str(path)!r}; check the spelling and the working folder")
        if path.is_dir() != a.is_dir():
            kinds = [f"{str(one)!r} is a {'folder' if one.is_dir() else 'file'}" for one in (a, path)]
            raise InputError(f"{', '.join(kinds)}; give either images alone or folders alone")
    if a.samefile(b):
        raise InputError(f"A and B are the same: {str(a)!r}; give two different paths, or a copy")


def _matched(a: Path, b: Path, references: Path | None, left_out: list[LeftOut]) -> list[_Job]:
    """The pairs of two folders, by name; what belongs to nothing is left out."""
    named_a, named_b = _by_name(a), _by_name(b)
    pristine = None if references is None else _by_name(references)
    jobs: list[_Job] = []
    sides: tuple[tuple[Literal["A", "B"], dict[str, list[str]], dict[str, list[str]]], ...] = (
        ("A", named_a, named_b), ("B", named_b, named_a),
    )  # fmt: skip
    for side, own, others in sides:
        for name, paths in own.items():
            why = None
            if len(paths) > 1:
                why = f"{len(paths)} files are called {name!r} but for the extension; keep one of them"
            elif len(others.get(name, ())) != 1:
                why = f"no image of {'B' if side == 'A' else 'A'} has its name"
            elif pristine is not None and len(pristine.get(name, ())) != 1:
                why = "no reference has its name"
            left_out += [LeftOut(side=side, path=path, why=why) for path in paths if why]
            if why is None and side == "A":
                reference = None if references is None or pristine is None else references / pristine[name][0]
                jobs.append(_Job(name, a / paths[0], b / others[name][0], reference, looks=False))
    if not jobs:
        raise InputError(
            f"no image of A matches one of B, for example {left_out[0].path!r} of {left_out[0].side}: "
            f"{left_out[0].why}; matching files have the same name, whatever their extensions"
        )
    return jobs


def _by_name(folder: Path) -> dict[str, list[str]]:
    # What is asked of samples knows of the engine, which the worker processes do without.
    from loopwright.workflows.iqa.batch.samples import read_folder

    found: dict[str, list[str]] = {}
    for sample in read_folder(folder, ""):
        found.setdefault(os.path.splitext(sample.path)[0], []).append(sample.path)
    return found


def _measured(
    jobs: Sequence[_Job],
    config: IQAConfig,
    workers: int | None,
    on_progress: Callable[[Progress], None] | None,
    left_out: list[LeftOut],
) -> list[Pair]:
    count = min(workers or processors(), len(jobs) if workers else max(1, len(jobs) // _WORTH_A_PROCESS))
    done: Iterable[tuple[_Job, Any]] = (
        over_processes(_Comparer, (config,), jobs, count)
        if count > 1
        else ((job, _Comparer(config)(job)) for job in jobs)
    )
    pairs: list[Pair] = []
    progress = Progress(total=len(jobs))
    for job, found in done:
        if isinstance(found, Pair):
            pairs.append(found)
        else:
            why = found.said if isinstance(found, Died) else found
            left_out.append(LeftOut(side="pair", path=job.name, why=why, bad=True))
        progress.count(failed=not isinstance(found, Pair))
        if on_progress is not None:
            on_progress(progress)
    if not pairs:
        raise InputError(f"nothing is left to compare: {left_out[-1].path!r}: {left_out[-1].why}")
    return sorted(pairs, key=lambda pair: pair.name)


class _Comparer:
    """Compares pairs in a process of its own; a pair that cannot be used is told and spoils nothing."""

    def __init__(self, config: IQAConfig) -> None:
        self._config = config

    def __call__(self, job: _Job) -> Pair | str:
        try:
            return _compared(job, self._config)
        except (InputError, OSError) as error:
            return " ".join(str(error).split())


def _compared(job: _Job, config: IQAConfig) -> Pair:
    limit = config.iqa.tools.max_pixels
    reference = None if job.reference is None else load_image(job.reference, max_pixels=limit)
    a, b = (_side(load_image(path, max_pixels=limit), reference, config, looks=job.looks) for path in (job.a, job.b))
    differences = {tool: b.scores[tool] - score for tool, score in a.scores.items() if tool in b.scores}
    return Pair(name=job.name, a=a, b=b, identical=a.pixels == b.pixels, differences=differences)


def _tools(mode: ReferenceMode) -> list[Tool]:
    """The tools of a reference mode, the primary one first."""
    return sorted((tool for tool in all_tools() if tool.reference is mode), key=lambda tool: not tool.primary)


def _side(image: LoadedImage, reference: LoadedImage | None, config: IQAConfig, *, looks: bool) -> Side:
    if reference is not None:
        check_pair(image, reference)
    tools = _tools(ReferenceMode.NONE if reference is None else ReferenceMode.FULL)
    logs = run_tools(tools, image, reference, timeout_s=config.iqa.tools.timeout, alternatives=())
    found = None
    if looks:
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
        distortions=found.findings if found else [],
        abstained=found.abstained if found else None,
        pixels=hashlib.sha256(f"{image.width}x{image.height}".encode() + image.rgb.tobytes()).hexdigest(),
    )


def _summary(tool: Tool, pairs: Sequence[Pair]) -> ToolSummary | None:
    """All pairs by one tool; None if it scored no pair."""
    scored = [pair for pair in pairs if tool.name in pair.differences]
    if not scored:
        return None
    differences = [pair.differences[tool.name] for pair in scored]
    return ToolSummary(
        tool=tool.name,
        primary=tool.primary,
        pairs=len(scored),
        mean_a=sum(pair.a.scores[tool.name] for pair in scored) / len(scored),
        mean_b=sum(pair.b.scores[tool.name] for pair in scored) / len(scored),
        difference=sum(differences) / len(scored),
        interval=_interval(differences) if len(scored) > 1 else None,
        share_a=sum(difference < 0 for difference in differences) / len(scored),
        share_b=sum(difference > 0 for difference in differences) / len(scored),
        error=get_calibration(tool.name).error,
    )


def _interval(differences: Sequence[float]) -> tuple[float, float]:
    # As above.
    from loopwright.workflows.evaluation.figures import mean_figure

    figure = mean_figure(differences)
    return figure.low or 0.0, figure.high or 0.0


def verdict(
    tools: Sequence[ToolSummary], pairs: Sequence[Pair], change: float, *, blind: bool
) -> tuple[Literal["A", "B"] | None, str]:
    """Which is better, and a sentence that says so, by the first tool that scored both.

    A mean difference counts if its interval leaves out 0; with fewer than `FEW` pairs it must exceed the tool's error
    on one image. There is no verdict where another tool says the opposite by the same rule.

    Args:
        tools: The tools, the primary one first.
        pairs: What was compared.
        change: Bytes of B by those of A, less 1.
        blind: Whether there was no reference.
    """
    if all(pair.identical for pair in pairs):
        what = f"All {len(pairs)} pairs" if len(pairs) > 1 else "A and B"
        return None, f"{what} are identical, pixel for pixel: no difference."
    if not tools:
        return None, "No tool could score both images of any pair, so nothing can be said."
    first, *others = tools
    over = f", {first.pairs} pairs" if first.pairs > 1 else ""
    values = f"A has {first.mean_a:.2f} and B {first.mean_b:.2f} of 5{over}{' without a reference' if blind else ''}"
    error = f"its error on one image is {first.error:.2f} points"
    if not first.side:
        text = f"No difference that {first.tool} can tell: {values}, B - A is {_shown(first)}; {error}."
        return None, text
    against = [tool for tool in others if tool.side == -first.side]
    if against:
        said = ", ".join(f"{_shown(tool)} on {tool.tool}" for tool in against)
        return (
            None,
            f"No verdict, for the tools contradict each other: B - A is {_shown(first)} on {first.tool}, {said}.",
        )
    better: Literal["A", "B"] = "B" if first.side > 0 else "A"
    weight = change if better == "B" else 1 / (1 + change) - 1
    at = (
        "the same bytes" if abs(weight) < _SAME_RATE else f"{abs(weight):.1%} {'fewer' if weight < 0 else 'more'} bytes"
    )
    text = f"{better} is better by {abs(first.difference):.2f} points on {first.tool} at {at}: {values}"
    lost = abs(first.difference) <= first.error
    doubt = f"; on one image so small a difference would be lost, for {error}" if lost else f"; {error}"
    return better, f"{text}, B - A is {_shown(first)}{doubt}."


def _shown(tool: ToolSummary) -> str:
    interval = "" if tool.interval is None else f" [{tool.interval[0]:+.2f}, {tool.interval[1]:+.2f}]"
    return f"{tool.difference:+.2f}{interval}"


def _warning(pairs: Sequence[Pair]) -> str | None:
    different = [pair for pair in pairs if (pair.a.width, pair.a.height) != (pair.b.width, pair.b.height)]
    if not different:
        return None
    a, b = different[0].a, different[0].b
    head = f"{len(different):,} of {len(pairs):,} pairs differ in size, as {a.path}: " if len(pairs) > 1 else ""
    return f"{head}A has {a.width} x {a.height} pixels and B {b.width} x {b.height}; {_ADVICE}."

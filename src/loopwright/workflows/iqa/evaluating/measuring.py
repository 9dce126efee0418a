"""What the tools and the pipeline say about each row of a manifest, over several processes."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from loopwright.engine import run as engine_run
from loopwright.workflows.iqa.answer.fusion import recognised
from loopwright.workflows.iqa.batch.processes import Died, Progress, over_processes
from loopwright.workflows.iqa.batch.running import told
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.evaluating.manifest import Row
from loopwright.workflows.iqa.graph import build_graph
from loopwright.workflows.iqa.measuring.detection import detect
from loopwright.workflows.iqa.measuring.features import measure, measure_pair
from loopwright.workflows.iqa.schemas import ExecutorOutput, ReferenceMode
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.sources.images import LoadedImage, check_pair, load_image
from loopwright.workflows.iqa.tools.calibration import (
    get_calibration,
    load_calibrations,
    using_calibrations,
)
from loopwright.workflows.iqa.tools.execution import run_tools
from loopwright.workflows.iqa.tools.registry import all_tools, get_tool
from loopwright.workflows.iqa.workflow import initial_state

QUESTION = "What is the overall quality of this image?"
"""What the pipeline is asked about an image with people's score."""

ANSWER = "the answer"
"""How the pipeline's own score is called beside the tools."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of one row."""

    row: Row
    """The row."""
    raw: dict[str, float] = field(default_factory=dict[str, float])
    """Tool -> its own value; an infinite one is the end of the tool's curve."""
    scores: dict[str, float] = field(default_factory=dict[str, float])
    """Tool -> its score, 1 to 5, if it has a curve, and `ANSWER` -> the pipeline's."""
    found: str | None = None
    """The distortion that is stated, or None if the pipeline, or the detector in its place, abstains or finds none."""
    clean: bool = False
    """Whether it states that there is no distortion."""
    problems: tuple[str, ...] = ()
    """Why the row, or single tools on it, could not be measured."""

    @property
    def failed(self) -> bool:
        """Whether nothing at all came of it."""
        return bool(self.problems) and not self.raw and not self.scores


class Measurer:
    """The tools and the pipeline, built once, for one row after the other."""

    def __init__(self, root: Path, config: IQAConfig, tools: tuple[str, ...] | None, pipeline: bool = True) -> None:
        """Build the graph.

        Args:
            root: What the rows' paths are relative to.
            config: The configuration; its checkpoints are not used.
            tools: Names of the tools to run; None runs all.
            pipeline: Whether the pipeline is asked too; without it, the tools and, beside a reference, the detector.

        Raises:
            ConfigError: If a model's settings or the curves are wrong.
        """
        self._root = root
        self._config = config
        self._tools = list(all_tools()) if tools is None else [get_tool(name) for name in dict.fromkeys(tools)]
        self._graph = build_graph(config, services=Services.of(config)) if pipeline else None
        path = config.iqa.tools.calibration
        self._curves = load_calibrations(path) if path else {}

    def measure(self, row: Row) -> Measured:
        """Measure one row; whatever goes wrong with it is in the result."""
        raw: dict[str, float] = {}
        scores: dict[str, float] = {}
        problems: list[str] = []
        found: tuple[str | None, bool] = (None, False)
        # Nothing that one image does may end the evaluation; the row says what it was.
        try:
            if self._graph is not None:
                found = self._ask(row, scores, problems)
            if row.mos is not None:
                with using_calibrations(self._curves):
                    image, reference = self._load(row)
                    self._run_tools(image, reference, raw, scores, problems)
                if self._graph is None and reference is not None:
                    found = _detected(image, reference)
        except Exception as error:
            problems.append(told(error))
        return Measured(row, raw, scores, *found, tuple(dict.fromkeys(problems)))

    def _ask(self, row: Row, scores: dict[str, float], problems: list[str]) -> tuple[str | None, bool]:
        reference = str(self._root / row.reference) if row.reference else None
        given = initial_state(self._config, QUESTION, self._root / row.image, reference_path=reference)
        assert self._graph is not None
        state = engine_run(self._graph, given).state
        result, evidence = state.get("summarizer_result"), state.get("executor_evidence")
        if state.get("error"):
            problems.append(str(state["error"]))
        if result is not None and result.quality_score is not None:
            scores[ANSWER] = result.quality_score
        return _stated(evidence) if evidence else (None, False)

    def _run_tools(
        self,
        image: LoadedImage,
        reference: LoadedImage | None,
        raw: dict[str, float],
        scores: dict[str, float],
        problems: list[str],
    ) -> None:
        tools = [tool for tool in self._tools if reference is not None or tool.reference is ReferenceMode.NONE]
        timeout = self._config.iqa.tools.timeout
        # Failed tools have no stand-in here: each is to be judged by its own values.
        for log in run_tools(tools, image, reference, timeout_s=timeout, workers=1, alternatives=()):
            if log.error is not None:
                problems.append(f"{log.tool}: {log.error}")
            elif log.score is not None:
                raw[log.tool] = _finite(log.tool, log.raw, log.score)
                scores[log.tool] = log.score
            elif log.raw is not None:
                raw[log.tool] = log.raw

    def _load(self, row: Row) -> tuple[LoadedImage, LoadedImage | None]:
        limit = self._config.iqa.tools.max_pixels
        image = load_image(self._root / row.image, max_pixels=limit)
        reference = load_image(self._root / row.reference, max_pixels=limit) if row.reference else None
        if reference is not None:
            check_pair(image, reference)
        return image, reference


def _finite(tool: str, raw: float | None, score: float) -> float:
    if raw is not None:
        return raw
    knots = get_calibration(tool).knots
    return knots[0][0] if abs(score - knots[0][1]) < abs(score - knots[-1][1]) else knots[-1][0]


def _stated(evidence: ExecutorOutput) -> tuple[str | None, bool]:
    """The strongest distortion that the evidence is sure of, and whether it is sure that there is none."""
    findings = [item for items in evidence.distortion_analysis.values() for item in items]
    sure = recognised(findings)
    abstained = bool(evidence.undecided) or any("abstained" in note for note in evidence.notes)
    clean = all(item.severity is Severity.NONE for item in findings)
    return sure, sure is None and clean and not abstained


def _detected(image: LoadedImage, reference: LoadedImage) -> tuple[str | None, bool]:
    """The strongest distortion that the detector is sure of, and whether it is sure that there is none."""
    found = detect(measure(image.rgb), measure_pair(image.rgb, reference.rgb))
    return recognised(found.findings), not found.findings and found.abstained is None


def signed(tool: str, raw: np.ndarray) -> np.ndarray:
    """A tool's values, turned so that more is better."""
    return raw if get_tool(tool).higher_is_better else -raw


def measure_rows(
    rows: list[Row],
    root: Path,
    config: IQAConfig,
    *,
    tools: tuple[str, ...] | None = None,
    pipeline: bool = True,
    workers: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> list[Measured]:
    """Measure rows; the result is the same whatever the number of processes.

    Args:
        rows: The rows.
        root: What their paths are relative to.
        config: The configuration.
        tools: Names of the tools to run; None runs all.
        pipeline: Whether the pipeline is asked too; see `Measurer`.
        workers: How many processes; 1 measures in this one.
        on_progress: Hears how far it has come.

    Returns:
        One result for each row, in their order.

    Raises:
        ConfigError: If a model's settings or the curves are wrong.
    """
    # What is wrong with the configuration is told here, and not by every process.
    measurer = Measurer(root, config, tools, pipeline)
    if workers == 1 or len(rows) < 2:
        found = _here(rows, measurer)
    else:
        given = (root, config, tools, pipeline)
        found = over_processes(_in_process, given, enumerate(rows), min(workers, len(rows)))
    results: dict[int, Measured] = {}
    progress = Progress(total=len(rows))
    for (index, row), measured in found:
        results[index] = Measured(row, problems=(measured.said,)) if isinstance(measured, Died) else measured
        progress.count(failed=results[index].failed)
        if on_progress is not None:
            on_progress(progress)
    return [results[index] for index in range(len(rows))]


def _in_process(*given: Any) -> Callable[[tuple[int, Row]], Measured]:
    measurer = Measurer(*given)
    return lambda numbered: measurer.measure(numbered[1])


def _here(rows: list[Row], measurer: Measurer) -> Iterator[tuple[tuple[int, Row], Measured]]:
    with _quiet():
        for index, row in enumerate(rows):
            yield (index, row), measurer.measure(row)


@contextmanager
def _quiet() -> Generator[None]:
    """Keep what there is to say of single images off standard error; it is in their results."""
    logger = logging.getLogger("loopwright.iqa")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="PIL")
            yield
    finally:
        logger.setLevel(before)

"""Run the pipeline on one image."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, suppress
from functools import cached_property
from operator import index
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import StateSnapshot

from loopwright.engine import BoundedGraph, RunEvent, RunResult
from loopwright.engine import arun as engine_arun
from loopwright.engine import astream as engine_astream
from loopwright.engine import run as engine_run
from loopwright.engine import stream as engine_stream
from loopwright.engine.checkpoints import open_checkpointer, state_types
from loopwright.engine.diagram import mermaid, save_mermaid
from loopwright.engine.fingerprint import FORCE
from loopwright.errors import CheckpointError, InputError, unknown_name_message
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.graph import build_graph
from loopwright.workflows.iqa.images import at_home
from loopwright.workflows.iqa.schemas import Box
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.state import AgenticIQAInput, AgenticIQAState
from loopwright.workflows.iqa.tools.calibration import calibration_digest
from loopwright.workflows.threads import free_thread

logger = logging.getLogger("loopwright.iqa")

CONTENT = "image content"
"""The key of the checkpoint's metadata that holds `content_of` the input."""


class PipelineOptions(TypedDict, total=False):
    """What `run_pipeline` takes besides the query and the image."""

    reference_path: str | Path | None
    """The pristine image to compare with, if there is one."""
    max_replan_iterations: int | None
    """Replans that are allowed; None takes the configuration's value, 0 switches them off."""
    config: IQAConfig | None
    """The configuration; by default the embedded one, without a model."""
    sample_id: str | None
    """Names the run's checkpoint; by default a hash of input and configuration."""
    resume: bool
    """Go on from the sample's last checkpoint; finished stages do not run again."""
    force: bool
    """Resume also if a graph of another structure began the run."""
    region: Box | None
    """Left, top, width, height in pixels, if only a part is asked about."""
    services: Services | None
    """The models; by default those of the configuration."""


def run_pipeline(
    query: str,
    image_path: str | Path,
    reference_path: str | Path | None = None,
    max_replan_iterations: int | None = None,
    config: IQAConfig | None = None,
    sample_id: str | None = None,
    resume: bool = False,
    *,
    force: bool = False,
    region: Box | None = None,
    services: Services | None = None,
) -> AgenticIQAState:
    """Assess one image.

    Args:
        query: The question.
        image_path: The image.
        reference_path: The pristine image to compare with, if there is one.
        max_replan_iterations: Replans that are allowed; None takes the configuration's value, 0 switches them off.
        config: The configuration; by default the embedded one, without a model.
        sample_id: Names the run's checkpoint; by default a hash of input and configuration.
        resume: Go on from the sample's last checkpoint; finished stages do not run again. Without one, start anew.
        force: Resume also if a graph of another structure began the run, for example another version of the package.
        region: Left, top, width, height in pixels, if only a part is asked about.
        services: The models; by default those of the configuration.

    Returns:
        The final state. ``stop_reason`` says whether a bound was reached.

    Raises:
        InputError: If the number of replans or the region is none.
        NodeFailed: If a stage failed for good, unless errors are graceful; its cause is the original error.
        CheckpointError: If the checkpoint belongs to another input or, unless forced, to another graph.
    """
    result = trace_pipeline(
        query, image_path, reference_path=reference_path, max_replan_iterations=max_replan_iterations, config=config,
        sample_id=sample_id, resume=resume, force=force, region=region, services=services,
    )  # fmt: skip
    return cast("AgenticIQAState", result.state)


def trace_pipeline(query: str, image_path: str | Path, **options: Unpack[PipelineOptions]) -> RunResult:
    """Assess one image; like `run_pipeline`, with the events of the run beside the final state."""
    with _Session(query, image_path, **options) as session:
        return engine_run(session.graph, session.input, **session.options)


async def arun_pipeline(query: str, image_path: str | Path, **options: Unpack[PipelineOptions]) -> AgenticIQAState:
    """Assess one image without blocking the event loop; see `run_pipeline`."""
    with _Session(query, image_path, **options) as session:
        result = await engine_arun(session.graph, session.input, **session.options)
        return cast("AgenticIQAState", result.state)


def stream_pipeline(query: str, image_path: str | Path, **options: Unpack[PipelineOptions]) -> Iterator[RunEvent]:
    """Assess one image and yield what happens as it happens; see `run_pipeline`."""
    with _Session(query, image_path, **options) as session:
        yield from engine_stream(session.graph, session.input, **session.options)


async def astream_pipeline(
    query: str, image_path: str | Path, **options: Unpack[PipelineOptions]
) -> AsyncIterator[RunEvent]:
    """Assess one image and yield what happens as it happens; see `run_pipeline`."""
    with _Session(query, image_path, **options) as session:
        async for event in engine_astream(session.graph, session.input, **session.options):
            yield event


def visualize_graph(graph: BoundedGraph | None = None, folder: str | Path | None = None) -> str:
    """The pipeline as a Mermaid diagram, with the limit on the loop's edge.

    Args:
        graph: A graph of `build_graph`; by default the whole pipeline.
        folder: Where to save ``graph_structure.mmd``; None does not save it.

    Returns:
        The diagram's text.
    """
    topology = (graph or build_graph()).topology()
    if folder is not None:
        save_mermaid(topology, Path(folder))
    return mermaid(topology)


class _Session:
    """One run: its graph, its saver, the thread that it is kept under, and the input, None where it goes on."""

    def __init__(self, query: str, image_path: str | Path, **options: Unpack[PipelineOptions]) -> None:
        unknown = set(options) - set(PipelineOptions.__annotations__)
        if unknown:
            raise TypeError(unknown_name_message("option", min(unknown), PipelineOptions.__annotations__))
        services = options.get("services") or Services.of(options.get("config") or IQAConfig())
        self._services = services
        self._config = options.get("config") or services.config
        self._resume = options.get("resume", False)
        self._force = options.get("force", False)
        self._given = initial_state(self._config, query, image_path, options)
        self._given["sample_id"] = options.get("sample_id") or sample_id_of(self._given, self._config, self._content)
        self._exits = ExitStack()
        self.graph: BoundedGraph
        self.input: AgenticIQAInput | None = self._given
        self.options: dict[str, Any] = {}

    @cached_property
    def _content(self) -> str:
        return content_of(self._given)

    def __enter__(self) -> _Session:
        checkpoint = self._config.pipeline.checkpoint
        saver = None
        if checkpoint.enable or self._resume:
            allow = state_types(AgenticIQAState)
            saver = self._exits.enter_context(open_checkpointer(f"json:{checkpoint.save_dir}", allow=allow))
        self.graph = build_graph(self._config, services=self._services, checkpointer=saver)
        if saver:
            # The image's content is kept beside the state, so that a resume notices another file under the same name.
            here = {"metadata": {CONTENT: self._content}, "configurable": {FORCE: True} if self._force else {}}
            self.options = {"thread_id": self._choose_thread(saver), "config": here}
        return self

    def __exit__(self, *problem: Any) -> None:
        self._exits.close()

    def _choose_thread(self, saver: BaseCheckpointSaver[str]) -> str:
        """The sample's last run to resume, or a thread that no run has used: a new run never mixes with an old one."""
        sample = str(self._given.get("sample_id"))
        name, last = free_thread(saver, sample)
        if not self._resume:
            return name
        if last is None:
            logger.warning("%s", self._nothing_to_resume(sample))
            return name
        self.input = None
        self._check_same_input(sample, self.graph.get_state({"configurable": {"thread_id": last}}))
        return last

    def _nothing_to_resume(self, sample: str) -> str:
        """Whether runs keep checkpoints, where, and how that is changed."""
        checkpoint = self._config.pipeline.checkpoint
        said = (
            f"nothing to resume: there is no checkpoint of sample {sample!r} in {str(checkpoint.save_dir)!r} "
            "(pipeline.checkpoint.save_dir), so the run starts anew and keeps one. "
        )
        if checkpoint.enable:
            return said + (
                "Checkpoints are enabled; another image, question, option or configuration is another sample, unless "
                "--sample-id (sample_id) names it."
            )
        return said + (
            "Checkpoints are disabled, so runs without --resume keep none: set pipeline.checkpoint.enable to true in "
            "the file that --config names."
        )

    def _check_same_input(self, sample: str, kept: StateSnapshot) -> None:
        before = {CONTENT: (kept.metadata or {}).get(CONTENT), **kept.values}
        now = {CONTENT: self._content, **self._given}
        for key in ("query", "image_path", "reference_path", "region", CONTENT):
            if kept.values and before.get(key) != now.get(key):
                raise CheckpointError(
                    f"the checkpoint of sample {sample!r} belongs to {key} {before.get(key)!r}, not {now.get(key)!r}. "
                    "Give another sample_id, or run without resume."
                )


def initial_state(config: IQAConfig, query: str, image_path: str | Path, options: PipelineOptions) -> AgenticIQAInput:
    """What the graph is run with.

    Args:
        config: The configuration.
        query: The question.
        image_path: The image.
        options: Reads ``reference_path``, ``max_replan_iterations`` and ``region``.

    Raises:
        InputError: If the number of replans or the region is none.
    """
    asked = _replans(options.get("max_replan_iterations"))
    ceiling = config.langgraph.max_iterations
    limit = config.iqa.max_replan_iterations if asked is None else asked
    if limit > ceiling:
        logger.warning("max_replan_iterations=%d is above langgraph.max_iterations=%d, which counts", limit, ceiling)
    reference, region = options.get("reference_path"), _region(options.get("region"))
    return AgenticIQAInput(
        query=query,
        image_path=at_home(image_path),
        reference_path=at_home(reference) if reference else None,
        region=region,
        iteration_count=0,
        max_replan_iterations=limit,
        replan_history=[],
    )


def _replans(asked: int | None) -> int | None:
    try:
        number = None if asked is None else index(asked)
    except TypeError:
        number = -1
    if number is not None and number < 0:
        raise InputError(f"max_replan_iterations is {asked!r}: give a whole number from 0, or None")
    return number


def _region(box: Box | None) -> Box | None:
    try:
        left, top, width, height = map(index, box or (0, 0, 0, 0))
    except (TypeError, ValueError):
        raise InputError(f"region is {box!r}: give left, top, width, height as four whole numbers of pixels") from None
    # A list, as every checkpointer gives it back.
    return cast("Box", [left, top, width, height]) if box else None


def sample_id_of(state: AgenticIQAInput, config: IQAConfig, content: str) -> str:
    """The default name of a sample: a hash of the input, the image's content, the configuration and its curves.

    Args:
        state: The input.
        config: The configuration.
        content: What `content_of` gives for the input.
    """
    parts = [state, config.model_dump(mode="json"), content, calibration_digest(config.iqa.tools.calibration)]
    given = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(given.encode()).hexdigest()[:16]


def content_of(state: AgenticIQAInput) -> str:
    """A hash of what the image files hold.

    Args:
        state: The input.
    """
    digest = hashlib.sha256()
    for key in ("image_path", "reference_path"):
        # A file that cannot be read has no content to tell apart; the executor says what is wrong with it.
        with suppress(OSError, ValueError):
            digest.update(_digest_of(Path(state.get(key) or "")))
    return digest.hexdigest()


def _digest_of(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()

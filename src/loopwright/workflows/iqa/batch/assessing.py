"""One sample's run, inside a worker process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic_core import to_jsonable_python

from loopwright.engine import run as engine_run
from loopwright.errors import LoopwrightError, NodeFailed
from loopwright.workflows.iqa.batch.journal import Record
from loopwright.workflows.iqa.batch.keys import configuration_digest, row_key, stamp, versions
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.graph import build_graph
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.workflow import initial_state

_KEPT = (
    "plan", "executor_evidence", "summarizer_result", "iteration_count", "replan_history", "stop_reason", "error",
)  # fmt: skip
"""The keys of the final state that are no input."""


@dataclass(frozen=True, slots=True)
class Job:
    """One sample to assess."""

    sample: Sample
    """The sample."""
    finished: str | None = None
    """The key of its finished row, if there is one whose files may have changed since."""


class Assessor:
    """The pipeline, built once, for one sample after the other."""

    def __init__(self, root: Path, config: IQAConfig) -> None:
        """Build the graph.

        Args:
            root: What the samples' paths are relative to.
            config: The configuration. Its checkpoints are not used: the batch's journal stands in for them.

        Raises:
            ConfigError: If a model's settings are wrong.
        """
        self._root = root
        self._config = config
        self._configuration = configuration_digest(config)
        self._graph = build_graph(config, services=Services.of(config))

    def __call__(self, job: Job) -> Record | None:
        """Run one sample; whatever goes wrong with it is in the record.

        Returns:
            The record, or None if it is the finished row.
        """
        sample = job.sample
        stamped = stamp(sample, self._root)
        key = row_key(sample, self._root, self._configuration)
        if key == job.finished:
            return None
        began = time.perf_counter()
        state, stages, error = self._run(sample)
        return Record(
            sample_id=sample.sample_id,
            asked=sample.asked,
            key=key,
            configuration=self._configuration,
            stamp=stamped,
            versions=versions(),
            state=state,
            stages=stages,
            seconds=round(time.perf_counter() - began, 4),
            error=error,
        )

    def _run(self, sample: Sample) -> tuple[dict[str, Any], list[str], str | None]:
        reference = str(self._root / sample.reference_path) if sample.reference_path else None
        try:
            given = initial_state(
                self._config, sample.query, self._root / sample.path,
                reference_path=reference, region=sample.region,
            )  # fmt: skip
            given["sample_id"] = sample.sample_id
            result = engine_run(self._graph, given)
        # Nothing that one image does may end the batch; the row says what it was.
        except Exception as error:
            return {}, [], self._relative(told(error))
        kept = {name: result.state.get(name) for name in _KEPT}
        state = self._relative(to_jsonable_python(kept, inf_nan_mode="strings", fallback=str))
        error = state["error"]
        if error is None and state["summarizer_result"] is None:
            error = "the run ended before the summarizer"
        return state, result.path, error

    def _relative(self, value: Any) -> Any:
        """Plain JSON in which paths are the sample's own, so that rows are the same wherever the folder lies."""
        if isinstance(value, str):
            return value.replace(str(self._root / "_")[:-1], "") if self._root != Path() else value
        if isinstance(value, dict):
            return {key: self._relative(inner) for key, inner in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self._relative(inner) for inner in cast("list[Any]", value)]
        return value


def told(error: Exception) -> str:
    """An error in one line, without the input that the engine shows.

    Args:
        error: What a run raised.
    """
    cause = error.__cause__
    if isinstance(error, NodeFailed):
        text = str(cause) if isinstance(cause, LoopwrightError) else error.told
    else:
        text = str(error) if isinstance(error, LoopwrightError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:1000]

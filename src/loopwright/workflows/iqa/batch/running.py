"""Running a batch: what is to be done, doing it, and the table at the end."""

import heapq
import math
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from pydantic_core import to_jsonable_python

from loopwright.engine import run as engine_run
from loopwright.errors import LoopwrightError, NodeFailed
from loopwright.workflows.iqa.batch.journal import Journal, Record, journal_of, writing
from loopwright.workflows.iqa.batch.processes import Died, Progress, over_processes, processors
from loopwright.workflows.iqa.batch.ray_engine import over_ray
from loopwright.workflows.iqa.batch.samples import Sample, Shard, configuration_digest, read_source, row_key, versions
from loopwright.workflows.iqa.batch.tables import Row, check_format, row_of, shown_run, write_table
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.graph import build_graph
from loopwright.workflows.iqa.report import Overview, write_report
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.workflow import DETAILS, IQAInput, IQAWorkflow, replaced

_KEPT = (*DETAILS, "error")
"""The keys of the final state that are no input."""


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
        self._configuration = configuration_digest(config)
        self._workflow = IQAWorkflow(Services.of(config))
        self._graph = self._workflow.graph(None)

    def __call__(self, sample: Sample) -> Record:
        """Run one sample; whatever goes wrong with it is in the record."""
        record, began = unread(sample, self._root, self._configuration), time.perf_counter()
        state, error = self._run(sample)
        return {**record, "state": state, "error": error, "seconds": round(time.perf_counter() - began, 4)}

    def _run(self, sample: Sample) -> tuple[dict[str, Any], str | None]:
        files = {"image": sample.image_path, "reference": sample.reference_path}
        places = {key: self._root / path for key, path in files.items() if path}
        try:
            asked = {"query": sample.query, "region": sample.region, **{key: key for key in places}}
            given = IQAInput.model_validate(asked)
            result = engine_run(self._graph, self._workflow.start(given, places, sample.sample_id))
        # Nothing that one image does may end the batch; the row says what it was.
        except Exception as error:
            return {}, self._relative(told(error))
        kept = {name: result.state.get(name) for name in _KEPT}
        state = self._relative(to_jsonable_python(kept, inf_nan_mode="strings", fallback=str))
        error = state["error"]
        if error is None and state["summarizer_result"] is None:
            error = "the run ended before the summarizer"
        return state, error

    def _relative(self, value: Any) -> Any:
        """Plain JSON in which paths are the sample's own, so that rows are the same wherever the folder lies."""
        return value if self._root == Path() else replaced(value, str(self._root / "_")[:-1], "")


def unread(sample: Sample, root: Path, configuration: str) -> Record:
    """The record of a run that has not begun."""
    return Record(
        sample_id=sample.sample_id,
        key=row_key(sample, root, configuration),
        configuration=configuration,
        versions=versions(),
        state={},
        seconds=0.0,
        error=None,
    )


def told(error: Exception) -> str:
    """An error in one line, without the input that the engine shows."""
    cause = error.__cause__
    if isinstance(error, NodeFailed):
        text = str(cause) if isinstance(cause, LoopwrightError) else error.told
    else:
        text = str(error) if isinstance(error, LoopwrightError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:1000]


Engine = Literal["local", "ray"]
"""Who runs the workers of a batch."""

WORST = 200
"""How many rows a report shows with pictures."""

DEFAULT_QUERY = "What is the quality of this image, and what is wrong with it?"
"""What is asked where nobody says."""


def run_batch(
    source: Path,
    out: Path,
    *,
    query: str = DEFAULT_QUERY,
    config: IQAConfig | None = None,
    workers: int | None = None,
    engine: Engine = "local",
    address: str | None = None,
    shard: Shard | None = None,
    resume: bool = False,
    report: Path | None = None,
    worst: int = WORST,
    on_progress: Callable[[Progress], None] | None = None,
) -> Progress:
    """Assess every image of a folder or a manifest, and write a table.

    Each finished row goes to the journal beside the table, `journal_of`, at once. Ctrl-C lets the rows in flight finish
    and ends; a second one drops them. The rows do not depend on the number of workers or on the order, but for
    ``seconds``.

    Args:
        source: A folder, or a manifest in JSON Lines.
        out: The table; its ending says the format, see `loopwright.workflows.iqa.batch.tables.FORMATS`.
        query: What to ask about images that come without a question.
        config: The configuration; by default the embedded one, without a model.
        workers: How many processes assess at the same time, and so the most calls to a chat model at the same time;
            by default the processors that this process may use, or all of the cluster.
        engine: Who runs the workers: ``"local"``, processes of this machine, or ``"ray"``, a Ray cluster.
        address: The Ray cluster, ``"auto"`` for the one that this machine belongs to; None starts one here.
        shard: The part to do; None does all.
        resume: Go on from the journal: finished rows do not run again, failed ones do.
        report: Where to write an HTML report, or None.
        worst: How many rows the report shows with their pictures, the lowest scores first.
        on_progress: Called after each row.

    Returns:
        The counts; where it was interrupted, the journal holds what was finished, and there is no table.

    Raises:
        InputError: If the source, the table's name or a journal cannot be used, or the engine is not installed.
        ConfigError: If a model's settings are wrong.
        BackendError: If the journal or the table cannot be written, or workers do not start.
    """
    check_format(out)
    config = config or IQAConfig()
    # What is wrong with the configuration shall be said here and not by each worker.
    build_graph(config)
    root, samples = read_source(source, query)
    if shard is not None:
        samples = [sample for sample in samples if shard.holds(sample.image_path)]
    name = str(shard) if shard else None
    # Ctrl-C is noted from here on: what it raises is lost where Python happens to be in a finaliser.
    with _interruptible() as stopped, Journal.open(journal_of(out), shard=name, resume=resume) as journal:
        configuration = configuration_digest(config)
        jobs = [each for each in samples if journal.keys.get(each.sample_id) != row_key(each, root, configuration)]
        progress = Progress(len(samples), unchanged=len(samples) - len(jobs))
        # Workers elsewhere do not know what folder this process is in.
        given = (root.absolute(), config)
        if engine == "ray" and jobs:
            results = over_ray(Assessor, given, jobs, workers, address, stopped)
        else:
            results = over_processes(Assessor, given, jobs, min(workers or processors(), len(jobs)), stopped)
        # A second Ctrl-C ends the workers where they are; what they had not sent is run on resume.
        with suppress(KeyboardInterrupt):
            for sample, found in results:
                dead = isinstance(found, Died)
                record: Record = {**unread(sample, root, configuration), "error": found.said} if dead else found
                journal.append(record)
                progress.count(record["sample_id"], record["error"])
                if on_progress is not None:
                    on_progress(progress)
        if progress.interrupted:
            return progress
        show = partial(shown_run, root=root, max_pixels=config.iqa.tools.max_pixels)
        overview, order = Overview(), list[tuple[float, Sample]]()

        def rows() -> Iterator[Row]:
            for sample in samples:
                record = journal.read(sample.sample_id)
                row = show(sample, record)
                overview.add(row)
                order.append((math.inf if row.score is None else row.score, sample))
                yield row_of(sample, record, row)

        write_table(out, rows())
        if report is not None:
            lowest = heapq.nsmallest(worst, order, key=lambda scored: scored[0])
            count = f"the worst {worst:,} of {len(samples):,}" if worst < len(samples) else f"{len(samples):,} images"
            with writing(report):
                # With all of them, pictures would make the page too large to open.
                worst_rows = [show(sample, journal.read(sample.sample_id)) for _, sample in lowest]
                write_report(worst_rows, report, title=f"Image quality: {count}", overview=overview)
    return progress


@contextmanager
def _interruptible() -> Generator[Callable[[], bool], None, None]:
    """Whether a first Ctrl-C has asked to stop; a second one raises KeyboardInterrupt.

    Outside the main thread, where no signal can be had, nothing changes.
    """
    asked = False

    def handle(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)

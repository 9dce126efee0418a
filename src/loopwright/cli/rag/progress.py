"""Progress bars on standard error."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopwright.workflows.rag.ingestion import IngestProgress


@contextmanager
def shown_progress(wanted: bool) -> Generator[Callable[[IngestProgress], None] | None]:
    """Draw how far an ingest has come: documents, passages, facts, rate, time left, then the vectors.

    Args:
        wanted: Whether to draw at all.
    """
    if not wanted:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[counts]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        reading = bar.add_task("reading", total=None, counts="")
        vectors = bar.add_task("vectors", total=None, counts="", visible=False)

        def show(progress: IngestProgress) -> None:
            counts = f"{progress.documents} documents, {progress.passages} passages, {progress.facts} facts"
            bar.update(
                reading, completed=progress.bytes, total=progress.total_bytes, counts=f"{counts}, {progress.rate:.0f}/s"
            )
            if progress.vectors_total is not None:
                counts = f"{progress.vectors} of {progress.vectors_total}"
                total = progress.vectors_total
                bar.update(vectors, completed=progress.vectors, total=total, counts=counts, visible=True)

        yield show


@contextmanager
def shown_count(what: str, wanted: bool) -> Generator[Callable[[int, int], None] | None]:
    """Draw how many of something are done.

    Args:
        what: What is counted, in the plural.
        wanted: Whether to draw at all.
    """
    if not wanted:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)

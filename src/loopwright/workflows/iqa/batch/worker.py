"""The worker process: imports and builds once, then assesses what it is sent, on one thread of arithmetic."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

from loopwright.workflows.iqa.batch.assessing import Assessor
from loopwright.workflows.iqa.batch.processes import begin_quietly
from loopwright.workflows.iqa.config import IQAConfig


def work(connection: Connection, root: Path, config: IQAConfig) -> None:
    """Serve jobs until None comes or the parent is gone.

    Args:
        connection: Brings ``(sample, finished key or None)`` and takes the record, or None if it is that finished row;
            the first None that is sent says that the worker is ready.
        root: What the samples' paths are relative to.
        config: The configuration.
    """
    begin_quietly()
    assessor = Assessor(root, config)
    try:
        connection.send(None)
        while (job := connection.recv()) is not None:
            connection.send(assessor.assess(*job))
    except (EOFError, ConnectionError):
        return

"""The worker process: imports and builds once, then assesses what it is sent, on one thread of arithmetic."""

from __future__ import annotations

import logging
import signal
import warnings
from multiprocessing.connection import Connection
from pathlib import Path

import cv2

from loopwright.workflows.iqa.batch.assessing import Assessor
from loopwright.workflows.iqa.config import IQAConfig


def work(connection: Connection, root: Path, config: IQAConfig) -> None:
    """Serve jobs until None comes or the parent is gone.

    Args:
        connection: Brings ``(sample, finished key or None)`` and takes the record, or None if it is that finished row;
            the first None that is sent says that the worker is ready.
        root: What the samples' paths are relative to.
        config: The configuration.
    """
    # Ctrl-C goes to the whole group; the parent alone decides what becomes of the rows in flight.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(1)
    # What there is to say of an image is in its row; a million rows on standard error help nobody.
    logging.basicConfig(handlers=[logging.NullHandler()], force=True)
    warnings.filterwarnings("ignore", module="PIL")
    assessor = Assessor(root, config)
    try:
        connection.send(None)
        while (job := connection.recv()) is not None:
            connection.send(assessor.assess(*job))
    except (EOFError, ConnectionError):
        return

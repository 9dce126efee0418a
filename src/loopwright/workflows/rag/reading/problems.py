"""What had to be left out or ignored while reading."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from loopwright.errors import DocumentError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadingProblem:
    """Something that could not be read, where the rest was read all the same."""

    error: DocumentError
    """What is wrong, and where."""
    left_out: bool
    """Whether a record, a file or a folder was left out; else a detail of something that was read was ignored."""


def log_problem(problem: ReadingProblem) -> None:
    """Log a problem as a warning."""
    logger.warning("%s", problem.error)

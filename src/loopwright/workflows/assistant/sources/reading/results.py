"""What reading a file gives."""

from __future__ import annotations

from dataclasses import dataclass

from loopwright.workflows.assistant.schemas import Record
from loopwright.workflows.assistant.sources.info import ConferenceInfo


@dataclass(frozen=True, slots=True)
class Schedule:
    """A conference and its programme."""

    info: ConferenceInfo
    """The conference."""
    records: tuple[Record, ...]
    """The sessions in order of the file, then the speakers."""
    problems: tuple[str, ...] = ()
    """What had to be left out or could not be understood, one sentence each, with its place."""


@dataclass(frozen=True, slots=True)
class TableRead:
    """The records of a file that holds one kind of them."""

    records: tuple[Record, ...]
    """The records in order of the file; of sessions, the speakers follow."""
    problems: tuple[str, ...] = ()
    """What had to be left out or could not be understood, one sentence each, with its place."""

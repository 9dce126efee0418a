"""The journal of a batch: every finished row, appended as it comes, so that no more than the rows in flight are lost.

JSON Lines: first a header, then one `Record` a line; of several for one sample the last counts. Each line reaches the
operating system at once, and the disk in small groups.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, TypedDict, cast

from loopwright.checkpoints.disk import sync_folder
from loopwright.errors import BackendError, InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

logger = logging.getLogger("loopwright.iqa")

_FORMAT = 1
_GROUP = 16
"""Rows that are forced to the disk together."""
_GROUP_S = 1.0
"""Seconds after which a smaller group is forced, too."""


class Record(TypedDict):
    """One finished run; a line of the journal."""

    sample_id: str
    """The sample's name."""
    asked: str
    """`Sample.asked`."""
    key: str
    """`loopwright.workflows.iqa.batch.samples.row_key`."""
    configuration: str
    """`loopwright.workflows.iqa.batch.samples.configuration_digest`."""
    stamp: str
    """`loopwright.workflows.iqa.batch.samples.stamp`, taken before the files were read."""
    versions: str
    """`loopwright.workflows.iqa.batch.samples.versions`."""
    state: dict[str, Any]
    """The final state in plain JSON, without the input."""
    stages: list[str]
    """The stages that ran, in order."""
    seconds: float
    """Wall time of the run."""
    error: str | None
    """Why the row failed, or None; a failed row is run again on resume."""


class Entry(NamedTuple):
    """What is held in memory of a record."""

    offset: int
    """Where its line begins, in bytes."""
    asked: str
    """See `Record`."""
    key: str
    """See `Record`."""
    configuration: str
    """See `Record`."""
    stamp: str
    """See `Record`."""
    failed: bool
    """Whether it has an error."""


def journal_of(out: Path) -> Path:
    """Where the journal of an output lies.

    Args:
        out: The output.
    """
    return out.with_name(f"{out.name}.journal.jsonl")


class Journal:
    """A journal that is open for appending; one process at a time."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        """Use `open`."""
        self.path = path
        self.entries: dict[str, Entry] = {}
        """Sample -> its last record."""
        self._file = file
        self._unforced = 0
        self._forced = time.monotonic()

    @classmethod
    def open(cls, path: Path, *, shard: str | None, resume: bool) -> Self:
        """Begin a journal, or read one and go on; a line that was cut off is removed.

        Args:
            path: The file; its folder is made.
            shard: The part of the batch that it is for, or None for all.
            resume: Whether there may be one already.

        Raises:
            InputError: If there is one and it is not to be resumed, it is of another shard or no journal, or another
                process has it open.
            BackendError: If it cannot be read or written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("a+b")
        except OSError as error:
            raise _unwritable(path, error) from error
        journal = cls(path, file)
        try:
            journal._lock()
            if journal._read(shard) and not resume:
                raise InputError(
                    f"{str(path)!r} holds {len(journal.entries)} row(s) of an earlier batch; go on with --resume, "
                    "or remove it to begin anew"
                )
            if file.tell() == 0:
                journal._write({"loopwright_batch": _FORMAT, "shard": shard})
                sync_folder(path.parent)
        except OSError as error:
            file.close()
            raise _unwritable(path, error) from error
        except BaseException:
            file.close()
            raise
        return journal

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        try:
            self.force()
        finally:
            self._file.close()

    def append(self, record: Record) -> None:
        """Keep a record.

        Args:
            record: The record.

        Raises:
            BackendError: If it cannot be written.
        """
        try:
            offset = self._write(record)
            self._unforced += 1
            if self._unforced >= _GROUP or time.monotonic() - self._forced > _GROUP_S:
                self.force()
        except OSError as error:
            raise _unwritable(self.path, error) from error
        self._enter(record, offset)

    def read(self, sample_id: str) -> Record:
        """The last record of a sample.

        Args:
            sample_id: The sample's name.
        """
        self._file.seek(self.entries[sample_id].offset)
        return cast("Record", json.loads(self._file.readline()))

    def force(self) -> None:
        """Force what was appended to the disk."""
        if self._unforced:
            os.fsync(self._file.fileno())
            self._unforced = 0
        self._forced = time.monotonic()

    def _write(self, value: Any) -> int:
        offset = self._file.seek(0, os.SEEK_END)
        self._file.write(json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n")
        self._file.flush()
        return offset

    def _enter(self, record: Record, offset: int) -> None:
        self.entries[record["sample_id"]] = Entry(
            offset, record["asked"], record["key"], record["configuration"], record["stamp"],
            record["error"] is not None,
        )  # fmt: skip

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another process is writing {str(self.path)!r}; wait for it, or give this one another --out"
            ) from None

    def _read(self, shard: str | None) -> bool:
        """Read what there is; whether there was anything."""
        found = False
        for offset, line in self._whole_lines():
            value = _parsed(line)
            if offset == 0:
                self._check_header(value, shard)
                found = True
            elif value is None:
                logger.warning("%s: the line at byte %d is damaged; its row is run again", self.path, offset)
            else:
                self._enter(cast("Record", value), offset)
        return found

    def _whole_lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line with its offset; what follows the last line break is cut off the file."""
        self._file.seek(0)
        offset = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                self._file.truncate(offset)
                break
            yield offset, line
            offset += len(line)
        self._file.seek(offset)

    def _check_header(self, header: dict[str, Any] | None, shard: str | None) -> None:
        if header is None or header.get("loopwright_batch") != _FORMAT:
            raise InputError(f"{str(self.path)!r} is no journal of this version's batch; move it away")
        if header.get("shard") != shard:
            before, now = (name or "the whole" for name in (header.get("shard"), shard))
            raise InputError(f"{str(self.path)!r} is of shard {before}, not {now}; give each shard its own --out")


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _unwritable(path: Path, error: OSError) -> BackendError:
    return BackendError(f"cannot write {str(path)!r}: {error.strerror}; what is in it stays, and --resume goes on")

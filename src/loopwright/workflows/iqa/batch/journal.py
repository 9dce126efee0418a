"""The journal of a batch: every finished row, kept as it comes, so that no more than the rows in flight are lost.

An SQLite file: it locks itself, survives a kill at any moment, and finds a row by its sample.
"""

import json
import sqlite3
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self, TypedDict, cast

from loopwright.database.sqlite_failures import explained_sqlite
from loopwright.errors import BackendError, InputError

_FORMAT = 2


class Record(TypedDict):
    """One finished run."""

    sample_id: str
    """The sample's name."""
    key: str
    """`loopwright.workflows.iqa.batch.samples.row_key`, taken before the files were read."""
    configuration: str
    """`loopwright.workflows.iqa.batch.samples.configuration_digest`."""
    versions: str
    """`loopwright.workflows.iqa.batch.samples.versions`."""
    state: dict[str, Any]
    """The final state in plain JSON, without the input."""
    seconds: float
    """Wall time of the run."""
    error: str | None
    """Why the row failed, or None; a failed row is run again on resume."""


def journal_of(out: Path) -> Path:
    """Where the journal of an output lies."""
    return out.with_name(f"{out.name}.journal.sqlite")


class Journal:
    """A journal that is open; one process at a time."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        """Use `open`."""
        self.path = path
        self.keys: dict[str, str] = {}
        """Sample -> the key of its last record; empty if that has an error."""
        self._database = database

    @classmethod
    def open(cls, path: Path, *, shard: str | None, resume: bool) -> Self:
        """Begin a journal, or read one and go on.

        Args:
            path: The file; its folder is made.
            shard: The part of the batch that it is for, or None for all.
            resume: Whether there may be one already.

        Raises:
            InputError: If there is one and it is not to be resumed, or it is of another shard or version.
            BackendError: If it is no journal, another process has it open, or it cannot be read or written.
        """
        with writing(path), ExitStack() as opened:
            path.parent.mkdir(parents=True, exist_ok=True)
            journal = cls(path, sqlite3.connect(path, timeout=0, isolation_level=None))
            opened.enter_context(journal)
            journal._begin(shard)
            if journal.keys and not resume:
                raise InputError(
                    f"{str(path)!r} holds {len(journal.keys)} row(s) of an earlier batch; go on with --resume, "
                    "or remove it to begin anew"
                )
            opened.pop_all()
        return journal

    def _begin(self, shard: str | None) -> None:
        # Held until it is closed, without files that the processes of one machine would share.
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode = WAL")
        # Each row reaches the operating system at once, and the disk now and then.
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute("CREATE TABLE IF NOT EXISTS batch (format INTEGER, shard TEXT)")
        self._database.execute("CREATE TABLE IF NOT EXISTS rows (sample TEXT PRIMARY KEY, key TEXT, record TEXT)")
        found = self._database.execute("SELECT format, shard FROM batch").fetchone()
        if found is None:
            self._database.execute("INSERT INTO batch VALUES (?, ?)", (_FORMAT, shard))
        elif found[0] != _FORMAT:
            raise InputError(f"{str(self.path)!r} is no journal of this version's batch; move it away")
        elif found[1] != shard:
            before, now = (name or "the whole" for name in (found[1], shard))
            raise InputError(f"{str(self.path)!r} is of shard {before}, not {now}; give each shard its own --out")
        rows = self._database.execute("SELECT sample, key FROM rows")
        self.keys = {json.loads(sample): key for sample, key in rows}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._database.close()

    def append(self, record: Record) -> None:
        """Keep a record, in the place of an earlier one of its sample.

        Raises:
            BackendError: If it cannot be written.
        """
        key = record["key"] if record["error"] is None else ""
        # As JSON, names may hold the lone surrogates of file names that are not UTF-8.
        values = (json.dumps(record["sample_id"]), key, json.dumps(record, allow_nan=False))
        with writing(self.path):
            self._database.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", values)
        self.keys[record["sample_id"]] = key

    def read(self, sample_id: str) -> Record:
        """The record of a sample."""
        found = self._database.execute("SELECT record FROM rows WHERE sample = ?", (json.dumps(sample_id),))
        return cast("Record", json.loads(found.fetchone()[0]))


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Tell why a file of the batch cannot be written."""
    try:
        yield
    except OSError as error:
        raise BackendError(f"cannot write {str(path)!r}: {error.strerror}") from error
    except sqlite3.Error as error:
        raise explained_sqlite(error, f"the journal {str(path)!r}") from error

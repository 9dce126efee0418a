"""The file of one run on the disk: finding it, reading it, replacing it whole.

A file is written beside its place, forced to the disk, and renamed over the old one, so whoever reads it at any time,
also after a kill or a power cut, sees one whole state or the one before it.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from langgraph.checkpoint.serde.base import SerializerProtocol

from loopwright.checkpoints.disk import (
    Signature,
    files_by_name,
    replace,
    safe_name,
    signature_of,
    sweep,
    sync_folder,
)
from loopwright.checkpoints.document import RunDocument, now_text
from loopwright.errors import CheckpointError

logger = logging.getLogger(__name__)

T = TypeVar("T")


def read_document(path: Path, serde: SerializerProtocol) -> tuple[RunDocument, Signature]:
    """Read a run file.

    Args:
        path: The file.
        serde: Turns values into bytes and back.

    Returns:
        Its content, and which state of the file that was.

    Raises:
        CheckpointError: If it cannot be read, is cut off, or is not ours. The file is left as it is.
        FileNotFoundError: If it is gone.
    """
    try:
        with path.open("rb") as file:
            signature = signature_of(os.fstat(file.fileno()))
            content = file.read()
        return RunDocument.from_text(content.decode("utf-8", "surrogatepass"), serde), signature
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as problem:
        reason = f"cannot be read ({problem})" if isinstance(problem, OSError | UnicodeError) else str(problem)
        raise CheckpointError(
            f"the checkpoint file {path} {reason}. It was left as it is: put a good copy in its place, or move it to "
            "another folder to start this run anew."
        ) from problem


class RunFile:
    """One run: its file, and what is in it.

    While one thread writes the file, others may go on changing the memory; the next write then covers all of them at
    once. Where both locks are taken, the file's is taken first.

    Attributes:
        users: How many threads hold this object; guarded by its owner.
    """

    def __init__(self, folder: Path, thread_id: str, serde: SerializerProtocol) -> None:
        """Describe a run; nothing is read yet.

        Args:
            folder: Where its file is, or will be.
            thread_id: The run's thread.
            serde: Turns values into bytes and back.
        """
        self.users = 0
        self._folder = folder
        self._thread_id = thread_id
        self._serde = serde
        self._changed = 0
        self._file_lock = threading.Lock()
        self._lock = threading.Lock()
        self._forget()

    @property
    def unsaved(self) -> bool:
        """Whether the memory holds something that the file does not: it is being written, or that failed."""
        return self._changed != self._durable

    def read(self, use: Callable[[RunDocument], T], candidates: Iterable[Path] | None = None) -> T:
        """Use the run as it is on the disk now.

        Args:
            use: Takes what it needs; it may keep nothing of the document itself.
            candidates: The files that may be this run's, if that is known already.

        Returns:
            What `use` gave.

        Raises:
            CheckpointError: If the file cannot be read.
        """
        with self._lock:
            self._refresh(candidates, forget_if_gone=True)
            return use(self._document)

    def change(self, apply: Callable[[RunDocument], T]) -> T:
        """Change the run, and return when the change is on the disk.

        Args:
            apply: Changes the checkpoints, and tells the document.

        Returns:
            What `apply` gave.

        Raises:
            CheckpointError: If the file cannot be read or written; a change that was not written is with the next one.
        """
        with self._lock:
            self._refresh(None, forget_if_gone=False)
            result = apply(self._document)
            self._changed += 1
            mine = self._changed
        with self._file_lock:
            if self._durable < mine:
                self._write()
        return result

    def delete(self) -> None:
        """Remove the run's file and forget what was in it.

        Raises:
            CheckpointError: If the file cannot be read (it is not deleted then) or removed.
        """
        with self._file_lock, self._lock:
            self._refresh(None, forget_if_gone=True)
            if self._path is not None:
                try:
                    self._path.unlink(missing_ok=True)
                    sweep(self._path, older_than=0.0)
                    sync_folder(self._folder)
                except OSError as problem:
                    raise CheckpointError(
                        f"the checkpoint file {self._path} cannot be deleted ({problem}). "
                        "Make its folder writable, and try again."
                    ) from problem
            self._forget()

    def _forget(self) -> None:
        self._path: Path | None = None
        self._signature: Signature | None = None
        self._document = RunDocument(self._thread_id, self._serde, now_text())
        self._durable = self._changed

    def _write(self) -> None:
        """Replace the file. The caller holds the file's lock."""
        with self._lock:
            covered = self._changed
            path = self._path or self._new_path()
            content = self._document.to_text().encode("utf-8", "surrogatepass")
        try:
            signature = replace(path, content)
        except OSError as problem:
            raise CheckpointError(
                f"the checkpoints of thread {self._thread_id!r} cannot be written to {path} ({problem}). "
                "Make room, or make the folder writable; the run can be resumed from its last saved step."
            ) from problem
        with self._lock:
            self._path, self._signature, self._durable = path, signature, covered

    def _refresh(self, candidates: Iterable[Path] | None, *, forget_if_gone: bool) -> None:
        """Read the file if it was never read, or if another process has replaced it."""
        if self.unsaved:
            return
        if self._path is None:
            self._find(candidates)
            return
        try:
            if signature_of(self._path.stat()) != self._signature:
                self._document, self._signature = read_document(self._path, self._serde)
        except FileNotFoundError:
            if forget_if_gone:
                self._forget()

    def _find(self, candidates: Iterable[Path] | None) -> None:
        """Look for the run's file."""
        if candidates is None:
            candidates = files_by_name(self._folder).get(safe_name(self._thread_id), ())
        mine: dict[Path, tuple[RunDocument, Signature]] = {}
        for path in candidates:
            try:
                document, signature = read_document(path, self._serde)
            except FileNotFoundError:
                continue
            if document.thread_id == self._thread_id:
                mine[path] = document, signature
            else:
                logger.warning("%s is passed over: it holds thread %r", path, document.thread_id)
        if len(mine) > 1:
            raise CheckpointError(
                f"thread {self._thread_id!r} has more than one checkpoint file: {', '.join(map(str, mine))}. "
                "Keep the one that counts, and move the others to another folder."
            )
        for path, (document, signature) in mine.items():
            self._path, self._document, self._signature = path, document, signature
            sweep(path)

    def _new_path(self) -> Path:
        """Choose a file name that nobody has."""
        while True:
            stamp = self._document.created.replace("-", "").replace(":", "")
            path = self._folder / f"{stamp}_{safe_name(self._thread_id)}.json"
            if not path.exists():
                return path
            self._document.created = now_text()

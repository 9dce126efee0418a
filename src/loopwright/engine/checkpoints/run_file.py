"""The file of one run on the disk: finding it, reading it, replacing it whole.

A file is written beside its place, forced to the disk, and renamed over the old one, so whoever reads it at any time,
also after a kill or a power cut, sees one whole state or the one before it.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from loopwright.engine.checkpoints.disk import (
    Signature,
    files_by_name,
    replace,
    safe_name,
    signature_of,
    sweep,
    sync_folder,
)
from loopwright.engine.checkpoints.document import RunDocument, now_text
from loopwright.errors import CheckpointError

logger = logging.getLogger(__name__)


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

    Two locks, always taken in this order: the file lock for the disk, the state lock for the memory. While one thread
    writes the file, others may go on changing the memory; the next write then covers all of them at once.

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
        self._path: Path | None = None
        self._signature: Signature | None = None
        self._document = self._new_document()
        self._changed = 0
        self._durable = 0
        self._file_lock = threading.Lock()
        self._state_lock = threading.Lock()

    @property
    def unsaved(self) -> bool:
        """Whether the memory holds something that the file does not."""
        return self._changed != self._durable

    @contextlib.contextmanager
    def reading(
        self, serde: SerializerProtocol, candidates: Iterable[Path] | None = None
    ) -> Generator[InMemorySaver, None, None]:
        """Lend the run's checkpoints for reading, as they are on the disk now.

        Args:
            serde: Turns bytes into values.
            candidates: The files that may be this run's, if that is known already.

        Yields:
            The checkpoints; only to be used inside the block.

        Raises:
            CheckpointError: If the file cannot be read.
        """
        self._refresh(candidates, forget_if_gone=True)
        with self._state_lock:
            yield _view(self._document.memory, serde)

    def change(self, serde: SerializerProtocol, apply: Callable[[RunDocument, InMemorySaver], None]) -> None:
        """Change the run, and return when the change is on the disk.

        Args:
            serde: Turns values into bytes.
            apply: Changes the checkpoints, and tells the document.

        Raises:
            CheckpointError: If the file cannot be read or written.
        """
        self._refresh(None, forget_if_gone=False)
        with self._state_lock:
            apply(self._document, _view(self._document.memory, serde))
            self._changed += 1
            mine = self._changed
        with self._file_lock:
            if self._durable < mine:
                self._write()

    def delete(self) -> None:
        """Remove the run's file and forget what was in it.

        Raises:
            CheckpointError: If the file cannot be read (it is not deleted then) or removed.
        """
        self._refresh(None, forget_if_gone=True)
        with self._file_lock, self._state_lock:
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

    def _new_document(self) -> RunDocument:
        return RunDocument(self._thread_id, self._serde, now_text())

    def _forget(self) -> None:
        self._path, self._signature, self._document = None, None, self._new_document()
        self._durable = self._changed

    def _refresh(self, candidates: Iterable[Path] | None, *, forget_if_gone: bool) -> None:
        """Read the file if it was never read, or if another process has replaced it."""
        if self.unsaved:
            return
        with self._file_lock, self._state_lock:
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
        mine: list[Path] = []
        for path in candidates:
            try:
                document, signature = read_document(path, self._serde)
            except FileNotFoundError:
                continue
            if document.thread_id != self._thread_id:
                logger.warning("%s is passed over: it holds thread %r", path, document.thread_id)
                continue
            mine.append(path)
            self._document, self._signature = document, signature
        if len(mine) > 1:
            self._document, self._signature = self._new_document(), None
            raise CheckpointError(
                f"thread {self._thread_id!r} has more than one checkpoint file: {', '.join(map(str, mine))}. "
                "Keep the one that counts, and move the others to another folder."
            )
        if mine:
            self._path = mine[0]
            sweep(self._path)

    def _write(self) -> None:
        """Replace the file. The caller holds the file lock."""
        with self._state_lock:
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
        with self._state_lock:
            self._path, self._signature, self._durable = path, signature, covered

    def _new_path(self) -> Path:
        """Choose a file name that nobody has."""
        while True:
            stamp = self._document.created.replace("-", "").replace(":", "")
            path = self._folder / f"{stamp}_{safe_name(self._thread_id)}.json"
            if not path.exists():
                return path
            self._document.created = now_text()


class OpenRuns:
    """The runs that are in memory now; the idle ones that were used longest ago are dropped.

    Attributes:
        folder: Where their files are.
    """

    def __init__(self, folder: Path, serde: SerializerProtocol, keep: int) -> None:
        """Start with none.

        Args:
            folder: Where their files are.
            serde: Turns values into bytes and back.
            keep: How many idle runs stay in memory.
        """
        self.folder = folder
        self._serde = serde
        self._keep = keep
        self._runs: OrderedDict[str, RunFile] = OrderedDict()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def use(self, thread_id: str) -> Generator[RunFile, None, None]:
        """Lend the one object that stands for a run.

        Args:
            thread_id: The run's thread.

        Yields:
            The run, which is not dropped inside the block.
        """
        with self._lock:
            run = self._runs.get(thread_id)
            if run is None:
                run = self._runs[thread_id] = RunFile(self.folder, thread_id, self._serde)
            self._runs.move_to_end(thread_id)
            run.users += 1
        try:
            yield run
        finally:
            with self._lock:
                run.users -= 1
                self._drop_idle()

    def _drop_idle(self) -> None:
        surplus = len(self._runs) - self._keep
        if surplus > 0:
            idle = [name for name, run in self._runs.items() if run.users == 0 and not run.unsaved]
            for name in idle[:surplus]:
                del self._runs[name]


def _view(memory: InMemorySaver, serde: SerializerProtocol) -> InMemorySaver:
    """Give the same checkpoints with another serializer (LangGraph derives savers with wider allowlists)."""
    if memory.serde is serde:
        return memory
    view = copy.copy(memory)
    view.serde = serde
    return view

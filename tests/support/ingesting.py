"""What the tests of ingesting share: folders of documents, and all that a store holds as plain values."""

import os
import resource
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from loopwright.errors import StoreError
from loopwright.retrieval.stores import open_store
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.workflows.rag.sources import IngestReport, ingest

T = TypeVar("T")


def write(folder: Path, **files: str) -> Path:
    """Write text files; ``__`` in a name stands for the dot before the extension."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


def people(count: int, start: int = 0) -> list[dict[str, Any]]:
    """Records, each with names of its own and with some that all share."""
    return [
        {
            "id": f"p{n}",
            "title": f"Person{n} Sand",
            "date": "2020-05-01",
            "text": f"Person{n} Sand was born in London in {1800 + n % 200}. Person{n} Sand founded Works{n} Group. "
            f"Works{n} Group is located in Oslo. The United Paper Trust (UPT) owns Works{n} Group.",
        }
        for n in range(start, start + count)
    ]


def contents(store: KnowledgeStore) -> dict[str, Any]:
    """Everything that a store holds, as plain values."""
    documents = store.documents()
    passages = [passage for document in documents for passage in store.passages_of(document.id)]
    return {"documents": documents, "passages": passages, "links": store.links(), "stats": store.stats()}


def fresh(paths: list[Path], **options: Any) -> dict[str, Any]:
    """What a store holds after one uninterrupted ingest."""
    with open_store("memory") as store:
        ingest(paths, store, **options)
        return contents(store)


def ingest_into(path: str, sources: list[Path], kill_after: int | None = None, **options: Any) -> IngestReport:
    """Ingest into an SQLite file, and die by SIGKILL after so many steps of progress, if it comes to that."""
    steps = 0

    def step(_: IngestReport) -> None:
        nonlocal steps
        steps += 1
        if steps == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    with open_store(f"sqlite:{path}") as store:
        return ingest(sources, store, on_progress=step, **options)


def in_new_process(function: Callable[..., T], *args: Any, how: str = "spawn", **named: Any) -> T:
    """Call a function of this folder in a process that starts from nothing; `BrokenProcessPool` if that is killed."""
    with ProcessPoolExecutor(1, get_context(how)) as pool:
        return pool.submit(function, *args, **named).result()


def megabytes_to_ingest(folder: str, store: str) -> tuple[int, float]:
    """Documents that were stored, and the most memory of the process in megabytes."""
    with open_store(f"sqlite:{store}") as opened:
        stored = ingest([Path(folder)], opened).stored
    return stored, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ingest_with_little_room(source: str, target: str) -> tuple[str, int]:
    """The error of an ingest that may make files of 300 kB at most, and how many documents it stored."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    with open_store(f"sqlite:{target}") as store:
        try:
            ingest([Path(source)], store, batch=20)
        except StoreError as error:
            return str(error), store.stats().documents
    return "", 0

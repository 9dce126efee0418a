"""Documents over HTTP."""

import asyncio
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, UploadFile
from pydantic import Field

from loopwright.errors import DocumentError, InputError, StoreError
from loopwright.retrieval.stores import KnowledgeStore, open_store
from loopwright.server.context import Context, Here
from loopwright.server.given import WITHOUT_NUL
from loopwright.server.problems import PROBLEM, Problem
from loopwright.server.uploads import shown_name, write_file
from loopwright.workflows.files.source import document_id
from loopwright.workflows.rag.services import Services
from loopwright.workflows.rag.sources import IngestReport, UnreadDocument
from loopwright.workflows.rag.sources import ingest as read_in
from loopwright.workflows.rag.sources.reading.source import FORMATS

router = APIRouter(prefix="/rag", tags=["rag"])

INGESTED: dict[int | str, dict[str, Any]] = {status: PROBLEM for status in (404, 409, 503, 507)}
Tag = Annotated[str, Field(min_length=1, max_length=100, pattern=WITHOUT_NUL)]

_ingesting = asyncio.Lock()
"""Held while documents are read in: one request at a time."""


@router.post("/ingest", operation_id="ingest_documents", responses=INGESTED)
async def ingest(
    context: Here,
    files: Annotated[list[UploadFile], File(description=f"Their names end in {', '.join(sorted(FORMATS))}.")],
    tags: Annotated[list[Tag] | None, Form(description="Labels for all of them.", max_length=20)] = None,
) -> IngestReport:
    """Read documents into the knowledge store; what it has already is skipped, a changed one replaces the old one."""
    services: Services = context.hub.hosted("rag").services
    most = context.settings.ingest_files
    if len(files) > most:
        told = f"{len(files)} documents were sent; at most {most} are taken at once"
        raise Problem(told, "RequestTooLarge", status=413)
    if _ingesting.locked():
        told = "other documents are being read: ask again when they are done"
        raise Problem(told, "Busy", can_retry=True, status=409)
    async with _ingesting:
        kept = _named_places(context, files)
        for (path, _name), file in zip(kept.items(), files, strict=True):
            await _keep(context, path, file)
        return await asyncio.to_thread(_ingested, services, kept, tuple(tags or ()))


def _named_places(context: Context, files: Sequence[UploadFile]) -> dict[Path, str]:
    """Where each document is written -> what the client called it.

    The place depends on the name alone, so that a document that is sent again, changed, takes the place of the old one.
    """
    places: dict[Path, str] = {}
    for file in files:
        name = unicodedata.normalize("NFC", shown_name(file.filename))
        stem, extension = Path(name).stem, Path(name).suffix.lower()
        if extension not in FORMATS:
            raise DocumentError(name, f"its kind is unknown: documents end in {', '.join(sorted(FORMATS))}")
        # The words stay readable, since they become the title where the document has none.
        words = re.sub(r"[\W_]+", "-", stem.lower()).strip("-")[:50] or "document"
        folder = context.settings.data / "documents" / hashlib.sha256(name.encode()).hexdigest()[:16]
        path = folder / (words + extension)
        if path in places:
            raise InputError(f"two documents are called {name!r}: give each a name of its own")
        places[path] = name
    return places


async def _keep(context: Context, path: Path, given: UploadFile) -> None:
    arriving = path.with_name("arriving")
    try:
        await write_file(given, arriving, context.settings.upload_bytes)
        arriving.replace(path)
    finally:
        arriving.unlink(missing_ok=True)


def _ingested(services: Services, kept: dict[Path, str], tags: tuple[str, ...]) -> IngestReport:
    size = services.config.rag.ingest.passage_words
    with _store(services) as store:
        report = read_in(list(kept), store, tags=tags, embedder=services.embedder, size=size, prune=True)
    names = {document_id(path.resolve()): name for path, name in kept.items()}
    problems = [UnreadDocument(_told(each.name, names), _told(each.problem, names)) for each in report.problems]
    return replace(report, problems=problems)


def _store(services: Services) -> AbstractContextManager[KnowledgeStore]:
    # The services open only what is there, and show the sample meanwhile; the first documents make it.
    with suppress(StoreError):
        if not services.shows_sample:
            return nullcontext(services.store)
    return open_store(services.config.rag.store)


def _told(text: str, names: dict[str, str]) -> str:
    """What is said of documents, each as the client calls it, and not by where it lies here."""
    for path, name in names.items():
        text = text.replace(path, name)
    return text

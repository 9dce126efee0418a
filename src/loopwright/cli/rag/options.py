"""The options that several ``rag`` commands share, and what is opened from them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopwright.errors import InputError

if TYPE_CHECKING:
    from loopwright.retrieval.records import Filter
    from loopwright.retrieval.stores.protocol import KnowledgeStore
    from loopwright.workflows.rag import RAGConfig

Store = Annotated[
    str | None,
    typer.Option(
        "--store", "-s", help="Where the knowledge lies: sqlite:FILE or postgres://...; by default rag.store.",
        show_default=False,
    ),
]  # fmt: skip
ConfigFile = Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file.", readable=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Sources = Annotated[
    list[str] | None, typer.Option("--source", help="Only these documents: files, folders or ids.", show_default=False)
]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Only documents with one of these tags.")]
After = Annotated[str | None, typer.Option(help="Only documents of that day or later, as 2024-12-31.")]
Before = Annotated[str | None, typer.Option(help="Only documents from before that day.")]


def load_config(file: Path | None, store: str | None, overrides: dict[str, Any] | None = None) -> RAGConfig:
    """Read the configuration, with the command line's store over it.

    Args:
        file: The file that was named.
        store: The store that was named.
        overrides: Other values by dotted key.
    """
    from loopwright.workflows.rag import RAGConfig

    return RAGConfig.load(file, {**(overrides or {}), **({"rag.store": store} if store else {})})


def opened(config: RAGConfig) -> KnowledgeStore:
    """Open the store, which must be there.

    Args:
        config: Names it.
    """
    from loopwright.retrieval.stores import open_store

    return open_store(config.rag.store, create=False)


def filter_of(
    sources: list[str] | None, tags: list[str] | None = None, after: str | None = None, before: str | None = None
) -> Filter | None:
    """What restricts a search, or None if nothing does.

    Args:
        sources: Files, folders or document ids.
        tags: Tags.
        after: A day.
        before: A day.
    """
    from loopwright.retrieval.records import Filter

    if not (sources or tags or after or before):
        return None
    return Filter(
        documents=tuple(document for source in sources or () for document in documents_named(source)),
        tags=tuple(tags or ()),
        after=_day(after, "--after"),
        before=_day(before, "--before"),
    )


def documents_named(source: str) -> tuple[str, ...]:
    """The document ids, and the beginnings of ids, that a file, a folder or an id stands for.

    Args:
        source: As a person gives it.
    """
    if not source.strip():
        raise InputError("a document's name is empty; `loopwright rag sources` lists them")
    if "://" in source or "#" in source:
        return (source,)
    path = Path(source).expanduser().resolve().as_posix()
    return (path, f"{path}#", f"{path}/")


def check_filter(knowledge: KnowledgeStore, where: Filter | None) -> None:
    """Say so where a filter lets nothing through: every answer would be that the documents do not know.

    Args:
        knowledge: The store.
        where: The filter.

    Raises:
        InputError: If no document matches.
    """
    if where is not None and not knowledge.documents(where, limit=1):
        raise InputError("no document matches the filter; `loopwright rag sources` lists what there is")


def printable(text: str) -> str:
    """A text of a document's for the terminal, without control characters.

    Args:
        text: The text.
    """
    return "".join(character for character in text if character.isprintable() or character in "\n\t")


def _day(text: str | None, option: str) -> datetime | None:
    if text is None:
        return None
    try:
        day = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{option} is {text!r}: give a day as 2024-12-31") from None
    return day if day.tzinfo else day.replace(tzinfo=UTC)

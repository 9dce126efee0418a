"""Small knowledge stores and the workflow over them."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from loopwright.models import ModelRegistry
from loopwright.retrieval.records import Contribution, Evidence
from loopwright.retrieval.stores import open_store
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.workflows.rag import RAGConfig, Services
from loopwright.workflows.rag.sources.ingesting import contribution_of
from loopwright.workflows.rag.sources.reading import ReadDocument

Text = tuple[str, str]
"""Title and text."""

BRIDGES: tuple[Text, ...] = (
    ("Tower Bridge", "Tower Bridge is a bridge in London. It was designed by Horace Jones and opened in 1894."),
    ("Horace Jones", "Horace Jones was an English architect. He was born in London in 1819."),
    ("Forth Bridge", "The Forth Bridge is a railway bridge in Scotland. It was opened in 1890."),
    ("Brooklyn Bridge", "The Brooklyn Bridge crosses the East River in New York City. It was opened in 1883."),
    ("Bread", "Bread is made of flour, water and salt. It is baked in an oven."),
)


def kept(texts: Iterable[Text], path: Path | None = None) -> KnowledgeStore:
    """A real store with one document for each text."""
    store = open_store(f"sqlite:{path}" if path else "memory")
    store.put([contribution(title, text) for title, text in texts])
    return store


def contribution(title: str, text: str) -> Contribution:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return contribution_of(ReadDocument(id=title, title=title, digest=digest, text=text), (), 120)


def passage_of(text: Text) -> Evidence:
    return Evidence(id=f"{text[0]}::0", title=text[0], text=text[1], document_id=text[0])


def rag(
    texts: Sequence[Text] = (),
    *,
    web: str | None = None,
    langgraph: dict[str, Any] | None = None,
    pipeline: dict[str, Any] | None = None,
    store: KnowledgeStore | None = None,
    limits: dict[str, Any] | None = None,
    backoff: dict[str, Any] | None = None,
    timeout: dict[str, Any] | None = None,
    **models: BaseChatModel,
) -> Services:
    """The workflow's services over these texts, with chat models for some nodes and a SearXNG server at `web`."""
    section: dict[str, Any] = {"limits": limits or {}, "backoff": backoff or {}, "timeout": timeout or {}}
    if web:
        section["web"] = {"engine": "searxng", "url": web}
    config = RAGConfig.load(None, {"rag": section, "langgraph": langgraph or {}, "pipeline": pipeline or {}}, {})
    return Services(config, ModelRegistry(models, nodes=RAGConfig.model_nodes), given_store=store or kept(texts))

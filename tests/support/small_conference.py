"""A conference of a few records, written out, to be searched in tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.stores import open_store
from loopwright.retrieval.stores.protocol import KnowledgeStore
from loopwright.retrieval.text import terms
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources.storing import contribution_of, embedded_text

ZONE = timezone(timedelta(hours=1))
DAY = datetime(2031, 5, 3, 9, tzinfo=ZONE)


def session(
    key: str, title: str, abstract: str, *, hour: int = 0, speakers: Sequence[str] = (), **fields: str
) -> Record:
    """A talk of an hour."""
    start = DAY + timedelta(hours=hour)
    own = {name: (value,) for name, value in fields.items()}
    texts = {"title": title, "abstract": abstract, "speakers": ", ".join(speakers)}
    return Record(
        id=f"sessions:{key}",
        table=Table.SESSIONS,
        key=key,
        title=title,
        texts={facet: text for facet, text in texts.items() if text},
        fields={"day": (start.date().isoformat(),), "speaker": tuple(speakers), **own},
        start=start,
        end=start + timedelta(hours=1),
    )


def speaker(key: str, name: str, *talks: str) -> Record:
    """A person who gives talks."""
    texts = {"name": name, "talks": "\n".join(talks)}
    return Record(id=f"speakers:{key}", table=Table.SPEAKERS, key=key, title=name, texts=texts)


def exhibitor(name: str, **texts: str) -> Record:
    """A stand."""
    return Record(id=f"exhibitors:{name}", table=Table.EXHIBITORS, key=name, title=name, texts={"name": name, **texts})


RECORDS = (
    session(
        "1",
        "Bees on the roof",
        "Keeping honey bees in a city: hives, swarms, neighbours, and what the queen does in winter.",
        hour=3,
        speakers=("Søren Kierulf", "Jana Müller"),
        room="Blue",
        track="Animals",
    ),
    session(
        "2",
        "Varroa, the mite in the hive",
        "Honey bees die of mites. Integrated pest management (IPM) keeps hives alive without poison.",
        hour=1,
        speakers=("Łukasz Wójcik",),
        room="Red",
        track="Animals",
    ),
    session("3", "Bread without a mixer", "Long rests make dough strong. We bake a loaf together.", room="Blue"),
    session("4", "Compost that does not smell", "Air, water and patience turn kitchen waste into soil.", hour=2),
    session("5", "Rainwater in barrels", "Collect rain from the roof, and keep mosquitoes out of the barrels.", hour=4),
    session("6", "Opening", "Welcome to all gardeners.", speakers=("Jana Müller",), hour=-1),
    speaker("10", "Søren Kierulf", "Bees on the roof"),
    speaker("11", "Jana Müller", "Bees on the roof", "Opening"),
    speaker("12", "Łukasz Wójcik", "Varroa, the mite in the hive"),
    speaker("13", "Peter Smith", "Bread without a mixer"),
    exhibitor(
        "Hive & Sons",
        description="A family of carpenters.",
        offering="Wooden hives, frames and smokers for honey bees.",
        seeking="Gardens that let us put up hives.",
    ),
    exhibitor("Dough Makers", description="Grain and stone mills.", offering="Flour of old wheat for bread."),
)


def store_of(records: Iterable[Record] = RECORDS) -> KnowledgeStore:
    """A new store in memory that holds records."""
    store = open_store("memory")
    store.put([contribution_of(record) for record in records])
    return store


class ConceptEmbedder:
    """A vector space with an axis for each group of words that mean the same, and 24 more for all others."""

    model = "concepts"

    def __init__(self, *concepts: str) -> None:
        self._axis = {term: axis for axis, words in enumerate(concepts) for term in terms(words)}
        self._concepts = len(concepts)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.full((len(texts), self._concepts + 24), 0.2, np.float32)
        for row, text in enumerate(texts):
            for term in terms(text):
                axis = self._axis.get(term)
                vectors[row, self._concepts + sum(map(ord, term)) % 24 if axis is None else axis] += (
                    0.3 if axis is None else 3.0
                )
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.embed([text])[0]


def embed_into(store: KnowledgeStore, embedder: ConceptEmbedder) -> None:
    """Store the vector of every passage."""
    passages = store.without_vector(embedder.model, 10_000)
    store.put_vectors(
        embedder.model,
        list(zip(passages, embedder.embed([embedded_text(passage) for passage in passages]), strict=True)),
    )

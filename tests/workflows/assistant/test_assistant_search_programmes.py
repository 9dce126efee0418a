"""How well two real programmes of a thousand talks are searched."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import mean

import pytest
from programme_probes import OFF_TOPIC, OTHER_WORDS, TOPICAL
from weights import real

from loopwright.models.embedded.encoder import OnnxEmbedder
from loopwright.retrieval.records import Filter
from loopwright.retrieval.stores import open_store
from loopwright.workflows.assistant.conference.ingesting import embed_all, ingest
from loopwright.workflows.assistant.constants import DEFAULT_THRESHOLD
from loopwright.workflows.assistant.schemas import PlannedQuery, Record, Table
from loopwright.workflows.assistant.searching import Search

FOLDER = Path(__file__).parents[3].parent / "shared" / "data" / "fosdem"
MODEL = "bge-small-en-v1.5"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the programmes are not here"),
]


@pytest.fixture(scope="module", params=[2024, 2025])
def year(request) -> int:
    return request.param


@pytest.fixture(scope="module")
def search(year) -> Iterator[Search]:
    with open_store("memory") as store:
        ingest(store, FOLDER / f"schedule-{year}.xml", exhibitors=FOLDER / "stands.json")
        yield Search(store)


def found(search: Search, text: str, table: Table = Table.SESSIONS, threshold: float = 0.0) -> list[Record]:
    query = PlannedQuery(table=table, query_text=text, score_threshold=threshold)
    return [hit.record for hit in search.run(query).hits]


def recall(search: Search, probes: Iterable[tuple[str, list[str]]], threshold: float = 0.0) -> float:
    """The mean share of the talks that are among the first ten."""
    shares: list[float] = []
    for text, relevant in probes:
        keys = {record.key for record in found(search, text, threshold=threshold)}
        shares.append(len(keys.intersection(relevant)) / min(10, len(relevant)))
    return mean(shares)


def silent(search: Search, table: Table) -> float:
    """The share of the off-topic questions that find nothing."""
    return mean(not found(search, text, table, DEFAULT_THRESHOLD) for text in OFF_TOPIC)


def without_accents(name: str) -> str:
    bare = "".join(letter for letter in unicodedata.normalize("NFD", name) if not unicodedata.combining(letter))
    return bare.translate(str.maketrans("øłđıØŁĐ", "oldiOLD"))


def mistyped(name: str, chance: random.Random) -> str:
    """One letter of the longest word left out, doubled, or swapped with the next."""
    words = name.split()
    place = max(range(len(words)), key=lambda n: len(words[n]))
    word = words[place]
    at = chance.randrange(1, len(word) - 2)
    changed = (
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    )
    words[place] = chance.choice(changed)
    return " ".join(words)


def test_topics_find_their_talks(search, year):
    assert recall(search, TOPICAL[year], DEFAULT_THRESHOLD) >= 0.97


def test_what_is_not_there_is_not_found(search):
    assert silent(search, Table.SESSIONS) >= 0.9 and silent(search, Table.EXHIBITORS) >= 0.9


def test_persons_are_found_as_people_type_them(search):
    chance = random.Random(2)
    people = [each for each in search.catalogue.of_table(Table.SPEAKERS) if max(map(len, each.title.split())) > 5]
    people = chance.sample(people, 100)
    for spelt in (without_accents, lambda name: mistyped(without_accents(name), chance)):
        first = [found(search, spelt(person.title), Table.SPEAKERS, DEFAULT_THRESHOLD)[:1] for person in people]
        assert mean(best == [person] for best, person in zip(first, people, strict=True)) >= 0.97
        talks = [(spelt(person.title), [id.partition(":")[2] for id in person.related]) for person in people]
        assert recall(search, talks, DEFAULT_THRESHOLD) >= 0.97


@pytest.mark.timeout(900)
def test_other_words_find_the_talks_by_meaning(search, year):
    weights = real(MODEL)
    relevant = {key for _, keys in (*OTHER_WORDS[year], *TOPICAL[year]) for key in keys}
    sessions = search.catalogue.of_table(Table.SESSIONS)
    # A part of the programme: vectors of the whole take minutes.
    kept = [each for place, each in enumerate(sessions) if each.key in relevant or place % 8 == 0]
    with open_store("memory") as store:
        ingest(store, FOLDER / f"schedule-{year}.xml")
        others = {each.id for each in store.documents(Filter(tags=tuple(Table)))} - {each.id for each in kept}
        store.delete(sorted(others))
        embedder = OnnxEmbedder(weights)
        embed_all(store, embedder)
        meaning = Search(store, embedder)
        assert recall(meaning, TOPICAL[year], DEFAULT_THRESHOLD) >= 0.97
        assert recall(meaning, OTHER_WORDS[year]) >= recall(search, OTHER_WORDS[year]) + 0.3
        assert silent(meaning, Table.SESSIONS) >= 0.85

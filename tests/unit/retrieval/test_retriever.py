"""Passages that answer together: every search, the names in texts, and the links between passages."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from embedders import WordEmbedder
from store_contract import contribution

from loopwright.retrieval.links import TITLE_WEIGHT, PassageLinks
from loopwright.retrieval.names import entity_key, find_mentions
from loopwright.retrieval.records import Contribution, Filter
from loopwright.retrieval.retriever import Retriever, choose_evidence
from loopwright.retrieval.stores import KnowledgeStore, open_store

TEXTS = {
    "Adrift": "Adrift is a 1993 television film directed by Christian Duguay.",
    "Christian Duguay": "Christian Duguay was born in the town of Montreal and studied there.",
    "Film festival": "A film festival shows film after film: every film director directed a film.",
    "Bread": "Bread is baked from flour in a hot oven.",
    "Oven": "An oven is hot inside.",
}


def about(title: str, text: str, number: int = 0) -> Contribution:
    date = datetime(2020 + number, 1, 1, tzinfo=UTC)
    tags = ("kitchen",) if title in ("Bread", "Oven") else ("culture",)
    return contribution(title, text, title=title, date=date, tags=tags, names=names(text, title))


def titles(retriever: Retriever, query: str, k: int = 5, where: Filter | None = None) -> list[str]:
    found = retriever.retrieve(query, k, where=where)
    assert found == sorted(found, key=lambda each: -each.score)
    return [each.title for each in found]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KnowledgeStore]:
    with open_store(f"sqlite:{tmp_path / 'kb.sqlite'}") as opened:
        opened.put([about(title, text, n) for n, (title, text) in enumerate(TEXTS.items())])
        yield opened


@pytest.mark.parametrize(
    ("where", "allowed"),
    [
        (Filter(tags=("kitchen",)), {"Bread", "Oven"}), (Filter(documents=("Christian Duguay",)), {"Christian Duguay"}),
        (Filter(after=datetime(2024, 1, 1, tzinfo=UTC)), {"Oven"}), (Filter(tags=("nothing",)), set()),
    ],
)  # fmt: skip
def test_filters_restrict_every_signal(store: KnowledgeStore, where: Filter, allowed: set[str]) -> None:
    embedder = WordEmbedder()
    passages = store.passages([f"{title}::0" for title in TEXTS])
    store.put_vectors(embedder.model, [(passage, embedder.embed([passage.text])[0]) for passage in passages])
    retriever = Retriever(store, embedder=embedder)
    for query in ("Where was the director of Adrift born?", "hot oven bread film Christian Duguay"):
        assert set(titles(retriever, query, 5, where)) <= allowed
    if allowed:
        assert titles(retriever, "hot oven bread film Christian Duguay", 5, where)


def test_a_change_of_the_store_is_seen(store: KnowledgeStore) -> None:
    retriever = Retriever(store)
    assert "Zebra" not in titles(retriever, "striped zebra")
    store.put([about("Zebra", "A zebra is striped.")])
    assert not retriever.lexicon.knows("zebra")  # what was found is read with the weights that it was found with
    assert titles(retriever, "striped zebra")[0] == "Zebra" and retriever.lexicon.knows("zebra")
    store.delete(["Zebra"])
    assert "Zebra" not in titles(retriever, "striped zebra")
    store.delete([*TEXTS])
    assert retriever.retrieve("anything") == []


def test_a_title_with_two_articles_is_named_by_a_question(store: KnowledgeStore) -> None:
    title = "The A to Z of Gardening"
    store.put([about(title, "Its author is Ada Green.")])
    assert titles(Retriever(store), f"Who wrote {title}?")[0] == title
    with store._database.writing() as connection:  # as earlier versions kept it
        connection.exec_driver_sql(f"UPDATE passage SET title_key = 'a to z of gardening' WHERE title = '{title}'")
    assert titles(Retriever(store), f"Who wrote {title}?")[0] == title


def test_an_embedder_finds_what_no_word_does_once_there_are_vectors(store: KnowledgeStore, caplog) -> None:
    embedder = WordEmbedder()
    retriever = Retriever(store, embedder=embedder)
    assert titles(retriever, "xyzzy") == titles(retriever, "xyzzy") == []
    assert caplog.text.count("no passage has a vector of words, only words find them: ingest again") == 1
    oven, bread = store.passages(["Oven::0", "Bread::0"])
    store.put_vectors(embedder.model, [(oven, embedder.embed(["xyzzy"])[0]), (bread, embedder.embed(["qwert"])[0])])
    assert titles(retriever, "xyzzy", 1) == ["Oven"]


def test_evidence_prefers_what_is_not_covered_yet() -> None:
    coverage = np.array([[3, 3, 0], [0, 0, 2]], np.float32)
    nothing = np.zeros(3, np.float32)
    order = [place for place, _ in choose_evidence(coverage, nothing, lambda _: nothing, 3)]
    assert order == [0, 2, 1]
    linked = [place for place, _ in choose_evidence(coverage, nothing, lambda _: np.array([0, 9, 0], np.float32), 3)]
    assert linked == [0, 1, 2]


def test_links_are_the_weightiest_shared_entity_and_more_for_a_title() -> None:
    # d stands alone.
    named = [("a", "", ["x"]), ("b", "y", ["x"]), ("c", "", ["y"]), ("d", "", []), ("e", "", ["z"])]
    links_of = PassageLinks(named).links_among([1, 0, 2, 3])
    weight = float(np.log(5 / 3))
    assert links_of(0) == pytest.approx([0, weight, weight * TITLE_WEIGHT, 0])
    assert links_of(3) == pytest.approx([0, 0, 0, 0])


def names(text: str, title: str = "", known: tuple[str, ...] = ()) -> list[str]:
    return [text[start:end] for start, end in find_mentions(text, title=title, known=known)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Oberoi Group", "oberoi group"), ("The A to Z of Gardening", "A to Z of Gardening"),
        ("Beyoncé", "BEYONCE"), ("Curie's", "Curie"), ("Mercury (planet)", "Mercury"),
        ("Simon &amp; Simon", "Simon & Simon"), ("St. Louis", "St Louis"), ("《红楼梦》", "红楼梦"), ("Ｇｏｏｇｌｅ", "Google"),
    ],
)  # fmt: skip
def test_spellings_of_one_name_have_one_key(one: str, other: str) -> None:
    assert entity_key(one) == entity_key(other) != ""


def test_quoted_titles_and_unspaced_scripts() -> None:
    assert names('He wrote "The art of war" for "us".') == ["The art of war"]
    assert names("《红楼梦》是曹雪芹的小说, 由 Google 出版", title="曹雪芹") == ["红楼梦", "曹雪芹", "Google"]
    assert names("แม่น้ำ “กรุงเทพ” กับ IBM") == ["กรุงเทพ", "IBM"]
    assert names("ฉันอยู่กรุงเทพนานแล้ว", title="กรุงเทพ") == ["กรุงเทพ"]


def test_places_are_those_in_the_text() -> None:
    text = "“Homer's Odyssey” was seen by Marie Curie's friend in São Paulo; 他读《红楼梦》。"
    found = find_mentions(text)
    assert len(found) >= 5 and len({*found}) == len(found)
    assert "Marie Curie" in names(text) and text[slice(*found[-1])] == "红楼梦"

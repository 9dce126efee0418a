"""What every knowledge store does, as tests to inherit."""

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypeAlias

import numpy as np
import pytest

from loopwright.errors import StoreError
from loopwright.retrieval.names import entity_key
from loopwright.retrieval.records import Contribution, Document, Filter, Passage, StoreStats
from loopwright.retrieval.stores.store import KnowledgeStore

Open: TypeAlias = Callable[[], KnowledgeStore]


def contribution(
    id: str,
    *texts: str,
    title: str = "",
    heading: str = "",
    digest: str = "",
    date: datetime | None = None,
    tags: Sequence[str] = (),
    kept: str = "",
    names: Sequence[str] = (),
) -> Contribution:
    """A document with a passage for each text; names stand in its first passage."""
    passages = tuple(
        Passage(id=f"{id}::{place}", document_id=id, text=text, title=title, heading=heading, end=len(text))
        for place, text in enumerate(texts)
    )
    document = Document(id=id, title=title, digest=digest or repr(texts), date=date, tags=tuple(tags), kept=kept)
    entities = {f"{id}::0": tuple(map(entity_key, names))} if names else {}
    return Contribution(document=document, passages=passages, entities=entities)


class StoreContract:
    """The tests; a class that inherits them gives what opens its store, empty at first, in the fixture ``open``."""

    shared: bool = True
    """Whether several handles can be open on one store."""

    @pytest.fixture
    def store(self, open: Open) -> Iterator[KnowledgeStore]:
        with open() as store:
            yield store

    @pytest.fixture
    def other(self, store: KnowledgeStore, open: Open) -> Iterator[KnowledgeStore]:
        if not self.shared:
            pytest.skip("this store cannot be opened twice")
        with open() as other:
            yield other

    def test_documents_and_passages_come_back_as_they_were(self, store: KnowledgeStore) -> None:
        """Round trip of every field; a date comes back as the same moment."""
        moment = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=timezone(timedelta(hours=7)))
        texts, tags = ("one", "two\n\"'%_\\"), ("b", "a")
        given = contribution("/ไทย/资料 ü.md", *texts, title="T", heading="H", date=moment, tags=tags, kept="ห้อง")
        store.put([given])
        assert store.documents() == [given.document]
        assert store.passages_of("/ไทย/资料 ü.md") == list(given.passages)
        assert store.passages([given.passages[1].id, "none", given.passages[0].id]) == [*given.passages[::-1]]
        assert isinstance(store, KnowledgeStore)

    def test_a_document_is_replaced_whole_and_deleted_whole(self, store: KnowledgeStore) -> None:
        """What only it brought goes; what another document brings too stays."""
        store.put([contribution("a", "old words", "more", names=["Ada", "Bob"])])
        store.put([contribution("b", "other", names=["Ada"])])
        _put_vectors(store, "m", {"a::0": _vector(1, 0), "b::0": _vector(0, 1)})
        store.put([contribution("a", "new", names=["Cy"], digest="2")])
        assert store.digests() == {"a": "2", "b": repr(("other",))}
        assert store.digests(["a", "none"]) == {"a": "2"}
        assert store.search_text("old words", 5) == []
        assert store.links() == [("a::0", "", ["cy"]), ("b::0", "", ["ada"])]
        assert store.stats() == StoreStats(documents=2, passages=2, entities=2, vectors=1)
        assert store.delete(["a", "none"]) == 1
        assert store.delete(["a"]) == 0
        assert [document.id for document in store.documents()] == ["b"]

    def test_a_put_is_all_or_nothing(self, store: KnowledgeStore) -> None:
        store.put([contribution("a", "first")])
        good, wrong = contribution("b", "second"), contribution("c", "third")
        before = store.revision()
        nowhere = Contribution(document=wrong.document, passages=wrong.passages, entities={"nowhere::0": ("x",)})
        foreign = Contribution(document=wrong.document, passages=contribution("d", "fourth").passages)
        for bad, stray in ((nowhere, "nowhere::0"), (foreign, "d::0")):
            with pytest.raises(StoreError, match=f"'c' comes with '{stray}'"):
                store.put([good, bad])
        assert list(store.digests()) == ["a"]
        assert store.revision() == before

    def test_many_documents_in_one_put(self, store: KnowledgeStore) -> None:
        """Hundreds at once; of two with one id the later counts."""
        many = [contribution(f"d{number:04}", f"word{number} common") for number in range(400)]
        store.put([*many, contribution("d0007", "the later one")])
        assert store.stats().documents == 400
        assert [passage.text for passage in store.passages_of("d0007")] == ["the later one"]
        assert [document.id for document in store.documents(limit=2)] == ["d0000", "d0001"]
        assert [hit.passage_id for hit in store.search_text("word312", 3)] == ["d0312::0"]
        assert store.delete([f"d{number:04}" for number in range(400)]) == 400
        assert store.search_text("common", 3) == []

    def test_filters(self, store: KnowledgeStore) -> None:
        """By document, folder, tag and date, in every search, before the best are taken."""
        noon_east = datetime(2024, 1, 2, 7, tzinfo=timezone(timedelta(hours=7)))
        store.put(
            [
                contribution("/a/x", "word", date=datetime(2024, 1, 1, tzinfo=UTC), tags=("red",)),
                contribution("/a/y#1", "word", date=noon_east),
                contribution("/a/y#2", "word", date=datetime(2024, 1, 3, tzinfo=UTC)),
                contribution("/b%/x", "word", tags=("red", "blue")),
                contribution("/bc/x", "word", tags=("100%",)),
                *(contribution(f"~{number}", "word word word") for number in range(30)),
            ]
        )
        _put_vectors(store, "m", {f"{id}::0": _vector(1, 0.01) for id in store.digests()})
        for where, expected in (
            (Filter(documents=("/a/x",)), ["/a/x"]),
            (Filter(documents=("/a/",)), ["/a/x", "/a/y#1", "/a/y#2"]),
            (Filter(documents=("/a/y#", "/b%/x")), ["/a/y#1", "/a/y#2", "/b%/x"]),
            (Filter(documents=("/b%/",)), ["/b%/x"]),
            (Filter(documents=("/_/", "/a")), []),
            (Filter(tags=("red", "none")), ["/a/x", "/b%/x"]),
            (Filter(tags=("100%",)), ["/bc/x"]),
            (Filter(after=datetime(2024, 1, 2, tzinfo=UTC)), ["/a/y#1", "/a/y#2"]),
            (Filter(before=datetime(2024, 1, 2, tzinfo=UTC)), ["/a/x"]),
            (Filter(tags=("red",), documents=("/b%/",)), ["/b%/x"]),
        ):
            passages = [f"{id}::0" for id in expected]
            assert [document.id for document in store.documents(where)] == expected, where
            assert [hit.passage_id for hit in store.search_text("word", 5, where)] == passages, where
            found = store.search_vector(_vector(1, 0), 5, where, model="m")
            assert [hit.passage_id for hit in found] == passages, where
        assert len(store.search_text("word", 99, Filter())) == len(store.documents(Filter())) == 35

    def test_text_search(self, store: KnowledgeStore) -> None:
        """Accents, scripts without spaces, single letters, and queries of stop words only."""
        store.put(
            [
                contribution("cafe", "Crème brûlée with vitamin B"), contribution("thai", "ภาษาโปรแกรมคอมพิวเตอร์"),
                contribution("chinese", "研究量子计算的人"), contribution("vitamin", "Vitamin C"),
                contribution("letter", "Let x equal y"), contribution("hamlet", "To be, or not to be"),
                contribution("rocket", "They launched rockets"), contribution("street", "STRASSE"),
            ]
        )  # fmt: skip
        for query, expected in (
            ("crème brûlée", ["cafe"]), ("CREME BRULEE", ["cafe"]), ("ใครเขียนโปรแกรม", ["thai"]),
            ("谁研究量子计算？", ["chinese"]), ("vitamin C", ["vitamin", "cafe"]), ("x", ["letter"]),
            ("to be or not to be", ["hamlet"]), ("launching a rocket", ["rocket"]), ("straße", ["street"]),
            ("nothing of this kind 火星", []), ("", []), ("?!", []),
        ):  # fmt: skip
            assert [hit.passage_id for hit in store.search_text(query, 5)] == [f"{id}::0" for id in expected], query

    def test_operators_in_a_query_are_words(self, store: KnowledgeStore) -> None:
        """Nothing in a query is an operator, and nothing fails."""
        store.put([contribution("a", "a kite")])
        for query in (
            '"', 'kite"', "kite AND", "kite OR NOT (", "NEAR(kite, 5)", "kite*", "^kite", "title:kite", "-kite",
            "kite;--", "'",
        ):  # fmt: skip
            found = [hit.passage_id for hit in store.search_text(query, 5)]
            assert found == (["a::0"] if "kite" in query else []), query

    def test_text_search_ranks_as_bm25_does(self, store: KnowledgeStore) -> None:
        """Any word will do; rare ones count more, as do several, a title, and a short passage."""
        store.put([contribution(f"~{number}", "common words of no use") for number in range(30)])
        store.put(
            [
                contribution("title", "something else of some length", title="kite"),
                contribution("short", "a kite and string"),
                contribution("long", f"a kite {'among many others ' * 20}"),
                contribution("both", "kite and loom of common make"),
            ]
        )
        assert [hit.passage_id for hit in store.search_text("kite loom", 1)] == ["both::0"]
        found = [hit.passage_id for hit in store.search_text("kite", 9)]
        assert sorted(found) == ["both::0", "long::0", "short::0", "title::0"]
        assert found[0] == "title::0" and found.index("short::0") < found.index("long::0")
        assert {hit.passage_id for hit in store.search_text("common kite", 4)} == {*found}

    def test_passages_are_told_apart_by_words_that_all_have(self, store: KnowledgeStore) -> None:
        """Then every score is close to 0."""
        more = [f"w{number}" for number in range(305)]
        store.put([contribution(f"{9 - number}", " ".join(["common", *more[: 300 + number]])) for number in range(5)])
        found = store.search_text("common", 5)
        assert [hit.passage_id for hit in found] == [f"{9 - number}::0" for number in range(5)]
        assert len({hit.score for hit in found}) == 5

    def test_equal_passages_come_by_id(self, store: KnowledgeStore) -> None:
        """Also where the best k end among them."""
        ids = [f"{number:03}" for number in np.random.default_rng(3).permutation(100)]
        store.put([contribution(id, "same words") for id in ids])
        _put_vectors(store, "m", {f"{id}::0": _vector(3, 4) for id in ids})
        expected = [f"{number:03}::0" for number in range(7)]
        assert [hit.passage_id for hit in store.search_text("same", 7)] == expected
        assert [hit.passage_id for hit in store.search_vector(_vector(1, 1), 7, model="m")] == expected
        assert store.search_text("same", 0) == store.search_vector(_vector(1, 1), 0, model="m") == []

    def test_vector_search(self, store: KnowledgeStore) -> None:
        """By cosine, for each model alone, whatever the length; replaced vectors count anew."""
        store.put([contribution("a", "1", "2", "3"), contribution("b", "4")])
        assert [passage.id for passage in store.without_vector("m", 3)] == ["a::0", "a::1", "a::2"]
        _put_vectors(store, "m", {"a::0": _vector(5, 0), "a::1": _vector(1, 1), "gone::0": _vector(1, 2)})
        _put_vectors(store, "n", {"a::2": _vector(1, 0, 0)})
        assert [store.has_vectors(model) for model in "mno"] == [True, True, False]
        assert [passage.id for passage in store.without_vector("m", 9)] == ["a::2", "b::0"]
        found = store.search_vector(_vector(2, 0), 9, model="m")
        assert [hit.passage_id for hit in found] == ["a::0", "a::1"]
        assert [hit.score for hit in found] == pytest.approx([1, math.sqrt(0.5)], abs=1e-3)
        _put_vectors(store, "m", {"a::0": _vector(0, 1), "b::0": _vector(-1, 0), "a::2": _vector(0, 0)})
        assert [hit.passage_id for hit in store.search_vector(_vector(2, 0), 9, model="m")][::3] == ["a::1", "b::0"]
        assert store.without_vector("m", 9) == []
        assert [hit.passage_id for hit in store.search_vector(_vector(1, 0, 0), 9, model="n")] == ["a::2"]
        assert store.search_vector(_vector(1, 0), 9, model="unknown") == []
        store.delete(["a"])
        store.put([contribution("c", "5")])
        assert [hit.passage_id for hit in store.search_vector(_vector(2, 0), 9, model="m")] == ["b::0"]
        assert [passage.id for passage in store.without_vector("m", 9)] == ["c::0"]

    def test_a_vector_of_another_text_is_not_stored(self, store: KnowledgeStore) -> None:
        """A document may be replaced while its old passages are embedded."""
        store.put([contribution("a", "old", "same"), contribution("b", "gone")])
        embedded = store.without_vector("m", 9)
        store.put([contribution("a", "new", "same")])
        store.delete(["b"])
        store.put_vectors("m", [(passage, _vector(1, 0)) for passage in embedded])
        assert [passage.text for passage in store.without_vector("m", 9)] == ["new"]
        assert [hit.passage_id for hit in store.search_vector(_vector(1, 0), 9, model="m")] == ["a::1"]

    @pytest.mark.parametrize("wrong", [[1.0, 2.0, 3.0], [math.nan, 1.0], []])
    def test_wrong_vectors_are_refused(self, store: KnowledgeStore, wrong: list[float]) -> None:
        """Of another shape than the model's others, or not finite."""
        store.put([contribution("a", "1", "2")])
        _put_vectors(store, "m", {"a::0": _vector(1, 0)})
        with pytest.raises(StoreError):
            _put_vectors(store, "m", {"a::1": _vector(*wrong)})
        with pytest.raises(StoreError):
            store.search_vector(_vector(*wrong), 3, model="m")
        assert store.stats().vectors == 1

    @pytest.mark.parametrize("sign", ["\x00", "\ud800"])
    def test_signs_that_no_store_keeps_are_replaced(self, store: KnowledgeStore, sign: str) -> None:
        """NUL and lone surrogates become U+FFFD, in what is stored and in what is asked, and harm nothing after."""
        bad, good = f"x{sign}y", "x\ufffdy"
        marred = contribution(bad, f"word {bad}", title=bad, tags=(bad,), kept=bad, names=[bad])
        store.put([marred, contribution("b", "word")])
        for text in (bad, good):
            assert list(store.digests([text])) == [good]
            assert [passage.text for passage in store.passages([f"{text}::0"])] == [f"word {good}"]
            assert [passage.id for passage in store.passages_of(text)] == [f"{good}::0"]
            where = Filter(documents=(text,), tags=(text,))
            assert [document.title for document in store.documents(where)] == [good]
            assert [hit.passage_id for hit in store.search_text(f"word {text}", 1, where)] == [f"{good}::0"]
            assert store.search_vector(_vector(1, 0), 1, model=text) == []
        assert store.delete([bad]) == 1
        assert list(store.digests()) == ["b"]

    def test_long_names_and_tags(self, store: KnowledgeStore) -> None:
        """Names, tags and values of any length are told apart, also where they begin alike; ids have a limit."""
        longs = [f"{_noise(20_000)} {end}" for end in ("one", "two")]
        for id, long in zip("ab", longs, strict=True):
            store.put([contribution(id, "word", title=long, tags=(long,), kept=long, names=[long])])
        for id, long in zip("ab", longs, strict=True):
            (document,) = store.documents(Filter(tags=(long,)))
            assert (document.id, document.tags) == (id, (long,))
        assert store.stats().entities == len({key for _, _, keys in store.links() for key in keys}) == 2
        longest = "/" + _noise(1_999)
        store.put([contribution(longest, "word")])
        assert list(store.digests([longest])) == [longest]
        with pytest.raises(StoreError, match="id of a document has 2001 bytes"):
            store.put([contribution("d", "word"), contribution(f"{longest}x", "word")])
        assert store.digests(["d"]) == {}

    def test_links(self, store: KnowledgeStore) -> None:
        """Each entity once for a passage, whatever its title names."""
        store.put([contribution("b", "x", "y", title="The Moon", names=["Agency", "Moon", "Agency"])])
        store.put([contribution("a", "z")])
        assert store.links() == [("a::0", "", []), ("b::0", "moon", ["agency", "moon"]), ("b::1", "moon", [])]

    def test_two_handles_see_each_others_changes(self, store: KnowledgeStore, other: KnowledgeStore) -> None:
        """The revision grows with every change of documents, and stands still without one."""
        seen = [other.revision()]
        changes: list[Callable[[], Any]] = [
            lambda: store.put([contribution("a", "word"), contribution("b", "word")]),
            lambda: _put_vectors(store, "m", {"a::0": _vector(1, 0), "b::0": _vector(0, 1)}),
            lambda: _put_vectors(store, "m", {"a::0": _vector(0, 1), "b::0": _vector(1, 0)}),
            lambda: store.delete(["a"]),
        ]
        for change in changes:
            change()
            seen.append(other.revision())
            assert other.revision() == seen[-1]
            passages = [hit.passage_id for hit in store.search_vector(_vector(1, 0), 9, model="m")]
            assert [hit.passage_id for hit in other.search_vector(_vector(1, 0), 9, model="m")] == passages
        assert seen[0] < seen[1] == seen[2] == seen[3] < seen[4]
        assert [hit.passage_id for hit in other.search_text("word", 3)] == ["b::0"]
        before = store.revision()
        store.put([])
        store.delete(["none"])
        assert store.revision() == before

    def test_threads_read_while_one_writes(self, store: KnowledgeStore) -> None:
        """Every reader sees whole documents only."""
        written = threading.Event()

        def read() -> None:
            while not written.is_set():
                stats = store.stats()
                assert stats.passages == 2 * stats.documents, "half a document"
                store.search_text("word", 5)
                store.search_vector(_vector(1, 0), 5, model="m")

        with ThreadPoolExecutor(4) as threads:
            readers = [threads.submit(read) for _ in range(4)]
            try:
                for number in range(10):
                    store.put([contribution(f"d{number}", "word one", "word two")])
                    _put_vectors(store, "m", {f"d{number}::0": _vector(1, number)})
            finally:
                written.set()
        assert [reader.result() for reader in readers] == [None] * 4
        assert len(store.search_vector(_vector(1, 0), 99, model="m")) == 10

    def test_closing_twice_is_harmless_and_using_it_then_is_an_error(self, open: Open) -> None:
        store = open()
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.search_text("word", 1)


def _vector(*values: float) -> Any:
    return np.array(values, np.float32)


def _put_vectors(store: KnowledgeStore, model: str, vectors: Mapping[str, Any]) -> None:
    store.put_vectors(model, [(passage, vectors[passage.id]) for passage in store.passages(list(vectors))])


def _noise(length: int) -> str:
    # PostgreSQL packs what repeats before it is indexed.
    return "".join(np.random.default_rng(5).choice(list("abcdefghijklmnopqrstuvwxyz0123456789"), length))

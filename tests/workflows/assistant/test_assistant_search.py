"""Searching a conference: what is found, in which order, with which score, and what is only near."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_conference import DAY, RECORDS, ConceptEmbedder, embed_into, session, store_of

from loopwright.workflows.assistant.constants import DEFAULT_THRESHOLD
from loopwright.workflows.assistant.schemas import Filters, PlannedQuery, Profile, SearchOutcome, Table
from loopwright.workflows.assistant.searching import Search, merge


@pytest.fixture(scope="module")
def search():
    with store_of() as store:
        yield Search(store)


WORDS = (
    "knots sails clay iron songs maps chess stars rivers bridges trains ink wool salt bells kites masks clocks".split()
)
OTHERS = tuple(session(f"o{n}", word.title(), f"{word[::-1]} {word[1:]} {word[:3]}") for n, word in enumerate(WORDS))


def run(
    search: Search, text: str, table: Table = Table.SESSIONS, profile: Profile | None = None, **more: Any
) -> SearchOutcome:
    return search.run(PlannedQuery(table=table, query_text=text, **more), profile)


def keys(outcome: SearchOutcome) -> list[str]:
    return [found.record.key for found in outcome.hits]


@pytest.mark.parametrize("mode", ["master", "faceted"])
def test_a_topic_finds_its_talks_and_nothing_else(search, mode):
    outcome = run(search, "honey bees", search_mode=mode)
    assert set(keys(outcome)) == {"1", "2"}
    assert outcome.total == 2
    assert outcome.hits[0].score > outcome.hits[1].score >= DEFAULT_THRESHOLD
    assert outcome.hits[0].terms == ("honey", "bees")
    assert next(iter(outcome.hits[0].matched)) in ("title", "abstract")


@pytest.mark.parametrize("mode", ["master", "faceted"])
def test_what_the_conference_does_not_have_stays_below_the_threshold(search, mode):
    for text in ("quantum computing", "hotel near the airport", "winter tyres", "neighbours of Rome", "???"):
        outcome = run(search, text, search_mode=mode)
        assert outcome.hits == () and outcome.total == 0, text
        assert all(0 < found.score < DEFAULT_THRESHOLD for found in outcome.near_misses)


def test_near_misses_are_the_best_of_the_rest(search):
    strict = run(search, "roof", score_threshold=1.0)
    assert strict.hits == () and {found.record.key for found in strict.near_misses} == {"1", "5"}
    assert [found.score for found in strict.near_misses] == sorted(
        (found.score for found in strict.near_misses), reverse=True
    )
    short = run(search, "honey bees", limit=1)
    assert keys(short) == ["1"] and short.total == 2
    assert "2" not in [found.record.key for found in short.near_misses]


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("Søren Kierulf", "10"),
        ("soren kierulf", "10"),
        ("Soren Kirulf", "10"),
        ("Jana Muller", "11"),
        ("jana mueller", "11"),
        ("Lukasz Wojcik", "12"),
        ("Lukasz Wojick", "12"),
        ("WÓJCIK", "12"),
        ("Petr Smith", "13"),
    ],
)
def test_persons_are_found_without_accents_and_with_a_typing_mistake(search, typed, key):
    assert keys(run(search, typed, Table.SPEAKERS))[:1] == [key]


def test_a_person_finds_the_talks_that_they_give_even_together_with_others(search):
    assert set(keys(run(search, "Jana Müller"))) == {"1", "6"}


def test_an_acronym_and_its_long_name_find_each_other(search):
    assert "2" in keys(run(search, "IPM"))
    records = (*RECORDS, session("7", "IPM in practice", "Traps and patience."))
    with store_of(records) as store:
        assert "7" in keys(run(Search(store), "integrated pest management"))


def test_words_written_as_one_or_as_two_are_the_same(search):
    assert keys(run(search, "rain water")) == keys(run(search, "rainwater")) == ["5"]


def test_an_empty_text_takes_all_that_pass_in_order_of_time(search):
    outcome = run(search, "", filters=Filters(rooms=("Blue",)))
    assert keys(outcome) == ["3", "1"]
    assert [found.score for found in outcome.hits] == [1.0, 1.0]
    everything = run(search, " ", limit=3)
    assert keys(everything) == ["6", "3", "2"] and everything.total == 6


def test_filters_restrict_what_a_topic_finds(search):
    assert keys(run(search, "honey bees", filters=Filters(rooms=("Red",)))) == ["2"]
    assert keys(run(search, "honey bees", filters=Filters(after=DAY + timedelta(hours=2)))) == ["1"]
    assert run(search, "honey bees", filters=Filters(rooms=("Green",))) == SearchOutcome(
        query=PlannedQuery(table=Table.SESSIONS, query_text="honey bees", filters=Filters(rooms=("Green",)))
    )


def test_equal_scores_come_in_order_of_time():
    records = [session(str(n), "Weeding", "Pull them out.", hour=hour) for n, hour in enumerate((5, 1, 3))]
    with store_of(records) as store:
        assert keys(run(Search(store), "weeding")) == ["1", "2", "0"]


def test_a_faceted_search_pairs_what_one_seeks_with_what_the_other_offers(search):
    buyer = Profile(user_id="a", seeking=("a wooden hive", "stone ovens"))
    gardener = Profile(user_id="b", offering=("gardens",))
    baker = Profile(user_id="c", seeking=("flour for bread",))
    for person, wanted in ((buyer, "Hive & Sons"), (gardener, "Hive & Sons"), (baker, "Dough Makers")):
        outcome = run(search, "", Table.EXHIBITORS, search_mode="faceted", profile=person)
        assert keys(outcome) == [wanted]
    assert len(run(search, "", Table.EXHIBITORS, search_mode="master", profile=buyer).hits) == 2


def test_a_profile_raises_what_suits_but_brings_in_nothing_off_topic(search):
    keeper = Profile(user_id="a", interests=("mites and poison",))
    plain = run(search, "honey bees", search_mode="faceted")
    personal = run(search, "honey bees", search_mode="faceted", profile=keeper)
    assert set(keys(personal)) == set(keys(plain))
    score_of = {found.record.key: found.score for found in plain.hits}
    raised = {found.record.key: found.score for found in personal.hits}
    assert raised["2"] > score_of["2"] and raised["1"] == score_of["1"]
    assert run(search, "honey bees", profile=keeper) == run(search, "honey bees")


def test_another_ingest_is_seen_at_once():
    with store_of() as store:
        search = Search(store)
        assert run(search, "pruning apple trees").hits == ()
        before = search.vocabulary
        more = store_of([session("8", "Pruning apple trees", "When and how to cut.")])
        store.put([_again(more, "sessions:8")])
        assert keys(run(search, "pruning apple trees")) == ["8"]
        assert search.vocabulary is not before and search.vocabulary.frequency("apple") == 1


def _again(store, document_id):
    from loopwright.retrieval.records import Contribution, Filter

    document = store.documents(Filter(documents=(document_id,)))[0]
    return Contribution(document=document, passages=tuple(store.passages_of(document_id)))


def test_an_empty_conference_has_nothing():
    with store_of([]) as store:
        for mode in ("master", "faceted"):
            assert run(Search(store), "bees", search_mode=mode).hits == ()
        assert run(Search(store), "").total == 0


def test_many_threads_get_the_same(search):
    texts = ["honey bees", "bread", "compost", "Jana Muller", "roof"] * 8
    with store_of() as store, ThreadPoolExecutor(8) as pool:
        fresh = Search(store)
        assert list(pool.map(lambda text: run(fresh, text), texts)) == [run(search, text) for text in texts]


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=80), mode=st.sampled_from(["master", "faceted"]), table=st.sampled_from(list(Table)))
def test_any_text_gives_scores_in_bounds_in_order(search, text, mode, table):
    outcome = run(search, text, table, search_mode=mode)
    scores = [found.score for found in (*outcome.hits, *outcome.near_misses)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len(outcome.hits) == min(outcome.total, 10)


def test_a_very_long_text_is_searched_by_its_beginning(search):
    assert "1" in keys(run(search, "honey bees " + "bees honey " * 50_000))


@pytest.fixture(scope="module")
def embedder():
    return ConceptEmbedder("apiary insects bees honey", "loaf bread dough pastry", "soil compost", "rain water")


@pytest.fixture(scope="module")
def meaning(embedder):
    with store_of((*RECORDS, *OTHERS)) as store:
        embed_into(store, embedder)
        yield Search(store, embedder)


@pytest.mark.parametrize(("text", "key"), [("apiary", "1"), ("insects", "1"), ("pastry", "3")])
def test_other_words_find_what_words_alone_do_not(search, meaning, text, key):
    assert run(search, text).hits == ()
    assert key in keys(run(meaning, text))[:2]


def test_what_the_conference_does_not_have_stays_below(meaning):
    assert run(meaning, "quantum gravity seen from a hotel near the airport").hits == ()


def test_a_record_far_from_the_question_is_scored_within_a_filter_too(meaning):
    blue = Filters(rooms=("Blue",))
    outcome = run(meaning, "pastry", filters=blue, score_threshold=0.0, limit=50)
    everywhere = run(meaning, "pastry", score_threshold=0.0, limit=50)
    scores = {found.record.key: found.score for found in everywhere.hits}
    assert {found.record.key: found.score for found in outcome.hits} == {key: scores[key] for key in ("1", "3")}


def test_meaning_takes_part_only_once_all_vectors_are_there(embedder):
    with store_of((*RECORDS, *OTHERS)) as store:
        waiting = Search(store, embedder)
        assert run(waiting, "honey bees") == run(Search(store), "honey bees")
        embed_into(store, embedder)
        assert "1" in keys(run(waiting, "apiary"))


def test_an_empty_conference_has_nothing_by_meaning_either(embedder):
    with store_of([]) as store:
        assert run(Search(store, embedder), "apiary", score_threshold=0.0).hits == ()


def test_a_neighbour_in_meaning_is_found(meaning):
    near = meaning.vocabulary.neighbours("apiary")
    assert ("honey", "meaning") in {(each.word, each.why) for each in near}


def test_merging_keeps_the_best_of_each_record(search):
    loose = run(search, "honey bees", score_threshold=0.1)
    other = run(search, "mites in the hive")
    stands = run(search, "honey bees", Table.EXHIBITORS)
    first = merge({}, [loose])
    before = dict(first)
    merged = merge(first, [other, stands])
    assert first == before
    scores = [found.score for found in merged["sessions"]]
    assert scores == sorted(scores, reverse=True)
    ids = [found.record.id for found in merged["sessions"]]
    assert len(ids) == len(set(ids)) and set(keys(loose)) | set(keys(other)) == {each.split(":")[1] for each in ids}
    best = {found.record.id: found.score for found in merged["sessions"]}
    assert best["sessions:2"] == max(
        found.score for found in (*loose.hits, *other.hits) if found.record.id == "sessions:2"
    )
    assert [found.record.key for found in merged["exhibitors"]] == ["Hive & Sons"]


def test_merging_a_table_without_hits_names_it_with_none(search):
    assert merge({}, [run(search, "quantum computing")]) == {"sessions": []}

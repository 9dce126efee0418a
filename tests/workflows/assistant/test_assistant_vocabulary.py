"""The words of a conference: how frequent they are, and which stand near others."""

from __future__ import annotations

import pytest
from small_conference import RECORDS, session, store_of

from loopwright.workflows.assistant.schemas import Table
from loopwright.workflows.assistant.searching import Search

PAIRED = (
    *(session(f"m{n}", f"Walk {n}", "Mushrooms grow in the forest after rain.") for n in range(6)),
    *(session(f"h{n}", f"Stroll {n}", "Herbs of the meadow.") for n in range(24)),
    session("oaks", "Trees", "A forest of oaks."),
)


@pytest.fixture(scope="module")
def vocabulary():
    with store_of((*RECORDS, *PAIRED)) as store:
        yield Search(store).vocabulary


@pytest.mark.parametrize(
    ("word", "records"),
    [("bees", 5), ("BEE", 5), ("Wojcik", 2), ("mushrooms", 6), ("xylophone", 0), ("honey mites", 2), ("", 0), ("!", 0)],
)
def test_frequency_counts_records_whatever_the_form(vocabulary, word, records):
    assert vocabulary.frequency(word) == records


def test_a_mistyped_word_is_near_the_one_that_was_meant(vocabulary):
    near = vocabulary.neighbours("mushroms")
    assert (near[0].word, near[0].why) == ("mushrooms", "spelling")
    assert near[0].similarity == pytest.approx(1 - 1 / 9)


def test_a_word_that_is_there_is_not_corrected(vocabulary):
    assert all(each.why != "spelling" for each in vocabulary.neighbours("hive", 20))


@pytest.mark.parametrize(
    ("asked", "meant"), [("IPM", "integrated pest management"), ("Integrated Pest Management", "ipm")]
)
def test_an_acronym_is_near_what_the_texts_say_it_stands_for(vocabulary, asked, meant):
    assert vocabulary.neighbours(asked)[0].word == meant
    assert vocabulary.neighbours(asked)[0].why == "abbreviation"


def test_words_that_share_their_records_are_near_the_more_the_nearer(vocabulary):
    near = {each.word: each for each in vocabulary.neighbours("mushrooms", 20)}
    assert near["grow"].why == near["forest"].why == "co-occurrence"
    assert near["grow"].similarity > near["forest"].similarity > 0
    assert "herbs" not in near


def test_no_neighbour_is_the_word_itself_or_a_stop_word_or_a_name(vocabulary):
    for word in ("mushrooms", "hive", "bees", "Integrated Pest Management"):
        found = vocabulary.neighbours(word, 50)
        assert {each.word for each in found}.isdisjoint({word.casefold(), "the", "of", "müller", "muller", "jana"})
        assert len({each.word for each in found}) == len(found)
        assert [each.similarity for each in found] == sorted((each.similarity for each in found), reverse=True)
        assert all(0 < each.similarity <= 1 for each in found)


def test_neighbours_may_be_limited_to_what_a_table_has(vocabulary):
    assert vocabulary.neighbours("hivs", inside=Table.EXHIBITORS)[0].word in ("hive", "hives")
    assert vocabulary.neighbours("mushroms", inside=Table.EXHIBITORS) == []


def test_nothing_is_near_nothing(vocabulary):
    assert vocabulary.neighbours("") == [] and vocabulary.neighbours("?!") == []
    assert vocabulary.neighbours("xylophone") == []


def test_a_text_is_put_in_other_words(vocabulary):
    assert vocabulary.expand("IPM for roses") == ["integrated pest management for roses"]
    assert vocabulary.expand("integrated pest management")[0] == "ipm"
    assert vocabulary.expand("Mushroms")[0] == "mushrooms"
    assert vocabulary.expand("mushrooms")[0] == "mushrooms grow"
    assert vocabulary.expand("") == [] and vocabulary.expand("xylophone") == []
    for text in ("mushrooms in the forest", "honey bees", "bread"):
        alternatives = vocabulary.expand(text)
        assert text not in alternatives and len(set(alternatives)) == len(alternatives) <= 6

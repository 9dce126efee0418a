"""The inverted index, and the share of a question that records cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_conference import RECORDS, session

from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.searching.acronyms import Acronyms
from loopwright.workflows.assistant.searching.asking import QuestionReader
from loopwright.workflows.assistant.searching.index import RecordIndex
from loopwright.workflows.assistant.searching.lexical import APART, coverage
from loopwright.workflows.assistant.searching.likeness import SURE, combined, company, scored
from loopwright.workflows.assistant.searching.shortening import ShortForms
from loopwright.workflows.assistant.searching.spelling import Spelling
from loopwright.workflows.assistant.searching.words import asked_words, plain_words, terms_of


def reader_of(*records: Record) -> QuestionReader:
    index = RecordIndex(records)
    return QuestionReader(index, Spelling(index.surfaces), Acronyms.of(records), ShortForms(index))


@pytest.fixture(scope="module")
def index():
    return RecordIndex(RECORDS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Søren Kierulf's Bees", ["soren", "kierulf", "s", "bees"]),
        ("Łukasz, Æther & Þór", ["lukasz", "aether", "thor"]),
        ("ＦＯＯ－Ｂａｒ", ["foo", "bar"]),
        ("", []),
    ],
)
def test_words_are_plain(text, words):
    assert plain_words(text) == words


def test_a_question_keeps_its_telling_words_once():
    assert asked_words("What is Søren's talk on the bees, the BEES?") == ["soren", "talk", "bees"]
    assert asked_words("who is who") == ["who", "is"]
    assert terms_of("bees") == terms_of("bee")


def test_the_index_knows_where_each_word_stands(index):
    assert index.frequency("varroa") == 2 and index.frequency("varroa", Table.SPEAKERS) == 1
    assert index.frequency("nothing") == 0
    assert [index.records[place].id for place in index.records_with("varroa")] == ["sessions:2", "speakers:12"]
    cell = index.cell_of("sessions:2", "abstract")
    assert cell is not None and index.cell_facet[cell] == "abstract"
    assert index.cell_of("sessions:2", "biography") is None and index.cell_of("sessions:99", "abstract") is None
    assert cell in index.cells_in(Table.SESSIONS, "abstract")
    assert index.terms_in([index.place["exhibitors:Dough Makers"]])["flour"] == 1


def test_the_rarer_a_word_the_more_it_says(index):
    size = len(RECORDS)
    assert index.idf("nothing") == pytest.approx(math.log(1 + (size + 0.5) / 0.5))
    assert index.idf("nothing") > index.idf("varroa") > index.idf("bee") > 0


def test_a_record_that_has_no_words_is_kept_apart_from_the_others():
    index = RecordIndex([session("a", "🐝", ""), session("b", "Bees", "Bees and bees.")])
    assert len(index.first_cell) == 3 and list(np.diff(index.first_cell)) == [1, 2]
    reader = QuestionReader(index, Spelling([]), Acronyms.of([]), ShortForms(index))
    assert list(coverage(index, reader.read("bees")).records > 0) == [False, True]


def test_a_title_counts_for_more_than_a_text_and_a_short_text_for_more_than_a_long_one():
    reader = reader_of(
        session("title", "Mushrooms", "A walk in the wood."),
        session("short", "A walk", "Mushrooms in the wood."),
        session("long", "A walk", "Mushrooms in the wood, " + "and trees, leaves, paths, birds, and weather " * 5),
        session("none", "A walk", "Birds in the wood."),
    )
    scores = coverage(reader.index, reader.read("mushrooms")).records
    assert scores[0] > scores[1] > scores[2] > scores[3] == 0


def test_a_word_that_stands_nowhere_counts_against_all_records():
    reader = reader_of(*RECORDS)
    known = coverage(reader.index, reader.read("honey")).records
    unknown = coverage(reader.index, reader.read("honey xylophone")).records
    assert (unknown[known > 0] < known[known > 0] / 2).all()


@pytest.mark.parametrize(("text", "missing"), [("honey", 0.0), ("xylophone", 1.0), ("xylophone tuba", 1.0), ("", 0.0)])
def test_what_no_record_holds_is_missing(text, missing):
    reader = reader_of(*RECORDS)
    assert coverage(reader.index, reader.read(text)).missing == missing
    both = coverage(reader.index, reader.read("honey xylophone")).missing
    assert 0.5 < both < 1


def test_the_other_spelling_of_a_name_is_tried_even_if_the_word_is_known():
    reader = reader_of(*RECORDS, session("9", "Petr the gardener", "A portrait."))
    (word,) = reader.read("petr")
    assert ("peter",) in [alternative.terms for alternative in word.alternatives]
    (word,) = reader.read("loaf")
    assert len(word.alternatives) == 1


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("varoa", "varroa"), ("hnoey", "honey"), ("compots", "compost"), ("osquitoes", "mosquitoes")],
)
def test_one_mistake_is_forgiven(index, typed, meant):
    assert Spelling(index.surfaces).similar(typed)[0][0] == meant


@pytest.mark.parametrize("word", ["oney", "bee", "2031", "xylophone", "ho", ""])
def test_what_is_too_far_or_too_short_is_not_corrected(index, word):
    assert Spelling(index.surfaces).similar(word) == ()


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("knitting", "sitting existing splitting"),
        ("painting", "printing"),
        ("singing", "signing"),
        ("horse", "house hose"),
        ("lateral", "literal"),
        ("tractor", "factor tracker"),
    ],
)
def test_a_correct_english_word_is_not_taken_for_another(asked, there):
    assert Spelling([*there.split(), "xylophone"]).similar(asked) == ()
    reader = reader_of(session("1", there.title(), there))
    assert not coverage(reader.index, reader.read(asked)).held.any()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("kuberntes", "kubernetes"),
        ("kubernetse", "kubernetes"),
        ("kubrenets", "kubernetes"),
        ("postgrsql", "postgresql"),
        ("ebfp", "ebpf"),
        ("wasn", "wasm"),
        ("wojick", "wojcik"),
    ],
)
def test_names_are_found_with_a_slip(typed, meant):
    words = ["kubernetes", "postgresql", "ebpf", "wasm", "wojcik", "kubevirt"]
    assert Spelling(words).similar(typed)[0][0] == meant


def test_a_correct_english_word_beside_a_name_may_be_a_mistyped_name():
    records = (session("1", "Ink", "Print.", speakers=("Jana Müller", "Nick Bakker")), session("2", "Oil", "Paint."))
    reader = reader_of(*records)
    beside, alone = (coverage(reader.index, reader.read(text)).held for text in ("jana mueller", "mueller"))
    assert beside[1].tolist()[0] > 0 and not alone.any()
    assert not coverage(reader.index, reader.read("baker of bread")).held.any()


def test_another_first_letter_makes_another_word():
    assert Spelling(["dockers"]).similar("rockerz") == () and Spelling(["kumquat"]).similar("bumquat") == ()
    assert Spelling(["mosquitoes"]).similar("osquitoes")[0][0] == "mosquitoes"


PROGRAMME = (
    *(session(f"k{n}", f"Kubernetes in part {n}", "Clusters.") for n in range(6)),
    *(session(f"j{n}", "Node.js and friends", "JavaScript on servers.") for n in range(4)),
    *(session(f"o{n}", "Paper", "OpenSky and os.", track="x") for n in range(2)),
    *(session(f"w{n}", f"Weaving {n}", "Wool of sheep.") for n in range(20)),
    session("k8", "k8s for cooks", "A stove."),
    session("kv", "KubeVirt", "Machines."),
    session("p", "Tuning PostgreSQL", "Indexes."),
    session("q", "Postgres at home", "Backups.", speakers=("Postgresa Lind",)),
    session("a", "Accessibility", "For all."),
    session("m", "Movability of looms", "Wheels."),
)


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("k8s", ("kubernetes",)),
        ("kubernetes", ("k8s",)),
        ("a11y", ("accessibility",)),
        ("kube", ("kubernetes",)),
        ("postgres", ("postgresql",)),
        ("postgresql", ("postgres",)),
        ("js", ("javascript",)),
        ("javascript", ("js",)),
        ("kubevirt", ()),
        ("paper", ()),
        ("os", ()),
        ("k3s", ()),
        ("m8y", ("movability",)),
        ("m3y", ()),
        ("", ()),
    ],
)
def test_short_forms_of_names_are_linked(word, others):
    assert ShortForms(RecordIndex(PROGRAMME)).others(word) == others


@pytest.mark.parametrize(("asked", "keys"), [("k8s", {"k0", "k8"}), ("postgres", {"p", "q"}), ("js", {"j0"})])
def test_a_short_form_finds_the_name(asked, keys):
    reader = reader_of(*PROGRAMME)
    found = coverage(reader.index, reader.read(asked)).records
    assert keys <= {record.key for record, score in zip(reader.index.records, found, strict=True) if score > 0.3}


def test_what_is_far_more_than_a_beginning_of_another_word_stands_for_itself():
    records = (
        *(session(f"s{n}", f"Kotl {n}", "Pots.") for n in range(4)),
        *(session(f"l{n}", f"Kotlobar {n}", "Pans.") for n in range(4)),
    )
    assert ShortForms(RecordIndex(records)).others("kotl") == ()


def test_words_that_stand_together_in_the_question_should_in_the_record():
    filler = "and then a walk in the wood with many old trees and birds"
    reader = reader_of(
        session("together", "Notes", f"Of wild garlic {filler}."),
        session("turned", "Notes", f"Of garlic, wild {filler}."),
        session("apart", "Notes", f"Of wild {filler} garlic."),
        session("facets", "Notes on garlic", f"Of wild {filler}."),
        session("one", "Notes", f"Of garlic {filler} there."),
    )
    found = coverage(reader.index, reader.read("wild garlic"))
    together, turned, apart, facets, one = found.records.tolist()
    assert together == pytest.approx(turned) and together > apart > one
    assert apart == pytest.approx(together * APART, rel=1e-3)
    assert facets < coverage(reader.index, reader.read("garlic, that is wild")).records.max() and facets > one
    assert coverage(reader.index, reader.read("garlic")).records[2] == pytest.approx(found.held[1, 2] / APART)


def test_the_end_of_a_facet_is_not_beside_the_beginning_of_the_next():
    index = RecordIndex([session("1", "Growing wild", "Garlic."), session("2", "Growing", "Wild garlic.")])
    assert [index.records[n].key for n in index.records_near(["wild"], terms_of("garlic"))] == ["2"]
    assert len(index.records_near(["wild"], ["nothing"])) == len(index.records_near([], ["wild"])) == 0


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=60))
def test_coverage_is_a_share(text):
    reader = reader_of(*RECORDS[:4])
    found = coverage(reader.index, reader.read(text))
    for values in (found.records, found.cells, found.held):
        assert np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all()


def test_scores_grow_with_likeness_and_cross_the_threshold_where_it_is_sure():
    words, meaning = np.array([0, 0, 0.8, 1], np.float32), np.array([-9, SURE, 0, 5], np.float32)
    scores = scored(combined(words, meaning, 0.0))
    assert list(scores) == sorted(scores)
    assert scores[0] < 0.01 and scores[-1] > 0.99
    assert scores[1] == pytest.approx(0.35, abs=0.01)
    assert (scored(combined(words, meaning, 0.5)) < scores).all()


def test_company_is_gained_only_where_something_fits_well_and_not_without_end():
    assert company(SURE) == company(-3.0) == 0
    assert 0 < company(SURE + 0.5) < company(SURE + 1) <= company(SURE + 99) < 1

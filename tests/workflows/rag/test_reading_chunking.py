"""Passages: exact spans, structure, size."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from chances import examples
from documents import CHINESE, THAI
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.workflows.rag.answer.units import shown, units_of
from loopwright.workflows.rag.sources.reading import ReadDocument, Section, passages_of
from loopwright.workflows.rag.sources.reading.chunking import words_in
from loopwright.workflows.rag.sources.reading.layout import Layout

_WORDS = st.sampled_from(
    [*"word Tower end. Stop! Dr. a กรุงเทพ 中文。 é ... (one)".split(), "\n", "\n\n", "\t", "x" * 90]
)
_TEXTS = st.lists(_WORDS, max_size=60).map(" ".join) | st.text(max_size=300)


def document(text: str, sections: tuple[Section, ...] = ()) -> ReadDocument:
    parts, date = sections or (Section(start=0, end=len(text)),), datetime(2024, 1, 1, tzinfo=UTC)
    return ReadDocument(id="/a/b.txt", title="B", digest="0", date=date, text=text, sections=parts)


@st.composite
def structured(draw: st.DrawFn) -> ReadDocument:
    layout = Layout()
    for _ in range(draw(st.integers(0, 6))):
        layout.heading(draw(st.integers(1, 4)), draw(_TEXTS))
        layout.paragraph(draw(_TEXTS), kind=draw(st.sampled_from(["", "row"])))
    text, sections, _ = layout.finish()
    return document(text, sections)


def bare(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=examples(100), deadline=None)
@given(structured() | _TEXTS.map(document), st.integers(1, 60))
def test_every_span_is_exact_and_nothing_is_lost(read: ReadDocument, size: int):
    passages = passages_of(read, size=size)
    for place, passage in enumerate(passages):
        assert read.text[passage.start : passage.end] == passage.text
        assert passage.id == f"/a/b.txt::{place}"
        assert words_in(passage.text) <= max(size * 5 / 3, size + 2) or len(passages) == 1
    assert all(a.end <= b.start for a, b in pairwise(passages))
    assert "".join(bare(passage.text) for passage in passages) == bare(read.text)
    assert all(a.end <= b.start for a, b in pairwise(read.sections))
    assert "".join(bare(read.text[s.start : s.end]) for s in read.sections) == bare(read.text)


def test_no_passage_crosses_a_heading():
    layout = Layout()
    layout.heading(1, "Alpha")
    layout.paragraph("one two three four five six seven eight")
    layout.heading(2, "Beta")
    layout.paragraph("red green blue")
    layout.paragraph("cyan magenta yellow")
    text, sections, _ = layout.finish()
    passages = passages_of(document(text, sections), size=10)
    assert [(passage.heading, passage.text) for passage in passages] == [
        ("Alpha", "Alpha\n\none two three four five six seven eight"),
        ("Alpha > Beta", "Beta\n\nred green blue\n\ncyan magenta yellow"),
    ]


@pytest.mark.parametrize(("text", "most"), [(CHINESE * 6, 2), (THAI * 6, 4)])
def test_unspaced_scripts_count_by_characters(text: str, most: int):
    passages = passages_of(document(text), size=40)
    assert len(passages) > 3
    assert all(len(passage.text) <= 40 * most * 5 / 3 * 1.2 for passage in passages)
    assert all(len(passage.text) >= 40 for passage in passages)
    assert "".join(bare(passage.text) for passage in passages) == bare(text)


def test_thai_without_any_space_is_never_cut_before_a_vowel_mark():
    passages = passages_of(document("ที่นี่" * 400), size=20)
    assert len(passages) > 10
    assert all(passage.text[0] in "ทน" for passage in passages)


def test_a_million_dots_take_no_time_worth_naming():
    passages = passages_of(document("." * 1_000_000 + " end"), size=120)
    assert sum(len(bare(passage.text)) for passage in passages) == 1_000_003


@pytest.mark.parametrize("bars", [("| ", " |"), ("", "")])
def test_of_a_table_that_is_cut_the_header_goes_with_each_part(bars: tuple[str, str]) -> None:
    rows = [["Boat", "Length", "Berth"], *([f"Gull {n}", f"{n} m", f"north {n}"] for n in range(60))]
    table = "\n".join(f"{bars[0]}{' | '.join(row)}{bars[1]}" for row in rows)
    text = f"All boats, as they lie in the harbour.\n\n{table}\n\nThat is all."
    read = document(text, (Section(start=0, end=len(text), headings=("Harbour",)),))
    parts = passages_of(read, size=40)
    later = [each for each in parts if each.text.lstrip("| ").startswith("Gull")]
    assert len(later) > 2 and all(each.heading == "Harbour > Boat | Length | Berth" for each in later)
    assert all(read.text[each.start : each.end] == each.text for each in parts)
    told = shown(later[1].text, units_of(later[1].text, later[1].heading))
    assert told.startswith("| Boat | Length | Berth |\n| --- | --- | --- |\n| Gull")
    assert told.count("Gull") == later[1].text.count("Gull")

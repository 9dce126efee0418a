"""Records as they lie in a store, and the facets that they have."""

from __future__ import annotations

from datetime import date, datetime, time
from zoneinfo import ZoneInfo

import pytest
from chances import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources.info import ConferenceInfo
from loopwright.workflows.assistant.sources.storing import (
    PASSAGE_CHARACTERS,
    contribution_of,
    embedded_text,
)

LISBON = ZoneInfo("Europe/Lisbon")
INFO = ConferenceInfo(
    title="Bread Days", acronym="bread", start=date(2026, 5, 8), end=date(2026, 5, 9), time_zone="Europe/Lisbon", day_change=time(6)
)  # fmt: skip
RYE = Record(
    id="sessions:1",
    table=Table.SESSIONS,
    key="1",
    title="Rye",
    texts={"title": "Rye", "abstract": "Why rye.\n\n" + "It needs time. " * 300, "speakers": "Ana Só"},
    fields={"day": ("2026-05-08",), "speaker": ("Ana Só", "Bo Li")},
    start=datetime(2026, 5, 8, 10, tzinfo=LISBON),
    end=datetime(2026, 5, 8, 11, tzinfo=LISBON),
    url="https://bread.example/1",
    related=("speakers:7", "speakers:8"),
)


@given(st.lists(st.sampled_from(["word ", "end. ", "line\n", "par\n\n", "字" * 40, "x" * 2000]), max_size=400))
@settings(max_examples=examples(50), deadline=None)
def test_no_text_is_lost_or_too_long_whatever_it_is_made_of(parts):
    text = "".join(parts)
    record = RYE.model_copy(update={"texts": {"title": "Rye", "abstract": text} if text else {"title": "Rye"}})
    kept = contribution_of(record)
    assert Record.model_validate_json(kept.document.kept) == record
    assert "".join(each.text for each in kept.passages if each.heading == "abstract") == text
    assert all(0 < len(passage.text) <= PASSAGE_CHARACTERS for passage in kept.passages)


def test_a_text_that_says_too_little_alone_is_embedded_with_its_title():
    by_facet = {passage.heading: embedded_text(passage) for passage in contribution_of(RYE).passages}
    assert by_facet["title"] == "Rye"
    assert by_facet["speakers"] == "Ana Só"
    assert by_facet["abstract"].startswith("Rye\n")


@pytest.mark.parametrize(
    "wrong", [{"time_zone": "Mars/Base"}, {"time_zone": "../etc/passwd"}, {"end": date(2026, 5, 7)}, {"end": date(2036, 5, 7)}]
)  # fmt: skip
def test_a_conference_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValidationError):
        ConferenceInfo.model_validate(INFO.model_dump() | wrong)

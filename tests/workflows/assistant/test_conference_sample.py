"""The sample conference that comes with the package."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta
from itertools import pairwise

from loopwright.workflows.assistant.schemas import Table
from loopwright.workflows.assistant.sources.catalogue import current
from loopwright.workflows.assistant.sources.sample import sample_store


def test_the_sample_is_a_conference_that_can_take_place():
    with sample_store() as store:
        catalogue = current(store)
    sessions = catalogue.of_table(Table.SESSIONS)
    assert len(sessions) >= 60
    assert len(catalogue.of_table(Table.SPEAKERS)) >= 40
    assert len(catalogue.of_table(Table.EXHIBITORS)) == 25
    assert len(catalogue.of_table(Table.ATTENDEES)) == 20
    days = [date.fromisoformat(day) for day in catalogue.values("day")]
    assert days == [catalogue.info.start + timedelta(days=n) for n in range(len(days))]
    assert days[-1] == catalogue.info.end
    assert len(catalogue.values("track")) >= 5
    assert set(catalogue.values("type")) >= {"keynote", "talk", "workshop", "lightning talk", "panel"}
    assert set(catalogue.values("language")) == {"en", "pt", "es", "de"}
    places: dict[tuple[str, str], list] = defaultdict(list)
    for session in sessions:
        assert 50 <= len(session.texts["abstract"].split()) <= 130, session.title
        assert session.start < session.end
        for busy in (*session.values("room"), *session.values("speaker")):
            places[busy, session.values("day")[0]].append(session)
    for (busy, _), there in places.items():
        for earlier, later in pairwise(there):
            assert earlier.end <= later.start, f"{busy}: {earlier.title} and {later.title}"

"""Events of a run in portions that are bounded in characters too: from the store, and as a hub gives them."""

from __future__ import annotations

from contextlib import closing

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from postgres import postgres_server, postgres_url  # noqa: F401
from run_histories import a_run, shown

from loopwright.runs.hub import RunHub
from loopwright.runs.store import KeptEvent, NewEvents, open_runs

SIZES = (10, 20, 500, 10, 10, 10)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    """A history with a run whose events have the sizes of `SIZES`."""
    postgres = request.param == "postgres"
    url = request.getfixturevalue("postgres_url") if postgres else f"sqlite:{tmp_path / 'runs.db'}"
    with closing(open_runs(url)) as opened:
        opened.create(a_run("r1"), shown())
        events = [KeptEvent(number, "told", "x" * size) for number, size in enumerate(SIZES, 1)]
        opened.write([], [NewEvents("r1", "run", events)])
        yield opened


@pytest.mark.parametrize(
    ("after", "limit", "size", "expected"),
    [
        (0, 100, None, [1, 2, 3, 4, 5, 6]),
        (0, 100, 30, [1, 2]),
        (0, 100, 29, [1]),
        (0, 100, 0, [1]),
        (2, 100, 30, [3]),
        (3, 100, 30, [4, 5, 6]),
        (3, 2, 30, [4, 5]),
        (0, 100, 10_000, [1, 2, 3, 4, 5, 6]),
        (6, 100, 30, []),
    ],
)
def test_a_portion_ends_before_it_is_too_large_but_is_never_empty(store, after, limit, size, expected):
    assert [event.seq for event in store.events("r1", "run", after, limit, size)] == expected


@pytest.mark.parametrize(("limit", "size"), [(100, None), (2, None), (100, 30), (2, 15), (6, 10_000)])
async def test_who_follows_gets_everything_once_and_is_told_of_the_end(store, limit, size):
    hub = RunHub(store, [], InMemorySaver())
    seen: list[int] = []
    for _ in range(len(SIZES) + 1):
        news = await hub.follow("r1", "run", seen[-1] if seen else 0, 0.0, limit, size)
        assert len(news.events) <= limit
        seen += [event.seq for event in news.events]
        if news.ended:
            break
    assert news.ended
    assert seen == [1, 2, 3, 4, 5, 6]
    assert (await hub.follow("r1", "run", 6, 0.0, limit, size)).ended
    await hub.close()

"""The streaming contract: what a client sees, and in which order."""

from __future__ import annotations

import asyncio

import pytest
from conferences import sample_services, services_of

from loopwright.retrieval.stores import open_store
from loopwright.workflows.assistant import astream_chat

ODD = "Which sessions are about quantum yodelling?"


async def collected(message, services, **options):
    return [event async for event in astream_chat(message, services=services, **options)]


def streamed(message, services, **options):
    return asyncio.run(collected(message, services, **options))


@pytest.fixture(scope="module")
def services():
    with sample_services() as opened:
        yield opened


def test_an_error_is_the_last_event_and_says_whether_to_try_again(tmp_path):
    store = open_store(f"sqlite:{tmp_path / 'conference.db'}")
    services = services_of(store, {}, {})
    store.close()
    with services:
        events = streamed(ODD, services)
    assert [event.event for event in events].count("error") == 1
    assert events[-1].event == "error"
    assert "Traceback" not in events[-1].error
    (wrong,) = streamed("  ", services)
    assert (wrong.event, wrong.error_type, wrong.can_retry) == ("error", "InputError", False)


def test_a_reader_that_leaves_cancels_the_run(services):
    async def leave_early():
        stream = astream_chat(ODD, services=services)
        async for event in stream:
            if event.event == "node_start":
                break
        await stream.aclose()
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    assert asyncio.run(leave_early()) == []

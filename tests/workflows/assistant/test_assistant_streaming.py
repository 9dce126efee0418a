"""The streaming contract: what a client sees, and in which order."""

from __future__ import annotations

import asyncio

import pytest
from conferences import sample_services, services_of
from pydantic import TypeAdapter

from loopwright.retrieval.stores import open_store
from loopwright.testing import always
from loopwright.workflows.assistant import ChatEvent, astream_chat

ODD = "Which sessions are about quantum yodelling?"
events_of = TypeAdapter(list[ChatEvent])


async def collected(message, services, **options):
    return [event async for event in astream_chat(message, services=services, **options)]


def streamed(message, services, **options):
    return asyncio.run(collected(message, services, **options))


def named(events, name):
    return [event for event in events if event.event == name]


@pytest.fixture(scope="module")
def services():
    with sample_services() as opened:
        yield opened


def test_a_model_is_named_with_its_usage_and_its_prompt(services):
    with sample_services({"evaluate": always({"met": ["all"], "supported": ["all"]})}) as with_model:
        events = streamed("Which keynotes are there?", with_model)
    (start,) = [event for event in named(events, "node_start") if event.node == "evaluate"]
    (end,) = [event for event in named(events, "node_end") if event.node == "evaluate"]
    assert start.model
    assert end.usage.calls == 1
    assert end.usage.tokens > 0
    assert end.prompt_version == 1
    assert all(event.usage is None for event in named(events, "node_end") if event.node != "evaluate")


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


def test_every_event_comes_back_from_json(services):
    events = streamed(ODD, services)
    assert events_of.validate_json(events_of.dump_json(events)) == events


def test_a_reader_that_leaves_cancels_the_run(services):
    async def leave_early():
        stream = astream_chat(ODD, services=services)
        async for event in stream:
            if event.event == "node_start":
                break
        await stream.aclose()
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    assert asyncio.run(leave_early()) == []

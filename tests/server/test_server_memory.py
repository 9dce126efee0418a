"""What is kept of people, over HTTP: each person's apart, and deletable."""

from __future__ import annotations

import httpx
import pytest

from loopwright.retrieval.stores import open_store
from loopwright.workflows.assistant.config import AssistantConfig, AssistantSection
from loopwright.workflows.assistant.schemas import Turn
from loopwright.workflows.assistant.services import Services

TURNS = [Turn(role="user", text="Where?"), Turn(role="assistant", text="There.", referenced_ids=("sessions:1",))]


@pytest.fixture(params=["memory", "file"])
async def remembered(serve_script, request, tmp_path):
    """Services with a real memory, and a client of a server over them."""
    spec = "memory" if request.param == "memory" else f"sqlite:{tmp_path / 'memory.db'}"
    config = AssistantConfig(assistant=AssistantSection(memory=spec))
    with open_store("memory") as store, Services.of(config, store) as services:
        served = serve_script(services=services)
        async with httpx.AsyncClient(base_url=served.url, timeout=30) as client:
            yield services.memory, client


async def test_a_profile_is_kept_shown_replaced_and_deleted(remembered):
    _memory, client = remembered
    assert (await client.get("/api/profiles/ann")).status_code == 404
    kept = await client.put("/api/profiles/ann", json={"name": "Ann", "interests": ["databases", "日本"]})
    assert kept.status_code == 200
    shown = (await client.get("/api/profiles/ann")).json()
    assert shown == kept.json()
    assert (shown["user_id"], shown["name"], shown["interests"]) == ("ann", "Ann", ["databases", "日本"])
    await client.put("/api/profiles/ann", json={"seeking": ["a job"]})
    shown = (await client.get("/api/profiles/ann")).json()
    assert (shown["name"], shown["interests"], shown["seeking"]) == ("", [], ["a job"])
    assert (await client.get("/api/profiles/bob")).status_code == 404
    for _ in range(2):
        assert (await client.delete("/api/profiles/ann")).status_code == 204
    assert (await client.get("/api/profiles/ann")).json()["error_type"] == "UnknownPerson"


async def test_a_profile_with_unknown_fields_is_refused(remembered):
    _memory, client = remembered
    reply = await client.put("/api/profiles/ann", json={"user_id": "bob", "password": "x"})
    assert reply.status_code == 422
    assert "user_id" in reply.json()["error"]
    assert (await client.get("/api/profiles/ann")).status_code == 404


async def test_a_conversation_is_shown_to_whom_it_belongs_alone(remembered):
    memory, client = remembered
    await memory.add_turns("c1", TURNS, "ann")
    url = "/api/conversations/c1"
    shown = (await client.get(url, params={"user_id": "ann"})).json()
    assert shown["conversation_id"] == "c1"
    assert [(turn["role"], turn["text"]) for turn in shown["turns"]] == [("user", "Where?"), ("assistant", "There.")]
    assert shown["turns"][1]["referenced_ids"] == ["sessions:1"]
    last = (await client.get(url, params={"user_id": "ann", "limit": 1})).json()
    assert [turn["text"] for turn in last["turns"]] == ["There."]
    there = [await client.get(url, params=who) for who in ({}, {"user_id": "bob"})]
    absent = await client.get("/api/conversations/c2", params={"user_id": "bob"})
    for reply in [*there, absent]:
        assert (reply.status_code, reply.json()["error_type"]) == (404, "UnknownConversation")
    assert there[0].text == absent.text.replace("c2", "c1"), "nobody learns that it is somebody else's"
    await client.delete(url, params={"user_id": "bob"})
    assert (await client.get(url, params={"user_id": "ann"})).status_code == 200
    assert (await client.delete(url, params={"user_id": "ann"})).status_code == 204
    assert (await client.get(url, params={"user_id": "ann"})).status_code == 404

"""The conference assistant itself over HTTP, on the sample conference; what is kept of people is each person's, and deletable."""

import asyncio
from contextlib import closing

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from scripted_server import Served, read_all, running

from loopwright.retrieval.stores import open_store
from loopwright.runs.hub import RunHub
from loopwright.runs.store import open_runs
from loopwright.server import create_app
from loopwright.workflows.assistant.config import AssistantConfig, AssistantSection
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.sources.sample import sample_store
from loopwright.workflows.assistant.workflow import AssistantWorkflow

STREAM = "/api/chat/stream"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server over the sample conference, without a model."""
    data = tmp_path_factory.mktemp("served")
    with (
        sample_store() as conference,
        Services.of(AssistantConfig(), conference) as services,
        closing(open_runs(f"sqlite:{data / 'runs.db'}")) as store,
    ):
        app = create_app(RunHub(store, [AssistantWorkflow(services)], InMemorySaver()))
        with running(app) as url:
            yield Served(url, app, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", ["Which talks are about food?", "talks about quantum chromodynamics lattices"])
async def test_a_question_is_acknowledged_worked_on_thought_over_and_answered_the_same_in_one_piece(client, asked):
    said = {"message": asked}
    whole = (await client.post("/api/chat", json=said)).json()
    events = await read_all(client, "POST", STREAM, json=said)
    names = [event.name for event in events]
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert names.index("acknowledgment") < names.index("chunk") < names.index("done") == len(names) - 1
    assert events[-1].data["run_id"] == events[0].run_id
    starts, ends = ([e.data["node"] for e in events if e.name == name] for name in ("node_start", "node_end"))
    assert starts == ends
    assert whole["answer"] == "".join(event.data["text"] for event in events if event.name == "chunk")
    assert all(f"[{cited}]" in whole["answer"] for cited in whole["referenced_ids"])
    assert whole["referenced_ids"] == events[-1].data["referenced_ids"]
    assert whole["status"] == events[-1].data["status"]
    assert whole["summary"]["path"][0] == "fetch_data"
    told = {name: [event.data for event in events if event.name == name] for name in ("acknowledgment", "thinking")}
    assert whole["acknowledgment"] == told["acknowledgment"][0]["message"]
    assert [each["message"] for each in whole["thinking_updates"]] == [each["message"] for each in told["thinking"]]
    again = await read_all(client, "GET", f"/api/chat/runs/{whole['run_id']}/events")
    assert [event.name for event in again] == names
    retries = [each["retry_count"] for each in told["thinking"]]
    assert retries == list(range(1, len(retries) + 1))
    assert bool(retries) == ("quantum" in asked)
    granted = [event for event in events if event.name == "loop" and event.data["decision"] == "granted"]
    assert len(granted) == len(retries)
    visits = [e.data["visit"] for e in events if e.name == "node_start" and e.data["node"] == "execute_queries"]
    assert visits == list(range(1, len(retries) + 2)), "a node that ran three times is reported three times"


async def test_a_conversation_is_kept_for_its_person_and_goes_with_the_person(client):
    who = {"user_id": "ann", "conversation_id": "over-http"}
    for message in ("Which talks are about food?", "and on the second day?"):
        reply = await client.post("/api/chat", json={"message": message, "user_context": who})
        assert reply.status_code == 200
    url = "/api/conversations/over-http"
    turns = (await client.get(url, params={"user_id": "ann"})).json()["turns"]
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 2
    assert turns[2]["text"] == "and on the second day?" and turns[1]["referenced_ids"]
    assert (await client.get(url, params={"user_id": "ann", "limit": 1})).json()["turns"] == turns[-1:]
    there = [await client.get(url, params=whose) for whose in ({}, {"user_id": "bob"})]
    absent = await client.get("/api/conversations/nowhere", params={"user_id": "bob"})
    for reply in [*there, absent]:
        assert (reply.status_code, reply.json()["error_type"]) == (404, "UnknownConversation")
    assert there[0].text == absent.text.replace("nowhere", "over-http"), "nobody learns that it is somebody else's"
    other = {"message": "and then?", "user_context": {"user_id": "bob", "conversation_id": "over-http"}}
    intruding = await client.post("/api/chat", json=other)
    assert intruding.status_code in (200, 400), intruding.text
    assert "food" not in intruding.text, "nothing of somebody else's conversation"
    await client.delete(url, params={"user_id": "bob"})
    assert (await client.get(url, params={"user_id": "ann"})).json()["turns"] == turns
    assert (await client.delete("/api/conversations/other", params={"user_id": "ann"})).status_code == 204
    await client.delete("/api/profiles/ann")
    assert (await client.get(url, params={"user_id": "ann"})).status_code == 404


async def test_chats_at_once_do_not_mix(client):
    topics = ["food", "music", "water", "energy"]
    alone = [(await client.post("/api/chat", json={"message": f"talks about {topic}"})).json() for topic in topics]
    asked = (client.post("/api/chat", json={"message": f"talks about {topic}"}) for topic in topics * 2)
    together = [reply.json() for reply in await asyncio.gather(*asked)]
    for index, found in enumerate(together):
        expected = alone[index % len(topics)]
        assert found["answer"] == expected["answer"]
        assert found["referenced_ids"] == expected["referenced_ids"]
    assert len({found["run_id"] for found in together}) == len(together)


@pytest.fixture
async def remembered(serve_script, tmp_path):
    """A client of a server whose memory is a file."""
    config = AssistantConfig(assistant=AssistantSection(memory=f"sqlite:{tmp_path / 'memory.db'}"))
    with open_store("memory") as store, Services.of(config, store) as services:
        served = serve_script(services=services)
        async with httpx.AsyncClient(base_url=served.url, timeout=30) as client:
            yield client


async def test_a_profile_is_kept_shown_replaced_and_deleted_and_has_no_unknown_fields(remembered):
    refused = await remembered.put("/api/profiles/ann", json={"user_id": "bob", "password": "x"})
    assert refused.status_code == 422
    assert "user_id" in refused.json()["error"]
    assert (await remembered.get("/api/profiles/ann")).status_code == 404
    kept = await remembered.put("/api/profiles/ann", json={"name": "Ann", "interests": ["databases", "日本"]})
    assert kept.status_code == 200
    shown = (await remembered.get("/api/profiles/ann")).json()
    assert shown == kept.json()
    assert (shown["user_id"], shown["name"], shown["interests"]) == ("ann", "Ann", ["databases", "日本"])
    await remembered.put("/api/profiles/ann", json={"seeking": ["a job"]})
    shown = (await remembered.get("/api/profiles/ann")).json()
    assert (shown["name"], shown["interests"], shown["seeking"]) == ("", [], ["a job"])
    assert (await remembered.get("/api/profiles/bob")).status_code == 404
    await remembered.put("/api/profiles/team%2Fann", json={"name": "Ann"})
    assert (await remembered.get("/api/profiles/team/ann")).json()["user_id"] == "team/ann"
    for id in ("ann", "ann", "team%2Fann"):
        assert (await remembered.delete(f"/api/profiles/{id}")).status_code == 204
    assert (await remembered.get("/api/profiles/team%2Fann")).status_code == 404
    assert (await remembered.get("/api/profiles/ann")).json()["error_type"] == "UnknownPerson"

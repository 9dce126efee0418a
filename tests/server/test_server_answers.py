"""A message answered in one piece."""

from __future__ import annotations

import pytest
from scripted_server import DONE, read_all, script

SUMMARY = {
    "run_id": "r",
    "path": ["fetch_data"],
    "visits": {"fetch_data": 1},
    "skipped": [],
    "duration_ms": 1.5,
    "retry_count": 0,
    "strategies": [],
    "model_calls": 0,
    "tokens": 0,
    "cost": None,
    "scores": {"quality": 0.5},
}


async def test_the_answer_is_put_together_from_the_events(client):
    steps = script(
        {"acknowledgment": {"message": "I look."}},
        {"node_start": {"node": "generate_response", "visit": 1}},
        {"chunks": 2},
        {"thinking": {"message": "Wider.", "strategy": "relax", "retry_count": 1, "ts": "2025-02-01T10:00:00Z"}},
        {"pipeline_summary": SUMMARY},
        {"done": {"referenced_ids": ["sessions:1"], "status": "partial", "stop_reason": {"loop": "reflect"}}},
    )
    reply = await client.post("/api/chat", json=steps)
    assert reply.status_code == 200
    found = reply.json()
    run_id = found.pop("run_id")
    assert found == {
        "acknowledgment": "I look.",
        "answer": "<0><1>",
        "referenced_ids": ["sessions:1"],
        "status": "partial",
        "stop_reason": {"loop": "reflect"},
        "thinking_updates": [
            {"message": "Wider.", "strategy": "relax", "retry_count": 1, "ts": "2025-02-01T10:00:00Z"}
        ],
        "summary": SUMMARY,
    }
    events = await read_all(client, "GET", f"/api/chat/runs/{run_id}/events")
    assert events[0].name == "acknowledgment"


async def test_another_attempt_at_the_answer_replaces_the_one_before(client):
    again = {"node_start": {"node": "generate_response", "visit": 2}}
    steps = script({"chunks": 2}, again, {"chunks": 1, "text": "better"}, {"node_start": {"node": "evaluate"}}, DONE)
    assert (await client.post("/api/chat", json=steps)).json()["answer"] == "better"


@pytest.mark.parametrize(
    ("raised", "status", "kind"),
    [("input", 400, "InputError"), ("store", 503, "StoreError"), ("unforeseen", 500, "InternalError")],
)
async def test_a_run_without_an_answer_is_a_problem_and_no_traceback(client, raised, status, kind):
    reply = await client.post("/api/chat", json=script({"raise": raised}))
    assert reply.status_code == status
    assert set(reply.json()) > {"error", "error_type", "can_retry"}
    assert reply.json()["error_type"] == kind
    assert "hunter2" not in reply.text
    assert "Traceback" not in reply.text


async def test_who_asks_reaches_the_chat(served, client):
    said = {
        "user_id": "u1",
        "conversation_id": "c1",
        "now": "2025-02-01T14:00:00+01:00",
        "profile": {"interests": ["databases"]},
    }
    await client.post("/api/chat", json=script(DONE) | {"user_context": said})
    await client.post("/api/chat", json=script(DONE))
    assert [asked["user_context"] for asked in served.gates.asked] == [said, None]

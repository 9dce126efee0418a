"""A message answered in one piece."""

from __future__ import annotations

import pytest
from scripted_server import DONE, script


@pytest.mark.parametrize(
    ("raised", "status", "kind"),
    [("input", 400, "InputError"), ("store", 503, "StoreError"), ("unforeseen", 500, "InternalError")],
)
async def test_a_run_without_an_answer_is_a_problem_and_no_traceback(client, raised, status, kind):
    reply = await client.post("/api/chat", json=script({"raise": raised}))
    assert reply.status_code == status
    assert set(reply.json()) > {"error", "error_type", "can_retry"}
    assert reply.json()["error_type"] == kind, reply.text
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

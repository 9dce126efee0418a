"""A message answered in one piece."""

from __future__ import annotations

import pytest
from scripted_server import DONE, script


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

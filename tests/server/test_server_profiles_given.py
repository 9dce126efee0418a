"""Profiles that clients give are bounded, and a text that is none is refused before anything runs."""

from __future__ import annotations

import json

import pytest

BODIES = ['{"interests": ["half \\ud800"]}', json.dumps({"interests": ["x"] * 21}), '{"name": 3}']


@pytest.mark.parametrize("body", BODIES)
async def test_what_no_profile_can_hold_is_refused(client, body):
    headers = {"Content-Type": "application/json"}
    kept = await client.put("/api/profiles/ada", content=body, headers=headers)
    asked = f'{{"message": "hello", "user_context": {{"profile": {body}}}}}'
    answered = await client.post("/api/chat", content=asked, headers=headers)
    for reply in (kept, answered):
        assert reply.status_code == 422
        assert reply.json()["error_type"] == "InvalidRequest"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_a_page_from_elsewhere_cannot_ask_without_being_asked_first(client, kind):
    """A browser sends such a request of any page unasked; one of JSON it first asks the server about."""
    reply = await client.post("/api/chat", content='{"message": "hello"}', headers={"Content-Type": kind})
    assert reply.status_code == 422

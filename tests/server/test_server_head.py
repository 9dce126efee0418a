"""HEAD answers as GET does, without the body."""

from __future__ import annotations

import httpx
import pytest
from scripted_server import DONE, script, until

FRAMING = frozenset({"transfer-encoding", "content-encoding", "vary"})
"""Headers that say how the body is sent: what follows from the body alone may be missing (RFC 9110, section 9.3.2)."""
CHANGING = frozenset({"date", "content-length"}) | FRAMING
"""Headers that differ between two answers of the same address: figures are not the same from one moment to the next."""


@pytest.fixture(scope="module")
def served(serve_in_module):
    return serve_in_module(token="right")


@pytest.fixture(scope="module")
def client(served):
    with httpx.Client(base_url=served.url, timeout=30, headers={"Authorization": "Bearer right"}) as made:
        yield made


@pytest.fixture(scope="module")
def run_id(client):
    ended = client.post("/api/chat", json=script({"chunks": 3}, DONE)).json()["run_id"]
    return ended


@pytest.mark.parametrize(
    "path",
    ["/", "/runs", "/runs/RUN", "/runs/RUN/log", "/runs/RUN/events", "/runs/RUN/test", "/workflows", "/openapi.json",
     "/health/live", "/metrics", "/runs/none", "/nothing", "/assets/nothing", "/runs?limit=0", "/uploads", "/api/chat"],
)  # fmt: skip
def test_the_head_is_that_of_get_and_nothing_follows(client, run_id, path):
    address = path.replace("RUN", run_id)
    told, asked = client.get(address), client.head(address)
    assert asked.status_code == told.status_code
    assert asked.content == b""
    assert {*asked.headers} - FRAMING == {*told.headers} - FRAMING
    for name in {*told.headers} - CHANGING:
        assert asked.headers[name] == told.headers[name]
    # The connection is in order: the same one answers on.
    assert client.get("/health/live").json() == {"status": "live"}


async def test_the_stream_of_a_run_that_goes_on_is_not_waited_for(served, client):
    body = {"workflow": "assistant", "input": script({"wait": "head"}, DONE)}
    started = client.post("/runs", json=body).json()["id"]
    reply = client.head(f"/runs/{started}/events")
    assert (reply.status_code, reply.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert not served.ended(started)
    assert "loopwright_sse_clients 0.0" in client.get("/metrics").text
    served.gates.opened.add("head")
    await until(lambda: served.ended(started))

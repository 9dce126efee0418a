"""HEAD answers as GET does, without the body, where supervisors and link checkers ask."""

from __future__ import annotations

import httpx
import pytest

FRAMING = frozenset({"transfer-encoding", "content-encoding", "vary"})
"""Headers that say how the body is sent: what follows from the body alone may be missing (RFC 9110, section 9.3.2)."""
CHANGING = frozenset({"date", "content-length"}) | FRAMING
"""Headers that differ between two answers of the same address: figures are not the same from one moment to the next."""


@pytest.fixture(scope="module")
def served(serve_in_module):
    return serve_in_module(token="right")


@pytest.mark.parametrize("path", ["/", "/health/live", "/health/ready", "/assets/nothing"])
def test_the_head_is_that_of_get_and_nothing_follows(served, path):
    with httpx.Client(base_url=served.url, timeout=30, headers={"Authorization": "Bearer right"}) as client:
        told, asked = client.get(path), client.head(path)
        # The connection is in order: the same one answers on.
        assert client.get("/health/live").json() == {"status": "live"}
    assert asked.status_code == told.status_code
    assert asked.content == b""
    assert {*asked.headers} - FRAMING == {*told.headers} - FRAMING
    for name in {*told.headers} - CHANGING:
        assert asked.headers[name] == told.headers[name]

"""What another version of Loopwright kept is told in words, over HTTP and on the command line."""

from __future__ import annotations

import httpx
from run_histories import a_run, shown

from loopwright.runs.store import KeptEvent, NewEvents


def test_a_run_with_events_of_another_version_is_told_of_and_can_be_deleted(served):
    store = served.app.state.context.hub.store
    store.create(a_run("later"), shown())
    store.write([], [NewEvents("later", "run", [KeptEvent(1, "state", '{"type": "of_later"}')])])
    for path in ("/runs/later/checkpoints", "/compare?a=later&b=later2"):
        store.get("later2") or store.create(a_run("later2"), shown())
        reply = httpx.get(served.url + path)
        assert (reply.status_code, reply.json()["error_type"]) == (503, "StoreError"), path
        assert "event 1 (state) of run later is damaged, or of another version" in reply.json()["error"]
    assert httpx.delete(served.url + "/runs/later").status_code == 204

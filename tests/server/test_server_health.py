"""A health light that is not always green."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

import httpx
from scripted_server import Services

from loopwright.retrieval.records import Contribution, Document
from loopwright.retrieval.stores import open_store
from loopwright.server.routes.health import StoreProbe

DOCUMENT = Contribution(document=Document(id="sessions:1", title="A talk", digest="0"), passages=())


@dataclass
class Opening:
    """Opens its store whenever somebody looks."""

    spec: str

    @property
    def store(self) -> Any:
        return open_store(self.spec, create=False)


def look(served, path: str = "/health/ready") -> tuple[int, dict[str, Any]]:
    reply = httpx.get(served.url + path, timeout=20)
    return reply.status_code, reply.json()


def test_it_is_ready_when_the_store_holds_something(serve_script):
    with open_store("memory") as store:
        served = serve_script(services=Services(store))
        status, told = look(served)
        assert (status, told["error_type"], told["can_retry"]) == (503, "NothingIngested", True)
        store.put([DOCUMENT])
        assert look(served) == (200, {"status": "ready", "documents": 1})
        store.delete(["sessions:1"])
        assert look(served)[0] == 503


def test_a_store_that_is_not_there_makes_it_not_ready_until_it_is(serve_script, tmp_path):
    path = tmp_path / "conference.db"
    served = serve_script(services=Opening(f"sqlite:{path}"))
    status, told = look(served)
    assert (status, told["error_type"]) == (503, "StoreError")
    assert look(served, "/health/live") == (200, {"status": "live"})
    with open_store(f"sqlite:{path}") as store:
        store.put([DOCUMENT])
    assert look(served) == (200, {"status": "ready", "documents": 1})


def test_a_store_that_hangs_makes_it_not_ready_and_ties_up_one_thread_only(serve_script):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        served = serve_script(services=Opening(f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/d"))
        served.app.state.probe = StoreProbe(patience=0.1)
        for _ in range(10):
            status, told = look(served)
            assert (status, told["error_type"], told["can_retry"]) == (503, "StoreError", True)
            assert "127.0.0.1" not in told["error"], "who needs no token learns no addresses"
        silent.setblocking(False)
        asked, _ = silent.accept()
        asked.close()
        try:
            silent.accept()
        except BlockingIOError:
            pass
        else:
            raise AssertionError("a probe began a second look while the first was hanging")
        assert look(served, "/health/live")[0] == 200

"""A health light that is not always green, and files for which there is no room."""

import os
import socket
import tempfile
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from hosted_graphs import until
from listening import connected, rest_of
from scripted_server import Services

from loopwright.retrieval.records import Contribution, Document
from loopwright.retrieval.stores import open_store
from loopwright.server import layers
from loopwright.server.routes import health
from loopwright.server.serving import have_temporary_folder

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
        served.app.state.context.hub.store.list = None  # to count all runs would take long where there are many
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


def test_a_store_that_hangs_makes_it_not_ready_and_ties_up_one_thread_only(serve_script, monkeypatch):
    monkeypatch.setattr(health, "PATIENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        served = serve_script(services=Opening(f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/d"))
        for _ in range(10):
            status, told = look(served)
            assert (status, told["error_type"], told["can_retry"]) == (503, "StoreError", True)
            assert "127.0.0.1" not in told["error"], "who needs no token learns no addresses"
        silent.setblocking(False)
        asked, _ = silent.accept()
        asked.close()
        with pytest.raises(BlockingIOError):  # no probe began a second look while the first was hanging
            silent.accept()
        assert look(served, "/health/live")[0] == 200
    monkeypatch.setattr(layers, "PATIENCE", 0.2)
    served.app.state.context.hub.store.list = lambda *_: time.sleep(2)  # nor is anybody else to wait for ever
    status, told = look(served, "/runs")
    assert (status, told["error_type"], told["can_retry"]) == (503, "StoreError", True)


MEGABYTE = 2**20


def sending(url: str, path: str, length: int | None, body: bytes = b"") -> AbstractContextManager[socket.socket]:
    """A client that says how much it is about to send, and has sent only a part."""
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    kind = "Content-Type: multipart/form-data; boundary=x"
    return connected(url, f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\n{framing}\r\n\r\n".encode() + body)


@pytest.mark.parametrize("length", [None, 40 * MEGABYTE])
@pytest.mark.parametrize("path", ["/uploads", "/rag/ingest"])
def test_what_the_disk_has_no_room_for_is_refused_before_it_comes(serve_script, path, length):
    served = serve_script(settings={"free_bytes": 10**18})
    with sending(served.url, path, length) as connection:
        told = rest_of(connection)
    assert told.startswith(b"HTTP/1.1 507 "), told
    assert b'"error_type":"NoRoom"' in told
    assert b"make room there, or send smaller files" in told


def test_what_may_not_be_kept_is_refused_before_it_comes(serve_script):
    served = serve_script(settings={"kept_bytes": 1000, "arriving_bytes": 1})  # one request is taken however large
    assert httpx.post(served.url + "/uploads", files={"file": ("a.txt", b"x" * 2000)}).status_code == 201
    with sending(served.url, "/uploads", MEGABYTE) as connection:
        told = rest_of(connection)
    assert told.startswith(b"HTTP/1.1 507 "), told
    assert b"delete runs, or files in" in told


@pytest.mark.parametrize("length", [None, 4 * MEGABYTE])
async def test_files_that_arrive_at_the_same_time_are_bounded_together(serve_script, length):
    served = serve_script(settings={"arriving_bytes": 6 * MEGABYTE, "upload_bytes": 4 * MEGABYTE})
    begun = b"--x\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n\r\nbegun"

    def send() -> httpx.Response:
        return httpx.post(served.url + "/uploads", files={"file": ("a.txt", b"x" * 3 * MEGABYTE)}, timeout=60)

    with sending(served.url, "/uploads", length, begun if length else b"%x\r\n%s\r\n" % (len(begun), begun)):
        # The first may not have been read yet when the next ones come.
        await until(lambda: send().status_code == 503)
        with sending(served.url, "/uploads", 3 * MEGABYTE) as connection:
            told = rest_of(connection)
        assert told.startswith(b"HTTP/1.1 503 "), told
        assert b'"error_type":"Busy"' in told and b'"can_retry":true' in told
        assert b"retry-after: 5" in told.lower()
        assert httpx.get(served.url + "/runs").status_code == 200
    await until(lambda: send().status_code == 201)


def test_what_arrives_lies_in_the_data_folder_where_nothing_else_can_be_written_to(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/nowhere")
    monkeypatch.setattr(tempfile, "gettempdir", Mock(side_effect=FileNotFoundError))
    have_temporary_folder(tmp_path / ("x" * 300))
    have_temporary_folder(tmp_path / "data")
    assert os.environ["TMPDIR"] == str(tmp_path / "data") and (tmp_path / "data").is_dir()

"""Files for which there is no room are refused before they are read."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager

import httpx
import pytest
from hosted_graphs import until
from listening import connected, rest_of

MEGABYTE = 2**20
PATHS = ["/uploads", "/rag/ingest"]


def sending(url: str, path: str, length: int | None, body: bytes = b"") -> AbstractContextManager[socket.socket]:
    """A client that says how much it is about to send, and has sent only a part."""
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    kind = "Content-Type: multipart/form-data; boundary=x"
    return connected(url, f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\n{framing}\r\n\r\n".encode() + body)


@pytest.mark.parametrize("length", [None, 40 * MEGABYTE])
@pytest.mark.parametrize("path", PATHS)
def test_what_the_disk_has_no_room_for_is_refused_before_it_comes(serve_script, path, length):
    served = serve_script(settings={"free_bytes": 10**18})
    with sending(served.url, path, length) as connection:
        told = rest_of(connection)
    assert told.startswith(b"HTTP/1.1 507 "), told
    assert b'"error_type":"NoRoom"' in told
    assert b"make room there, or send smaller files" in told


def test_what_may_not_be_kept_is_refused_before_it_comes(serve_script):
    served = serve_script(settings={"kept_bytes": 1000})
    assert httpx.post(served.url + "/uploads", files={"file": ("a.txt", b"x" * 2000)}).status_code == 201
    with sending(served.url, "/uploads", MEGABYTE) as connection:
        told = rest_of(connection)
    assert told.startswith(b"HTTP/1.1 507 "), told
    assert b"delete runs that you do not need" in told


@pytest.mark.parametrize("length", [None, 40 * MEGABYTE])
async def test_files_that_arrive_at_the_same_time_are_bounded_together(serve_script, length):
    served = serve_script(settings={"arriving_bytes": 60 * MEGABYTE})
    begun = b"--x\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n\r\nbegun"

    def send() -> httpx.Response:
        return httpx.post(served.url + "/uploads", files={"file": ("a.txt", b"x" * 30 * MEGABYTE)}, timeout=60)

    with sending(served.url, "/uploads", length, begun if length else b"%x\r\n%s\r\n" % (len(begun), begun)):
        # The first may not have been read yet when the next ones come.
        await until(lambda: send().status_code == 503)
        with sending(served.url, "/uploads", 30 * MEGABYTE) as connection:
            told = rest_of(connection)
        assert told.startswith(b"HTTP/1.1 503 "), told
        assert b'"error_type":"Busy"' in told and b'"can_retry":true' in told
        assert b"retry-after: 5" in told.lower()
        assert httpx.get(served.url + "/runs").status_code == 200
    await until(lambda: send().status_code == 201)


def test_one_request_is_taken_however_large_it_is(serve_script):
    served = serve_script(settings={"arriving_bytes": 1})
    for _ in range(2):
        assert httpx.post(served.url + "/uploads", files={"file": ("a.txt", b"x" * 5000)}).status_code == 201

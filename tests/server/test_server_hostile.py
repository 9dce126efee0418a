"""What a stranger sends on a bare connection, and what a page of another origin has a browser send."""

import asyncio
import time

import httpx
import pytest
from listening import answer_to, connected, listening, rest_of
from scripted_server import DONE, script

from loopwright.errors import ConfigError
from loopwright.server.auth import usable_token
from loopwright.server.connections import HEAD_BYTES, Connection

TOKEN = "a-long-token"
AGAIN = b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /"
ELSEWHERE = (
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
    {"Origin": "http://localhost:1"},
)


@pytest.fixture(scope="module")
def locked(serve_in_module):
    return serve_in_module(token=TOKEN, settings={"reads_per_minute": 0, "starts_per_minute": 0})


@pytest.fixture(scope="module")
def served(serve_in_module):
    return serve_in_module(settings={"reads_per_minute": 0, "starts_per_minute": 0})


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PATCH", "PROPFIND", "M-SEARCH", "PURGE"])
@pytest.mark.parametrize("path", ["/runs", "/nothing", "/api/chat"])
def test_unusual_methods_need_the_token_too(locked, method, path):
    reply = answer_to(locked.url, f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert reply.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    "path",
    [
        "//runs", "/runs/", "/RUNS", "/./runs", "/health/../runs", "/health/live/../../runs", "/assets/../runs",
        "/%72uns", "/runs%2f", "/health/live/", "//health/live", "/runs;x=/health/live", "/runs?/",
        "/runs#/health/live", "/\\runs", "/health/live%00", "/runs/%2e%2e/health/live", "http://x/runs", "/metrics",
        "/runs?token=" + TOKEN, "/runs?access_token=" + TOKEN, "/runs?authorization=Bearer%20" + TOKEN,
    ],
)  # fmt: skip
def test_no_spelling_of_an_address_gets_round_the_token(locked, path):
    reply = answer_to(locked.url, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode("latin-1"))
    status = reply.split(b" ", 2)[1]
    assert status in (b"401", b"400", b"404"), reply[:200]
    assert status == b"401" or path.startswith(("/assets/", "/runs#", "/\\")), reply[:200]
    assert b'"runs":' not in reply
    assert TOKEN.encode() not in reply


@pytest.mark.parametrize("token", [" ", "two words", "line\n", "\ttab", "half\ud800"])
def test_a_token_that_no_request_could_carry_is_refused(token):
    with pytest.raises(ConfigError, match="token"):
        usable_token(token)


def test_an_empty_token_is_none_and_other_names_stay_refused(serve_script):
    served = serve_script(token="")
    rebound = {"Host": "evil.example", "Authorization": "Bearer"}
    assert httpx.get(served.url + "/runs", headers=rebound).status_code == 421
    assert httpx.get(served.url + "/runs").status_code == 200


@pytest.mark.matrix
@pytest.mark.parametrize("headers", ELSEWHERE)
def test_a_page_of_another_origin_can_neither_read_nor_follow(served, headers):
    run = httpx.post(served.url + "/runs", json={"workflow": "assistant", "input": script(DONE)}).json()
    for path in ("/runs", "/workflows", "/metrics", "/openapi.json", f"/runs/{run['id']}/events"):
        for method in ("GET", "HEAD", "OPTIONS"):
            reply = httpx.request(method, served.url + path, headers=headers)
            assert reply.status_code == 403, (method, path)
            assert "access-control-allow-origin" not in reply.headers
    page = httpx.get(served.url + "/", headers=headers)
    assert page.status_code == 200, "a link to the page may be followed from anywhere"
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


def test_the_limit_of_requests_cannot_be_evaded_by_naming_other_addresses(serve_script):
    served = serve_script(token=TOKEN, settings={"reads_per_minute": 3})
    named = [{"X-Forwarded-For": f"10.0.0.{each}", "Forwarded": f"for=10.0.0.{each}"} for each in range(6)]
    told = [httpx.get(served.url + "/", headers=each | {"X-Real-IP": "1.1.1.1"}).status_code for each in named]
    assert told[:3] == [200] * 3
    assert set(told[3:]) == {429}


def test_a_head_that_does_not_end_is_cut_off_and_one_within_the_bound_is_read(locked):
    sent = 0
    with connected(locked.url, b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n") as connection:
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            while sent < 50_000_000:
                connection.sendall(b"X-Filler: " + b"x" * 8000 + b"\r\n")
                sent += 8012
    # What had been sent before the server's answer lies in the buffers of the connection.
    assert sent < 20_000_000
    headers = {f"X-{number}": "y" * 4000 for number in range(HEAD_BYTES // 8000)}
    assert httpx.get(locked.url + "/health/live", headers=headers).status_code == 200


class Hasty(Connection):
    """Waits for a head as long as a test may."""

    head_seconds = 0.3


async def greet(scope, receive, send):
    """An application that waits longer than a head may take before it answers."""
    await asyncio.sleep(1)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


@pytest.mark.matrix
@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /"])
def test_who_never_ends_a_head_loses_the_connection(sent):
    with listening(greet, Hasty) as url:
        received = answer_to(url, sent)
    assert (b"hello" in received) == sent.endswith(b"GET /"), "an answer that takes long is waited for"


@pytest.mark.parametrize("pieces", [(b"", b"", AGAIN), (b"x", b"", AGAIN), (b"", b"x" + AGAIN[:9], AGAIN[9:])])
def test_a_connection_that_rests_between_requests_is_kept(pieces, monkeypatch):
    monkeypatch.setattr(Hasty, "head_seconds", 1.0)
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (b"x" in pieces[0] + pieces[1][:1])
    with listening(greet, Hasty) as url, connected(url, head) as connection:
        received = connection.recv(65_536)
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.6)  # two of them are longer than a head may take
        assert (received + rest_of(connection)).count(b"hello") == 2


def test_a_body_that_comes_too_slowly_is_refused(serve_script):
    served = serve_script(settings={"body_seconds": 0.5})
    head = (
        b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    reply = answer_to(served.url, head)
    assert reply.startswith(b"HTTP/1.1 408 "), reply
    assert b"RequestTimeout" in reply
    upload = b"POST /uploads HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    reply = answer_to(served.url, upload + b"Content-Length: 100\r\n\r\n--x\r\n")
    assert reply.startswith(b"HTTP/1.1 408 "), reply
    # The run takes longer than a body may: what is waited for behind the body is the client's leaving.
    answered = httpx.post(served.url + "/api/chat", json=script({"chunks": 10, "pause": 0.1}, DONE), timeout=60)
    assert answered.status_code == 200


def test_what_nobody_foresaw_has_the_headers_of_every_reply(serve_script):
    served = serve_script(cors=["https://conference.example"])

    @served.app.get("/broken")
    async def broken() -> None:
        raise ValueError("the password is hunter2")

    reply = httpx.get(served.url + "/broken", headers={"Origin": "https://conference.example"})
    assert (reply.status_code, reply.json()["error_type"]) == (500, "InternalError")
    assert "hunter2" not in reply.text
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["access-control-allow-origin"] == "https://conference.example"


BODIES = {
    "deep": '{"a":' * 200 + "1" + "}" * 200,
    "deeper": "[" * 90_000 + "]" * 90_000,
    "not a number": "NaN",
    "infinite": "1e999",
    "large": "9" * 400,
    "larger": "9" * 5000,
    "half a character": '"\\ud800"',
    "NUL": '"a\\u0000b"',
    "half a character in a key": '{"\\udfff": 1}',
}


@pytest.mark.matrix(2)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_json_that_cannot_be_kept_is_refused(served, body):
    ended = httpx.post(served.url + "/runs", json={"workflow": "assistant", "input": script(DONE)}).json()["id"]
    headers = {"Content-Type": "application/json"}
    for path, content in (
        ("/runs", '{"workflow": "assistant", "input": {"message": "[]", "user_context": VALUE}}'),
        (f"/runs/{ended}/fork", '{"checkpoint_id": "x", "state": {"user_context": VALUE}}'),
        (f"/runs/{ended}/resume", '{"answer": VALUE}'),
    ):
        reply = httpx.post(served.url + path, content=content.replace("VALUE", body), headers=headers)
        assert reply.status_code in (400, 422), (path, reply.text)
        assert len(reply.text) < 500


def test_what_is_told_of_an_error_is_short(served, caplog):
    reply = httpx.post(served.url + "/runs", json={"workflow": "x" * 500_000, "input": {}})
    assert reply.status_code == 404
    assert len(reply.text) < 500
    asked = {"workflow": "assistant", "input": script(DONE), "models": {"x": "y" * 500_000}}
    reply = httpx.post(served.url + "/runs", json=asked)
    assert reply.status_code == 400
    assert len(reply.text) < 3000
    assert all(len(record.getMessage()) < 3000 for record in caplog.records)

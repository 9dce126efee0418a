"""Who may ask, how much a request may bring, and what is said to whoever may not."""

from __future__ import annotations

import httpx
import pytest
from scripted_server import DONE, script

from loopwright.errors import ConfigError
from loopwright.server import serve
from loopwright.server.auth import is_loopback

TOKEN = "a-long-token-é"
PROTECTED = [
    ("POST", "/api/chat"),
    ("POST", "/api/chat/stream"),
    ("GET", "/api/chat/runs/x/events"),
    ("POST", "/api/chat/runs/x/cancel"),
    ("GET", "/api/profiles/x"),
    ("PUT", "/api/profiles/x"),
    ("DELETE", "/api/profiles/x"),
    ("GET", "/api/conversations/x"),
    ("DELETE", "/api/conversations/x"),
    ("GET", "/openapi.json"),
    ("GET", "/nothing/here"),
]


def bearer(token: str) -> dict[str, bytes]:
    return {"Authorization": b"Bearer " + token.encode()}


def test_every_route_is_in_the_list_of_what_a_token_protects(serve_script):
    served = serve_script(token=TOKEN)
    reply = httpx.get(served.url + "/openapi.json", headers=bearer(TOKEN))
    routes = {
        (method.upper(), path.replace("{run_id}", "x").replace("{user_id}", "x").replace("{conversation_id}", "x"))
        for path, methods in reply.json()["paths"].items()
        for method in methods
    }
    assert routes - set(PROTECTED) == {("GET", "/health/live"), ("GET", "/health/ready")}


@pytest.mark.parametrize(("method", "path"), PROTECTED)
@pytest.mark.parametrize(
    "headers",
    [{}, bearer("wrong"), {"Authorization": b"Bearer"}, bearer(TOKEN + "x"), {"Authorization": b"Basic " + TOKEN.encode()},
     {"Authorization": TOKEN.encode()}, {"X-Token": TOKEN.encode()}],
    ids=["none", "wrong", "empty", "longer", "basic", "bare", "elsewhere"],
)  # fmt: skip
def test_without_the_token_nothing_is_answered(token_server, method, path, headers):
    reply = httpx.request(method, token_server.url + path, headers=headers)
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    assert reply.json()["error_type"] == "Unauthorized"
    assert TOKEN not in reply.text
    assert not token_server.gates.asked


@pytest.fixture(scope="module")
def token_server():
    from contextlib import ExitStack

    from scripted_server import Script, Served, Services, running

    from loopwright.retrieval.stores import open_store
    from loopwright.server import create_app

    with ExitStack() as exits:
        played = Script()
        app = create_app(Services(exits.enter_context(open_store("memory"))), token=TOKEN, chat=played)
        yield Served(exits.enter_context(running(app)), app, played)


def test_with_the_token_it_is_answered_by_any_name(serve_script):
    served = serve_script(token=TOKEN)
    for scheme in (b"Bearer ", b"bearer ", b"BEARER  "):
        headers = {"Authorization": scheme + TOKEN.encode(), "Host": "conference.example"}
        assert httpx.post(served.url + "/api/chat", json=script(DONE), headers=headers).status_code == 200


def test_health_needs_no_token(token_server):
    assert httpx.get(token_server.url + "/health/live").status_code == 200
    assert httpx.get(token_server.url + "/health/ready").status_code in (200, 503)


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]"]
)
def test_without_a_token_only_requests_addressed_to_this_machine_are_answered(served, host):
    reply = httpx.post(served.url + "/api/chat", json=script(DONE), headers={"Host": f"{host}:80"})
    assert reply.status_code == 421
    assert reply.json()["error_type"] == "ForeignHost"
    assert not served.gates.asked


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "127.8.8.8", "[::1]:8000"])
def test_this_machine_has_several_names(served, host):
    assert httpx.get(served.url + "/health/live", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "192.168.1.4", "example.com"])
@pytest.mark.parametrize("token", [None, ""])
def test_the_server_refuses_to_be_open_to_everyone(host, token):
    assert not is_loopback(host)
    with pytest.raises(ConfigError, match="token"):
        serve(None, host, 0, token)  # type: ignore[arg-type]


def test_every_origin_without_a_token_is_refused(serve_script):
    with pytest.raises(ConfigError, match="cors"):
        serve_script(cors=["*"])


ORIGIN = "https://conference.example"
PREFLIGHT = {
    "Origin": ORIGIN,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "last-event-id",
}


def test_pages_of_other_origins_may_do_nothing_by_default(served):
    reply = httpx.options(served.url + "/api/chat/stream", headers=PREFLIGHT)
    assert reply.status_code == 405
    reply = httpx.post(served.url + "/api/chat", json=script(DONE), headers={"Origin": ORIGIN})
    assert "access-control-allow-origin" not in reply.headers


def test_pages_of_a_named_origin_may(serve_script):
    served = serve_script(token=TOKEN, cors=[ORIGIN])
    reply = httpx.options(served.url + "/api/chat/stream", headers=PREFLIGHT)
    assert reply.status_code == 200
    assert reply.headers["access-control-allow-origin"] == ORIGIN
    reply = httpx.post(served.url + "/api/chat/stream", json=script(DONE), headers={"Origin": ORIGIN, **bearer(TOKEN)})
    assert "X-Run-Id" in reply.headers["access-control-expose-headers"]
    other = httpx.options(served.url + "/api/chat/stream", headers=PREFLIGHT | {"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers
    refused = httpx.post(served.url + "/api/chat", json=script(DONE), headers={"Origin": ORIGIN})
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == ORIGIN, "else the page cannot read why"


def test_a_form_that_any_page_could_send_is_no_message(served):
    body = '{"message": "[]"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None):
        headers = {"Content-Type": kind} if kind else {}
        reply = httpx.post(served.url + "/api/chat", content=body, headers=headers)
        assert reply.status_code == 422, kind
    assert not served.gates.asked


def test_a_request_that_is_too_large_is_refused_however_it_is_sent(served):
    body = b'{"message": "' + b"x" * 300_000 + b'"}'
    headers = {"Content-Type": "application/json"}
    for content in (body, (body[start : start + 1000] for start in range(0, len(body), 1000))):
        reply = httpx.post(served.url + "/api/chat", content=content, headers=headers)
        assert reply.status_code == 413
        assert reply.json()["error_type"] == "RequestTooLarge"
    assert not served.gates.asked


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"", "body"),
        (b"{", "JSON"),
        (b"[]", "body"),
        (b"{}", "message"),
        (b'{"message": ""}', "message"),
        (b'{"message": " \\n "}', "message"),
        (b'{"message": 3}', "message"),
        (b'{"message": "\\ud800"}', "message"),
        (b'{"message": "' + b"x" * 10_001 + b'"}', "10000"),
        (b'{"message": "x", "mode": "none"}', "mode"),
        (b'{"message": "x", "user_context": {"user": "u"}}', "user_context.user"),
        (b'{"message": "x", "user_context": {"user_id": ""}}', "user_context.user_id"),
        (b'{"message": "x", "user_context": {"now": "soon"}}', "user_context.now"),
        (b'{"message": "x", "user_context": {"profile": {"age": 3}}}', "user_context.profile.age"),
        (b'{"message": "x", "user_context": {"profile": {"name": "\\udfff"}}}', "user_context.profile.name"),
        (b'\xff\xfe{"message": 1}', "body"),
    ],
)
def test_what_is_wrong_with_a_message_is_named_in_json(served, body, named):
    reply = httpx.post(served.url + "/api/chat/stream", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code in (400, 422)
    assert set(reply.json()) == {"error", "error_type", "can_retry"}
    assert named in reply.json()["error"]
    assert len(reply.text) < 500
    assert not served.gates.asked


def test_the_description_names_the_shape_of_every_problem(served):
    described = httpx.get(served.url + "/openapi.json").json()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            problems = {status: reply for status, reply in operation["responses"].items() if status >= "400"}
            assert set(problems) >= {"401", "413", "421", "422"}, (method, path)
            for reply in problems.values():
                assert reply["content"]["application/json"]["schema"]["$ref"].endswith("/ProblemBody"), (method, path)
    assert "HTTPValidationError" not in described["components"]["schemas"]


def test_what_does_not_exist_is_said_in_json(served):
    missing = httpx.get(served.url + "/nothing/here")
    assert (missing.status_code, missing.json()["error_type"]) == (404, "NotFound")
    wrong = httpx.get(served.url + "/api/chat")
    assert (wrong.status_code, wrong.json()["error_type"]) == (405, "MethodNotAllowed")
    assert wrong.headers["allow"] == "POST"

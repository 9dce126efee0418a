"""Who may ask, how much a request may bring, and what is said to whoever may not."""

import re

import httpx
import pytest
from scripted_server import DONE, script

from loopwright.errors import ConfigError
from loopwright.server import Serving, serve
from loopwright.server.auth import is_loopback

TOKEN = "a-long-token-à"
OPEN = {("GET", "/health/live"), ("GET", "/health/ready")}
WRONG = {
    "none": {},
    "wrong": {"Authorization": b"Bearer wrong"},
    "empty": {"Authorization": b"Bearer"},
    "longer": {"Authorization": b"Bearer " + TOKEN.encode() + b"x"},
    "basic": {"Authorization": b"Basic " + TOKEN.encode()},
    "bare": {"Authorization": TOKEN.encode()},
    "elsewhere": dict.fromkeys(("X-Token", "X-Api-Key", "Cookie", "Proxy-Authorization"), b"Bearer " + TOKEN.encode()),
}


def bearer(token: str) -> dict[str, bytes]:
    return {"Authorization": b"Bearer " + token.encode()}


@pytest.fixture(scope="module")
def token_server(serve_in_module):
    return serve_in_module(
        token=TOKEN, settings={"reads_per_minute": 0, "starts_per_minute": 0, "guesses_per_minute": 0}
    )


@pytest.fixture(scope="module")
def shared(serve_in_module):
    """A server for requests that begin nothing."""
    return serve_in_module()


def operations(described: dict) -> set[tuple[str, str]]:
    """Method and path of everything that the API offers, with something in place of each name."""
    return {
        (method.upper(), re.sub(r"{\w+}", "x", path))
        for path, methods in described["paths"].items()
        for method in methods
    }


@pytest.mark.matrix(4)
@pytest.mark.parametrize("headers", WRONG.values(), ids=WRONG)
def test_without_the_token_nothing_is_answered(token_server, headers):
    described = httpx.get(token_server.url + "/openapi.json", headers=bearer(TOKEN)).json()
    offered = operations(described)
    assert OPEN < offered
    assert len(offered) > 30
    with httpx.Client(base_url=token_server.url) as client:
        for method, path in [*sorted(offered - OPEN), ("GET", "/openapi.json"), ("GET", "/nothing/here")]:
            reply = client.request(method, path, headers=headers)
            assert (reply.status_code, reply.json()["error_type"]) == (401, "Unauthorized"), (method, path)
            assert reply.headers["www-authenticate"] == "Bearer"
            assert TOKEN not in reply.text
        assert [client.get(path).status_code in (200, 503) for _get, path in sorted(OPEN)] == [True, True]
    assert not token_server.gates.asked


def test_with_the_token_it_is_answered_by_any_name(serve_script):
    served = serve_script(token=TOKEN)
    for scheme in (b"Bearer ", b"bearer ", b"BEARER  "):
        headers = {"Authorization": scheme + TOKEN.encode(), "Host": "conference.example"}
        assert httpx.post(served.url + "/api/chat", json=script(DONE), headers=headers).status_code == 200


ELSEWHERE = [
    "evil.example:80", "localhost.evil.example:80", "127.0.0.1.evil.example:80", "10.0.0.1:80", "[::2]:80",
    "localhost@evil.example", "evil.example\\@localhost", "localhost#.evil.example", "localhost/x", "[::1].x",
]  # fmt: skip


@pytest.mark.parametrize(
    "headers", [*({"Host": host} for host in ELSEWHERE), {"Via": "1.1 x"}, {"X-Forwarded-For": "192.0.2.1"}]
)
def test_without_a_token_only_this_machine_is_answered_under_its_own_name(shared, headers):
    reply = httpx.post(shared.url + "/api/chat", json=script(DONE), headers=headers)
    assert reply.status_code == 421
    assert reply.json()["error_type"] == "ForeignHost"
    assert not shared.gates.asked


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "127.8.8.8", "[::1]:8000"])
def test_this_machine_has_several_names(shared, host):
    headers = {"Host": host, "Viable": "no proxy's"}
    assert httpx.get(shared.url + "/health/live", headers=headers).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "192.168.1.4", "example.com"])
@pytest.mark.parametrize("token", [None, ""])
def test_the_server_refuses_to_be_open_to_everyone(host, token):
    assert not is_loopback(host)
    with pytest.raises(ConfigError, match="token"):
        serve(Serving(workflows=[]), host, 0, token)


ORIGIN = "https://conference.example"
PREFLIGHT = {
    "Origin": ORIGIN,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "idempotency-key, last-event-id",
}


@pytest.mark.parametrize("origin", ["null", "http://127.0.0.1:1", "file://", "http://localhost.evil.example"])
def test_a_page_of_another_origin_changes_nothing_even_without_cors(shared, origin):
    for method in ("POST", "PUT", "DELETE"):
        for headers in ({"Origin": origin}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
            reply = httpx.request(method, shared.url + "/runs/x", headers=headers)
            assert (reply.status_code, reply.json()["error_type"]) == (403, "ForeignOrigin"), (method, headers)


def test_the_servers_own_page_may_change_things(served):
    behind_a_proxy = {"Origin": "https://loopwright.example", "Sec-Fetch-Site": "same-origin"}
    for headers in ({"Origin": served.url}, behind_a_proxy, {}):
        assert httpx.post(served.url + "/api/chat", json=script(DONE), headers=headers).status_code == 200


def test_pages_of_a_named_origin_may_and_every_origin_without_a_token_is_refused(serve_script):
    for wrong in ("*", f"{ORIGIN}/", "conference.example", "HTTPS://conference.example", f"{ORIGIN}:443"):
        with pytest.raises(ConfigError, match="cors"):
            serve_script(cors=["http://[::1]:8000", wrong])
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


def test_a_form_that_any_page_could_send_is_no_message(shared):
    body = '{"message": "[]"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None):
        headers = {"Content-Type": kind} if kind else {}
        reply = httpx.post(shared.url + "/api/chat", content=body, headers=headers)
        assert reply.status_code == 422, kind
        assert "the header Content-Type: application/json" in reply.json()["error"]
    assert not shared.gates.asked


def test_a_request_that_is_too_large_is_refused_however_it_is_sent(shared):
    body = b'{"message": "' + b"x" * 1_100_000 + b'"}'
    headers = {"Content-Type": "application/json"}
    for content in (body, (body[start : start + 1000] for start in range(0, len(body), 1000))):
        reply = httpx.post(shared.url + "/api/chat", content=content, headers=headers)
        assert reply.status_code == 413
        assert reply.json()["error_type"] == "RequestTooLarge"
    assert not shared.gates.asked


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"", "body"),
        (b"{", "JSON"),
        (b"[]", "body"),
        (b"{}", "message"),
        (b'{"message": ""}', "message"),
        (b'{"message": "\\ud800"}', "message"),
        (b'{"message": "' + b"x" * 10_001 + b'"}', "10000"),
        (b'{"message": "x", "user_context": {"user": "u"}}', "user_context.user"),
        (b'{"message": "x", "user_context": {"user_id": ""}}', "user_context.user_id"),
        (b'{"message": "x", "user_context": {"profile": {"name": "\\udfff"}}}', "user_context.profile.name"),
        (b'{"message": "x", "user_context": {"profile": {"interests": [' + b'"x",' * 20 + b'"x"]}}}', "interests"),
        (b'\xff\xfe{"message": 1}', "body"),
        (b'{"message": "\xfc"}', "UTF-8"),
        (b"[" * 200_000, "too deeply"),
    ],
)
def test_what_is_wrong_with_a_message_is_named_in_json(shared, body, named):
    reply = httpx.post(shared.url + "/api/chat/stream", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code in (400, 422)
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert set(problem) == {"type", "title", "status", "detail", "error", "error_type", "can_retry"}
    assert (problem["status"], problem["detail"]) == (reply.status_code, problem["error"])
    assert named in problem["error"]
    assert len(reply.text) < 500
    assert not shared.gates.asked


def test_the_description_names_the_shape_of_every_problem(shared):
    described = httpx.get(shared.url + "/openapi.json").json()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            problems = {status: reply for status, reply in operation["responses"].items() if status >= "400"}
            assert set(problems) >= {"400", "401", "403", "408", "413", "421", "422", "429"}, (method, path)
            for reply in problems.values():
                schema = reply["content"]["application/problem+json"]["schema"]
                assert schema["$ref"].endswith("/ProblemBody"), (method, path)
    assert "HTTPValidationError" not in described["components"]["schemas"]
    assert described["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    below = httpx.get(shared.url + "/v1/openapi.json").json()["servers"]
    assert (described["servers"], below) == ([{"url": "./v1"}], [{"url": "../v1"}]), "below a proxy's path too"
    schemas = described["components"]["schemas"]
    assert all(schemas[name]["examples"] for name in ("StartRun", "ResumeRun", "LeaveOut"))
    taken = described["paths"]["/workflows/{workflow}/run"]["post"]["requestBody"]["content"]
    assert [*taken] == ["application/json", "multipart/form-data"]


def test_every_path_stands_below_its_version_too_and_behind_the_same_guard(serve_script):
    served = serve_script(token="t0ken-of-enough-characters")
    headers = {"Authorization": "Bearer t0ken-of-enough-characters"}
    for path in ("/v1/workflows", "/workflows"):
        assert httpx.get(served.url + path).status_code == 401
        reply = httpx.get(served.url + path, headers={**headers, "Accept-Encoding": "gzip"})
        assert [each["name"] for each in reply.json()] == ["assistant"]
    assert httpx.get(served.url + "/v1/v1/workflows", headers=headers).status_code == 404


def test_what_does_not_exist_is_said_in_json(shared):
    missing = httpx.post(shared.url + "/uploads/", content=b"x" * 1_100_000)  # with a slash too many
    assert (missing.status_code, missing.json()["error_type"]) == (404, "NotFound")
    assert missing.json()["error"] == "Not Found (POST /uploads/)"
    wrong = httpx.get(shared.url + "/api/chat")
    assert (wrong.status_code, wrong.json()["error_type"]) == (405, "MethodNotAllowed")
    assert wrong.headers["allow"] == "POST"
    assert httpx.get(shared.url + "/workflows/").status_code == 404, "a redirect would lead out of a proxy's path"

"""The page: only what was built, with a policy that lets no script in; and HEAD, which answers as GET does."""

import gzip

import httpx
import pytest
from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from listening import answer_to

from loopwright.server.problems import handle_problems
from loopwright.server.routes.page import BUILT, page_router

ATTACKS = [
    "/assets/../../app.py", "/assets/%2e%2e/%2e%2e/app.py", "/assets/..%2f..%2fapp.py", "/assets//etc/passwd",
    "/assets/%2fetc%2fpasswd", "/assets/..\\..\\app.py", "/assets/%5c..%5capp.py", "/assets/%00", "/assets/",
    "/../../../etc/passwd", "/assets/....//....//app.py", "/assets/%252e%252e/app.py",
]  # fmt: skip


@pytest.fixture(scope="module")
def served(serve_in_module):
    return serve_in_module()


@pytest.mark.matrix(3)
@pytest.mark.parametrize("path", ATTACKS)
def test_no_path_leads_out_of_the_page(served, path):
    # The path as it stands, which a well-behaved client would tidy up.
    asked = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    reply = answer_to(served.url, asked.encode())
    assert reply.split(b" ", 2)[1] in (b"404", b"400", b"307"), reply[:200]
    assert b"root:" not in reply
    assert b"create_app" not in reply


def test_every_reply_says_what_it_is_and_the_page_lets_no_script_in(served):
    for path in ("/", "/workflows", "/nothing", "/health/live"):
        headers = httpx.get(served.url + path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
    page = httpx.get(served.url + "/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert "script-src 'self';" in page.headers["content-security-policy"]
    if not BUILT.is_dir():
        assert "scripts/build_devtools" in page.text
    assert httpx.get(served.url + "/workflows").headers["cache-control"] == "no-store"


@pytest.fixture
def built(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><script src='/assets/a-1.js'></script>")
    (tmp_path / "assets" / "a-1.js").write_text("console.log(1);" * 500)
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "assets" / "link.js").symlink_to("/etc/passwd")
    app = FastAPI()
    app.include_router(page_router(tmp_path))
    app.add_middleware(GZipMiddleware)
    handle_problems(app)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


def test_long_replies_are_compressed_and_short_ones_are_not(served):
    with httpx.stream("GET", served.url + "/openapi.json", headers={"Accept-Encoding": "gzip, br"}) as packed:
        assert packed.headers["content-encoding"] == "gzip"
        content = b"".join(packed.iter_raw())
    plain = httpx.get(served.url + "/openapi.json", headers={"Accept-Encoding": "identity"})
    assert gzip.decompress(content) == plain.content
    assert len(content) < len(plain.content) / 5
    assert "content-encoding" not in httpx.get(served.url + "/health/live").headers


async def test_files_of_the_build_are_kept_by_clients(built):
    plain = await built.get("/assets/a-1.js")
    assert plain.headers["content-type"].startswith("text/javascript")
    assert "immutable" in plain.headers["cache-control"]
    again = await built.get("/assets/a-1.js", headers={"If-None-Match": plain.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert (await built.get("/")).headers["cache-control"] == "no-cache"
    for path in ("/assets/link.js", "/secret.txt", "/assets/secret.txt", "/assets/../secret.txt"):
        assert (await built.get(path)).status_code == 404, path


FRAMING = frozenset({"transfer-encoding", "content-encoding", "vary"})
"""Headers that say how the body is sent: what follows from the body alone may be missing (RFC 9110, section 9.3.2)."""
CHANGING = frozenset({"date", "content-length"}) | FRAMING
"""Headers that differ between two answers of the same address: figures are not the same from one moment to the next."""


@pytest.mark.parametrize("path", ["/", "/health/live", "/health/ready", "/assets/nothing"])
def test_the_head_is_that_of_get_and_nothing_follows(served, path):
    with httpx.Client(base_url=served.url, timeout=30) as client:
        told, asked = client.get(path), client.head(path)
        # The connection is in order: the same one answers on.
        assert client.get("/health/live").json() == {"status": "live"}
    assert asked.status_code == told.status_code
    assert asked.content == b""
    assert {*asked.headers} - FRAMING == {*told.headers} - FRAMING
    for name in {*told.headers} - CHANGING:
        assert asked.headers[name] == told.headers[name]

"""Wrong settings are told at once, and every failure of an engine over HTTP says whether another attempt could help."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError
from search_server import Reply, SearchServer, as_json, redirect

from loopwright.errors import ConfigError, SearchError
from loopwright.retrieval.web import SearchSettings, WebSearch, open_search

GOOD = json.dumps({"results": [{"title": "t", "url": "http://a.example/", "content": "c"}]}).encode()

Opener = Callable[..., WebSearch]


@pytest.fixture(params=["searxng", "tavily"])
def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Opener:
    monkeypatch.setenv("TAVILY_API_KEY", "key")

    def make(url: str, **options: Any) -> WebSearch:
        search = open_search(SearchSettings(engine=request.param, url=url, **options))
        assert search is not None
        return search

    return make


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"engine": "searx"}, "'searxng' or 'tavily'"),
        ({"engine": "searxng"}, "needs the url of a server"),
        ({"engine": "searxng", "url": "localhost"}, "no http address"),
        ({"engine": "searxng", "url": "http://localhost", "api_key_env": "KEY"}, "takes no api_key_env"),
        ({"engine": "tavily", "api_key_env": "A_KEY_THAT_IS_NOT_SET"}, "A_KEY_THAT_IS_NOT_SET is not set"),
        ({"engine": "searxng", "url": "http://localhost", "max_results": 0}, "greater than 0"),
    ],
)
def test_what_is_missing_or_wrong_is_a_configuration_error(settings: dict[str, Any], said: str):
    with pytest.raises((ConfigError, ValidationError)) as caught:
        open_search(SearchSettings(**settings))
    assert said in str(caught.value)


async def test_each_engine_gives_as_many_results_as_are_set(server: SearchServer, opened: Opener):
    server.results = [{"title": str(n), "url": f"http://a.example/{n}"} for n in range(5)]
    assert len(await opened(server.url, max_results=2).search("x")) == 2


@pytest.mark.parametrize(
    ("status", "transient"),
    [(400, False), (401, False), (403, False), (404, False), (418, False), (429, True), (500, True), (503, True)],
)
async def test_statuses(server: SearchServer, opened: Opener, status: int, transient: bool):
    server.replies.append(Reply(b"<html>sorry</html>", status=status, type="text/html"))
    with pytest.raises(SearchError, match=f"status {status}") as caught:
        await opened(server.url).search("x")
    assert caught.value.transient is transient


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(GOOD[:-10]), "(JSON: Invalid JSON"),
        (Reply(b"<h1>Search</h1>", type="text/html"), "did not send results but '<h1>Search</h1>' (JSON: Invalid"),
        (Reply(b"[" * 200_000), "(JSON: Invalid JSON"),
        (Reply(b'{"results": ' + b"9" * 10_000 + b"}"), "did not send results"),
        (as_json([]), "did not send results but '[]'"),
        (as_json({"results": {"url": "http://a.example/"}}), "(results: Input should be"),
        (as_json({"results": ["http://a.example/"]}), "(results.0: Input should be"),
        (as_json({"results": [{"link": "http://a.example/"}]}), "without a text 'url'"),
        (Reply(b"x" * 10_000_000), "more than 5000000 bytes"),
        (Reply(GOOD, headers={"Content-Encoding": "gzip"}), "compressed"),
        (redirect("http://127.0.0.1:9/search"), "it redirects to 'http://127.0.0.1:9/search'"),
        (redirect("http://xn--/search"), "cannot be reached: Malformed A-label"),
    ],
)
async def test_replies_that_another_attempt_would_not_mend(
    server: SearchServer, opened: Opener, reply: Reply, said: str
):
    server.replies.append(reply)
    with pytest.raises(SearchError) as caught:
        await opened(server.url).search("x")
    assert said in str(caught.value)
    assert len(str(caught.value)) < 500
    assert not caught.value.transient
    assert len(server.requests) == 1


@pytest.mark.parametrize("reply", [Reply(silent=True), Reply(GOOD, claimed=len(GOOD) + 1)])
async def test_a_connection_that_breaks_off_is_transient(server: SearchServer, opened: Opener, reply: Reply):
    server.replies.append(reply)
    with pytest.raises(SearchError, match="cannot be reached") as caught:
        await opened(server.url).search("x")
    assert caught.value.transient
    assert len(await opened(server.url).search("x")) == 0


async def test_the_deadline_counts_the_whole_even_while_bytes_arrive(opened: Opener):
    """A byte now and then keeps a read timeout quiet for ever."""

    async def dribble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
        try:
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)
        except ConnectionError:
            writer.close()

    slow = await asyncio.start_server(dribble, "127.0.0.1", 0)
    async with slow:
        port = slow.sockets[0].getsockname()[1]
        with pytest.raises(SearchError, match=r"no full answer within 0\.3 s") as caught:
            await opened(f"http://127.0.0.1:{port}", timeout=0.3).search("x")
    assert caught.value.transient


@pytest.mark.parametrize("query", ["", " \n", "\u200b\u202e"])
async def test_an_empty_query_is_refused_before_anything_is_sent(server: SearchServer, opened: Opener, query: str):
    with pytest.raises(SearchError, match="the query is empty") as caught:
        await opened(server.url).search(query)
    assert not caught.value.transient
    assert server.requests == []

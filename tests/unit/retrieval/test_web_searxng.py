"""SearXNG: what is sent, what comes back, and which failures it has of its own."""

from __future__ import annotations

import pytest
from search_server import Reply, SearchServer

from loopwright.errors import SearchError
from loopwright.retrieval.web import SearchSettings, WebSearch
from loopwright.retrieval.web.engines import SearxngSearch

THAI = {
    "title": "ประเทศไทย &ndash; <b>วิกิพีเดีย</b>",
    "url": "https://th.wikipedia.org/wiki/ประเทศไทย",
    "content": "ราชอาณาจักรไทย\u200b เป็นรัฐชาติ",
    "engine": "wikipedia",
    "engines": ["wikipedia"],
    "publishedDate": "2024-05-01T00:00:00",
    "score": 1.0,
}


def searxng(url: str) -> SearxngSearch:
    return SearxngSearch(SearchSettings(engine="searxng", url=url))


async def test_a_search_is_sent_and_its_results_are_cleaned(server: SearchServer):
    server.results = [THAI, {"title": "Plain", "url": "http://a.example/", "content": None, "engine": ""}]
    search = searxng(server.url)
    assert isinstance(search, WebSearch)
    first, second = await search.search("  เมืองหลวง ของ\nไทย & 東京? <b>  ")
    assert (first.title, first.text) == ("ประเทศไทย – วิกิพีเดีย", "ราชอาณาจักรไทย เป็นรัฐชาติ")
    assert first.id == THAI["url"] and first.score > second.score
    assert second.text == ""
    (asked,) = server.requests
    assert (asked.method, asked.path) == ("GET", "/search")
    assert asked.query == {"q": "เมืองหลวง ของ ไทย & 東京? <b>", "format": "json"}


async def test_nothing_found_is_a_result(server: SearchServer):
    assert await searxng(server.url).search("x") == []


async def test_nothing_found_because_engines_failed_is_an_error(server: SearchServer):
    server.unresponsive = [["google", "Suspended: CAPTCHA"], ["brave", "timeout"]]
    with pytest.raises(SearchError, match=r"google: Suspended: CAPTCHA, brave: timeout") as caught:
        await searxng(server.url).search("x")
    assert caught.value.transient
    server.results = [{"title": "t", "url": "http://a.example/"}]
    assert len(await searxng(server.url).search("x")) == 1


async def test_403_says_how_to_enable_json(server: SearchServer):
    server.replies.append(Reply(b"<h1>403 Forbidden</h1>", status=403, type="text/html"))
    with pytest.raises(SearchError, match=r"status 403: JSON is not enabled there.*search\.formats") as caught:
        await searxng(server.url).search("x")
    assert not caught.value.transient


async def test_a_password_in_the_address_is_sent_and_never_shown(server: SearchServer):
    secret = server.url.replace("http://", "http://me:hidden@")
    server.replies.append(Reply(status=500))
    search = searxng(secret)
    with pytest.raises(SearchError) as caught:
        await search.search("x")
    assert "hidden" not in str(caught.value)
    assert server.requests[0].headers["Authorization"].startswith("Basic ")

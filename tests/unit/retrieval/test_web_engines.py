"""SearXNG and Tavily: what is sent, what comes back, their own failures, and that no key is ever shown."""

from __future__ import annotations

import json
import logging

import pytest
from search_server import Reply, SearchServer, redirect, searching

from loopwright.errors import ConfigError, SearchError
from loopwright.retrieval.web import SearchSettings, WebSearch
from loopwright.retrieval.web.engines import SearxngSearch, TavilySearch

THAI = {
    "title": "ประเทศไทย &ndash; <b>วิกิพีเดีย</b>",
    "url": "https://th.wikipedia.org/wiki/ประเทศไทย",
    "content": "ราชอาณาจักรไทย\u200b เป็นรัฐชาติ",
    "engine": "wikipedia",
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


KEY = "tvly-not-to-be-seen"


@pytest.fixture(autouse=True)
def kept_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_KEY", f" {KEY}\n")


def tavily(server: SearchServer) -> TavilySearch:
    return TavilySearch(SearchSettings(engine="tavily", api_key_env="SEARCH_KEY", url=server.url))


async def test_a_search_is_posted_with_the_key(server: SearchServer):
    server.results = [
        {
            "title": "<b>Bangkok</b>",
            "url": "https://a.example/",
            "content": "เมืองหลวง&nbsp;ของไทย",
            "score": 0.9,
        }
    ]
    search = tavily(server)
    assert isinstance(search, WebSearch)
    (found,) = await search.search("ไทย 東京", 3)
    assert (found.title, found.text, found.origin) == ("Bangkok", "เมืองหลวง ของไทย", "web")
    (asked,) = server.requests
    assert (asked.method, asked.path) == ("POST", "/search")
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert json.loads(asked.body) == {"query": "ไทย 東京", "max_results": 3}


@pytest.mark.parametrize("status", [401, 403, 429, 432, 500])
async def test_the_key_is_in_no_message_log_or_repr(
    server: SearchServer, status: int, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    server.replies.append(Reply(json.dumps({"detail": f"bad key {KEY}"}).encode(), status=status))
    search = tavily(server)
    with pytest.raises(SearchError) as caught:
        await search.search("x")
    shown = [str(caught.value), repr(caught.value), repr(search), repr(vars(search)), caplog.text]
    assert not any(KEY in each for each in shown)


async def test_the_key_follows_no_redirect(server: SearchServer):
    with searching() as other:
        server.replies.append(redirect(f"{other.url}/search"))
        with pytest.raises(SearchError, match="it redirects to"):
            await tavily(server).search("x")
        assert other.requests == []


def test_a_key_with_a_line_break_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SEARCH_KEY", f"{KEY}\nX-Other: 1")
    with pytest.raises(ConfigError, match="SEARCH_KEY holds no API key") as caught:
        TavilySearch(SearchSettings(engine="tavily", api_key_env="SEARCH_KEY"))
    assert KEY not in str(caught.value)


def test_the_key_itself_in_place_of_the_name_is_refused_without_showing_it():
    with pytest.raises(ConfigError, match="is not the name of an environment variable") as caught:
        TavilySearch(SearchSettings(engine="tavily", api_key_env=KEY))
    assert KEY not in str(caught.value)

"""From settings to an engine, with and without its pages."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from search_server import Reply, SearchServer, page, redirect, searching

from loopwright.errors import ConfigError, SearchError
from loopwright.retrieval.web import SearchSettings, WebSearch, open_search
from loopwright.retrieval.web.fetching import PageFetcher, WebPage
from loopwright.retrieval.web.pages import PageReadingSearch


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with searching() as started:
        yield started


def opened(**settings: Any) -> WebSearch:
    search = open_search(SearchSettings(**settings))
    assert search is not None
    return search


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"engine": "searx"},
            "unknown search engine 'searx'. Did you mean 'searxng'? Known: duckduckgo, searxng, tavily.",
        ),
        ({"engine": ""}, "unknown search engine ''"),
        ({"engine": "searxng"}, "needs the url of an instance"),
        ({"engine": "searxng", "url": "localhost"}, "no http address"),
        ({"engine": "searxng", "url": "http://localhost", "api_key_env": "KEY"}, "takes no api_key_env"),
        ({"engine": "duckduckgo", "url": "http://localhost"}, "takes no url"),
        ({"engine": "tavily", "api_key_env": "A_KEY_THAT_IS_NOT_SET"}, "A_KEY_THAT_IS_NOT_SET is not set"),
        ({"engine": "searxng", "url": "http://localhost", "max_results": 0}, "at least 1"),
        ({"engine": "searxng", "url": "http://localhost", "timeout": 0}, "above 0"),
    ],
)
def test_what_is_missing_or_wrong_is_a_configuration_error(settings: dict[str, Any], said: str):
    with pytest.raises(ConfigError) as caught:
        open_search(SearchSettings(**settings))
    assert said in str(caught.value)


async def test_each_engine_by_name(server: SearchServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TAVILY_API_KEY", "key")
    server.results = [{"title": str(n), "url": f"http://a.example/{n}"} for n in range(5)]
    for engine in ("searxng", "tavily"):
        search = opened(engine=engine, url=server.url, max_results=2)
        assert search.name == engine
        assert len(await search.search("x")) == 2
        await search.aclose()
    pytest.importorskip("ddgs")
    assert opened(engine="duckduckgo").name == "duckduckgo"


async def test_pages_are_read_and_one_that_fails_keeps_its_excerpt(
    server: SearchServer, caplog: pytest.LogCaptureFixture
):
    server.pages = {"/good": page("<title>t</title><p>The whole page."), "/same": page("<p>Before. excerpt. After.")}
    server.results = [
        {"title": "T", "url": f"{server.url}/{name}", "content": "excerpt."} for name in ("good", "missing", "same")
    ]
    search = opened(engine="searxng", url=server.url, fetch_pages=True, allow_private=True)
    assert isinstance(search, WebSearch)
    with caplog.at_level(logging.WARNING):
        found = await search.search("x")
    assert [each.text for each in found] == ["excerpt.\nThe whole page.", "excerpt.", "Before. excerpt. After."]
    assert "/missing answered with status 404" in caplog.text
    await search.aclose()


async def test_addresses_and_encodings_that_break_a_codec_cost_no_other_result(server: SearchServer):
    server.pages = {
        "/good": page("<p>The whole page."),
        "/away": redirect("http://xn--a/"),
        "/odd": Reply(b"odd", type="text/plain; charset=undefined"),
    }
    urls = [f"{server.url}/good", f"{server.url}/away", f"{server.url}/odd", "http://xn--a/", "http://xn--/"]
    server.results = [{"title": "T", "url": url, "content": "excerpt"} for url in urls]
    search = opened(engine="searxng", url=server.url, fetch_pages=True, allow_private=True)
    found = await search.search("x")
    assert [each.text for each in found] == [
        "excerpt\nThe whole page.",
        "excerpt",
        "excerpt\nodd",
        "excerpt",
        "excerpt",
    ]


async def test_a_page_that_fails_in_an_unknown_way_keeps_its_excerpt(
    server: SearchServer, caplog: pytest.LogCaptureFixture
):
    class Fragile(PageFetcher):
        async def fetch(self, url: str) -> WebPage:
            if url.endswith("/bad"):
                raise RuntimeError("a parser broke")
            return await super().fetch(url)

    server.pages["/good"] = page("<p>The whole page.")
    server.results = [{"title": "T", "url": f"{server.url}/{name}", "content": "excerpt"} for name in ("bad", "good")]
    engine = opened(engine="searxng", url=server.url)
    found = await PageReadingSearch(engine, Fragile(allow_private=True)).search("x")
    assert [each.text for each in found] == ["excerpt", "excerpt\nThe whole page."]
    assert f"{server.url}/bad cannot be read" in caplog.text
    assert "a parser broke" in caplog.text


async def test_the_engine_may_be_private_while_its_pages_may_not(server: SearchServer):
    server.pages["/a"] = page("<p>secret")
    server.results = [{"title": "T", "url": f"{server.url}/a", "content": "excerpt"}]
    (found,) = await opened(engine="searxng", url=server.url, fetch_pages=True).search("x")
    assert found.text == "excerpt"
    assert [asked.path for asked in server.requests] == ["/search"]


async def test_an_engine_that_fails_is_an_error_with_pages_too():
    search = opened(engine="searxng", url="http://127.0.0.1:9", fetch_pages=True)
    with pytest.raises(SearchError) as caught:
        await search.search("x")
    assert caught.value.transient


def test_no_client_is_imported_before_an_engine_is_opened():
    code = (
        "import sys, loopwright.retrieval.web as web; web.open_search(web.SearchSettings());"
        "print([name for name in ('httpx', 'bs4', 'lxml', 'ddgs') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

"""DuckDuckGo by the ddgs package, through a local proxy that answers in DuckDuckGo's name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from installed import needs
from search_server import SearchServer, certificate, closed_port, page, searching

from loopwright.errors import SearchError
from loopwright.retrieval.web.duckduckgo import DuckDuckGoSearch
from loopwright.retrieval.web.protocol import WebSearch

needs("ddgs", "cryptography")

HTML = """<html><body><div class="results">
<div class="result"><div class="body links_main"><h2><a href="x">{title}</a></h2>
<a class="result__snippet" href="{url}">{body}</a></div></div>
</div></body></html>"""


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[tuple[SearchServer, DuckDuckGoSearch]]:
    tls, authority = certificate(tmp_path, "html.duckduckgo.com")
    with searching(tls) as server:
        yield server, DuckDuckGoSearch(timeout=20, proxy=server.url, ca_file=authority)


async def test_a_search_is_sent_and_read(proxied: tuple[SearchServer, DuckDuckGoSearch]):
    server, search = proxied
    assert isinstance(search, WebSearch)
    server.pages["/html/"] = page(
        HTML.format(title="กรุงเทพฯ", url="https://a.example/th", body="เมืองหลวง &amp; มากกว่า")
    )
    (found,) = await search.search("เมืองหลวงของไทย")
    await search.aclose()
    assert (found.title, found.url, found.text) == ("กรุงเทพฯ", "https://a.example/th", "เมืองหลวง & มากกว่า")
    assert found.engine == "duckduckgo"
    assert server.connects == ["html.duckduckgo.com:443"]
    assert (server.requests[0].method, server.requests[0].path) == ("POST", "/html/")
    assert b"l=wt-wt" in server.requests[0].body


@pytest.mark.parametrize("status", [202, 403, 429, 500])
async def test_a_refusal_is_no_empty_result(proxied: tuple[SearchServer, DuckDuckGoSearch], status: int):
    server, search = proxied
    server.pages["/html/"] = page("<html><body>anomaly</body></html>", status=status)
    with pytest.raises(SearchError, match="refused the query") as caught:
        await search.search("x")
    assert caught.value.transient


async def test_a_connection_that_fails_is_transient():
    search = DuckDuckGoSearch(timeout=5, proxy=f"http://127.0.0.1:{closed_port()}")
    with pytest.raises(SearchError, match="DuckDuckGo cannot be reached") as caught:
        await search.search("x")
    assert caught.value.transient

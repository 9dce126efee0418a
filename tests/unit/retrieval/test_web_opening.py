"""From settings to an engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError
from search_server import SearchServer, searching

from loopwright.errors import ConfigError
from loopwright.retrieval.web import SearchSettings, WebSearch, open_search


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
        ({"engine": "searx"}, "'searxng' or 'tavily'"),
        ({"engine": "searxng"}, "needs the url of a server"),
        ({"engine": "searxng", "url": "localhost"}, "no http address"),
        ({"engine": "searxng", "url": "http://localhost", "api_key_env": "KEY"}, "takes no api_key_env"),
        ({"engine": "tavily", "api_key_env": "A_KEY_THAT_IS_NOT_SET"}, "A_KEY_THAT_IS_NOT_SET is not set"),
        ({"engine": "searxng", "url": "http://localhost", "max_results": 0}, "greater than 0"),
        ({"engine": "searxng", "url": "http://localhost", "timeout": 0}, "greater than 0"),
    ],
)
def test_what_is_missing_or_wrong_is_a_configuration_error(settings: dict[str, Any], said: str):
    with pytest.raises((ConfigError, ValidationError)) as caught:
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

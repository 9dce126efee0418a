"""From settings to a search engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from loopwright.errors import ConfigError, unknown_name_message
from loopwright.retrieval.web.protocol import WebSearch


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Which search engine to ask, and how."""

    engine: str | None = None
    """``"searxng"``, ``"tavily"`` or ``"duckduckgo"``; None searches no web."""
    url: str | None = None
    """Where the engine answers. SearXNG needs it, Tavily has one of its own, DuckDuckGo takes none."""
    api_key_env: str | None = None
    """The name of the environment variable with the API key, for Tavily; None means ``TAVILY_API_KEY``."""
    timeout: float = 10.0
    """Seconds for a whole search, and again for each page."""
    max_results: int = 10
    """The most results of one search, whatever is asked for."""
    fetch_pages: bool = False
    """Whether to fetch the pages that were found, and add their text to the engine's excerpts."""
    allow_private: bool = False
    """Whether pages may be fetched from private addresses and any port, for an intranet's engine."""


def open_search(settings: SearchSettings) -> WebSearch | None:
    """Make the search engine that settings describe; nothing is sent yet.

    Args:
        settings: The settings.

    Returns:
        The engine, or None if none is configured.

    Raises:
        ConfigError: If the engine is unknown, or something that it needs is missing or wrong.
    """
    if settings.engine is None:
        return None
    if settings.engine not in _ENGINES:
        raise ConfigError(unknown_name_message("search engine", settings.engine, _ENGINES))
    if settings.max_results < 1:
        raise ConfigError(f"the web search's max_results is {settings.max_results}; it must be at least 1")
    search = _ENGINES[settings.engine](settings)
    if not settings.fetch_pages:
        return search
    from loopwright.retrieval.web.fetching import PageFetcher
    from loopwright.retrieval.web.pages import PageReadingSearch

    return PageReadingSearch(search, PageFetcher(timeout=settings.timeout, allow_private=settings.allow_private))


# The clients take long to import, and most runs need none of them.
def _searxng(settings: SearchSettings) -> WebSearch:
    from loopwright.retrieval.web.searxng import SearxngSearch

    _refuse(settings, api_key_env=settings.api_key_env)
    if not settings.url:
        raise ConfigError("the search engine 'searxng' needs the url of an instance, for example http://localhost:8080")
    return SearxngSearch(settings.url, timeout=settings.timeout, max_results=settings.max_results)


def _tavily(settings: SearchSettings) -> WebSearch:
    from loopwright.retrieval.web.tavily import DEFAULT_KEY_ENV, DEFAULT_URL, TavilySearch

    return TavilySearch(
        api_key_env=settings.api_key_env or DEFAULT_KEY_ENV,
        url=settings.url or DEFAULT_URL,
        timeout=settings.timeout,
        max_results=settings.max_results,
    )


def _duckduckgo(settings: SearchSettings) -> WebSearch:
    from loopwright.retrieval.web.duckduckgo import DuckDuckGoSearch

    _refuse(settings, url=settings.url, api_key_env=settings.api_key_env)
    return DuckDuckGoSearch(timeout=settings.timeout, max_results=settings.max_results)


def _refuse(settings: SearchSettings, **given: str | None) -> None:
    for option, value in given.items():
        if value:
            raise ConfigError(f"the search engine {settings.engine!r} takes no {option}; remove it")


_ENGINES: Mapping[str, Callable[[SearchSettings], WebSearch]] = {
    "duckduckgo": _duckduckgo,
    "searxng": _searxng,
    "tavily": _tavily,
}

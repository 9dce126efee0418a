"""From settings to a search engine."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import PositiveFloat, PositiveInt, model_validator

from loopwright.config import Section
from loopwright.retrieval.web.protocol import WebSearch


class SearchSettings(Section):
    """Which search engine to ask, and how."""

    engine: Literal["searxng", "tavily", "duckduckgo"] | None = None
    """The search engine; None searches no web, and the answer says so."""
    url: str | None = None
    """Where the engine answers. SearXNG needs it, Tavily has one of its own, DuckDuckGo takes none."""
    api_key_env: str | None = None
    """The environment variable that holds Tavily's key; None means ``TAVILY_API_KEY``."""
    timeout: PositiveFloat = 15.0
    """Seconds for a whole search."""
    max_results: PositiveInt = 5
    """Results that are read."""

    @model_validator(mode="after")
    def _fits_the_engine(self) -> Self:
        if self.engine == "searxng" and not self.url:
            raise ValueError("searxng needs the url of a server, for example http://localhost:8080")
        for option in _REFUSED.get(self.engine or "", ()):
            if getattr(self, option):
                raise ValueError(f"the search engine {self.engine!r} takes no {option}; remove it")
        return self


_REFUSED = {"searxng": ("api_key_env",), "duckduckgo": ("url", "api_key_env")}
"""Engine -> the options that it takes not."""


def open_search(settings: SearchSettings) -> WebSearch | None:
    """The search engine that settings describe, or None if none is configured; nothing is sent yet.

    Raises:
        ConfigError: If its address or its API key is wrong or missing.
    """
    # The clients take long to import, and most runs need none of them.
    if settings.engine == "searxng":
        from loopwright.retrieval.web.searxng import SearxngSearch

        return SearxngSearch(settings.url or "", timeout=settings.timeout, max_results=settings.max_results)
    if settings.engine == "tavily":
        from loopwright.retrieval.web.tavily import DEFAULT_KEY_ENV, DEFAULT_URL, TavilySearch

        return TavilySearch(
            api_key_env=settings.api_key_env or DEFAULT_KEY_ENV,
            url=settings.url or DEFAULT_URL,
            timeout=settings.timeout,
            max_results=settings.max_results,
        )
    if settings.engine == "duckduckgo":
        from loopwright.retrieval.web.duckduckgo import DuckDuckGoSearch

        return DuckDuckGoSearch(timeout=settings.timeout, max_results=settings.max_results)
    return None

"""Web search behind one protocol: what an engine is configured by, takes and gives back."""

from typing import Literal, Protocol, Self

from pydantic import PositiveFloat, PositiveInt, model_validator

from loopwright.config import Section
from loopwright.retrieval.records import Evidence
from loopwright.retrieval.web.quoting import quote_untrusted, untrusted_line

__all__ = ["SearchSettings", "WebSearch", "open_search", "quote_untrusted", "untrusted_line"]


class SearchSettings(Section):
    """Which search engine to ask, and how."""

    engine: Literal["searxng", "tavily"] | None = None
    """The search engine; None searches no web, and the answer says so."""
    url: str | None = None
    """Where the engine answers. SearXNG needs it, Tavily has one of its own."""
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
        if self.engine == "searxng" and self.api_key_env:
            raise ValueError("the search engine 'searxng' takes no api_key_env; remove it")
        return self


class WebSearch(Protocol):
    """A web search engine. One object may serve several searches at a time, and several event loops in turn."""

    name: str
    """Names the engine in logs and messages."""

    async def search(self, query: str, k: int = 5) -> list[Evidence]:
        """Search the web once, in any language, for at most ``k`` results; the engine's own limit may be lower.

        Returns:
            The engine's excerpts as plain text, without markup and invisible characters, best first; the id of each is
            its address, http or https, without a user name. None if the engine found nothing.

        Raises:
            SearchError: If the engine failed; ``transient`` says whether another attempt could succeed.
        """
        ...


def open_search(settings: SearchSettings) -> WebSearch | None:
    """The search engine that settings describe, or None if none is configured; nothing is sent yet.

    Raises:
        ConfigError: If its address or its API key is wrong or missing.
    """
    if settings.engine is None:
        return None
    # The client takes long to import, and most runs need none.
    from loopwright.retrieval.web.engines import SearxngSearch, TavilySearch

    return SearxngSearch(settings) if settings.engine == "searxng" else TavilySearch(settings)

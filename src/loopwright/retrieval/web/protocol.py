"""What a web search engine takes and gives back: the same for every engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResult:
    """One page that a search found, cleaned: plain text only, see `loopwright.retrieval.web.results`."""

    title: str
    """The page's title; its address where it has none."""
    url: str
    """Its address, http or https."""
    text: str
    """The engine's excerpt, and after it the page's own text where pages are fetched."""
    engine: str
    """Who found it, for example ``"searxng"`` or ``"searxng: brave"``."""


@runtime_checkable
class WebSearch(Protocol):
    """A web search engine. One object may serve several searches at a time, and several event loops in turn."""

    name: str
    """Names the engine in logs and messages."""

    async def search(self, query: str, k: int = 5) -> list[WebResult]:
        """Search the web once; nothing is repeated here.

        Args:
            query: What to look for, in any language.
            k: The most results; the engine's own limit may be lower.

        Returns:
            Cleaned results, best first; none if the engine found nothing.

        Raises:
            SearchError: If the engine failed; ``transient`` says whether another attempt could succeed.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...

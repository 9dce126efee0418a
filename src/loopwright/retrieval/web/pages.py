"""A search that also reads the pages that it finds."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from loopwright.errors import SearchError
from loopwright.retrieval.web.fetching import PageFetcher
from loopwright.retrieval.web.protocol import WebResult, WebSearch

_LOG = logging.getLogger(__name__)


class PageReadingSearch:
    """Adds the text of each page to the engine's excerpt, after a line break.

    A page that cannot be had keeps its excerpt, and the reason is logged as a warning. Pages are fetched all at once.
    """

    def __init__(self, search: WebSearch, fetcher: PageFetcher) -> None:
        """Combine an engine and a fetcher.

        Args:
            search: Who finds the pages.
            fetcher: Who fetches them.
        """
        self.name = search.name
        self._search = search
        self._fetcher = fetcher

    async def search(self, query: str, k: int = 5) -> list[WebResult]:
        """Search the web and read the pages; see `WebSearch.search`.

        Raises:
            SearchError: If the engine failed.
        """
        found = await self._search.search(query, k)
        return list(await asyncio.gather(*map(self._with_page, found)))

    async def aclose(self) -> None:
        """Close the engine."""
        await self._search.aclose()

    async def _with_page(self, result: WebResult) -> WebResult:
        try:
            page = await self._fetcher.fetch(result.url)
        except SearchError as error:
            _LOG.warning("only the engine's excerpt is used: %s", error)
            return result
        except Exception:
            # One page that breaks a parser in a new way must not cost the results of the whole search.
            _LOG.warning("only the engine's excerpt is used: %s cannot be read", result.url, exc_info=True)
            return result
        excerpt = "" if result.text in page.text else result.text
        return replace(result, text="\n".join(filter(None, [excerpt, page.text])))

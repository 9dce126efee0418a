"""SearXNG: a metasearch engine that one runs oneself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from loopwright.errors import SearchError
from loopwright.retrieval.web.cleaning import clean_text
from loopwright.retrieval.web.protocol import WebResult
from loopwright.retrieval.web.results import clean_results, entries, text_field
from loopwright.retrieval.web.wire import (
    HEADERS,
    ask_json,
    base_url,
    make_client,
    plain_query,
    require_timeout,
    shown_url,
    timeouts,
)

_HINTS = {
    403: "JSON is not enabled there, or its limiter refuses us; add 'json' to search.formats in its settings.yml, "
    "restart it, and let this address through its limiter",
    404: "there is no /search below that address; give the address of the SearXNG instance itself",
    429: "its limiter allows no more requests for now",
}


class SearxngSearch:
    """Asks a SearXNG instance, by ``GET {url}/search?q=...&format=json``."""

    name = "searxng"

    def __init__(self, url: str, *, timeout: float = 10.0, max_results: int = 10) -> None:
        """Get ready; nothing is sent.

        Args:
            url: The instance's address, for example ``http://localhost:8080``. It may be a private one.
            timeout: Seconds for a whole search.
            max_results: The most results of one search.

        Raises:
            ConfigError: If the address or the timeout is unusable.
        """
        self._url = base_url(url, "SearXNG")
        self._who = f"SearXNG at {shown_url(self._url)}"
        self._timeout = require_timeout(timeout)
        self._max_results = max_results
        self._client = make_client()

    async def search(self, query: str, k: int = 5) -> list[WebResult]:
        """Search the web; see `WebSearch.search`.

        Raises:
            SearchError: If the instance failed, or if nothing was found while engines behind it did not answer.
        """
        parameters = {"q": plain_query(query, self._who), "format": "json"}
        request = self._client.build_request(
            "GET",
            self._url.copy_with(path=f"{self._url.path}search"),
            params=parameters,
            headers=HEADERS,
            timeout=timeouts(self._timeout),
        )
        reply = await ask_json(self._client, request, who=self._who, seconds=self._timeout, hints=_HINTS)
        found = entries(reply, "results", self._who)
        if not found:
            self._require_answers(reply)
        return clean_results(map(_result, found), min(k, self._max_results))

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.aclose()

    def _require_answers(self, reply: Mapping[str, Any]) -> None:
        """SearXNG answers 200 with no results also where all of its engines failed: that is not "nothing found"."""
        silent = reply.get("unresponsive_engines")
        if isinstance(silent, list) and silent:
            names = clean_text(", ".join(map(_engine_and_reason, cast("list[Any]", silent))), 200)
            raise SearchError(
                f"{self._who} found nothing, but some of its engines did not answer ({names}); "
                "see its preferences for engines that work",
                transient=True,
            )


def _result(entry: Mapping[str, Any]) -> WebResult:
    engine = text_field(entry, "engine")
    return WebResult(
        title=text_field(entry, "title"),
        url=text_field(entry, "url"),
        text=text_field(entry, "content"),
        engine=f"searxng: {engine}" if engine else "searxng",
    )


def _engine_and_reason(silent: Any) -> str:
    return ": ".join(map(str, cast("list[Any]", silent))) if isinstance(silent, list) else str(silent)

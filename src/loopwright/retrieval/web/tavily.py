"""Tavily: a hosted search engine for language models, with an API key."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import httpx

from loopwright.errors import ConfigError
from loopwright.retrieval.web.protocol import WebResult
from loopwright.retrieval.web.results import clean_results, entries, text_field
from loopwright.retrieval.web.wire import (
    HEADERS,
    ask_json,
    base_url,
    make_client,
    plain_query,
    require_timeout,
    timeouts,
)

DEFAULT_URL = "https://api.tavily.com"
"""Where Tavily answers."""
DEFAULT_KEY_ENV = "TAVILY_API_KEY"
"""The environment variable that holds the API key."""
MAX_TAVILY_QUERY = 400
"""The most characters of a query that Tavily takes; the rest is cut."""
MAX_TAVILY_RESULTS = 20
"""The most results that Tavily gives."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY = re.compile(r"[!-~]+")


class TavilySearch:
    """Asks Tavily, by ``POST {url}/search``. The key is in no message and no ``repr``."""

    name = "tavily"

    def __init__(
        self,
        *,
        api_key_env: str = DEFAULT_KEY_ENV,
        url: str = DEFAULT_URL,
        timeout: float = 10.0,
        max_results: int = 10,
    ) -> None:
        """Read the key; nothing is sent.

        Args:
            api_key_env: The name of the environment variable that holds the API key.
            url: Where Tavily answers.
            timeout: Seconds for a whole search.
            max_results: The most results of one search, at most `MAX_TAVILY_RESULTS`.

        Raises:
            ConfigError: If the key is missing or no key, or the address or the timeout is unusable.
        """
        # httpx.Headers hides this value in its repr.
        self._headers = httpx.Headers({**HEADERS, "Authorization": f"Bearer {_read_key(api_key_env)}"})
        self._hints = {
            400: "it did not accept the query",
            401: f"it did not accept the API key in {api_key_env}",
            432: "the plan of this API key is used up",
            433: "the pay-as-you-go limit of this API key is reached",
        }
        self._url = base_url(url, "Tavily")
        self._timeout = require_timeout(timeout)
        self._max_results = min(max_results, MAX_TAVILY_RESULTS)
        self._client = make_client()

    async def search(self, query: str, k: int = 5) -> list[WebResult]:
        """Search the web; see `WebSearch.search`. A query is cut to `MAX_TAVILY_QUERY` characters.

        Raises:
            SearchError: If Tavily failed.
        """
        wanted = max(1, min(k, self._max_results))
        body = {"query": plain_query(query, "Tavily", MAX_TAVILY_QUERY), "max_results": wanted}
        request = self._client.build_request(
            "POST",
            self._url.copy_with(path=f"{self._url.path}search"),
            json=body,
            headers=self._headers,
            timeout=timeouts(self._timeout),
        )
        reply = await ask_json(self._client, request, who="Tavily", seconds=self._timeout, hints=self._hints)
        return clean_results(map(_result, entries(reply, "results", "Tavily")), min(k, self._max_results))

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.aclose()


def _read_key(variable: str) -> str:
    # Who puts the key itself into the configuration must not find it in a log.
    if not _VARIABLE.fullmatch(variable):
        raise ConfigError(
            "api_key_env is not the name of an environment variable; write the variable's name there, never the key"
        )
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"the environment variable {variable} is not set; Tavily needs its API key there")
    if not _KEY.fullmatch(key):
        raise ConfigError(f"the environment variable {variable} holds no API key: it has spaces or special characters")
    return key


def _result(entry: Mapping[str, Any]) -> WebResult:
    return WebResult(
        title=text_field(entry, "title"),
        url=text_field(entry, "url"),
        text=text_field(entry, "content"),
        engine="tavily",
    )

"""DuckDuckGo, by the ``ddgs`` package: no key and no server of one's own, but few queries before it refuses."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

from loopwright.errors import ConfigError, SearchError
from loopwright.retrieval.web.cleaning import clean_text
from loopwright.retrieval.web.protocol import WebResult
from loopwright.retrieval.web.results import clean_results
from loopwright.retrieval.web.wire import plain_query, require_timeout

_ANY_REGION = "wt-wt"


class DuckDuckGoSearch:
    """Asks DuckDuckGo's page for browsers without scripts, in a thread.

    The package's engine class is used rather than its `DDGS`, which reports a refusal and an empty result with the same
    words, and turns to other search engines without asking.
    """

    name = "duckduckgo"

    def __init__(
        self, *, timeout: float = 10.0, max_results: int = 10, proxy: str | None = None, ca_file: str | None = None
    ) -> None:
        """Load the package; nothing is sent.

        Args:
            timeout: Seconds for a whole search.
            max_results: The most results of one search.
            proxy: The address of a proxy, for example ``http://proxy.example:3128``.
            ca_file: A PEM file of the authorities to trust instead of the usual ones, for a proxy that reads along.

        Raises:
            ConfigError: If the ``ddgs`` package is missing or of another version, or the timeout is unusable.
        """
        self._engine, self._errors = _load_package()
        self._timeout = require_timeout(timeout)
        self._max_results = max_results
        self._proxy = proxy
        self._verify = ca_file or True

    async def search(self, query: str, k: int = 5) -> list[WebResult]:
        """Search the web; see `WebSearch.search`. After the timeout the thread may live for as long again.

        Raises:
            SearchError: If DuckDuckGo failed or refused.
        """
        asked = plain_query(query, "DuckDuckGo")
        try:
            async with asyncio.timeout(self._timeout):
                found = await asyncio.to_thread(self._ask, asked)
        except (TimeoutError, self._errors.TimeoutException) as error:
            raise SearchError(f"DuckDuckGo gave no full answer within {self._timeout:g} s", transient=True) from error
        except self._errors.DDGSException as error:
            said = clean_text(str(error), 200)
            raise SearchError(f"DuckDuckGo cannot be reached: {said}", transient=True) from error
        except Exception as error:
            said = f"{type(error).__name__}: {clean_text(str(error), 200)}"
            raise SearchError(f"DuckDuckGo's page cannot be read ({said}); a newer ddgs may help") from error
        if found is None:
            raise SearchError(
                "DuckDuckGo refused the query, as it does with many in a short time; "
                "wait, or configure a SearXNG instance or Tavily",
                transient=True,
            )
        return clean_results(map(_result, found), min(k, self._max_results))

    async def aclose(self) -> None:
        """Nothing stays open between two searches."""

    def _ask(self, query: str) -> list[Any] | None:
        engine = self._engine(proxy=self._proxy, timeout=self._timeout, verify=self._verify)
        return engine.search(query, region=_ANY_REGION)


def _load_package() -> tuple[Any, ModuleType]:
    try:
        from ddgs import exceptions
        from ddgs.engines.duckduckgo import Duckduckgo
    except ImportError as error:
        raise ConfigError(
            f"the search engine 'duckduckgo' needs the package ddgs, 9.16 or later ({error}); "
            "install it with: pip install 'ddgs>=9.16,<10'"
        ) from error
    return Duckduckgo, exceptions


def _result(found: Any) -> WebResult:
    return WebResult(title=found.title, url=found.href, text=found.body, engine="duckduckgo")

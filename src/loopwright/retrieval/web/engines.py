"""SearXNG and Tavily over HTTP: deadlines, a limit of size, and every failure as a `SearchError`."""

import asyncio
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from loopwright.errors import ConfigError, SearchError
from loopwright.retrieval.records import Evidence
from loopwright.retrieval.web import SearchSettings
from loopwright.retrieval.web.cleaning import clean_text, collapse, cut

MAX_REPLY = 5_000_000
"""The most bytes of an engine's reply."""
MAX_QUERY = 400
"""The most characters of a query that are sent: Tavily takes no more."""
MAX_TITLE = 300
"""The most characters of a title."""
MAX_TEXT = 2_000
"""The most characters of an engine's excerpt."""
MAX_URL = 2_000
"""The most characters of an address; a longer one is left out."""

_KEY = re.compile(r"[!-~]+")


class _Entry(BaseModel):
    # Engines send null for a page without a description, and answers of theirs have no address.
    title: str | None = None
    url: str | None = None
    content: str | None = None


class _Reply(BaseModel):
    results: list[_Entry]
    unresponsive_engines: list[Any] = []
    """Engines behind SearXNG that failed, with the reason."""


class _JsonSearch:
    name: ClassVar[str]
    home: ClassVar[str] = ""
    """Where it answers unless an address is configured."""
    hints: Mapping[int, str]
    """Status -> what it means there and how to mend it."""

    def __init__(self, settings: SearchSettings, headers: Mapping[str, str] | None = None) -> None:
        """Get ready; nothing is sent.

        Raises:
            ConfigError: If the address is unusable.
        """
        self._url = _search_url(settings.url or self.home, self.name)
        self._most, self._seconds = settings.max_results, settings.timeout
        # Compressed replies are not asked for: a small one can unpack to gigabytes. httpx hides a key in its repr.
        self._headers = httpx.Headers({"User-Agent": "loopwright", "Accept-Encoding": "identity", **(headers or {})})

    async def search(self, query: str, k: int = 5) -> list[Evidence]:
        """Search the web; see `WebSearch.search`. A query is cut to `MAX_QUERY` characters."""
        plain = cut(collapse(query), MAX_QUERY)
        if not plain:
            raise SearchError(f"{self._who} was asked for nothing: the query is empty")
        count = max(1, min(k, self._most))
        reply = await self._ask(self._request(plain, count))
        found = [(url, entry) for entry in reply.results if (url := _clean_url(entry.url or ""))][:count]
        return [
            Evidence(
                id=url,
                title=clean_text(entry.title or "", MAX_TITLE) or url,
                text=clean_text(entry.content or "", MAX_TEXT),
                score=1 / (1 + place),
                origin="web",
            )
            for place, (url, entry) in enumerate(found)
        ]

    @property
    def _who(self) -> str:
        return self.name.capitalize()

    def _request(self, query: str, count: int) -> dict[str, Any]:
        """What `httpx.AsyncClient.stream` takes to ask."""
        raise NotImplementedError

    async def _ask(self, request: Mapping[str, Any]) -> _Reply:
        waits = httpx.Timeout(self._seconds, connect=min(self._seconds, 5.0))
        try:
            async with (
                asyncio.timeout(self._seconds),
                httpx.AsyncClient(timeout=waits, headers=self._headers) as client,
                client.stream(**request) as response,
            ):
                self._require_success(response)
                body = await self._read(response)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise SearchError(f"{self._who} gave no full answer within {self._seconds:g} s", transient=True) from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            # A redirect to a host that is no name is a plain ValueError, which httpx passes on from idna.
            said = clean_text(str(error), 200).rstrip(".") or type(error).__name__
            transient = isinstance(error, httpx.HTTPError)
            raise SearchError(f"{self._who} cannot be reached: {said}", transient=transient) from error
        with suppress(ValueError, RecursionError):
            # An excerpt may be cut within a character, and half of one is no JSON to pydantic.
            body = json.dumps(json.loads(body), ensure_ascii=False).encode(errors="ignore")
        try:
            reply = _Reply.model_validate_json(body)
        except ValidationError as error:
            wrong, sent = error.errors(include_url=False)[0], clean_text(body[:400].decode(errors="replace"), 80)
            place = ".".join(map(str, wrong["loc"])) or "JSON"
            raise SearchError(
                f"{self._who} did not send results but {sent!r} ({place}: {wrong['msg']}); "
                "is that the address of such a search engine?"
            ) from None
        if reply.results and not any(entry.url for entry in reply.results):
            raise SearchError(f"{self._who} sent results without a text 'url'; is that such a search engine?")
        return reply

    def _require_success(self, response: httpx.Response) -> None:
        if response.is_success:
            return
        hint = self.hints.get(response.status_code, "")
        if response.has_redirect_location:
            target = clean_text(response.headers["Location"], 200)
            hint = f"it redirects to {target!r}; configure that address if you trust it"
        said = f"{self._who} answered with status {response.status_code}{': ' if hint else ''}{hint}"
        transient = response.status_code == 429 or response.is_server_error
        raise SearchError(said, transient=transient)

    async def _read(self, response: httpx.Response) -> bytes:
        if "Content-Encoding" in response.headers:
            raise SearchError(f"{self._who} sent a compressed reply, which was not asked for")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > MAX_REPLY:
                raise SearchError(f"{self._who} sent more than {MAX_REPLY} bytes; the rest was not read")
        return bytes(body)


class SearxngSearch(_JsonSearch):
    """Asks a SearXNG instance, by ``GET {url}/search?q=...&format=json``. It may have a private address."""

    name = "searxng"
    hints: Mapping[int, str] = {
        403: "JSON is not enabled there, or its limiter refuses us; add 'json' to search.formats in its settings.yml, "
        "restart it, and let this address through its limiter",
        404: "there is no /search below that address; give the address of the SearXNG instance itself",
        429: "its limiter allows no more requests for now",
    }

    @property
    def _who(self) -> str:
        return f"SearXNG at {_shown(self._url).removesuffix('/search')}"

    def _request(self, query: str, count: int) -> dict[str, Any]:
        return {"method": "GET", "url": self._url, "params": {"q": query, "format": "json"}}

    async def _ask(self, request: Mapping[str, Any]) -> _Reply:
        reply = await super()._ask(request)
        # It answers 200 with no results also where all of its engines failed: that is not "nothing found".
        if (failed := reply.unresponsive_engines) and not reply.results:
            silent = [": ".join(map(str, each)) if isinstance(each, list) else str(each) for each in failed]
            raise SearchError(
                f"{self._who} found nothing, but some of its engines did not answer "
                f"({clean_text(', '.join(silent), 200)}); see its preferences for engines that work",
                transient=True,
            )
        return reply


class TavilySearch(_JsonSearch):
    """Asks Tavily, by ``POST {url}/search``. The key is in no message and no ``repr``."""

    name = "tavily"
    home = "https://api.tavily.com"

    def __init__(self, settings: SearchSettings) -> None:
        """Read the key; nothing is sent.

        Raises:
            ConfigError: If the key is missing or no key, or the address is unusable.
        """
        variable = settings.api_key_env or "TAVILY_API_KEY"
        self.hints = {
            400: "it did not accept the query",
            401: f"it did not accept the API key in {variable}",
            432: "the plan of this API key is used up",
            433: "the pay-as-you-go limit of this API key is reached",
        }
        super().__init__(settings, {"Authorization": f"Bearer {_read_key(variable)}"})

    def _request(self, query: str, count: int) -> dict[str, Any]:
        return {"method": "POST", "url": self._url, "json": {"query": query, "max_results": min(count, 20)}}


def _search_url(url: str, who: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url.strip())
        host = parsed.host
    except (httpx.InvalidURL, ValueError) as error:
        raise ConfigError(f"{who}'s url is no address ({error}); write it like http://localhost:8080") from error
    if parsed.scheme not in ("http", "https") or not host or re.search(r"[\[\]%]", host):
        raise ConfigError(f"{who}'s url {_shown(parsed)!r} is no http address; write it like http://localhost:8080")
    path = parsed.path.rstrip("/").removesuffix("/search")
    return parsed.copy_with(path=f"{path}/search", query=None, fragment=None)


def _shown(url: httpx.URL) -> str:
    """An address without the user name and password that may stand before its host."""
    return str(url.copy_with(userinfo=b""))


def _read_key(variable: str) -> str:
    # Who puts the key itself into the configuration must not find it in a log.
    if not (variable.isascii() and variable.isidentifier()):
        raise ConfigError(
            "api_key_env is not the name of an environment variable; write the variable's name there, never the key"
        )
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"the environment variable {variable} is not set; Tavily needs its API key there")
    if not _KEY.fullmatch(key):
        raise ConfigError(f"the environment variable {variable} holds no API key: it has spaces or special characters")
    return key


def _clean_url(raw: str) -> str | None:
    try:
        parts = urlsplit(collapse(raw))
        # "https://bank.example@evil.example/" reads like the bank's address; and what is left without a user name can
        # be no address any more, as in "http://[::1@]a/".
        parts = urlsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    url = parts.geturl()
    return url if usable and len(url) <= MAX_URL and " " not in parts.netloc else None

"""HTTP as all of the web search does it: deadlines, size limits, and every failure as a `SearchError`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from loopwright.errors import ConfigError, SearchError
from loopwright.retrieval.web.cleaning import clean_text, collapse, cut

CONNECT_TIMEOUT = 5.0
"""The most seconds to connect, where the whole timeout is not shorter."""
MAX_REPLY = 5_000_000
"""The most bytes of an engine's reply."""
MAX_QUERY = 1_000
"""The most characters of a query that are sent."""
# Compressed replies are not asked for: a small one can unpack to gigabytes.
HEADERS: Mapping[str, str] = {"User-Agent": "loopwright", "Accept-Encoding": "identity"}
"""What every request says."""

_TOO_MANY_REQUESTS = 429


def make_client() -> httpx.AsyncClient:
    """A client for an engine. It keeps no idle connection, so that it serves one event loop after the other."""
    return httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0))


def timeouts(seconds: float) -> httpx.Timeout:
    """The limits of one request within a total of so many seconds."""
    return httpx.Timeout(seconds, connect=min(seconds, CONNECT_TIMEOUT))


def require_timeout(seconds: float) -> float:
    """A timeout in seconds.

    Raises:
        ConfigError: If it is not above zero.
    """
    if not seconds > 0:
        raise ConfigError(f"the web search's timeout is {seconds:g} s; it must be above 0")
    return seconds


def base_url(url: str, who: str) -> httpx.URL:
    """An engine's address, with a final slash.

    Raises:
        ConfigError: If it is no http or https address.
    """
    try:
        parsed = httpx.URL(url.strip())
        host = parsed.host
    except (httpx.InvalidURL, ValueError) as error:
        raise ConfigError(f"{who}'s url is no address ({error}); write it like http://localhost:8080") from error
    if parsed.scheme not in ("http", "https") or not host or re.search(r"[\[\]%]", host):
        raise ConfigError(f"{who}'s url {shown_url(parsed)!r} is no http address; write it like http://localhost:8080")
    return parsed.copy_with(path=f"{parsed.path.rstrip('/').removesuffix('/search')}/", query=None, fragment=None)


def shown_url(url: httpx.URL) -> str:
    """An address without the user name and password that may stand before its host."""
    return str(url.copy_with(userinfo=b""))


def plain_query(query: str, who: str, limit: int = MAX_QUERY) -> str:
    """A query as it is sent: one line, without invisible characters, at most ``limit`` characters.

    Raises:
        SearchError: If nothing is left.
    """
    plain = cut(collapse(query), limit)
    if not plain:
        raise SearchError(f"{who} was asked for nothing: the query is empty")
    return plain


@asynccontextmanager
async def failures_named(who: str, seconds: float) -> AsyncGenerator[None]:
    """Run a block of HTTP under a total deadline, and raise all its failures as `SearchError`.

    Raises:
        SearchError: Transient for connection errors and timeouts, not for requests that can never work.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except (TimeoutError, httpx.TimeoutException) as error:
        raise SearchError(f"{who} gave no full answer within {seconds:g} s", transient=True) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
        raise SearchError(f"{who} cannot be asked: {_said(error)}") from error
    except ValueError as error:
        # From idna and the UTF-8 codec for an address, and from lxml for an encoding: httpx and bs4 pass them on.
        raise SearchError(f"{who} cannot be read: {_said(error)}") from error
    except httpx.HTTPError as error:
        raise SearchError(f"{who} cannot be reached: {_said(error)}", transient=True) from error


def require_success(response: httpx.Response, who: str, hints: Mapping[int, str]) -> None:
    """Refuse every status but 200 to 299; a hint says what one means there and how to mend it.

    Raises:
        SearchError: Transient for 429 and 5xx.
    """
    status = response.status_code
    if response.is_success:
        return
    hint = hints.get(status, "")
    if response.has_redirect_location:
        hint = (
            f"it redirects to {clean_text(response.headers['Location'], 200)!r}; configure that address if you trust it"
        )
    transient = status == _TOO_MANY_REQUESTS or response.is_server_error
    raise SearchError(f"{who} answered with status {status}{': ' if hint else ''}{hint}", transient=transient)


async def read_limited(response: httpx.Response, limit: int, who: str) -> bytes:
    """Read a body, and stop where it grows too large.

    Raises:
        SearchError: If it is larger, or compressed although that was not asked for.
    """
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    if encoding != "identity":
        raise SearchError(f"{who} sent a compressed reply ({clean_text(encoding, 40)}), which was not asked for")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > limit:
            raise SearchError(f"{who} sent more than {limit} bytes; the rest was not read")
    return bytes(body)


async def ask_json(
    client: httpx.AsyncClient, request: httpx.Request, *, who: str, seconds: float, hints: Mapping[int, str]
) -> Any:
    """Send a request and decode its JSON reply; redirects are not followed.

    Raises:
        SearchError: For every failure.
    """
    async with failures_named(who, seconds):
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            require_success(response, who, hints)
            body = await read_limited(response, MAX_REPLY, who)
        finally:
            await response.aclose()
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SearchError(f"{who} did not send valid JSON but {_beginning(body)!r}") from error


def _beginning(body: bytes) -> str:
    return clean_text(body[:400].decode(errors="replace"), 80)


def _said(error: Exception) -> str:
    return clean_text(str(error), 200).rstrip(".") or type(error).__name__

"""Pages of the web, fetched from public addresses only and within limits."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from loopwright.errors import SearchError
from loopwright.retrieval.web.addresses import EVERYWHERE, AddressRule, networks
from loopwright.retrieval.web.cleaning import clean_text, collapse, cut
from loopwright.retrieval.web.wire import (
    HEADERS,
    failures_named,
    read_limited,
    require_success,
    require_timeout,
    timeouts,
)

MAX_REDIRECTS = 3
"""The most redirects that are followed for one page; each is checked like the first address."""
MAX_PAGE = 2_000_000
"""The most bytes of a page."""
MAX_ELEMENTS = 50_000
"""The most HTML elements of a page: the parser takes some 0.1 ms for each."""
MAX_PAGE_TEXT = 8_000
"""The most characters of a page's text."""

# The encodings of plain text on the web (WHATWG Encoding Standard), as Python names its codecs. Its others are for
# something else: some raise for every text, and the one of punycode takes quadratic time.
_CHARSETS = frozenset(
    [
        *("ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"),
        *(f"iso8859-{part}" for part in (*range(1, 12), 13, 14, 15, 16)),
        *("cp866", "cp874", "tis-620", *(f"cp{page}" for page in range(1250, 1259))),
        *("koi8-r", "koi8-u", "mac-roman", "mac-cyrillic"),
        *("gb2312", "gbk", "gb18030", "big5", "big5hkscs"),
        *("euc_jp", "shift_jis", "cp932", "iso2022_jp", "euc_kr", "cp949"),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    """A page, as text."""

    url: str
    """Where it was in the end, after redirects."""
    title: str
    """Its title; empty for plain text."""
    text: str
    """Its readable text, a line for each paragraph; empty if it has none without running its scripts."""


class PageFetcher:
    """Fetches pages whose addresses come from others.

    A host is looked up once, refused if any of its addresses is not public, and connected to at an address that was
    checked, so that a second look-up cannot lead elsewhere. Proxies of the environment are not used, because they would
    look the host up again. Cookies are not kept, not even from one redirect to the next.
    """

    def __init__(
        self,
        *,
        timeout: float = 10.0,
        max_bytes: int = MAX_PAGE,
        max_text: int = MAX_PAGE_TEXT,
        ports: Collection[int] = (80, 443),
        allow_private: bool = False,
        exempt: Sequence[str] = (),
    ) -> None:
        """Get ready; nothing is sent.

        Args:
            timeout: Seconds for a whole page, redirects included.
            max_bytes: The most bytes of a page; a larger one is an error.
            max_text: The most characters of its text; a longer one is cut.
            ports: The ports of public addresses that may be connected to.
            allow_private: Whether every address and every port may be connected to.
            exempt: Ranges of addresses that may be connected to on any port, for example ``["10.1.0.0/16"]``.

        Raises:
            ConfigError: If the timeout or a range is unusable.
        """
        self._timeout = require_timeout(timeout)
        self._max_bytes = max_bytes
        self._max_text = max_text
        self._rule = AddressRule(ports=frozenset(ports), exempt=EVERYWHERE if allow_private else networks(exempt))
        self._tls = httpx.create_ssl_context()

    async def fetch(self, url: str) -> WebPage:
        """Fetch a page.

        Args:
            url: Its address.

        Returns:
            The page.

        Raises:
            SearchError: If its address, or one that it redirects to, may not be fetched, or if it is no HTML or plain
                text, is too large or cannot be had; ``transient`` for connection errors, timeouts, 429 and 5xx.
        """
        who = f"the page {cut(collapse(url), 200)}"
        async with failures_named(who, self._timeout):
            transport = PinnedTransport(self._rule, httpx.AsyncHTTPTransport(verify=self._tls))
            async with httpx.AsyncClient(
                transport=transport,
                headers=HEADERS,
                timeout=timeouts(self._timeout),
                trust_env=False,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            ) as client:
                request = client.build_request("GET", url)
                for _ in range(MAX_REDIRECTS + 1):
                    response = await client.send(request, stream=True)
                    try:
                        if response.next_request is None:
                            return await self._read(response, who)
                        # The body of a redirect is never read: it could be endless.
                        request = response.next_request
                    finally:
                        await response.aclose()
        raise SearchError(f"{who} redirects more than {MAX_REDIRECTS} times")

    async def _read(self, response: httpx.Response, who: str) -> WebPage:
        require_success(response, who, {})
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind not in ("text/html", "text/plain"):
            raise SearchError(
                f"{who} is {clean_text(kind, 60) or 'of no stated type'}; only HTML and plain text are read"
            )
        body = await read_limited(response, self._max_bytes, who)
        if kind == "text/html" and body.count(b"<") - body.count(b"</") > MAX_ELEMENTS:
            raise SearchError(f"{who} has more than {MAX_ELEMENTS} elements; it was not read")
        # A large page takes long to parse, and others shall go on meanwhile.
        title, text = await asyncio.to_thread(_readable, body, kind, response.charset_encoding)
        return WebPage(url=str(response.url), title=title, text=cut(text, self._max_text))


class PinnedTransport(httpx.AsyncBaseTransport):
    """Connects to the very address that was checked, with the host's name in the Host header and in TLS."""

    def __init__(self, rule: AddressRule, inner: httpx.AsyncBaseTransport) -> None:
        """Wrap a transport.

        Args:
            rule: What may be connected to.
            inner: Who connects.
        """
        self._rule = rule
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Look the host up, check its addresses, and send the request to the first that can be connected to."""
        refused: httpx.ConnectError | None = None
        for address in await self._rule.addresses(request.url):
            pinned = httpx.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                extensions={**request.extensions, "sni_hostname": request.url.host.rstrip(".")},
            )
            try:
                return await self._inner.handle_async_request(pinned)
            except httpx.ConnectError as error:
                refused = error
        raise refused or httpx.ConnectError("its host has no address")

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._inner.aclose()


def _readable(body: bytes, kind: str, charset: str | None) -> tuple[str, str]:
    if kind == "text/html":
        from loopwright.retrieval.web.markup import readable_page

        return readable_page(body, charset)
    text = body.decode(_codec(charset or "utf-8"), errors="replace")
    return "", "\n".join(line for line in map(collapse, text.splitlines()) if line)


def _codec(charset: str) -> str:
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return "utf-8"
    return name if name in _CHARSETS else "utf-8"

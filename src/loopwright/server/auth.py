"""Who may ask: by default only this machine, from elsewhere only with a token; how often, and how much it may bring."""

import asyncio
import ipaddress
import math
import re
import secrets
import time
from collections.abc import Sequence

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loopwright.errors import ConfigError
from loopwright.server.layers import Layer
from loopwright.server.listening import is_loopback
from loopwright.server.problems import CLOSE, Problem
from loopwright.server.settings import ServerSettings

OPEN_PATHS = frozenset({"/", "/health/live", "/health/ready"})
"""What needs no token: a supervisor asks there, and learns nothing but whether the server works; and the page."""
OPEN_FOLDER = "/assets/"
"""Where the page's own files lie, which are the same everywhere."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""What changes nothing."""
PROXIED = re.compile(r"forwarded|via|x-forwarded-.+|x-real-ip")
"""The headers of which proxies set some: what comes through one may come from anywhere."""
TOKEN = "token"
"""What whoever carries the token is counted under."""
UNLIMITED = frozenset({"/health/live", "/health/ready"})
"""Where a supervisor asks as often as it likes."""
SLOWEST = 10_000
"""Bytes in a second at which a request's body must come, in the mean, once `ServerSettings.body_seconds` are over."""

_HOST = re.compile(r"(?P<name>[a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?", re.IGNORECASE)
_TOKEN = re.compile(r"[^\s\x00-\x20\x7f\ud800-\udfff]+")


def usable_token(token: str | None) -> str | None:
    """A token that a client can send; an empty one is none.

    Raises:
        ConfigError: If no request could carry it.
    """
    if token and not _TOKEN.fullmatch(token):
        raise ConfigError("the token holds a space, a line end or another sign that a header cannot carry")
    return token or None


def carries(headers: Headers, token: str) -> bool:
    """Whether a request carries a bearer token; takes as long whatever it carries."""
    scheme, _space, given = headers.get("authorization", "").partition(" ")
    # ASGI headers are latin-1; back to the bytes that were sent.
    sent = given.strip(" \t").encode("latin-1")
    return scheme.lower() == "bearer" and secrets.compare_digest(sent, token.encode())


class Guard(Layer):
    """Lets requests in that may ask.

    With a token every request must carry it (``Authorization: Bearer TOKEN``). Without one only this machine reaches
    the server, and a request must also be addressed to this machine by name, and tell of no proxy: a page from
    elsewhere whose own name was made to point here (DNS rebinding) is refused. What a browser sends for a page of
    another origin is refused in both cases, unless that origin was named (``*``: all of them); only the page itself and
    the server's health may be looked at from there.
    """

    def __init__(self, app: ASGIApp, token: str | None, origins: Sequence[str], settings: ServerSettings) -> None:
        super().__init__(app)
        self._token = token
        self._origins = frozenset(origins)
        self._settings = settings

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it."""
        headers = Headers(scope=scope)
        most = self._settings.body_bytes(scope["path"])
        length = headers.get("content-length", "0")
        too_long = length.isascii() and length.isdigit() and int(length[:20]) > most
        if problem := self._refusal(scope, headers) or (_too_large(most) if too_long else None):
            await problem.response(scope, receive, send)
            return
        await self.app(scope, _limited(receive, most, self._settings.body_seconds), send)

    def _refusal(self, scope: Scope, headers: Headers) -> Problem | None:
        if self._token is None:
            host = _HOST.fullmatch(headers.get("host", ""))
            if host is None or not is_loopback(host["name"].strip("[]")):
                told = "this server answers only requests to localhost: start it with a token to use other names"
                return Problem(told, "ForeignHost", status=421)
            if any(PROXIED.fullmatch(name) for name in headers):
                told = "this came through a proxy, which anybody may reach: start the server with a token"
                return Problem(told, "ForeignHost", status=421)
        elif not is_open(scope["path"]) and not carries(headers, self._token):
            told = "a bearer token is required: send the header Authorization: Bearer TOKEN"
            return Problem(told, "Unauthorized", status=401, headers={"WWW-Authenticate": "Bearer"})
        looks = scope["method"] in SAFE_METHODS and is_open(scope["path"])
        if not looks and not self._may_ask(headers):
            told = "pages of other origins may not ask here: start the server with --cors and the page's origin"
            return Problem(told, "ForeignOrigin", status=403)
        return None

    def _may_ask(self, headers: Headers) -> bool:
        # Only browsers send these, and no page can set the first: it is right also where a proxy gives another host.
        site, origin = headers.get("sec-fetch-site", "none"), headers.get("origin")
        if site == "same-origin" or origin is None:
            return site in ("none", "same-origin")
        if "*" in self._origins or origin in self._origins:
            return True
        scheme, _colon, name = origin.partition("://")
        return scheme in ("http", "https") and name.lower() == headers.get("host", "").lower()


def is_open(path: str) -> bool:
    """Whether a path needs no token."""
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


def _limited(receive: Receive, most: int, seconds: float) -> Receive:
    loop = asyncio.get_running_loop()
    began, taken, more = loop.time(), 0, True

    async def limited() -> Message:
        nonlocal taken, more
        if not more:
            # Behind the body comes nothing but the end of the connection, however long that takes.
            return await receive()
        try:
            async with asyncio.timeout_at(began + seconds + taken / SLOWEST):
                message = await receive()
        except TimeoutError:
            told = "the request's body comes too slowly: send it again over a better connection, or in smaller parts"
            raise Problem(told, "RequestTimeout", True, 408, CLOSE) from None
        taken += len(message.get("body", b""))
        more = message.get("more_body", False)
        if taken > most:
            raise _too_large(most)
        return message

    return limited


def _too_large(most: int) -> Problem:
    told = f"the request is larger than {most} bytes, which is the limit"
    return Problem(told, "RequestTooLarge", status=413, headers=CLOSE)


class RateLimit(Layer):
    """Refuses a client that asks too often (429), what only reads and what starts something counted apart.

    Who carries the token is one client; without it, and where none is needed, each address is, and of IPv6 each /64
    network, within which a client may take any address that it likes. Wrong tokens have a limit of their own.
    """

    def __init__(self, app: ASGIApp, token: str | None, settings: ServerSettings) -> None:
        super().__init__(app)
        self._token = token
        self._reads = _per_minute(settings.reads_per_minute)
        self._starts = _per_minute(settings.starts_per_minute)
        self._guesses = _per_minute(settings.guesses_per_minute)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it."""
        if scope["path"] not in UNLIMITED:
            client = self._client(scope)
            kind, allowed = ("read", self._reads) if scope["method"] in SAFE_METHODS else ("start", self._starts)
            guesses = self._token and client != TOKEN and not is_open(scope["path"])
            if guesses and "authorization" in Headers(scope=scope):
                kind, allowed = "guess", self._guesses
            if allowed is not None and not self._limiter.hit(allowed, kind, client):
                reset = self._limiter.get_window_stats(allowed, kind, client).reset_time
                wait = max(1, math.ceil(reset - time.time()))
                told = f"more than {allowed.amount} such requests in a minute: ask again in {wait} s"
                problem = Problem(told, "TooManyRequests", True, 429, {"Retry-After": str(wait)})
                await problem.response(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _client(self, scope: Scope) -> str:
        # What needs no token does not tell by its limit either whether one is right.
        if self._token and not is_open(scope["path"]) and carries(Headers(scope=scope), self._token):
            return TOKEN
        return f"address {network_of(scope['client'][0]) if scope.get('client') else 'unknown'}"


def network_of(address: str) -> str:
    """What counts as one client of an address, as a socket names it.

    An IPv4 address itself, also where IPv6 wraps it (RFC 4291, section 2.5.5.2); of another IPv6 address its /64
    network, which is what one subscriber has at least (RFC 6177); anything else as it is.
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # a socket of the file system has no address
        return address
    if found.version == 4:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    # Networks of the same machine's links are apart only by the scope, which an address of a network has not.
    scope = f"%{found.scope_id}" if found.scope_id else ""
    return f"{ipaddress.IPv6Network((int(found), 64), strict=False)}{scope}"


def _per_minute(amount: int) -> RateLimitItemPerMinute | None:
    return RateLimitItemPerMinute(amount) if amount else None

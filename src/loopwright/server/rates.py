"""How often one client may ask."""

import ipaddress
import math
import time

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from loopwright.server.auth import SAFE_METHODS, carries, is_open
from loopwright.server.layers import Layer
from loopwright.server.problems import Problem
from loopwright.server.settings import ServerSettings

TOKEN = "token"
"""What whoever carries the token is counted under."""
UNLIMITED = frozenset({"/health/live", "/health/ready"})
"""Where a supervisor asks as often as it likes."""


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

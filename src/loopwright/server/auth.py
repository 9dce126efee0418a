"""Who may ask: by default only this machine, from elsewhere only with a token; and how much a request may bring."""

from __future__ import annotations

import ipaddress
import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loopwright.errors import ConfigError
from loopwright.server.problems import Problem

REQUEST_BYTES = 256 * 1024
"""The largest request body."""
OPEN_PATHS = frozenset({"/health/live", "/health/ready"})
"""What needs no token: a supervisor asks there, and learns nothing but whether the server works."""


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only mean this machine.

    Args:
        host: The name or address, without a port.
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_token(host: str, token: str | None) -> None:
    """Refuse to be open to everyone.

    Args:
        host: The address to listen on.
        token: The bearer token, if any.

    Raises:
        ConfigError: If the address can be reached from other machines and there is no token.
    """
    if not token and not is_loopback(host):
        raise ConfigError(
            f"the server would listen on {host!r}, where other machines reach it, and has no token: give a token, or "
            "listen on 127.0.0.1"
        )


class Guard:
    """Lets requests in that may ask.

    With a token every request must carry it (``Authorization: Bearer TOKEN``). Without one only this machine reaches
    the server, and a request must also be addressed to this machine by name: a page from elsewhere whose own name was
    made to point here (DNS rebinding) is refused.
    """

    def __init__(self, app: ASGIApp, token: str | None, request_bytes: int = REQUEST_BYTES) -> None:
        """Stand before an application.

        Args:
            app: The application.
            token: The bearer token, if any.
            request_bytes: The largest request body.
        """
        self._app = app
        self._token = token.encode() if token else None
        self._request_bytes = request_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it.

        Args:
            scope: The request.
            receive: Reads its body.
            send: Writes the reply.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if problem := self._refusal(scope["path"], headers):
            await problem.response(scope, receive, send)
            return
        await self._app(scope, self._limited(receive), send)

    def _refusal(self, path: str, headers: Headers) -> Problem | None:
        if self._token is None:
            if not _addressed_to_loopback(headers.get("host", "")):
                told = "this server answers only requests to localhost: start it with a token to use other names"
                return Problem(told, "ForeignHost", status=421)
        elif path not in OPEN_PATHS and not self._carries_token(headers.get("authorization", "")):
            told = "a bearer token is required: send the header Authorization: Bearer TOKEN"
            return Problem(told, "Unauthorized", status=401, headers={"WWW-Authenticate": "Bearer"})
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._request_bytes:
            return self._too_large()
        return None

    def _carries_token(self, authorization: str) -> bool:
        scheme, _space, given = authorization.partition(" ")
        # ASGI headers are latin-1; back to the bytes that were sent.
        sent = given.strip().encode("latin-1")
        return scheme.lower() == "bearer" and secrets.compare_digest(sent, self._token or b"")

    def _limited(self, receive: Receive) -> Receive:
        taken = 0

        async def limited() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self._request_bytes:
                raise self._too_large().exception
            return message

        return limited

    def _too_large(self) -> Problem:
        told = f"the request is larger than {self._request_bytes} bytes, which is the limit"
        return Problem(told, "RequestTooLarge", status=413, headers={"Connection": "close"})


def _addressed_to_loopback(host: str) -> bool:
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False

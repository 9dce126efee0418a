"""Headers that every reply carries, so that a browser makes nothing of it that it is not."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""Header -> its value where a route sets no other."""


class SafeHeaders:
    """Adds the headers of `ALWAYS` to what an application answers."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application.

        Args:
            app: The application.
        """
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its reply back with the headers.

        Args:
            scope: The request.
            receive: Reads its body.
            send: Writes the reply.
        """

        async def added(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, added if scope["type"] == "http" else send)

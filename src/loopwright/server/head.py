"""HEAD requests: what GET would answer, without the body (RFC 9110, section 9.3.2)."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class _Answered(Exception):
    """The head was sent: the rest of the answer, which may be a stream without end, is not wanted."""


class HeadAsGet:
    """Has an application answer HEAD as it answers GET, as far as the head of the answer."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application.

        Args:
            app: The application.
        """
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on.

        Args:
            scope: The request.
            receive: Reads its body.
            send: Writes the reply.
        """
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        # The server itself must go on to see a HEAD request, whose answer has a length and no body.
        asked = {**scope, "method": "GET"}

        async def head_alone(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope["route"] = asked.get("route")  # for whoever counts requests
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                raise _Answered

        try:
            await self._app(asked, receive, head_alone)
        except _Answered:
            return

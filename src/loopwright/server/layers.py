"""What stands between the network and the application: each layer sees every request, and may answer it itself."""

import asyncio
from abc import ABC, abstractmethod

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loopwright.errors import StoreError
from loopwright.server.problems import CLOSE, problem_of

PATIENCE = 30.0
"""Seconds in which the answer to what only reads must begin."""

VERSION = "/v1"
"""What stands before the paths of this version of the API; a key of the scope where it did."""

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""Header -> its value where a route sets no other, so that a browser makes nothing of a reply that it is not."""


class Layer(ABC):
    """Stands before an application."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        """What stands behind it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request; anything else is passed on."""
        await (self.answer if scope["type"] == "http" else self.app)(scope, receive, send)

    @abstractmethod
    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have the application do it."""


class SafeHeaders(Layer):
    """Adds the headers of `ALWAYS` to what an application answers."""

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its reply back with the headers."""

        async def added(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, added)


class Versioned(Layer):
    """Serves everything below ``/v1`` too, where clients find it whatever a later version puts elsewhere."""

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, without the version before its path."""
        if scope["path"].startswith(f"{VERSION}/"):
            paths = {"path": scope["path"], "raw_path": scope.get("raw_path") or scope["path"].encode()}
            scope = {**scope, VERSION: True, **{name: path[len(VERSION) :] for name, path in paths.items()}}
        await self.app(scope, receive, send)


class AnswerUnforeseen(Layer):
    """Answers what nobody foresaw in JSON too, and what is read from a database that hangs.

    Starlette does that before everything else: its reply would be without the headers that every reply has.
    """

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and tell what was raised."""
        begun, deadline = False, asyncio.timeout(PATIENCE if scope["method"] == "GET" else None)

        async def noted(message: Message) -> None:
            nonlocal begun
            deadline.reschedule(None)  # fails where it has passed, whoever caught that
            begun = True
            await send(message)

        try:
            async with deadline:
                await self.app(scope, receive, noted)
        except Exception as raised:
            told = f"what {scope['path']} is read from gives no answer within {PATIENCE:g} s: ask again in a moment"
            error = StoreError(told, transient=True) if deadline.expired() else raised
            if not begun:
                problem = problem_of(error)
                problem.headers = CLOSE
                await problem.response(scope, receive, send)
            # For the log; uvicorn then closes the connection.
            raise

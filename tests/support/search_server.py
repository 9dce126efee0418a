"""A real HTTP server on loopback that speaks SearXNG's JSON and Tavily's JSON, and can misbehave."""

import json
import socket
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback import LoopbackServer, QuietHandler, listening


@dataclass(frozen=True)
class Reply:
    """What is sent, and how."""

    body: bytes = b""
    status: int = 200
    type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    claimed: int | None = None
    """The Content-Length, where it is not the body's."""
    silent: bool = False
    """Take the request and close without a word."""


def as_json(value: Any, **options: Any) -> Reply:
    return Reply(json.dumps(value).encode(), **options)


def redirect(location: str) -> Reply:
    return Reply(status=302, headers={"Location": location})


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class SearchServer(LoopbackServer):
    """Answers ``GET /search?format=json`` as SearXNG and ``POST /search`` as Tavily, from ``results``.

    ``replies`` are sent instead, one for each request to ``/search``.
    """

    block_on_close = False

    def __init__(self) -> None:
        super().__init__(Handler)
        self.results: list[dict[str, Any]] = []
        self.unresponsive: list[Any] = []
        self.replies: deque[Reply] = deque()
        self.requests: list[Asked] = []


class Handler(QuietHandler):
    server: SearchServer

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        asked = Asked(self.command, parts.path, query, dict(self.headers), body)
        self.server.requests.append(asked)
        self.send(self.reply_to(asked))

    def reply_to(self, asked: Asked) -> Reply:
        if not asked.path.endswith("/search"):
            return Reply(b"no such page", status=404, type="text/plain")
        if self.server.replies:
            return self.server.replies.popleft()
        if asked.method == "POST":
            wanted = json.loads(asked.body)
            found = self.server.results[: wanted["max_results"]]
            return as_json({"query": wanted["query"], "results": found, "response_time": 0.1})
        said = {"query": asked.query["q"], "number_of_results": 0, "results": self.server.results, "answers": []}
        return as_json(said | {"unresponsive_engines": self.server.unresponsive})

    def send(self, reply: Reply) -> None:
        if reply.silent:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        with suppress(BrokenPipeError, ConnectionResetError):  # the client may have read enough
            self.send_body(reply.status, reply.body, reply.type, reply.headers, reply.claimed)


def searching() -> AbstractContextManager[SearchServer]:
    """A server in a thread of its own."""
    return listening(SearchServer())


def closed_port() -> int:
    """A port of loopback where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

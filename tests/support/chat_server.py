"""A real HTTP server on loopback that speaks the OpenAI chat-completions format and replies from a queue."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loopback import LoopbackServer, QuietHandler, listening


class ChatServer(LoopbackServer):
    """Replies from a queue: a text, a (text, finish reason), an HTTP status, or a (status, headers) or a (status,
    headers, message); keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(Handler)
        self.replies: deque[Any] = deque()
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"{self.address}/v1"


class Handler(QuietHandler):
    server: ChatServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/chat/completions"
        self.server.requests.append(body)
        self.server.keys.append(self.headers.get("Authorization"))
        reply = self.server.replies.popleft()
        if isinstance(reply, int):
            reply = (reply, {})
        if isinstance(reply, tuple) and isinstance(reply[0], int):
            status, headers, *said = reply
            message = said[0] if said else f"played status {status}"
            self.send_json(status, {"error": {"message": message, "type": "server_error", "code": None}}, headers)
            return
        text, finish = reply if isinstance(reply, tuple) else (reply, "stop")
        message = {"role": "assistant", "content": text, "refusal": None}
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        whole = {"id": "chatcmpl-1", "created": 1, "model": body["model"]}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
            self.send_json(200, {**whole, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        half = len(text) // 2
        pieces: list[tuple[dict[str, Any], str | None]] = [
            ({**message, "content": text[:half]}, None),
            ({"content": text[half:]}, None),
            ({}, finish),
        ]
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in pieces]
        # As OpenAI's server: figures come last, and only to who asks for them.
        if body.get("stream_options", {}).get("include_usage"):
            chunks.append({"choices": [], "usage": usage})
        lines = [json.dumps({**whole, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
        sent = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])
        self.send_body(200, sent.encode(), "text/event-stream")


@contextmanager
def serving() -> Iterator[ChatServer]:
    """A server in a thread of its own."""
    with listening(ChatServer()) as played:
        yield played

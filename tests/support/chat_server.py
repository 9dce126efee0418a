"""A real HTTP server on loopback that speaks the OpenAI chat-completions format and replies from a queue."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ChatServer(ThreadingHTTPServer):
    """Replies from a queue: a text, a (text, finish reason), an HTTP status, or a (status, headers) or a (status,
    headers, message); keeps what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: deque[Any] = deque()
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
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
            self.send(status, {"error": {"message": message, "type": "server_error", "code": None}}, headers)
            return
        text, finish = reply if isinstance(reply, tuple) else (reply, "stop")
        message = {"role": "assistant", "content": text, "refusal": None}
        self.send(
            200,
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
            },
        )

    def send(self, status: int, value: dict[str, Any], headers: Mapping[str, str] = {}) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[ChatServer]:
    """A server in a thread of its own."""
    played = ChatServer()
    thread = threading.Thread(target=played.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield played
    finally:
        played.shutdown()
        thread.join()
        played.server_close()

"""What the HTTP servers that tests play on loopback have in common."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar


class LoopbackServer(ThreadingHTTPServer):
    """Listens on a free port of loopback."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class QuietHandler(BaseHTTPRequestHandler):
    """Sends whole replies, and logs nothing."""

    def send_json(self, status: int, value: Any) -> None:
        self.send_body(status, json.dumps(value).encode(), "application/json")

    def send_body(
        self, status: int, data: bytes, kind: str, headers: Mapping[str, str] = {}, claimed: int | None = None
    ) -> None:
        """`claimed` is the Content-Length, where it is not the body's."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) if claimed is None else claimed))
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


ServerT = TypeVar("ServerT", bound=LoopbackServer)


@contextmanager
def listening(server: ServerT) -> Iterator[ServerT]:
    """Serve in a thread of its own."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""Applications on real connections, in a thread of the test's own process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from loopwright.server.connections import Connection


@contextmanager
def listening(
    app: Any, connection: type[Connection] = Connection, listener: socket.socket | None = None
) -> Iterator[str]:
    """Answer requests, and say where.

    Args:
        app: The ASGI application.
        connection: What each connection is.
        listener: Where to listen; a free port of IPv4's loopback by default.
    """
    with listener or socket.create_server(("127.0.0.1", 0)) as taken:
        server = uvicorn.Server(uvicorn.Config(app, http=connection, lifespan="off", log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{taken.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=30)

"""Applications on real connections, in a thread of the test's own process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import uvicorn

from loopwright.server.connections import Connection


@contextmanager
def in_thread(server: uvicorn.Server, listener: socket.socket) -> Iterator[str]:
    """Let a server answer requests, say where, and stop it.

    Args:
        server: The server.
        listener: Where it listens; closed at the end.
    """
    with listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=30)
            assert not thread.is_alive()


def listening(app: Any, connection: type[Connection] = Connection) -> AbstractContextManager[str]:
    """Serve an application of the test's own.

    Args:
        app: The ASGI application.
        connection: What each connection is.
    """
    server = uvicorn.Server(uvicorn.Config(app, http=connection, lifespan="off", log_level="error"))
    return in_thread(server, socket.create_server(("127.0.0.1", 0)))

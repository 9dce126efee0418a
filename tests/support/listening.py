"""Applications on real connections, in a thread of the test's own process, and bare connections to them."""

import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import httpx
import uvicorn

from loopwright.server.connections import Connection


@contextmanager
def in_thread(server: uvicorn.Server, listener: socket.socket) -> Iterator[str]:
    """Let a server answer at a listener, say where, stop it, and close the listener."""
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
    """Serve an application of the test's own; `connection` is what each connection is."""
    server = uvicorn.Server(uvicorn.Config(app, http=connection, lifespan="off", log_level="error"))
    return in_thread(server, socket.create_server(("127.0.0.1", 0)))


@contextmanager
def connected(url: str, sent: bytes, buffer: int | None = None) -> Iterator[socket.socket]:
    """A bare connection on which something was sent; of the answer the system takes no more bytes than `buffer`."""
    address = httpx.URL(url)
    with socket.socket() as connection:
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(60)
        connection.connect((address.host, address.port))
        connection.sendall(sent)
        yield connection


def rest_of(connection: socket.socket) -> bytes:
    """What comes until the server closes the connection, or resets it."""
    taken = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            taken += piece
    return taken


def answer_to(url: str, sent: bytes) -> bytes:
    """What comes back on a bare connection until the server closes it."""
    with connected(url, sent) as connection:
        return rest_of(connection)

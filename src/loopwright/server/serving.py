"""Runs the application until it is told to stop."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

import uvicorn

from loopwright.errors import ConfigError
from loopwright.server.app import create_app
from loopwright.server.auth import require_token
from loopwright.workflows.assistant.services import Services

BACKLOG = 2048
"""Connections that may wait to be accepted."""
FAREWELL = 10
"""Seconds that clients have to take what is left once the server stops."""


class Server(uvicorn.Server):
    """Ends the runs before it waits for its connections: a stream lasts as long as its run."""

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until the process is told to stop; an interrupt from the keyboard is such an order, and no error.

        Args:
            sockets: The sockets to listen on.
        """
        with suppress(KeyboardInterrupt):
            super().run(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop.

        Args:
            sockets: The sockets that it listens on.
        """
        await self.config.app.state.context.runs.close()  # type: ignore[union-attr]
        await super().shutdown(sockets)


def serve(
    services: Services,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    cors: Sequence[str] = (),
    *,
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve the assistant over HTTP until the process is told to stop.

    Args:
        services: The conference, the memory and the models; left open at the end.
        host: The address to listen on.
        port: The port to listen on; 0 takes a free one.
        token: The bearer token that every request must carry; required where other machines reach the server.
        cors: The origins whose pages may use the server; none by default.
        started: Called with the address once clients can connect.

    Raises:
        ConfigError: If other machines could reach the server and there is no token, or the address cannot be had.
    """
    require_token(host, token)
    listener = _listening(host, port)
    config = uvicorn.Config(
        create_app(services, token=token, cors=cors),
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=FAREWELL,
        ws="none",
    )
    with listener:
        if started is not None:
            name = f"[{host}]" if ":" in host else host
            started(f"http://{name}:{listener.getsockname()[1]}")
        Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, _kind, _protocol, _name, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigError(
            f"the server cannot listen on {host} port {port}: {error.strerror}; give another address or port"
        ) from None

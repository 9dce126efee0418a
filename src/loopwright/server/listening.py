"""The address that a server listens on. It imports nothing heavy, so that it can be had before anything is loaded."""

import errno
import ipaddress
import socket

from loopwright.errors import ConfigError

SHORTEST = 16
"""Characters that a token has at least where other machines reach the server."""
BACKLOG = 2048
"""Connections that may wait to be accepted."""

_FIXES = {
    errno.EADDRINUSE: "another program has it: stop that one, or take another port, or port 0 for a free one",
    errno.EACCES: "only administrators may have it: take a port from 1024 on, or port 0 for a free one",
    errno.EADDRNOTAVAIL: "this machine has no such address: take 127.0.0.1, or 0.0.0.0 for all that it has",
}


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only mean this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_token(host: str, token: str | None) -> None:
    """Refuse to be open to everyone.

    Args:
        host: The address to listen on.
        token: The bearer token, if any.

    Raises:
        ConfigError: If the address can be reached from other machines, and there is no token or a short one.
    """
    if not is_loopback(host) and len(token or "") < SHORTEST:
        told = "has no token: give a token, or listen on 127.0.0.1"
        if token:
            told = f"its token has {len(token)} characters, which can be guessed: give one of {SHORTEST} or more, as "
            told += "`openssl rand -hex 16` makes it"
        raise ConfigError(f"the server would listen on {host!r}, where other machines reach it, and {told}")


def reserve(host: str, port: int) -> socket.socket:
    """Have an address; who connects waits until it is served.

    Args:
        host: The address to listen on.
        port: The port; 0 takes a free one.

    Raises:
        ConfigError: If it cannot be had.
    """
    try:
        family, *_kind, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        both = host == "::" and socket.has_dualstack_ipv6()  # all that it has, as elsewhere: IPv4 too
        return socket.create_server(address, family=family, backlog=BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        fix = _FIXES.get(error.errno or 0, "give another address or port")
        said = (error.strerror or str(error)).partition(" (while")[0]
        raise ConfigError(f"the server cannot listen on {host} port {port}: {said}; {fix}") from None

"""Which addresses a page may be fetched from, so that a search result cannot reach into the network that we run in."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import httpx

from loopwright.errors import ConfigError, SearchError
from loopwright.retrieval.web.cleaning import cut

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
"""An IP address."""
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
"""A range of IP addresses."""

EVERYWHERE: tuple[Network, ...] = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
"""All addresses."""

# IPv6 in use on the public internet, of which some ranges lead to IPv4 addresses or are set aside. NAT64, IPv4-mapped,
# private, link-local and multicast addresses are all outside of the first (IANA's special-purpose address registry).
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_SPECIAL = [
    ipaddress.ip_network(name) for name in ("2001::/23", "2002::/16", "3fff::/20", "192.0.0.0/24", "192.88.99.0/24")
]
_PORTS = {"http": 80, "https": 443}
# Old programs read "0x7f.1" and "2130706433" as 127.0.0.1; no honest page is named so.
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRule:
    """What may be connected to."""

    ports: Collection[int] = frozenset(_PORTS.values())
    """The ports of public addresses."""
    exempt: tuple[Network, ...] = ()
    """Addresses that are fine on every port, public or not."""

    async def addresses(self, url: httpx.URL) -> list[str]:
        """Look an address up, and check what comes back.

        Args:
            url: The address of a page.

        Returns:
            The IP addresses of its host, in the resolver's order: connect to these, and do not ask again.

        Raises:
            SearchError: If it is no plain http or https address, if one of its IP addresses or its port may not be
                connected to, or (transient) if its host cannot be looked up.
        """
        shown = cut(str(url.copy_with(userinfo=b"")), 200)
        _require_plain(url, shown)
        port = url.port or _PORTS[url.scheme]
        found = await _look_up(url.host.rstrip("."), port, shown)
        for address in found:
            if any(address in network for network in self.exempt):
                continue
            if not is_public(address):
                raise SearchError(f"{shown} was not fetched: {url.host} is at {address}, which is not a public address")
            if port not in self.ports:
                raise SearchError(
                    f"{shown} was not fetched: its port is {port}, and only {sorted(self.ports)} are allowed"
                )
        return [str(address) for address in found]


def is_public(address: Address) -> bool:
    """Whether an address is one of the public internet, and does not stand for another address."""
    if address.version == 6 and address not in _GLOBAL_UNICAST:
        return False
    special = any(address in network for network in _SPECIAL)
    return address.is_global and not address.is_multicast and not address.is_reserved and not special


def networks(names: Iterable[str]) -> tuple[Network, ...]:
    """Ranges of addresses from their names, for example ``"10.1.0.0/16"``.

    Raises:
        ConfigError: If one is no such range.
    """
    try:
        return tuple(ipaddress.ip_network(name) for name in names)
    except ValueError as error:
        raise ConfigError(f"no range of IP addresses: {error}; write it like 10.1.0.0/16") from error


def _require_plain(url: httpx.URL, shown: str) -> None:
    if url.scheme not in _PORTS or not url.host:
        raise SearchError(f"{shown} was not fetched: it is no http or https address")
    if url.userinfo:
        raise SearchError(f"{shown} was not fetched: a user name stands before its host")
    last = url.host.rstrip(".").rpartition(".")[2]
    if "%" in url.host or (_NUMBER.fullmatch(last) and not _is_address(url.host)):
        raise SearchError(f"{shown} was not fetched: {url.host!r} is no plain host name or IP address")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _look_up(host: str, port: int, shown: str) -> list[Address]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SearchError(f"{shown} was not fetched: its host cannot be looked up ({error})", transient=True) from error
    return list(dict.fromkeys(ipaddress.ip_address(entry[4][0]) for entry in found))

"""Who counts as one client: an IPv4 address, however it is written, and a network of IPv6."""

from __future__ import annotations

import socket
import sys

import httpx
import pytest
from listening import listening

from loopwright.server import ServerSettings
from loopwright.server.rates import RateLimit, network_of


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("::ffff:c000:201", "192.0.2.1"),
        ("::1", "::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64%eth0"),
        ("/run/some.sock", "/run/some.sock"),
    ],
)
def test_addresses_that_one_client_may_have_are_one_client(address, network):
    assert network_of(address) == network


async def statuses(app, addresses) -> list[int]:
    """What an application answers to a request from each address."""
    found: list[int] = []
    for address in addresses:
        transport = httpx.ASGITransport(app, client=(address, 1234))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            found.append((await client.get("/workflows")).status_code)
    return found


async def test_another_address_of_the_same_network_gets_no_further_share(serve_script):
    app = serve_script(settings={"reads_per_minute": 4}).app
    # More than twice as many, since the clock's minute may turn between two of them.
    same = await statuses(app, [f"2001:db8:1:2::{number:x}" for number in range(1, 12)])
    assert same[:4] == [200] * 4
    assert same[-1] == 429
    others = await statuses(app, [f"2001:db8:1:{number}::1" for number in range(3, 14)])
    assert others == [200] * 11


async def greet(scope, receive, send):
    """An application that answers everybody."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


def get(url: str, source: str) -> int:
    """What is answered to a request from one of this machine's own addresses."""
    transport = httpx.HTTPTransport(local_address=source)
    with httpx.Client(transport=transport, trust_env=False) as client:
        return client.get(url).status_code


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no socket takes both kinds of addresses here")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere loopback has one address")
def test_a_socket_for_both_kinds_of_addresses_counts_ipv4_by_address():
    app = RateLimit(greet, None, ServerSettings(reads_per_minute=4))
    listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    with listening(app, listener=listener) as url:
        own = [get(url, "127.0.0.2") for _ in range(11)]
        other = [get(url, "127.0.0.3") for _ in range(4)]
    assert own[:4] == [200] * 4
    assert own[-1] == 429
    assert other == [200] * 4

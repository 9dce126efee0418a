"""Addresses that are not public are refused, however they are written."""

from __future__ import annotations

import ipaddress

import httpx
import pytest

from loopwright.errors import ConfigError, SearchError
from loopwright.retrieval.web.addresses import EVERYWHERE, AddressRule, is_public, networks


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001::1"]
)
def test_public_addresses(address: str):
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.255.254", "::1"),  # loopback
        *("10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fd00::1", "fec0::1"),  # private
        *("169.254.169.254", "fe80::1", "fe80::1%eth0", "fd00:ec2::254"),  # link-local, cloud metadata
        *("100.64.0.1", "100.100.100.200"),  # carrier-grade NAT, cloud metadata
        *("0.0.0.0", "0.1.2.3", "::"),  # unspecified
        *("224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1"),  # multicast
        *("240.0.0.1", "255.255.255.255", "192.0.0.8", "192.0.2.1", "198.18.0.1", "203.0.113.1"),  # reserved, tests
        *("2001:db8::1", "3fff::1", "5f00::1", "100::1"),
        *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::8.8.8.8"),  # IPv4 in IPv6
        *("64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1"),  # NAT64
        *("2002:7f00:1::", "2002:808:808::1", "2001::1", "192.88.99.1"),  # 6to4, Teredo
    ],
)
def test_addresses_that_are_not_public(address: str):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1/", "not a public address"),
        ("http://localhost/", "not a public address"),
        ("http://LOCALHOST./", "not a public address"),
        ("http://[::1]/", "not a public address"),
        ("http://[::ffff:127.0.0.1]/", "not a public address"),
        ("http://[64:ff9b::7f00:1]/", "not a public address"),
        ("http://169.254.169.254/latest/meta-data/", "not a public address"),
        ("http://0.0.0.0/", "not a public address"),
        ("http://10.0.0.1:443/", "not a public address"),
        ("http://2130706433/", "no plain host name"),
        ("http://134744072/", "no plain host name"),
        ("http://0x7f000001/", "no plain host name"),
        ("http://0x7f.0.0.1/", "no plain host name"),
        ("http://127.1/", "no plain host name"),
        ("http://127.0.0.1./", "no plain host name"),
        ("http://127%2e0.0.1/", "no plain host name"),
        ("http://[fe80::1%25eth0]/", "no plain host name"),
        ("http://8.8.8.8@127.0.0.1/", "a user name stands before its host"),
        ("http://127.0.0.1\\@example.com/", "a user name stands before its host"),
        ("http://user:word@8.8.8.8/", "a user name stands before its host"),
        ("http://8.8.8.8:22/", r"its port is 22, and only \[80, 443\] are allowed"),
        ("ftp://8.8.8.8/", "no http or https address"),
        ("file:///etc/passwd", "no http or https address"),
        ("http:///etc/passwd", "no http or https address"),
        ("//8.8.8.8/", "no http or https address"),
    ],
)
async def test_addresses_that_are_refused(url: str, said: str):
    with pytest.raises(SearchError, match=said) as caught:
        await AddressRule().addresses(httpx.URL(url))
    assert not caught.value.transient
    assert "word" not in str(caught.value)


async def test_a_public_address_is_given_back_as_it_will_be_connected_to():
    assert await AddressRule().addresses(httpx.URL("https://8.8.8.8/")) == ["8.8.8.8"]
    assert await AddressRule().addresses(httpx.URL("http://[2606:4700::1]/")) == ["2606:4700::1"]
    assert await AddressRule(ports={8080}).addresses(httpx.URL("http://8.8.8.8:8080/")) == ["8.8.8.8"]


async def test_exempt_addresses_are_fine_on_every_port_and_no_others():
    rule = AddressRule(exempt=networks(["10.1.0.0/16"]))
    assert await rule.addresses(httpx.URL("http://10.1.2.3:8080/")) == ["10.1.2.3"]
    with pytest.raises(SearchError, match="not a public address"):
        await rule.addresses(httpx.URL("http://10.2.0.1/"))
    everywhere = AddressRule(exempt=EVERYWHERE)
    assert await everywhere.addresses(httpx.URL("http://[::1]:9/")) == ["::1"]
    with pytest.raises(SearchError, match="no plain host name"):
        await everywhere.addresses(httpx.URL("http://2130706433/"))


async def test_a_host_that_cannot_be_looked_up_is_transient():
    with pytest.raises(SearchError, match="cannot be looked up") as caught:
        await AddressRule().addresses(httpx.URL("http://nowhere.invalid/"))
    assert caught.value.transient


@pytest.mark.parametrize("name", ["intranet", "10.1.2.3/16", "10.0.0.0/40"])
def test_a_wrong_range_is_a_configuration_error(name: str):
    with pytest.raises(ConfigError, match="no range of IP addresses"):
        networks([name])

"""How often one client may ask, who counts as one, and what is counted."""

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from scripted_server import DONE, read_all, script

from loopwright.server.auth import network_of
from loopwright.server.settings import ServerSettings


def statuses(served, method: str, path: str, times: int, **options) -> list[int]:
    return [reply.status_code for reply in replies(served, method, path, times, **options)]


def replies(served, method: str, path: str, times: int, **options) -> list[httpx.Response]:
    with httpx.Client(base_url=served.url) as client:
        return [client.request(method, path, **options) for _ in range(times)]


def answered(found: list[int], good: int) -> int:
    """How many requests were answered before the rest was refused."""
    count = found.count(good)
    assert found == [good] * count + [429] * (len(found) - count)
    return count


def test_who_asks_too_often_is_told_when_to_come_back(serve_script):
    served = serve_script(settings={"reads_per_minute": 5, "starts_per_minute": 3})
    # One more where the clock's minute turns between two of them: requests are counted by the minute, and weighed.
    asked = replies(served, "GET", "/runs", 8)
    assert answered([each.status_code for each in asked], 200) in (5, 6)
    reply = asked[-1]
    assert (reply.json()["error_type"], reply.json()["can_retry"]) == ("TooManyRequests", True)
    assert 1 <= int(reply.headers["retry-after"]) <= 60
    assert answered(statuses(served, "POST", "/api/chat", 5, json=script(DONE)), 200) in (3, 4), "counted apart"
    assert statuses(served, "GET", "/health/live", 20) == [200] * 20


def test_a_token_cannot_be_guessed_and_wrong_ones_do_not_use_up_the_right_ones_share(serve_script):
    served = serve_script(token="right", settings={"reads_per_minute": 0, "starts_per_minute": 0})
    passed = {"headers": {"Authorization": "Basic eDp5"}}
    assert set(statuses(served, "GET", "/", 50, **passed)) == {200}, "what a proxy asked for is no guess; 0: no limit"
    guesses = [
        statuses(served, method, "/runs", 1, headers={"Authorization": f"Bearer {number}"})[0]
        for number in range(20)
        for method in ("GET", "POST")
    ]
    most = ServerSettings.guesses_per_minute
    assert most <= answered(guesses, 401) <= most + 2
    assert statuses(served, "GET", "/runs", 5, headers={"Authorization": "Bearer right"}) == [200] * 5
    served = serve_script(token="right", settings={"reads_per_minute": 3})
    assert set(statuses(served, "GET", "/", 8)[3:]) <= {200, 429}
    assert statuses(served, "GET", "/", 1, headers={"Authorization": "Bearer right"}) == [429], "open: no way to guess"


def figures(served) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = httpx.get(served.url + "/metrics").text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_runs_and_events_are_counted(served, client):
    await read_all(client, "POST", "/api/chat/stream", json=script({"chunks": 3}, DONE))
    await client.post("/api/chat", json=script({"raise": "store"}))
    found = figures(served)
    assert found["loopwright_runs_total", (("status", "finished"), ("workflow", "assistant"))] == 1
    assert found["loopwright_runs_total", (("status", "failed"), ("workflow", "assistant"))] == 1
    assert found["loopwright_runs_running", (("workflow", "assistant"),)] == 0
    assert found["loopwright_run_seconds_count", (("workflow", "assistant"),)] == 2
    assert found["loopwright_events_written_total", (("channel", "client"),)] == 5
    assert found["loopwright_sse_clients", ()] == 0


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


async def asked(app, addresses) -> list[int]:
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
    same = await asked(app, [f"2001:db8:1:2::{number:x}" for number in range(1, 12)])
    assert same[:4] == [200] * 4
    assert same[-1] == 429
    others = await asked(app, [f"2001:db8:1:{number}::1" for number in range(3, 14)])
    assert others == [200] * 11

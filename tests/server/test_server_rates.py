"""How often one client may ask, and what is counted."""

from __future__ import annotations

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from scripted_server import DONE, read_all, script


def statuses(served, method: str, path: str, times: int, **options) -> list[int]:
    with httpx.Client(base_url=served.url) as client:
        return [client.request(method, path, **options).status_code for _ in range(times)]


def answered(found: list[int], good: int) -> int:
    """How many requests were answered before the rest was refused."""
    count = found.count(good)
    assert found == [good] * count + [429] * (len(found) - count)
    return count


def test_who_asks_too_often_is_told_when_to_come_back(serve_script):
    served = serve_script(settings={"reads_per_minute": 5, "starts_per_minute": 3})
    # One more where the clock's minute turns between two of them: requests are counted by the minute, and weighed.
    assert answered(statuses(served, "GET", "/runs", 8), 200) in (5, 6)
    reply = httpx.get(served.url + "/runs")
    assert (reply.json()["error_type"], reply.json()["can_retry"]) == ("TooManyRequests", True)
    assert 1 <= int(reply.headers["retry-after"]) <= 60
    assert answered(statuses(served, "POST", "/api/chat", 5, json=script(DONE)), 200) in (3, 4), "counted apart"
    assert statuses(served, "GET", "/health/live", 20) == [200] * 20


def test_wrong_tokens_are_counted_and_do_not_use_up_the_right_ones_share(serve_script):
    served = serve_script(token="right", settings={"reads_per_minute": 5})
    guesses = [statuses(served, "GET", "/runs", 1, headers={"Authorization": f"Bearer {n}"})[0] for n in range(8)]
    assert answered(guesses, 401) in (5, 6)
    assert statuses(served, "GET", "/runs", 5, headers={"Authorization": "Bearer right"}) == [200] * 5


def test_zero_sets_no_limit(serve_script):
    served = serve_script(settings={"reads_per_minute": 0})
    assert set(statuses(served, "GET", "/runs", 50)) == {200}


def figures(served) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = httpx.get(served.url + "/metrics").text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_runs_events_and_requests_are_counted(served, client):
    await read_all(client, "POST", "/api/chat/stream", json=script({"chunks": 3}, DONE))
    await client.post("/api/chat", json=script({"raise": "store"}))
    await client.get("/runs/a-run-that-is-not-there")
    await client.get("/some/unknown/path")
    found = figures(served)
    assert found["loopwright_runs_total", (("status", "finished"), ("workflow", "assistant"))] == 1
    assert found["loopwright_runs_total", (("status", "failed"), ("workflow", "assistant"))] == 1
    assert found["loopwright_runs_running", (("workflow", "assistant"),)] == 0
    assert found["loopwright_run_seconds_count", (("workflow", "assistant"),)] == 2
    assert found["loopwright_events_written_total", (("channel", "client"),)] == 5
    assert found["loopwright_sse_clients", ()] == 0
    route = (("method", "GET"), ("route", "/runs/{run_id}"), ("status", "404"))
    assert found["loopwright_http_requests_total", route] == 1
    unknown = (("method", "GET"), ("route", "unrouted"), ("status", "404"))
    assert found["loopwright_http_requests_total", unknown] == 1
    assert not any("a-run-that" in str(labels) for _name, labels in found)


@pytest.mark.parametrize("made", [1, 2])
def test_each_application_counts_for_itself(serve_script, made):
    servers = [serve_script() for _ in range(made)]
    httpx.post(servers[-1].url + "/api/chat", json=script(DONE))
    assert figures(servers[-1])["loopwright_run_seconds_count", (("workflow", "assistant"),)] == 1

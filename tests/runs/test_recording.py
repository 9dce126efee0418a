"""Attempts that LangGraph repeats by itself stand in a run's record, over HTTP too."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END
from langgraph.types import RetryPolicy
from scripted_server import running
from shapes import graph
from typing_extensions import TypedDict

from loopwright import NodePolicy, Retry, bounded
from loopwright.runs.hub import RunHub
from loopwright.runs.store import open_runs
from loopwright.server import ServerSettings, create_app
from loopwright.workflows.user_graph import UserGraph

AT_ONCE = RetryPolicy(max_attempts=3, initial_interval=0.0, jitter=False, retry_on=LookupError)


class State(TypedDict, total=False):
    question: str
    path: Annotated[list[str], operator.add]


def failing(times: int, error: type[Exception] = LookupError, asynchronous: bool = True) -> Any:
    """A node that fails so many times in each visit."""
    left = [times]

    def fail() -> dict[str, Any]:
        if left[0]:
            left[0] -= 1
            raise error(f"{left[0]} left; the key is sk-{'x' * 20}")
        left[0] = times
        return {"path": ["there"]}

    async def afail(state: State) -> dict[str, Any]:
        return fail()

    return afail if asynchronous else lambda state: fail()


async def recorded(app: Any, tmp_path: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The record and the events of a run of a graph, as a server shows them."""
    store = open_runs(f"sqlite:{tmp_path / 'runs.db'}")
    hub = RunHub(store, [UserGraph("own", app)], InMemorySaver())
    with running(create_app(hub, settings=ServerSettings(data=tmp_path))) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            asked = {"workflow": "own", "input": {"question": "?"}}
            run_id = (await client.post("/runs", json=asked)).json()["id"]
            async with client.stream("GET", f"/runs/{run_id}/events") as response:
                await response.aread()
            record = (await client.get(f"/runs/{run_id}")).json()
            log = (await client.get(f"/runs/{run_id}/log")).json()
    store.close()
    return record, [each["event"] for each in log["events"]]


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_each_failed_attempt_of_a_retry_policy_is_an_event_between_the_nodes_own(tmp_path, asynchronous):
    fetch = {"action": failing(2, asynchronous=asynchronous), "retry_policy": AT_ONCE}
    nodes = {"before": failing(0), "fetch": fetch, "after": {"action": failing(0), "retry_policy": AT_ONCE}}
    made = graph("START-before before-fetch fetch-after after-END", State, **nodes)
    record, events = await recorded(made.compile(), tmp_path)
    assert record["status"] == "finished"
    retried = [event for event in events if event["type"] == "node_retried"]
    told = [(each["node"], each["attempt"], each["attempts"], each["kind"], each["rule"]) for each in retried]
    assert told == [("fetch", number, 3, "LookupError", "retry_policy") for number in (1, 2)]
    assert [each["message"] for each in retried] == ["1 left; the key is ***", "0 left; the key is ***"]
    assert all(each["wait"] >= 0 for each in retried)
    kinds = [event["type"] for event in events if event.get("node") == "fetch"]
    assert kinds == ["node_started", "node_retried", "node_retried", "node_finished"]


async def test_what_no_policy_covers_is_not_repeated_and_each_visit_counts_anew(tmp_path):
    made = graph("START-fetch fetch-END", State, fetch=failing(1, KeyError))
    record, events = await recorded(made.compile(), tmp_path)
    assert record["status"] == "failed"
    assert not [event for event in events if event["type"] == "node_retried"]
    again = {"fetch": lambda state: "fetch" if len(state["path"]) < 3 else END}
    fetch = {"action": failing(1), "retry_policy": AT_ONCE}
    made = graph("START-fetch fetch?fetch fetch?END", State, again, fetch=fetch)
    (tmp_path / "again").mkdir()
    record, events = await recorded(bounded(made, limit=5), tmp_path / "again")
    assert record["status"] == "finished"
    assert [event["attempt"] for event in events if event["type"] == "node_retried"] == [1, 1, 1]


async def test_a_node_under_a_policy_of_loopwright_is_told_of_once(tmp_path):
    rule = Retry(on=LookupError, retries=2, initial_wait=0.0, jitter=False)
    fetch = {"action": failing(2), "policy": NodePolicy(retries=(rule,))}
    made = graph("START-fetch fetch-END", State, fetch=fetch)
    record, events = await recorded(bounded(made), tmp_path)
    assert record["status"] == "finished"
    retried = [event for event in events if event["type"] == "node_retried"]
    assert [each["attempt"] for each in retried] == [1, 2]
    assert all(each["rule"] != "retry_policy" for each in retried)

"""AG-UI with the protocol's own client, ``@ag-ui/client`` in Node, against a real server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from installed import needs
from served_graphs import GRAPHS
from serving_program import PROGRAM, serving

needs("ag_ui")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def node() -> str:
    prepared = subprocess.run([ROOT / "scripts/build_devtools", "--node"], capture_output=True, text=True, check=False)
    if prepared.returncode or not (ROOT / "devtools/node_modules/@ag-ui/client").is_dir():
        pytest.skip("there is no Node with the packages of devtools/")
    return f"{prepared.stdout.strip()}/node"


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("graphs")
    (folder / "graphs.py").write_text(GRAPHS)
    targets = [f"graphs.py:{name}" for name in ("chat", "drafts", "asking")]
    with serving(PROGRAM, folder, *targets) as (_process, client):
        yield client


@pytest.fixture
def front_end(node, page) -> Any:
    def run(workflow: str, thread: str, text: str, answer: str = "", props: Any = None) -> dict[str, Any]:
        """What the client made of one run, and of a second one that answers the first one's question."""
        url = f"{page.base_url}/v1/agui/{workflow}"
        words = [node, ROOT / "tests/support/agui_client.mjs", url, thread, text, answer, json.dumps(props or {})]
        ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    return run


def test_a_conversation_comes_as_messages_and_steps(front_end, page):
    first = front_end("graphs-chat", "talk", "one")
    types = [event["type"] for event in first["events"]]
    assert (types[0], types[-1], first["failed"]) == ("RUN_STARTED", "RUN_FINISHED", None)
    assert [event["stepName"] for event in first["events"] if event["type"] == "STEP_STARTED"] == ["answer"]
    said = "I heard 1 messages, the last was one"
    assert [(message["role"], message["content"]) for message in first["messages"]] == [
        ("user", "one"), ("assistant", said),
    ]  # fmt: skip
    assert first["outcomes"] == [{"type": "success"}]
    assert first["events"][-1]["result"]["answer"] == said
    custom = [event["value"]["data"]["custom"] for event in first["events"] if event["type"] == "CUSTOM"]
    assert custom == [{"thinking": "one"}]

    second = front_end("graphs-chat", "talk", "two")
    assert second["messages"][-1]["content"] == "I heard 3 messages, the last was two"
    runs = page.get("/runs", params={"workflow": "graphs-chat"}).json()["runs"]
    assert [run["id"] for run in runs] == [second["events"][0]["metadata"]["loopwrightRunId"], "talk"]


@pytest.mark.slow
def test_passes_are_activities(front_end):
    told = front_end("graphs-drafts", "loop", "x")
    passes = [event["content"] for event in told["events"] if event["type"] == "ACTIVITY_SNAPSHOT"]
    assert [(each["loop"], each["decision"], each["spent"]) for each in passes] == [
        ("better", "granted", 1), ("better", "granted", 2), ("better", "exhausted", 2),
    ]  # fmt: skip
    (activity,) = [message for message in told["messages"] if message["role"] == "activity"]
    assert activity["activityType"] == "loopwright.pass" and activity["content"] == passes[-1]
    assert told["events"][-1]["result"]["stop_reason"] == "better"


def test_a_question_is_an_interrupt_that_a_second_run_answers(front_end):
    told = front_end("graphs-asking", "ask", "x", answer="yes")
    waits, done = told["outcomes"]
    assert waits["interrupts"][0]["metadata"] == {"node": "ask", "value": {"question": "really?"}}
    assert (done["type"], told["failed"]) == ("success", None)
    assert told["events"][-1]["result"]["details"]["topic"] == "yes"


def test_what_cannot_be_a_thread_or_an_answer_is_refused_before_anything_begins(page):
    def asked(thread: str, **more: Any) -> int:
        body = {"threadId": thread, "runId": "r", "messages": [], "tools": [], "context": [], "state": {}}
        body |= {"forwardedProps": {"topic": "x"}} | more
        return page.post("/v1/agui/graphs-asking", json=body).status_code

    assert [asked(thread) for thread in ("обсуждение", "user:42", "x\0", "x\n", "")] == [400] * 5
    assert asked("asks") == 200
    run = page.get("/runs/asks").json()
    for named, payload in (("stale", "x"), ("0" * 32, "x"), (run["asked"][0]["id"], "a\0b")):
        entry = {"interruptId": named, "status": "resolved", "payload": payload}
        assert asked("asks", resume=[entry]) == 400
    assert page.get("/runs/asks").json() == run
    fork = page.post("/runs/asks/fork", json={"checkpoint_id": "\0"})
    assert fork.status_code == 400


@pytest.mark.slow
def test_what_fails_is_a_run_error_and_a_wrong_request_is_refused(front_end, page):
    told = front_end("graphs-drafts", "burns", "fire")
    assert "the paper burns" in told["failed"]["message"]
    assert told["events"][-1]["type"] == "RUN_ERROR"
    assert page.post("/v1/agui/graphs-drafts", json={"messages": []}).status_code == 400
    assert page.post("/v1/agui/nobody", json={}).status_code == 404

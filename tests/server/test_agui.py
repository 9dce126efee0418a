"""AG-UI with the protocol's own client, ``@ag-ui/client`` in Node, against a real server."""

import asyncio
import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx
import pytest
from breaking_models import BreakingModel
from hosted_graphs import until
from installed import needs
from langgraph.types import Send, interrupt
from scripted_server import script
from shapes import graph

from loopwright import bounded
from loopwright.engine.nodes.policy import NodePolicy, Retry
from loopwright.runs.schemas import RunLimits
from loopwright.workflows.user_graph import UserGraph

needs("ag_ui")

ROOT = Path(__file__).resolve().parents[2]
FRONT_END: dict[str, Any] = {
    "threadId": "t", "runId": "r", "messages": [], "tools": [], "context": [], "state": {}, "forwardedProps": {},
}  # fmt: skip


@pytest.fixture(scope="module")
def node() -> str:
    prepared = subprocess.run([ROOT / "scripts/build_devtools", "--node"], capture_output=True, text=True, check=False)
    if prepared.returncode or not (ROOT / "devtools/node_modules/@ag-ui/client").is_dir():
        pytest.skip("there is no Node with the packages of devtools/")
    return f"{prepared.stdout.strip()}/node"


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
    first = front_end("chat", "talk", "one")
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

    second = front_end("chat", "talk", "two")
    assert second["messages"][-1]["content"] == "I heard 3 messages, the last was two"
    runs = page.get("/runs", params={"workflow": "chat"}).json()["runs"]
    assert [run["id"] for run in runs] == [second["events"][0]["metadata"]["loopwrightRunId"], "talk"]


@pytest.mark.slow
def test_passes_are_activities(front_end):
    told = front_end("drafts", "loop", "x")
    passes = [event["content"] for event in told["events"] if event["type"] == "ACTIVITY_SNAPSHOT"]
    assert [(each["loop"], each["decision"], each["spent"]) for each in passes] == [
        ("better", "granted", 1), ("better", "granted", 2), ("better", "exhausted", 2),
    ]  # fmt: skip
    (activity,) = [message for message in told["messages"] if message["role"] == "activity"]
    assert activity["activityType"] == "loopwright.pass" and activity["content"] == passes[-1]
    assert told["events"][-1]["result"]["stop_reason"] == "better"


def test_a_question_is_an_interrupt_that_a_second_run_answers(front_end):
    told = front_end("asking", "ask", "x", answer="yes")
    waits, done = told["outcomes"]
    assert waits["interrupts"][0]["metadata"] == {"node": "ask", "value": {"question": "really?"}}
    assert (done["type"], told["failed"]) == ("success", None)
    assert told["events"][-1]["result"]["details"]["topic"] == "yes"


@pytest.mark.parametrize("path", ["/agui/assistant", "/threads/t/runs/wait", "/threads/t/runs/stream"])
async def test_a_client_hears_something_while_a_run_goes_on_and_ends_it_by_leaving(serve_script, path, caplog):
    served = serve_script(limits=RunLimits(keep_alive=0.1))
    asked = {"assistant_id": "assistant", "input": script({"wait": "never"}), "if_not_exists": "create"}
    body = FRONT_END | asked | {"on_disconnect": "cancel", "forwardedProps": asked["input"]}
    async with httpx.AsyncClient(base_url=served.url, timeout=5, trust_env=False) as client:
        async with client.stream("POST", path, json=body) as reply:
            heard = reply.aiter_raw()
            assert [await anext(heard) for _ in range(4)], reply.headers
            assert reply.headers["x-accel-buffering"] == "no"
            assert b"loopwright_sse_clients 1.0" in (await client.get("/metrics")).content
            wrong = {"json": body | {"input": {"message": 1}, "forwardedProps": {"message": 1}}}
            waiting, leaving = client.stream("POST", path, json=body), client.stream("POST", path, **wrong)
            async with waiting, leaving as leaves:  # while they wait for their thread
                heard, last = leaves.aiter_raw(), asyncio.create_task(client.post(path, **wrong))
                assert [await anext(heard) for _ in range(4)]
        failed = (await last).text
        assert "InternalError" in failed and "its log says what" in failed, "told although the reply had begun"
        assert ("event: end" in failed) == path.endswith("stream") and caplog.text.count("cannot begin") == 2
        await until(lambda: all(map(served.ended, ("t", "t.turn2"))))
    assert {served.record(turn).status for turn in ("t", "t.turn2")} == {"cancelled"}


def test_what_another_attempt_writes_is_another_message_that_begins_anew(serve_script):
    model = BreakingModel(text="Tea is made of leaves and of water that was hot", after=9)

    async def write(_state: Any) -> dict[str, Any]:
        return {"text": (await model.ainvoke("How?")).text}

    policy = NodePolicy(retries=(Retry(on=ConnectionError, initial_wait=0),))
    made = bounded(graph("START-write", write={"action": write, "policy": policy}))
    url = serve_script(workflows=[UserGraph("tea", made)]).url
    given = {"forwardedProps": {"plan": "x"}, "input": {"plan": "x"}}
    for path in ("/agui/tea", "/runs/stream?thread_id=."):  # which is passed over
        model.calls = 0
        body = FRONT_END | given | {"assistant_id": "tea", "stream_mode": "messages-tuple"}
        said = messages(httpx.post(url + path, json=body, timeout=60).text)
        assert [*said.values()] == ["Tea is made of leaves and of water", model.text], path


def messages(told: str) -> dict[str, str]:
    """What streams say, by the ids of the messages."""
    said: dict[str, str] = defaultdict(str)
    for id, piece in re.findall(r'"(?:messageId|id)":"([^"]+)","(?:delta|content)":"([^"]+)"', told):
        said[id] += piece
    return said


@pytest.mark.parametrize("path", ["/agui/tea", "/threads/t/runs/stream"])
def test_visits_at_the_same_time_and_a_visit_before_and_after_a_question_write_messages_of_their_own(
    serve_script, path
):
    async def write(said: str) -> None:
        async for _piece in BreakingModel(text=said, failing=0).astream("How?"):
            await asyncio.sleep(0.01)

    async def brew(sent: Any) -> dict[str, Any]:
        await write(" ".join([sent["plan"]] * 20))
        return {}

    async def ask(_state: Any) -> dict[str, Any]:
        await write("And white. ")
        await graph("START-brew", brew=brew).compile().ainvoke({"plan": "white"})
        await write("With milk? ")
        await write(f"So it is {interrupt('milk?')} milk")  # and before it once more what came before the question
        return {"text": "no milk"}

    async def serve(_state: Any) -> dict[str, Any]:
        await write("\n")
        interrupt("served?")
        return {}

    routes = {"START": lambda _: [Send("brew", {"plan": tea}) for tea in ("black", "green")]}
    made = graph("START?brew brew-ask ask-serve", routes=routes, brew=brew, ask=ask, serve=serve)
    url = serve_script(workflows=[UserGraph("tea", made.compile())]).url
    body = FRONT_END | {"assistant_id": "tea", "if_not_exists": "create", "stream_mode": "messages-tuple", "input": {}}
    told = httpx.post(url + path, json=body, timeout=60).text
    for _question in ("milk?", "served?"):
        asked = httpx.get(f"{url}/runs/t").json()["asked"][0]["id"]
        entry = {"interruptId": asked, "status": "resolved", "payload": "no"}
        body |= {"input": None, "command": {"resume": "no"}, "resume": [entry]}
        told += httpx.post(url + path, json=body, timeout=60).text
    teas = [" ".join([tea] * 20) for tea in ("black", "green", "white")]
    said = ["And white. ", "With milk? ", "And white. With milk? So it is no milk", "\\n", "\\n"]
    assert sorted(messages(told).values()) == sorted([*teas, *said]), "the answer is told once"
    joined = httpx.get(f"{url}/threads/t/runs/t/stream?stream_mode=messages-tuple", timeout=60).text
    assert messages(joined) == messages(told), "read again, they have the same ids"


def test_what_cannot_be_a_thread_or_an_answer_is_refused_before_anything_begins(page):
    def asked(thread: str, **more: Any) -> int:
        body = FRONT_END | {"threadId": thread, "forwardedProps": {"topic": "x"}} | more
        return page.post("/v1/agui/asking", json=body).status_code

    assert [asked(thread) for thread in ("обсуждение", "user:42", "x\0", "x\n", "", "x.turn2")] == [400] * 6
    picture = {"type": "image", "source": {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}}
    shown = [{"id": "1", "role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]}]
    assert asked("pictures", messages=shown) == 400, "it would not be seen"
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
    told = front_end("drafts", "burns", "fire")
    assert "the paper burns" in told["failed"]["message"]
    assert told["events"][-1]["type"] == "RUN_ERROR"
    assert page.post("/v1/agui/drafts", json={"messages": []}).status_code == 400
    assert page.post("/v1/agui/nobody", json={}).status_code == 404

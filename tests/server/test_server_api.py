"""Runs of any workflow over HTTP, from the first look at the workflow to two runs side by side."""

import asyncio
import os
from functools import partial

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END
from scripted_server import read_all
from shapes import graph
from typing_extensions import TypedDict

from loopwright.engine import Loop, bounded
from loopwright.models import ModelRegistry
from loopwright.models.prompts import Prompt, PromptLibrary
from loopwright.runs.preparing import kept_evaluation
from loopwright.server.retention import _forget_unused, forget_old
from loopwright.workflows.api import NodeInfo
from loopwright.workflows.evaluation import Expected, Question, evaluate
from loopwright.workflows.user_graph import UserGraph


class Draft(TypedDict, total=False):
    """What is written."""

    question: str
    drafts: int
    secret_key: str


def write(state: Draft) -> Draft:
    return {"drafts": state.get("drafts", 0) + 1}


def own_graph() -> UserGraph:
    """A graph that goes round until its bound."""
    again = {"review": lambda state: "write" if state["drafts"] < 9 else END}
    edges = "START-write write-review review?write review?END"
    builder = graph(edges, Draft, again, write=write, review=lambda state: {})
    loop = Loop(name="again", target="write", sources=("review",), limit=2)
    hosted = UserGraph("writer", bounded(builder, [loop]))
    hosted.prompts = PromptLibrary(
        [Prompt("writing", 1, "Answer {{question}}."), Prompt("writing", 2, "Say {{question}}.")]
    )
    hosted.models = ModelRegistry(
        {"review": {"model": "openai:own", "base_url": "http://10.0.0.1/v1", "api_key": "sk-hidden"}},
        nodes=("write", "review"),
    )
    hosted.model_nodes = ("write", "review")
    hosted.nodes = {**hosted.nodes, "write": NodeInfo(label="Write", has_llm=True, prompt="writing")}
    return hosted


@pytest.fixture
def served(serve_script):
    return serve_script(workflows=[own_graph()])


async def finished(client, **more) -> dict:
    started = await client.post("/runs", json={"workflow": "writer", "input": {"question": "Why?"}, **more})
    assert started.status_code == 201, started.text
    run_id = started.json()["id"]
    events = await read_all(client, "GET", f"/runs/{run_id}/events")
    assert events[-1].name == "run_finished"
    return (await client.get(f"/runs/{run_id}")).json()


async def test_a_workflow_is_described_with_its_loops_and_its_proof(client):
    listed = {each["name"]: each for each in (await client.get("/workflows")).json()}
    writer = listed["writer"]
    assert (writer["title"], writer["loops"], writer["runs"], writer["has_prompts"]) == ("Writer", ["again"], 0, True)
    assert writer["input_schema"]["type"] == "object"
    assert (await client.get("/workflows/writer")).json() == writer
    graph = (await client.get("/workflows/writer/topology")).json()
    (node,) = [node for node in graph["nodes"] if node["name"] == "write"]
    assert (node["label"], node["prompt"], node["max_runs"]) == ("Write", "writing", 3)
    assert graph["certificate"]["bounded"] is True
    missing = await client.get("/workflows/nobody")
    assert (missing.status_code, missing.json()["error_type"]) == (404, "UnknownWorkflow")


async def test_loops_of_graphs_that_are_nodes_are_listed_too(serve_script):
    inner = own_graph().graph(None)
    outer = graph("START-desk", Draft, desk=inner)
    served = serve_script(workflows=[UserGraph("outer", bounded(outer))])
    async with httpx.AsyncClient(base_url=served.url, timeout=60, trust_env=False) as client:
        assert (await client.get("/workflows/outer")).json()["loops"] == ["desk/again"]


async def test_a_run_is_followed_listed_looked_into_and_deleted(client):
    run = await finished(client)
    run_id = run["id"]
    assert (run["status"], run["stop_reason"], run["passes"]) == ("finished", "again", {"again": 2})
    first = await read_all(client, "GET", f"/runs/{run_id}/events")
    rest = await read_all(client, "GET", f"/runs/{run_id}/events", headers={"Last-Event-ID": first[2].id})
    assert rest == first[3:]
    log = (await client.get(f"/runs/{run_id}/log", params={"limit": 3})).json()
    assert [each["seq"] for each in log["events"]] == [1, 2, 3]
    assert (log["next"], log["total"]) == (3, len(first))
    more = (await client.get(f"/runs/{run_id}/log", params={"after": 3})).json()
    assert [each["event"] for each in log["events"] + more["events"]] == [event.data for event in first]
    assert more["next"] is None
    page = (await client.get("/runs", params={"workflow": "writer", "stop_reason": "again", "text": "why"})).json()
    assert [each["id"] for each in page["runs"]] == [run_id]
    assert (await client.get("/runs", params={"status": "failed"})).json()["total"] == 0
    assert (await client.get(f"/runs/{run_id}/graph")).json()["loops"][0]["name"] == "again"
    assert (await client.delete(f"/runs/{run_id}")).status_code == 204
    for path in ("", "/events", "/log", "/graph", "/checkpoints", "/test"):
        gone = await client.get(f"/runs/{run_id}{path}")
        assert (gone.status_code, gone.json()["error_type"]) == (404, "UnknownRun"), path


async def test_a_run_is_tagged_and_found_by_that(client):
    run = await finished(client)
    path = f"/runs/{run['id']}"
    tagged = await client.put(f"{path}/tags", json={"tags": [" prompt 2 ", "baseline", "baseline"]})
    assert (tagged.status_code, tagged.json()["tags"]) == (200, ["baseline", "prompt 2"])
    other = await finished(client)
    assert [each["id"] for each in (await client.get("/runs", params={"tag": "prompt 2"})).json()["runs"]] == [
        run["id"]
    ]
    assert (await client.get("/runs/tags")).json() == ["baseline", "prompt 2"]
    for wrong in ([""], ["x" * 61], ["a\nb"], [f"t{number}" for number in range(21)]):
        assert (await client.put(f"/runs/{other['id']}/tags", json={"tags": wrong})).status_code == 422, wrong
    assert (await client.put("/runs/nobody/tags", json={"tags": []})).status_code == 404


async def test_versions_that_were_evaluated_are_listed_and_forgotten(client, served):
    questions = [Question(id="q", input={"question": "Why?"}, expected=Expected(status=("answered",)))]
    workflow = own_graph()
    store = served.app.state.context.hub.store
    ask = partial(evaluate, workflow, questions)
    await asyncio.to_thread(kept_evaluation, store, workflow, ask, "town", "a/b", {"writing": 1})
    (found,) = (await client.get("/workflows/writer/evaluations")).json()
    assert (found["questions"], found["version"], found["prompts"]) == ("town", "a/b", {"writing": 1})
    assert [(each["input"], each["passes"]) for each in found["answers"]] == [({"question": "Why?"}, {"again": 2})]
    place = {"questions": "town", "version": "a/b"}
    assert (await client.delete("/workflows/writer/evaluations", params=place)).status_code == 204
    gone = await client.delete("/workflows/writer/evaluations", params=place)
    assert (gone.status_code, gone.json()["error_type"]) == (404, "UnknownEvaluation")
    assert (await client.get("/workflows/writer/evaluations")).json() == []


async def test_what_is_too_old_is_forgotten(client, served):
    run, context = await finished(client), served.app.state.context
    file = (await client.post("/uploads", files={"file": ("a.txt", b"x")})).json()["id"]
    os.utime(context.uploads[file], (0, 0))
    _forget_unused(context.hub.store, context.uploads, {file: run["id"]})
    assert file in context.uploads, "a run that was found to name it is not looked for again"
    await forget_old(context.hub.store, InMemorySaver(), days=0)
    assert (await client.get(f"/runs/{run['id']}")).status_code == 404
    _forget_unused(context.hub.store, context.uploads, {file: run["id"]})
    assert file not in context.uploads


async def test_a_run_is_forked_from_a_checkpoint_and_compared_with_its_parent(client):
    run = await finished(client)
    checkpoints = (await client.get(f"/runs/{run['id']}/checkpoints")).json()
    chosen = next(each for each in checkpoints if each["next"] == ["review"])
    state = (await client.get(f"/runs/{run['id']}/checkpoints/{chosen['checkpoint_id']}")).json()["values"]
    assert state["drafts"] == 1
    changed = {"checkpoint_id": chosen["checkpoint_id"], "state": {"drafts": 9}}
    forked = await client.post(f"/runs/{run['id']}/fork", json=changed)
    assert forked.status_code == 201, forked.text
    child = forked.json()["id"]
    await read_all(client, "GET", f"/runs/{child}/events")
    child = (await client.get(f"/runs/{child}")).json()
    assert (child["parent"]["run_id"], child["parent"]["edited"], child["stop_reason"]) == (run["id"], ["drafts"], None)
    both = {"a": run["id"], "b": child["id"]}
    compared = (await client.get("/compare", params=both)).json()
    assert compared["a"]["id"] == run["id"]
    assert compared["a_state"]["drafts"] != compared["b_state"]["drafts"]
    assert (await client.get("/compare", params={"a": run["id"], "b": "nobody"})).status_code == 404
    wrong = await client.post(f"/runs/{run['id']}/fork", json={"checkpoint_id": "none"})
    assert wrong.status_code == 400


async def test_a_run_pauses_before_a_node_and_goes_on_when_it_is_resumed(client):
    paused = await finished(client, pause_before=["review"])
    assert (paused["status"], paused["path"]) == ("interrupted", ["write"])
    assert (await client.post(f"/runs/{paused['id']}/resume")).status_code == 200
    await read_all(client, "GET", f"/runs/{paused['id']}/events")
    assert (await client.get(f"/runs/{paused['id']}")).json()["status"] == "finished"
    asked = {"workflow": "writer", "input": {"question": "Why?"}, "pause_after": ["nobody"]}
    assert "Known: review, write" in (await client.post("/runs", json=asked)).json()["error"]


async def test_a_loop_is_left_out_and_the_report_tells_of_it(client):
    run = await finished(client)
    without = await client.post(f"/runs/{run['id']}/counterfactual", json={"loop": "again"})
    assert without.status_code == 201, without.text
    await read_all(client, "GET", f"/runs/{without.json()['id']}/events")
    child = (await client.get(f"/runs/{without.json()['id']}")).json()
    assert (child["parent"]["kind"], child["passes"].get("again", 0)) == ("counterfactual", 0)
    report = (await client.get("/workflows/writer/report")).json()
    assert report["loops"][0]["loop"] == "again"
    unknown = await client.post(f"/runs/{run['id']}/counterfactual", json={"loop": "nobody"})
    assert (unknown.status_code, unknown.json()["error_type"]) == (400, "UnknownNameError")


async def test_an_id_cannot_break_a_header(client):
    assert (await client.post("/runs/a%0d%0aX-Injected:%20yes/cancel")).status_code == 422


async def test_a_prompt_is_edited_and_used_by_the_next_run(client):
    url = "/workflows/writer/prompts"
    (listed,) = (await client.get(url)).json()
    assert listed == {"prompt": "writing", "nodes": ["write"], "version": 2, "versions": 2, "names": ["question"]}
    edit = {"text": "Tell {{question}}.", "author": "Ann", "note": "shorter", "base_version": 2}
    kept = await client.post(f"{url}/writing", json=edit)
    assert (kept.status_code, kept.json()["version"]) == (201, 3), kept.text
    late = await client.post(f"{url}/writing", json=edit)
    assert (late.status_code, late.json()["error_type"]) == (409, "Conflict")
    for text in ("Tell me.", "Tell {{question}} and {{more}}.", " ", "{{Question}}"):
        wrong = await client.post(f"{url}/writing", json={"text": text, "base_version": 3})
        assert (wrong.status_code, wrong.json()["error_type"]) == (400, "InputError"), text
    assert (await finished(client))["prompts"] == {"writing": 3}
    again = {"text": "Answer {{question}}.", "author": "Bob", "base_version": 3}
    assert (await client.post(f"{url}/writing", json=again)).json()["version"] == 4
    history = (await client.get(f"{url}/writing")).json()
    written = [(each["version"], each["author"]) for each in history["versions"]]
    assert written == [(4, "Bob"), (3, "Ann"), (2, ""), (1, "")]
    assert (await client.get(f"{url}/nobody")).status_code == 404
    draft = {"workflow": "writer", "input": {"question": "Why?"}, "prompts": {"writing": "No place."}}
    assert (await client.post("/runs", json=draft)).status_code == 400


async def test_a_model_is_chosen_by_name_alone_and_nothing_secret_is_shown(client):
    url = "/workflows/writer/models"
    before = await client.get(url)
    assert before.json()["offered"] == ["openai:own"]
    assert "sk-hidden" not in before.text + str(before.headers)
    assert "10.0.0.1" not in before.text
    rows = {row["node"]: row for row in before.json()["nodes"]}
    assert (rows["review"]["model"], rows["review"]["chosen"]) == ("openai:own", False)
    assert rows["write"]["used_by_default"]
    chosen = {row["node"]: row for row in (await client.put(f"{url}/review", json={"model": None})).json()["nodes"]}
    assert [chosen["review"][key] for key in ("model", "configured", "chosen")] == [None, "openai:own", True]
    assert (await finished(client))["models"]["review"] is None
    assert (await client.delete(f"{url}/review")).json() == before.json()
    for model in ("http://169.254.169.254/", "nobody:x", "openai", "openai:x y", "openai:\r\nx", "file:///etc/passwd"):
        asked = {"workflow": "writer", "input": {"question": "?"}, "models": {"write": model}}
        assert (await client.put(f"{url}/review", json={"model": model})).status_code == 400, model
        assert (await client.post("/runs", json=asked)).status_code == 400, model
    extra = await client.put(f"{url}/review", json={"model": "openai:own", "base_url": "http://169.254.169.254/"})
    assert extra.status_code == 422
    assert (await client.put(f"{url}/nobody", json={"model": None})).status_code == 400

"""LangGraph's own clients, ``langgraph-sdk`` and ``RemoteGraph``, against what ``loopwright serve`` serves."""

import asyncio
import json
from typing import Any, TypedDict

import httpx
import pytest
from hosted_graphs import Walk
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteException, RemoteGraph
from langgraph.types import Command
from langgraph_sdk import get_client
from langgraph_sdk.errors import ConflictError, NotFoundError

from loopwright.workflows.user_graph import UserGraph


@pytest.fixture
def client(page) -> Any:
    return get_client(url=str(page.base_url))


def remote(page: httpx.Client, name: str) -> RemoteGraph:
    return RemoteGraph(name, url=str(page.base_url))


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


async def test_assistants_are_the_graphs_of_the_file(client, page):
    found = {each["graph_id"]: each for each in await client.assistants.search()}
    assert sorted(found) == ["asking", "assistant", "chat", "drafts"]
    by_id = await client.assistants.get(found["chat"]["assistant_id"])
    assert by_id == await client.assistants.get("chat")
    assert [by_id] == await client.assistants.search(name="CHA", metadata={"created_by": "system"})
    assert [] == [*await client.assistants.search(name="nope"), *await client.assistants.search(metadata={"a": 1})]
    schemas = await client.assistants.get_schemas("drafts")
    assert set(schemas["input_schema"]["properties"]) == {"topic", "drafts"}
    drawn = remote(page, "drafts").get_graph()
    assert sorted(drawn.nodes) == ["__end__", "__start__", "write"]
    with pytest.raises(NotFoundError):
        await client.assistants.get("nobody")


async def test_a_thread_is_a_conversation_whose_turns_are_runs_of_the_page(client, page):
    thread = (await client.threads.create(metadata={"who": "me"}))["thread_id"]
    assert (await client.threads.get(thread))["status"] == "idle"
    first = await client.runs.wait(thread, "chat", input=said("one"))
    assert [message["type"] for message in first["messages"]] == ["human", "ai"]
    second = await client.runs.wait(thread, "chat", input=said("two"))
    assert second["messages"][-1]["content"] == "I heard 3 messages, the last was two"

    state = await client.threads.get_state(thread)
    assert (state["values"], state["next"]) == (second, [])
    history = await client.threads.get_history(thread, limit=99)
    places = [each["checkpoint"]["checkpoint_id"] for each in history]
    assert len(places) == len(set(places)) and history[0]["checkpoint"] == state["checkpoint"]
    assert {each["checkpoint"]["thread_id"] for each in history} == {thread}
    given = await client.threads.get_history(thread, metadata={"source": "input"})
    assert given == [each for each in history if each["metadata"]["source"] == "input"] != []
    early = next(each for each in history if len(each["values"].get("messages", ())) == 2)
    at = await client.threads.get_state(thread, checkpoint_id=early["checkpoint"]["checkpoint_id"])
    assert at["values"] == first
    later = await client.threads.get_history(thread, before=early["checkpoint"])
    assert early["checkpoint"]["checkpoint_id"] not in [each["checkpoint"]["checkpoint_id"] for each in later]

    kept = page.get("/runs", params={"workflow": "chat"}).json()["runs"]
    runs = [run for run in kept if run["id"].startswith(thread)]
    assert [run["status"] for run in runs] == ["finished", "finished"]
    assert (runs[0]["parent"]["kind"], runs[0]["parent"]["run_id"]) == ("turn", runs[1]["id"])

    await client.threads.update_state(thread, said("a note"), as_node="answer")
    third = await client.runs.wait(thread, "chat", input=said("three"))
    assert [message["content"] for message in third["messages"]][-3:-1] == ["a note", "three"]
    inner = next(each for each in reversed(history) if each["next"] == ["answer"])["checkpoint"]["checkpoint_id"]
    await client.threads.update_state(thread, said("said otherwise"), as_node="answer", checkpoint_id=inner)
    written = (await client.threads.get_state(thread))["values"]["messages"]
    assert [message["content"] for message in written] == ["one", "said otherwise"]
    await client.threads.delete(thread)
    with pytest.raises(NotFoundError):
        await client.threads.get(thread)


async def test_every_stream_mode_brings_its_own(client):
    modes = ["values", "updates", "messages-tuple", "messages", "custom"]
    parts = [part async for part in client.runs.stream(None, "chat", input=said("hello"), stream_mode=modes)]
    assert parts[0].event == "metadata" and parts[-1].event == "end"
    told: dict[str, list[Any]] = {}
    for part in parts:
        told.setdefault(part.event, []).append(part.data)
    assert [len(values["messages"]) for values in told["values"]] == [1, 2]
    assert [[*update] for update in told["updates"]] == [["answer"]]
    answer = told["values"][-1]["messages"][-1]["content"]
    assert told["updates"][0]["answer"]["messages"][0]["content"] == answer
    assert "".join(message["content"] for message, _about in told["messages"]) == answer
    assert {about["langgraph_node"] for _message, about in told["messages"]} == {"answer"}
    assert told["messages/partial"][-1][0]["content"] == answer
    assert told["custom"] == [{"thinking": "hello"}]


async def test_a_loop_shows_its_decisions_and_no_gate(client):
    stream = client.runs.stream(None, "drafts", input={"topic": "x"}, stream_mode=["updates", "custom"])
    parts = [part async for part in stream]
    updates = [part.data for part in parts if part.event == "updates"]
    assert updates == [{"write": {"drafts": number}} for number in (1, 2, 3)]
    loops = [part.data for part in parts if part.event == "custom"]
    assert [loop["decision"] for loop in loops] == ["granted", "granted", "exhausted"]


async def test_a_question_is_an_interrupt_and_its_answer_a_command(client, page):
    thread = (await client.threads.create())["thread_id"]
    parts = [part async for part in client.runs.stream(thread, "asking", input={"topic": "x"}, stream_mode="updates")]
    (asked,) = next(part.data["__interrupt__"] for part in parts if part.event == "updates")
    assert asked["value"] == {"question": "really?"}
    state = await client.threads.get_state(thread)
    assert state["next"] == ["ask"] and state["tasks"][0]["interrupts"] == [asked]
    known = await client.threads.get(thread)
    assert known["status"] == "interrupted" and [*known["interrupts"].values()] == [[asked]]
    assert (await client.runs.wait(thread, "asking", command={"resume": "yes"}))["topic"] == "yes"
    assert [run["status"] for run in page.get("/runs", params={"workflow": "asking"}).json()["runs"]] == ["finished"]

    thread = (await client.threads.create())["thread_id"]
    for node, status in ((None, "interrupted"), ("ask", "idle")):  # without a node, it is asked once more
        assert "__interrupt__" in await client.runs.wait(thread, "asking", input={"topic": "x"})
        await client.threads.update_state(thread, {"topic": "by hand"}, as_node=node)
        assert (await client.threads.get(thread))["status"] == status
        went_on = await client.runs.wait(thread, "asking", input=None)
        assert (went_on["topic"], "__interrupt__" in went_on) == ("by hand", node is None)
    with pytest.raises(Exception, match="nothing to go on with"):
        await client.runs.wait(thread, "asking", input=None)


async def test_a_run_begins_at_an_earlier_checkpoint(client, page):
    thread = (await client.threads.create())["thread_id"]
    whole = await client.runs.wait(thread, "drafts", input={"topic": "x"})
    history = await client.threads.get_history(thread, limit=99)
    early = next(each["checkpoint"] for each in history if each["values"].get("drafts") == 1)
    again = await client.runs.wait(thread, "drafts", checkpoint=early)
    assert again == whole and again["drafts"] == 3
    runs = [run for run in page.get("/runs", params={"text": "x"}).json()["runs"] if run["id"].startswith(thread)]
    assert runs[0]["parent"]["kind"] == "fork" and runs[0]["parent"]["checkpoint_id"] == early["checkpoint_id"]
    assert len(page.get(f"/runs/{runs[0]['id']}").json()["path"]) == 2, "what came before is not run again"

    chat = (await client.threads.create())["thread_id"]
    first = await client.runs.wait(chat, "chat", input=said("one"))
    await client.runs.wait(chat, "chat", input=said("two"))
    states = await client.threads.get_history(chat, limit=99)
    ended = next(each["checkpoint"]["checkpoint_id"] for each in states if each["values"] == first)
    other = await client.runs.wait(chat, "chat", input=said("three"), checkpoint_id=ended)
    assert [message["content"] for message in other["messages"]][2] == "three", "the second turn is left out"
    with pytest.raises(Exception, match="there is no checkpoint"):
        await client.runs.wait(chat, "chat", input=said("four"), checkpoint_id="1ef00000-0000-6000-8000-000000000000")


async def test_a_run_stops_before_and_after_nodes_and_goes_on(client, page):
    thread = (await client.threads.create())["thread_id"]
    stopped = await client.runs.wait(thread, "drafts", input={"topic": "x"}, interrupt_before=["write"])
    assert "drafts" not in stopped
    state = await client.threads.get_state(thread)
    assert state["next"] == ["write"] and (await client.threads.get(thread))["status"] == "interrupted"
    parts = [part async for part in client.runs.stream(thread, "drafts", input=None, interrupt_after="*")]
    assert [part.event for part in parts] == ["metadata", "values", "end"]
    assert parts[1].data["drafts"] == 1
    assert page.get(f"/runs/{thread}").json()["error_type"] == "Paused"
    assert (await client.runs.wait(thread, "drafts", input=None))["drafts"] == 3
    assert page.get(f"/runs/{thread}").json()["passes"] == {"better": 2}


async def test_a_run_in_the_background_is_listed_joined_and_followed(client):
    thread = (await client.threads.create())["thread_id"]
    begun = await client.runs.create(thread, "drafts", input={"topic": "x"})
    assert begun["thread_id"] == thread and begun["status"] in ("pending", "running", "success")
    assert (await client.runs.join(thread, begun["run_id"]))["drafts"] == 3
    assert (await client.runs.get(thread, begun["run_id"]))["status"] == "success"
    assert [run["run_id"] for run in await client.runs.list(thread, status="success")] == [begun["run_id"]]
    assert await client.runs.list(thread, status="error") == []
    parts = [part async for part in client.runs.join_stream(thread, begun["run_id"], stream_mode="updates")]
    assert [part.event for part in parts] == ["metadata", "updates", "updates", "updates", "end"]
    with pytest.raises(Exception, match="has no run 'nobody'"):
        await client.runs.join(thread, "nobody")


async def test_what_fails_and_what_cannot_be_is_told(client):
    with pytest.raises(Exception, match="the paper burns"):
        await client.runs.wait(None, "drafts", input={"topic": "fire"})
    parts = [part async for part in client.runs.stream(None, "drafts", input={"topic": "fire"})]
    assert [part.event for part in parts][-2:] == ["error", "end"]
    assert "the paper burns" in parts[-2].data["message"]
    with pytest.raises(Exception, match="404"):
        await client.runs.wait("nowhere", "drafts", input={"topic": "x"})
    for wrong in ({"webhook": "http://127.0.0.1:1"}, {"command": {"goto": "write"}}, {"interrupt_after": ["nobody"]}):
        with pytest.raises(Exception, match="400"):
            await client.runs.wait(None, "drafts", input={"topic": "x"}, **wrong)
    for elsewhere in (client.store.list_namespaces([]), client.crons.search(), client.threads.search()):
        with pytest.raises(Exception, match=r"Not (Found|Allowed)"):
            await elsewhere
    with pytest.raises(Exception, match="needs a thread here"):
        await client.runs.create(None, "drafts", input={"topic": "x"})
    with pytest.raises(Exception, match="supersteps cannot be given here"):
        await client.threads.create(supersteps=[{"updates": [{"values": {"topic": "x"}, "as_node": "write"}]}])
    await client.runs.wait("torn", "drafts", input={"topic": "torn"}, if_not_exists="create", raise_error=False)
    assert (await client.threads.get("torn"))["values"] == {"topic": "torn"}
    assert (await client.runs.wait("torn", "drafts", input={"topic": "whole"}))["topic"] == "whole"
    await client.threads.create(thread_id="mine")
    with pytest.raises(ConflictError):
        await client.threads.create(thread_id="mine")
    await client.threads.create(thread_id="mine", if_exists="do_nothing")
    both = await asyncio.gather(*(client.runs.wait("mine", "chat", input=said(text)) for text in "ab"))
    assert sorted(len(state["messages"]) for state in both) == [2, 4], "the second waits for the first"


def test_a_remote_graph_is_used_like_a_graph(page):
    chat, place = remote(page, "chat"), {"configurable": {"thread_id": "remote-1"}}
    first = chat.invoke({"messages": [("user", "one")]}, place)
    assert first["messages"][-1]["content"] == "I heard 1 messages, the last was one"
    updates = [*chat.stream(said("two"), place, stream_mode="updates")]
    assert [[*update] for update in updates] == [["answer"]]
    pieces = [message["content"] for message, _ in chat.stream(said("three"), place, stream_mode="messages")]
    assert "".join(pieces) == "I heard 5 messages, the last was three"
    assert len(chat.get_state(place).values["messages"]) == 6
    assert len([*chat.get_state_history(place)]) >= 6
    chat.update_state(place, {"messages": [AIMessage("a note").model_dump()]}, as_node="answer")
    assert chat.get_state(place).values["messages"][-1]["content"] == "a note"

    asking, place = remote(page, "asking"), {"configurable": {"thread_id": "remote-2"}}
    assert asking.invoke({"topic": "x"}, place)["__interrupt__"][0]["value"] == {"question": "really?"}
    assert asking.get_state(place).next == ("ask",)
    assert asking.invoke(Command(resume="yes"), place)["topic"] == "yes"
    with pytest.raises(RemoteException, match="the paper burns"):
        remote(page, "drafts").invoke({"topic": "fire"})


async def test_a_graph_s_context_is_given_as_such_or_by_the_configuration(serve_script):
    class Speaker(TypedDict):
        name: str

    builder = StateGraph(MessagesState, context_schema=Speaker)
    builder.add_node("say", lambda _state, runtime: {"messages": [AIMessage((runtime.context or {}).get("name", "-"))]})
    client = get_client(url=serve_script(workflows=[UserGraph("say", builder.add_edge(START, "say"))]).url)
    for more, told in (
        ({"context": {"name": "Ann"}}, "Ann"), ({"config": {"configurable": {"name": "Bo", "site": 1}}}, "Bo"), ({}, "-"),
    ):  # fmt: skip
        ended = await client.runs.wait(None, "say", input=said("x"), **more)
        assert ended["messages"][-1]["content"] == told
    with pytest.raises(Exception, match="400"):
        await client.runs.wait(None, "say", input=said("x"), context={"nam": "Ann"})
    assert [*(await client.assistants.get_schemas("say"))["context_schema"]["properties"]] == ["name"]


async def test_what_a_graph_keeps_to_itself_is_in_its_state_and_not_in_its_output(serve_script):
    class Whole(TypedDict, total=False):
        topic: str
        notes: str

    class Output(TypedDict):
        topic: str

    builder = StateGraph(Whole, output_schema=Output)
    builder.add_node("say", lambda _state: {"topic": "y", "notes": "z"})
    client = get_client(url=serve_script(workflows=[UserGraph("say", builder.add_edge(START, "say"))]).url)
    thread = (await client.threads.create())["thread_id"]
    parts = [part async for part in client.runs.stream(thread, "say", input={"topic": "x"}, stream_mode="values")]
    assert [part.data for part in parts if part.event == "values"] == [{"topic": "x"}, {"topic": "y"}]
    assert await client.runs.wait(thread, "say", input={"topic": "x"}) == {"topic": "y"}
    assert (await client.threads.get_state(thread))["values"] == {"topic": "y", "notes": "z"}


async def test_a_thread_that_another_server_made_is_known_where_servers_share_their_runs(serve_script):
    served = serve_script(workflows=[Walk()])
    served.app.state.context.hub.shared = True
    client = get_client(url=served.url)
    assert (await client.runs.wait("elsewhere", "walk", input={"question": "x"}))["answer"]


async def test_what_names_a_file_of_the_server_is_shown_to_no_client(serve_script):
    class Walking(Walk):
        places = frozenset({"trace"})

    client = get_client(url=serve_script(workflows=[Walking()]).url)
    thread = (await client.threads.create())["thread_id"]
    modes = ["values", "updates"]
    parts = [p async for p in client.runs.stream(thread, "walk", input={"question": "x"}, stream_mode=modes)]
    assert {part.event for part in parts} == {"metadata", "values", "updates", "end"}
    history = await client.threads.get_history(thread)
    assert "answer" in json.dumps(history) and "trace" not in json.dumps([[part.data for part in parts], history])
    with pytest.raises(Exception, match="names a file of the server"):
        await client.threads.update_state(thread, {"trace": ["/etc/passwd"]})

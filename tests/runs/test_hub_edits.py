"""Forks with edited values: what comes next, and what people see only in part."""

import operator
from pathlib import Path
from typing import Annotated, Any
from unittest import mock

import pytest
from hosted_graphs import Finding, opened, ran
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send
from pydantic import BaseModel
from shapes import graph
from typing_extensions import TypedDict

from loopwright.engine import Loop, bounded
from loopwright.errors import InputError
from loopwright.runs.checkpoints import checkpoints, state_at, thread
from loopwright.runs.editing import restored
from loopwright.workflows.user_graph import UserGraph

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


class State(TypedDict, total=False):
    topic: str
    rounds: int
    trace: Annotated[list[str], operator.add]
    messages: Annotated[list[AnyMessage], add_messages]
    hits: list[Finding]
    password: str
    note: str


def steps(*names: str) -> dict[str, Any]:
    return {name: lambda state, name=name: {"trace": [name]} for name in names}


def mixed(hits: int = 600, note: int = 30_000) -> UserGraph:
    """``Send`` to two works, a join, two nodes at once, and a node that says itself where to go; people see 500 hits."""

    def plan(state: State) -> dict[str, Any]:
        long = [Finding(text=f"hit {number}", score=number) for number in range(hits)]
        asked = HumanMessage([{"type": "text", "text": "why?"}, PICTURE], additional_kwargs={"kept": True})
        return {
            "trace": ["plan"], "rounds": state.get("rounds", 0) + 1, "hits": long, "note": "n" * note,
            "messages": [asked, AIMessage("because", response_metadata={"model": "m"})],
        }  # fmt: skip

    def decide(state: State) -> Command[Any]:
        return Command(goto="plan" if state["rounds"] < 2 else "last", update={"trace": ["decide"]})

    two = {"plan": lambda _: [Send("work", {"item": item}) for item in "xy"]}
    made = graph(
        "START-plan plan?work work-join join-left join-right left-decide right-decide last-END", State, two, plan=plan,
        work=lambda one: {"trace": [f"work {one['item']}"]}, decide={"action": decide, "destinations": ("plan", "last")},
        **steps("join", "left", "right", "last"),
    )  # fmt: skip
    return UserGraph("mixed", made)


ROUND = ["plan", "work x", "work y", "join", "left", "right", "decide"]


@pytest.mark.matrix
@pytest.mark.parametrize("saver", ["sqlite", "memory"])
async def test_an_edit_never_changes_what_comes_next_where_nobody_can_say(tmp_path: Path, saver: str) -> None:
    # Dozens of forks, each of which keeps the whole state again and again: small values do here.
    async with opened(tmp_path, mixed(hits=2, note=2), saver=saver) as hub:
        parent = await ran(hub, {"message": "why?", "topic": "old"}, "mixed")
        places = checkpoints(hub.store, parent.id)
        whole = state_at(hub.store, parent.id, places[-1].checkpoint_id)["trace"]
        assert whole == [*ROUND, *ROUND, "last"]
        edits = ({"topic": "new"}, {"trace": ["edited"]}, {"password": "first set here"})
        for number, place in enumerate(places if saver == "memory" else places[::2]):
            before = state_at(hub.store, parent.id, place.checkpoint_id).get("trace", [])
            for state in edits if saver == "memory" else edits[number % 3 :][:1]:
                fork = await hub.until_ended((await hub.fork(parent.id, place.checkpoint_id, state=state)).id)
                assert fork.status == "finished", (place, fork.error)
                ended = state_at(hub.store, fork.id, checkpoints(hub.store, fork.id)[-1].checkpoint_id)
                rest = whole[len(before) :]
                expected = ["edited", *rest] if "trace" in state else whole
                assert ended["trace"] == expected, (place.step, place.next, state)
                assert ended["topic"] == state.get("topic", "old")
                assert ("password" in ended) == ("password" in state)


async def test_what_was_not_edited_stays_as_it_is_and_a_shortened_view_cannot_become_a_value(tmp_path: Path) -> None:
    async with opened(tmp_path, mixed()) as hub:
        parent = await ran(hub, {"message": "why?"}, "mixed")
        place = next(each for each in checkpoints(hub.store, parent.id) if "join" in each.next).checkpoint_id
        shown = state_at(hub.store, parent.id, place)
        assert shown["hits"][-1] == "… 100 more"
        asked = shown["messages"][-2]
        for edit, message in (
            ({"messages": [{**asked, "content": "who?"}]}, r"the state's messages\.0\.content has several parts"),
            ({"note": shown["note"].replace("nnn", "m", 1)}, "the state's note cannot be .*shortened view"),
            ({"hits": [*shown["hits"][:-1], "… 99 more"]}, r"the state's hits\.500 cannot be '… 99 more'"),
            ({"topic": "***"}, "the state's topic cannot be"),
        ):
            with pytest.raises(InputError, match=message):
                await hub.fork(parent.id, place, state=edit)
        hits = [{"text": "mine", "score": 9}, *shown["hits"][1:], {"text": "last", "score": 1}]
        # The first message is taken out, too.
        said = [{**asked, "content": "who?\n[image_url]"}, {**shown["messages"][-1], "content": "you"}]
        live = await hub.fork(parent.id, place, state={"hits": hits, "messages": said, "note": shown["note"]})
        assert (await hub.until_ended(live.id)).status == "finished"
        snapshots = [each async for each in hub.workflows["mixed"].graph(hub.saver).aget_state_history(
            {"configurable": {"thread_id": live.id}})]  # fmt: skip
        state = snapshots[-1].values
        assert [hit.text for hit in state["hits"]] == ["mine", *(f"hit {number}" for number in range(1, 600)), "last"]
        assert state["note"] == "n" * 30_000
        (who, you) = state["messages"]
        assert (who.content, you.content) == ([{"type": "text", "text": "who?"}, PICTURE], "you")
        assert (who.additional_kwargs, you.response_metadata) == ({"kept": True}, {"model": "m"})


def test_records_shown_in_short_come_back_whole() -> None:
    class Found(BaseModel):
        record: Finding
        score: float

    value = [Found(record=Finding(text=name, score=1), score=0.5) for name in "ab"]
    shown = [{"id": name, "score": 0.5} for name in "ab"]
    assert restored([shown[1]], shown, value, "found") == [value[1]]
    assert restored(list(reversed(shown)), shown, value, "found") == [value[1], value[0]]
    (second, first) = restored([shown[1], {"id": "a", "score": 1}], shown, value, "found")
    assert (first, second) == ({"record": value[0].record, "score": 1}, value[1])
    with pytest.raises(InputError, match=r"the state's found\.0\.id cannot be edited: it is shown in short"):
        restored([{"id": "c", "score": 0.5}, shown[1]], shown, value, "found")
    assert restored([{"id": 1, "t": 0}], [{"id": 1}] * 2, [{"id": 1, "of": 2}] * 2, "") == [{"id": 1, "t": 0}], "which?"
    assert restored({"keys": "new"}, {"keys": "***"}, {"keys": [["old"]]}, "") == {"keys": "new"}


class Talk(BaseModel):
    said: Annotated[list[str], DeltaChannel(lambda said, more: sum(more, said))]


@pytest.mark.parametrize("saver", ["sqlite", "json", "memory"])
async def test_turns_forks_and_edits_take_up_differences_and_what_graphs_inside_know(tmp_path, saver):
    inside = graph("START-keep keep-END", Talk, keep=lambda _state: {"said": ["x"]}).compile(checkpointer=True)
    nodes = {
        "say": lambda state: {"said": [str(len(state.said))]},
        "more": lambda _state: {"said": ["x" * len(inside.invoke({"said": []})["said"])]},
    }
    made = graph("START-say say-more more-END", Talk, **nodes)
    async with opened(tmp_path, UserGraph("talk", made), saver=saver) as hub:
        await hub.until_ended((await hub.start("talk", {"said": ["a"]}, run_id="first")).id)
        listed = hub.saver.alist = mock.Mock(wraps=hub.saver.alist)
        await hub.until_ended((await hub.fork("first", None, given={"said": ["b"]}, fork_id="turn")).id)
        before = next(each.checkpoint_id for each in checkpoints(hub.store, "turn") if each.next == ("more",))
        await hub.until_ended((await hub.fork("turn", before, fork_id="fork")).id)
        await hub.until_ended((await hub.fork("turn", before, state={"said": ["x"]}, fork_id="edit")).id)
        ended = {
            run: (await hub.graph("talk").aget_state(thread(run))).values["said"] for run in ("turn", "fork", "edit")
        }
    assert ended["turn"] == ended["fork"] == ["a", "1", "x", "b", "4", "xx"]
    assert ended["edit"] == ["x", "xx"]
    assert {call.kwargs.get("limit") for call in listed.mock_calls} == {1}, "nothing reads all checkpoints of a run"


class Nested(TypedDict, total=False):
    outer: int
    inner: int
    trace: Annotated[list[str], operator.add]


def nested() -> UserGraph:
    """An outer loop of two passes, with an inner loop of two passes in each of them."""
    nodes = steps("end", "rest") | {
        "begin": lambda state: {"trace": ["begin"], "outer": state.get("outer", 0) + 1, "inner": 0},
        "work": lambda state: {"trace": ["work"], "inner": state["inner"] + 1},
    }
    routes = {
        "work": lambda state: "work" if state["inner"] < 3 else "end",
        "end": lambda state: "begin" if state["outer"] < 3 else "rest",
    }
    made = graph("START-begin begin-work work?work work?end end?begin end?rest rest-END", Nested, routes, **nodes)
    loops = [
        Loop(name="inner", target="work", sources=("work",), limit=2, exhausted="end", scope="outer"),
        Loop(name="outer", target="begin", sources=("end",), limit=2, exhausted="rest"),
    ]
    return UserGraph("nested", bounded(made, loops))


async def test_a_counterfactual_of_a_scoped_loop_grants_no_pass_in_any_scope(tmp_path: Path) -> None:
    async with opened(tmp_path, nested()) as hub:
        parent = await ran(hub, {"outer": 0}, "nested")
        assert parent.passes == {"inner": 6, "outer": 2}
        for _ in range(2):
            other = await hub.until_ended((await hub.counterfactual(parent.id, "inner")).id)
            assert (other.status, other.passes) == ("finished", {"inner": 0, "outer": 2})
            assert other.path == ("end", "begin", "work", "end", "begin", "work", "end", "rest")
        without_outer = await hub.until_ended((await hub.counterfactual(parent.id, "outer")).id)
        assert (without_outer.path, without_outer.passes) == (("rest",), {"outer": 0})

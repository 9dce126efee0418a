"""How runs start, what is kept of them, how and where they fail or end, and how much they may hold."""

import asyncio
import importlib.util
import json
from pathlib import Path
from typing import Annotated, Any
from unittest.mock import Mock

import pytest
from hosted_graphs import PATH, Desk, Walk, log, opened, ran, standing, until
from langgraph.channels import UntrackedValue
from shapes import State, graph

from loopwright.config import Allowance
from loopwright.engine import bounded
from loopwright.engine.events.schema import run_event
from loopwright.errors import ConfigError, InputError, StoreError, UnknownNameError
from loopwright.runs.checkpoints import checkpoints, state_at
from loopwright.runs.schemas import LoggedEvent, PromptVersion, RunFilter, RunLimits
from loopwright.testing import ScriptedChatModel
from loopwright.workflows.api import RunChanges
from loopwright.workflows.user_graph import UserGraph

ASKED = {"question": "where?"}


def names(events) -> list[str]:
    return [event.name for event in events]


@pytest.mark.matrix(2)
@pytest.mark.parametrize("asynchronous", [True, False], ids=["async nodes", "sync nodes"])
@pytest.mark.parametrize("saver", ["sqlite", "json", "memory"])
async def test_a_run_is_kept_with_its_figures_and_its_events(tmp_path: Path, saver: str, asynchronous: bool) -> None:
    async with opened(tmp_path, Walk(asynchronous=asynchronous), saver=saver) as hub:
        record = await ran(hub, {**ASKED, "rounds": 2, "chunks": 2})
        events = await log(hub, record.id)
        clients = await log(hub, record.id, "client")
        assert record == hub.store.get(record.id) == await hub.record(record.id)
    assert record.status == "finished"
    assert (record.outcome_status, record.quality, record.stop_reason) == ("answered", 0.5, None)
    assert record.path == (*PATH, *PATH, "answer")
    assert record.passes == {"again": 1}
    (loop,) = record.loops
    assert (loop.passes, loop.limit, loop.refused) == (1, 3, None)
    assert 0 < loop.seconds <= record.seconds
    assert [event.seq for event in events] == [*range(1, len(events) + 1)]
    assert record.events == len(events)
    assert names(events)[0] == "run_started"
    assert names(events)[-1] == "run_finished"
    assert names(events).count("state") == 10
    for event in events:
        assert LoggedEvent(seq=event.seq, event=run_event.validate_json(event.data)).event.type == event.name
    assert [(event.name, json.loads(event.data)["text"]) for event in clients] == [
        ("chunk", "<0>"), ("chunk", "<1>"), ("done", "done after 2"),
    ]  # fmt: skip
    told = [json.loads(event.data)["message"] for event in events if event.name == "told"]
    assert told == ["round 1", "round 2"]


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async nodes", "sync nodes"])
async def test_model_calls_are_told_of_with_their_node_and_prompt(tmp_path: Path, asynchronous: bool) -> None:
    model = ScriptedChatModel("here it is", repeat_last=True)
    async with opened(
        tmp_path, Walk(model=model, asynchronous=asynchronous), prices=lambda _name, usage: usage.total_tokens / 10
    ) as hub:
        record = await ran(hub, {**ASKED, "model": True})
        events = [json.loads(event.data) for event in await log(hub, record.id)]
    calls = [event for event in events if event["type"] == "model_called"]
    assert sorted(call["node"] for call in calls) == ["left", "right"]
    for call in calls:
        assert call["messages"] == [{"role": "human", "content": f"Look for {call['node']}."}]
        assert call["reply"] == "here it is"
        assert (call["input_tokens"], call["output_tokens"], call["cost"]) == (3, 3, pytest.approx(0.6))
        assert (call["prompt"], call["prompt_version"], call["model"]) == ("look", 1, "scripted")
        end = next(event for event in events if event["type"] == "node_finished" and event["node"] == call["node"])
        assert events.index(call) < events.index(end)
    assert (record.model_calls, record.tokens, record.cost) == (2, 12, pytest.approx(1.2))
    assert {row.node: row.calls for row in record.usage} == {"left": 1, "right": 1}
    assert record.models == {"left": "scripted", "right": "scripted"}


async def test_a_run_uses_its_own_models_and_prompts(tmp_path: Path) -> None:
    walk = Walk(model=ScriptedChatModel("usual", repeat_last=True))
    async with opened(tmp_path, walk) as hub:
        changes = RunChanges(models={"left": None}, prompts={"look": "Search {{what}}!"})
        record = await ran(hub, {**ASKED, "model": True}, changes=changes)
        events = await log(hub, record.id)
        usual = await ran(hub, ASKED)
    (call,) = [json.loads(event.data) for event in events if event.name == "model_called"]
    assert (call["node"], call["messages"][0]["content"]) == ("right", "Search right!")
    assert (call["prompt"], call["prompt_version"]) == ("look", None)
    assert (record.models, record.prompts) == ({"left": None, "right": "scripted"}, {"look": None})
    assert record.changes == changes
    assert (usual.models, usual.prompts) == ({"left": "scripted", "right": "scripted"}, {"look": 1})


@pytest.mark.parametrize(
    ("workflow", "given", "changes", "message"),
    [
        ("wolk", ASKED, {}, "unknown workflow 'wolk'.*walk"),
        ("walk", {}, {}, "needs a question"),
        ("walk", {**ASKED, "keys": {"token": "***"}}, {}, r"the input\.keys\.token cannot be '\*\*\*'"),
        ("walk", ASKED, {"models": {"up": "openai:x"}}, "unknown node with a model 'up'"),
        ("walk", ASKED, {"models": {"left": "nobody"}}, "provider:name"),
        ("walk", ASKED, {"prompts": {"lok": 1}}, "unknown prompt 'lok'"),
        ("walk", ASKED, {"prompts": {"look": 7}}, "no version 7"),
        ("walk", ASKED, {"prompts": {"look": "{{that}}"}}, "misses what and adds that"),
    ],
)
async def test_what_cannot_run_is_refused_before_it_starts(tmp_path, workflow, given, changes, message) -> None:
    async with opened(tmp_path, Walk()) as hub:
        with pytest.raises(InputError, match=message):
            await hub.start(workflow, given, changes=RunChanges(**changes))
        assert hub.store.list(RunFilter()).total == 0
        assert hub.refusal is None


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async nodes", "sync nodes"])
async def test_a_cancelled_run_ends_at_once_and_says_so(tmp_path: Path, asynchronous: bool) -> None:
    async with standing(tmp_path, "check", ASKED, asynchronous=asynchronous) as (hub, live, desk):
        record = await hub.cancel(live.id)
        desk.opened.add("check")
        assert (record.status, record.error_type) == ("cancelled", "Cancelled")
        assert record.path == PATH
        assert names(await log(hub, live.id))[-1] == "run_failed"
        assert names(await log(hub, live.id, "client")) == ["error"]
        assert await hub.cancel(live.id) == record


async def test_a_run_that_is_cancelled_while_it_begins_ends(tmp_path: Path, monkeypatch) -> None:
    async with opened(tmp_path, Walk()) as hub:
        known, submit, held = hub.known, hub._jobs.submit, {**ASKED, "hold": "plan"}

        async def slowly_known(run_id):
            record = await known(run_id)
            monkeypatch.undo()
            await until(lambda: run_id in hub._going)
            return record

        async def slowly_submitted(job):
            early.append(asyncio.create_task(hub.cancel(job.run_id)))
            await asyncio.sleep(0.1)
            assert hub.store.get(job.run_id).status == "queued"
            await submit(job)

        live, early = await hub.start("walk", held), []
        monkeypatch.setattr(hub, "known", slowly_known)
        assert (await hub.cancel(live.id)).status == "cancelled"
        monkeypatch.setattr(hub._jobs, "submit", slowly_submitted)
        await hub.start("walk", held)
        assert (await early[0]).status == "cancelled"


async def test_a_state_that_cannot_be_kept_names_who_wrote_it(tmp_path: Path) -> None:
    odd = graph("START-write", State, write=lambda state: {"want": 1, "most": [object()]})
    async with opened(tmp_path, UserGraph("odd", odd)) as hub:
        record = await ran(hub, {"text": "x"}, "odd")
    assert (record.status, record.error_node) == ("failed", "write")
    assert "which node 'write' wrote in 'most': keep it out of the state" in record.error


class Unkept:
    """What no checkpoint can hold, in its own way."""

    def _asdict(self):
        raise ValueError("not this one")


@pytest.mark.parametrize("value", [object(), Unkept()])
async def test_an_error_of_another_kind_blames_no_value_that_is_not_kept(tmp_path: Path, value) -> None:
    class Loose(State):
        link: Annotated[Any, UntrackedValue]

    class Wrong(UserGraph):
        def outcome(self, state):
            raise TypeError("no score")

    async with opened(tmp_path, Wrong("odd", graph("START-write", Loose, write=lambda state: {"link": value}))) as hub:
        record = await ran(hub, {"text": "x"}, "odd")
    assert (record.status, record.error, record.error_node) == ("failed", "no score", None)


async def test_a_run_whose_cancellation_was_lost_ends_with_its_next_event(tmp_path: Path) -> None:
    async with standing(tmp_path, "check", ASKED) as (hub, live, desk):
        hub._going[live.id].live.stopping = "cancelled"
        desk.opened.add("check")
        record = await hub.until_ended(live.id)
        assert (record.status, record.path) == ("cancelled", PATH)


@pytest.mark.parametrize("limits", [RunLimits(events=10), RunLimits(event_bytes=3_000)], ids=["events", "bytes"])
async def test_a_run_that_makes_too_much_is_stopped_and_keeps_what_it_made(tmp_path: Path, limits: RunLimits) -> None:
    async with opened(tmp_path, Walk(), limits=limits) as hub:
        record = await ran(hub, {**ASKED, "rounds": 9})
        events = await log(hub, record.id)
    assert (record.status, record.error_type) == ("failed", "TooManyEvents")
    assert names(events)[-1] == "run_failed"
    assert 3 < len(events) <= limits.events + 1
    assert sum(len(event.data) for event in events[:-1]) <= limits.event_bytes


async def test_a_run_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    async with opened(tmp_path, Walk(), limits=RunLimits(seconds=0.2)) as hub:
        record = await ran(hub, {**ASKED, "hold": "plan"})
        assert (record.status, record.error_type) == ("failed", "RunTimeout")
    async with opened(tmp_path, Walk(model=ScriptedChatModel(TimeoutError("no reply"), repeat_last=True))) as hub:
        record = await ran(hub, {**ASKED, "model": True})
        assert (record.error_type, record.error) == ("TimeoutError", "no reply"), "a node's own"


async def test_a_deleted_run_is_gone_with_its_checkpoints(tmp_path: Path) -> None:
    desk = Desk()
    async with opened(tmp_path, Walk(desk)) as hub:
        live = await hub.start("walk", {**ASKED, "hold": "plan"})
        with pytest.raises(InputError, match="goes on"):
            await hub.delete(live.id)
        desk.opened.add("plan")
        await log(hub, live.id)
        await hub.delete(live.id)
        assert await hub.record(live.id) is None
        assert [saved async for saved in hub.saver.alist({"configurable": {"thread_id": live.id}})] == []
        for asked in (hub.delete, hub.cancel, hub.resume, hub.follow):
            with pytest.raises(InputError, match=live.id):
                await asked(live.id)


@pytest.mark.parametrize("ends", ["finished", "cancelled", "for good"])
async def test_a_run_that_cannot_be_kept_has_not_ended_and_goes_on_from_what_is_kept(tmp_path, monkeypatch, ends):
    async with standing(tmp_path, "check", ASKED) as (hub, live, desk):
        # What happened so far is kept in parts: a moment later than it happens.
        await until(lambda: ['"node":"check"' in each.data for each in hub.store.events(live.id)[-1:]] == [True])
        following = asyncio.create_task(log(hub, live.id))
        monkeypatch.setattr(hub.store, "write", Mock(side_effect=StoreError("it is locked")))
        if ends == "cancelled":
            hub.cancel_soon(live.id)
        else:
            desk.opened.add("check")
        await until(lambda: live.id not in hub._going)
        assert (await hub.known(live.id)).status in ("running", "queued")
        shown, over = await hub.follow(live.id)
        ended = [event.data for event in shown if event.name == "node_finished"]
        assert not any('"node":"check"' in data for data in ended), "what was never kept is not shown"
        assert not over and not following.done()
        if ends == "for good":
            hub.store.close()
            for told in (following, hub.until_ended(live.id)):
                with pytest.raises(StoreError, match="closed"):
                    await told
            return
        monkeypatch.undo()
        assert (await hub.until_ended(live.id)).status == ends
        assert await following == hub.store.events(live.id)
        assert not hub._news, "nobody waits any more"


async def test_unknown_checkpoints_are_named(tmp_path: Path) -> None:
    async with opened(tmp_path, Walk()) as hub:
        live = await ran(hub, ASKED)
        with pytest.raises(UnknownNameError, match="checkpoint 'nope'"):
            state_at(hub.store, live.id, "nope")
        places = checkpoints(hub.store, live.id)
        assert [place.step for place in places] == [*range(-1, 5)]
        state = state_at(hub.store, live.id, places[-1].checkpoint_id)
        assert state["trace"] == [*PATH, "answer"]
        assert state["findings"] == [{"text": "round 1", "score": 0.25}]
        assert state_at(hub.store, live.id, places[3].checkpoint_id).get("findings") is None


async def test_a_run_that_goes_on_keeps_the_prompts_that_it_began_with(tmp_path: Path) -> None:
    model = ScriptedChatModel("so", repeat_last=True)
    async with opened(tmp_path, Walk(model=model)) as hub:
        run = await ran(hub, {**ASKED, "model": True, "rounds": 2, "fail": "left"})
        later = {"workflow": "walk", "prompt": "look", "version": 2, "text": "Seek {{what}}.", "digest": ""}
        hub.store.keep_prompt(PromptVersion(**later))
        await hub.until_ended((await hub.resume(run.id)).id)
        assert {call.text for call in model.calls} == {"Look for left.", "Look for right."}
        assert (await hub.counterfactual(run.id, "again")).prompts == {"look": 1}
        assert (await hub.start("walk", ASKED)).prompts == {"look": 2}


async def test_a_model_that_somebody_chose_meanwhile_goes_with_the_run(tmp_path):
    async with opened(tmp_path, Walk()) as hub:
        hub.store.assign("walk", "default", "openai:chosen")
        hub.store.assign("walk", "gone", "openai:other")
        run = await hub.start("walk", {"question": "Why?"}, changes=RunChanges(models={"right": "openai:own"}))
        assert run.models == {"left": "openai:chosen", "right": "openai:own"}
        assert run.changes.models == {"default": "openai:chosen", "right": "openai:own"}


SOURCE = """\
from typing import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict, total=False):
    text: str
    size: int

KEY = "sk-abcdefghijklmnopqrstuvwxyz"

def measured(text):
    return json.loads(text)["size"]

def measure(state: State):
    return {"size": measured(state["text"])}

graph = StateGraph(State)
graph.add_node(measure)
graph.add_edge(START, "measure")
"""


async def test_the_places_of_the_graph_are_kept_and_no_library_nor_key(tmp_path: Path) -> None:
    file = tmp_path / "sizes.py"
    file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("sizes", file)
    sizes = importlib.util.module_from_spec(spec)
    sizes.json = json
    spec.loader.exec_module(sizes)
    async with opened(tmp_path, UserGraph("sizes", bounded(sizes.graph, []))) as hub:
        record = await ran(hub, {"text": "{}"}, "sizes")
        assert (record.status, record.error_node) == ("failed", "measure")
        assert [(Path(one.file).name, one.line, one.function) for one in record.error_frames] == [
            ("sizes.py", 14, "measure"), ("sizes.py", 11, "measured"),
        ]  # fmt: skip
        innermost = record.error_frames[-1]
        assert innermost.code[innermost.line - innermost.first] == '    return json.loads(text)["size"]'
        assert "sk-" not in record.model_dump_json()
        assert hub.store.get(record.id).error_frames == record.error_frames
        await hub.resume(record.id)
        assert hub.store.get(record.id).error_frames == ()


ASKS = {"question": "Why?", "model": True, "rounds": 1}
"""A round calls its model twice."""


async def walk(hub, **given):
    return await ran(hub, ASKS | given)


def model():
    return ScriptedChatModel("so", repeat_last=True)


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_the_run_that_is_refused_finishes_and_says_why(tmp_path, asynchronous):
    chat = model()
    hosted = Walk(model=chat, asynchronous=asynchronous)
    async with opened(tmp_path, hosted, allowances=[Allowance(per="day", model_calls=3)]) as hub:
        assert (await walk(hub)).stop_reason is None
        refused = await walk(hub)
        assert (refused.status, refused.stop_reason, refused.error) == ("finished", "run", None)
        told = [event.data for event in await log(hub, refused.id) if event.name == "budget"]
        assert len(told) == 1 and "of the allowance for day" in told[0] and "3 of 3 model calls" in told[0]
    assert len(chat.calls) == 3
    async with opened(tmp_path, hosted, allowances=[Allowance(per="day", model_calls=4)]) as hub:
        assert (await walk(hub)).stop_reason == "run", "what was spent is still known"
    assert len(chat.calls) == 4


async def test_each_value_of_a_key_has_its_own_and_who_names_none_shares_one(tmp_path):
    async with opened(tmp_path, Walk(model=model()), allowances=[Allowance(per="user.id", model_calls=2)]) as hub:
        ends = [(await walk(hub, user=who)).stop_reason for who in ({"id": "a"}, {"id": "b"}, {"id": "a"}, "c")]
        assert ends == [None, None, "run", None]
        assert (await walk(hub)).stop_reason == "run"


async def test_a_thread_is_a_run_with_its_turns_and_forks(tmp_path):
    async with opened(tmp_path, Walk(model=model()), allowances=[Allowance(per="thread", model_calls=4)]) as hub:
        first = await walk(hub)
        for number, stopped in ((2, None), (3, "run")):
            turn = await hub.fork(first.id, None, given=ASKS, fork_id=f"turn{number}")
            assert (await hub.until_ended(turn.id, 30)).stop_reason == stopped
        assert (await walk(hub)).stop_reason is None


async def test_dollars_need_prices(tmp_path):
    allowances = [Allowance(per="day", usd=1)]
    with pytest.raises(ConfigError, match=r"usd needs prices"):
        async with opened(tmp_path, Walk(), allowances=allowances):
            pass
    async with opened(tmp_path, Walk(model=model()), prices=lambda _model, _usage: None, allowances=allowances) as hub:
        assert (await walk(hub)).stop_reason == "run"

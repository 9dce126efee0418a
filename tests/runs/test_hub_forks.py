"""Forks and counterfactuals: runs that begin at another one's checkpoint."""

import asyncio
import json
from pathlib import Path

import pytest
from hosted_graphs import PATH, Desk, Walk, log, opened, ran, standing, until
from shapes import graph, loop

from loopwright import bounded
from loopwright.errors import InputError, UnknownNameError
from loopwright.runs.checkpoints import checkpoints, state_at, without_passes
from loopwright.runs.schemas import RunFilter

ASKED = {"question": "where?", "rounds": 3}
SAVERS = pytest.mark.parametrize(
    "saver", ["sqlite", *(pytest.param(saver, marks=pytest.mark.slow) for saver in ("json", "memory"))]
)


async def place(hub, run_id: str, following: str, which: int = 0) -> str:
    """The checkpoint before a node's visit."""
    return [each for each in checkpoints(hub.store, run_id) if following in each.next][which].checkpoint_id


def last_state(hub, run_id: str):
    return state_at(hub.store, run_id, checkpoints(hub.store, run_id)[-1].checkpoint_id)


@SAVERS
async def test_a_fork_goes_on_as_its_parent_did_and_leaves_it_alone(tmp_path: Path, saver: str) -> None:
    desk = Desk()
    async with opened(tmp_path, Walk(desk), saver=saver) as hub:
        parent = await ran(hub, ASKED)
        before = await log(hub, parent.id)
        began = desk.begun.total()
        checkpoint = await place(hub, parent.id, "plan", 1)
        fork = await hub.until_ended((await hub.fork(parent.id, checkpoint)).id)
        assert fork.status == "finished"
        assert fork.path == (*PATH, *PATH, "answer")
        assert desk.begun.total() == began + 9
        assert last_state(hub, fork.id) == last_state(hub, parent.id)
        assert (fork.parent.run_id, fork.parent.checkpoint_id, fork.parent.step) == (parent.id, checkpoint, 4)
        assert (fork.parent.kind, fork.parent.edited, fork.title, fork.input) == ("fork", (), "where?", ASKED)
        events = await log(hub, fork.id)
        assert [event.name for event in events][:2] == ["run_started", "state"]
        assert json.loads(events[1].data)["changed"]["trace"] == [*PATH]
        assert await log(hub, parent.id) == before
        assert (await hub.record(parent.id)).children == (fork.id,)
        assert hub.store.list(RunFilter(parent=parent.id)).total == 1


@SAVERS
async def test_an_edited_fork_has_the_values_whatever_their_reducers(tmp_path: Path, saver: str) -> None:
    async with opened(tmp_path, Walk(), saver=saver) as hub:
        parent = await ran(hub, ASKED)
        checkpoint = await place(hub, parent.id, "loop.again")
        state = {"rounds": 3, "trace": ["edited"], "findings": [{"text": "mine", "score": 1}]}
        fork = await hub.until_ended((await hub.fork(parent.id, checkpoint, state=state)).id)
        assert fork.path == ("answer",), "with three rounds done, its router is content"
        assert fork.parent.edited == ("findings", "rounds", "trace")
        ended = last_state(hub, fork.id)
        assert ended["trace"] == ["edited", "answer"]
        assert ended["findings"] == [{"text": "mine", "score": 1.0}]
        assert ended["answer"] == "done after 3"


async def test_what_cannot_be_forked_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path, Walk()) as hub:
        parent = await ran(hub, ASKED)
        for following, state, message in (
            ("plan", {"traces": []}, "unknown key of the state 'traces'. Did you mean 'trace'"),
            ("plan", {"loop_ledger": {}}, "unknown key of the state 'loop_ledger'"),
            ("plan", {"rounds": "many"}, "the state's rounds cannot be 'many'"),
            ("plan", {"findings": [{"text": "x"}]}, r"the state's findings\.0\.score"),
            ("answer", {"given": {"rounds": "many"}}, "the graph cannot say what comes next: TypeError"),
        ):
            with pytest.raises(InputError, match=message):
                await hub.fork(parent.id, await place(hub, parent.id, following), state=state)
        with pytest.raises(InputError, match=r"checkpoint 'nope' of run .* is not kept here"):
            await hub.fork(parent.id, "nope")
        assert hub.store.list(RunFilter()).total == 1
        hub.store.create(parent.model_copy(update={"id": "other"}), hub.store.graph(parent.id))
        with pytest.raises(InputError, match=r"run 'other' is not kept here: it is unknown, or was deleted"):
            await hub.fork("other", await place(hub, parent.id, "plan"))


async def test_a_fork_of_a_fork_and_of_a_run_that_goes_on(tmp_path: Path) -> None:
    async with standing(tmp_path, "check#2", ASKED) as (hub, parent, desk):
        await until(lambda: hub.store.get(parent.id).path == (*PATH, *PATH))
        first = await hub.fork(parent.id, await place(hub, parent.id, "left"))
        await until(lambda: desk.waiting["check#2"] == 2)
        await until(lambda: hub.store.get(first.id).path == (*PATH[1:], *PATH))  # its log knows of it, too
        second = await hub.fork(first.id, await place(hub, first.id, "loop.again"), state={"rounds": 3})
        assert (await hub.until_ended(second.id)).path == ("answer",)
        assert second.parent.run_id == first.id
        desk.opened.add("check#2")
        for record in await asyncio.gather(hub.until_ended(parent.id), hub.until_ended(first.id)):
            assert record.status == "finished"
        assert (await hub.record(first.id)).path == (*PATH[1:], *PATH, *PATH, "answer")


@SAVERS
async def test_a_counterfactual_leaves_out_every_pass_of_the_loop(tmp_path: Path, saver: str) -> None:
    async with opened(tmp_path, Walk(), saver=saver) as hub:
        parent = await ran(hub, ASKED)
        assert parent.passes == {"again": 2}
        live = await hub.counterfactual(parent.id, "again")
        other = await hub.until_ended(live.id)
        assert (other.status, other.path, other.passes) == ("finished", ("answer",), {"again": 0})
        assert other.outcome.answer == "done after 1"
        assert (other.parent.kind, other.parent.loop, other.parent.step) == ("counterfactual", "again", 3)
        events = [json.loads(event.data) for event in await log(hub, live.id)]
        (decided,) = [event for event in events if event["type"] == "loop"]
        assert (decided["decision"], decided["limit"], decided["goto"]) == ("exhausted", 0, ["answer"])
        assert decided["reason"] == "round 1 is not enough"
        ended = last_state(hub, live.id)
        assert ended["trace"] == [*PATH, "answer"]
        assert ended["past"] == []
        assert (await hub.record(parent.id)).passes == {"again": 2}


async def test_a_counterfactual_needs_a_pass_to_leave_out(tmp_path: Path) -> None:
    async with opened(tmp_path, Walk()) as hub:
        parent = await ran(hub, {"question": "where?"})
        for name, told in {"again": "'again' never was granted a pass", "agian": "loop 'agian'"}.items():
            with pytest.raises((InputError, UnknownNameError), match=told):
                await hub.counterfactual(parent.id, name)


def test_a_loop_whose_sources_part_cannot_be_left_out() -> None:
    made = graph("START-work work?plan work?look plan?work plan?end look?work look?stop")
    app = bounded(made, loop("again", "plan look", "work", 1))
    with pytest.raises(InputError, match="'plan' and 'look' go to different nodes"):
        without_passes(app, "again")

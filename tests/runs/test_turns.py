"""The next turn of a conversation: a run of its own that takes up the state of the one before."""

from __future__ import annotations

import pytest
from hosted_graphs import Walk, opened, until

from loopwright.errors import InputError
from loopwright.runs.schemas import RunLimits

ASKED = {"question": "where?"}


async def test_a_turn_takes_up_the_state_and_begins_new_books(tmp_path):
    async with opened(tmp_path, Walk()) as hub:
        first = await hub.until_ended((await hub.start("walk", {**ASKED, "rounds": 9}, run_id="a")).id)
        assert first.stop_reason == "again" and first.passes == {"again": 3}
        turn = await hub.until_ended((await hub.continued("a", {"question": "and then?", "rounds": 6}, turn="b")).id)
        assert (turn.status, turn.title, turn.parent.kind, turn.parent.run_id) == ("finished", "and then?", "turn", "a")
        assert turn.outcome.answer == "done after 6", "the rounds of the turn before count on"
        assert turn.passes == {"again": 1} and turn.stop_reason is None
        assert await hub.record("a") == first.model_copy(update={"children": ("b",)})
        with pytest.raises(InputError, match="no run 'nothing'"):
            await hub.continued("nothing", ASKED, turn="c")


async def test_a_turn_that_waited_while_the_server_stopped_begins_with_its_own_input(tmp_path):
    walk, limits = Walk(), RunLimits(running=1)
    async with opened(tmp_path, walk, limits=limits) as hub:
        await hub.until_ended((await hub.start("walk", ASKED, run_id="a")).id)
        await hub.start("walk", {**ASKED, "hold": "plan"}, run_id="holds")
        await until(lambda: walk.desk.waiting["plan"])
        live = await hub.continued("a", {"question": "and then?"}, turn="b")
        assert live.status == "queued"
    walk.desk.opened.add("plan")
    async with opened(tmp_path, walk, limits=limits) as hub:
        turn = await hub.until_ended("b", 30)
        assert (turn.status, turn.outcome.answer) == ("finished", "done after 2")

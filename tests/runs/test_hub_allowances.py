"""What the runs of a hub may spend together: a refused call ends its run with what it has, and the run says why."""

from __future__ import annotations

import pytest
from hosted_graphs import Walk, log, opened

from loopwright.config import Allowance
from loopwright.errors import ConfigError
from loopwright.testing import ScriptedChatModel

ASKS = {"question": "Why?", "model": True, "rounds": 1}
"""A round calls its model twice."""


async def walk(hub, **given):
    run = await hub.start("walk", ASKS | given)
    await hub.until_ended(run.id, 30)
    return await hub.record(run.id)


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
    async with opened(tmp_path, Walk(model=model()), allowances=[Allowance(per="user", model_calls=2)]) as hub:
        ends = [(await walk(hub, **given)).stop_reason for given in ({"user": "a"}, {"user": "b"}, {"user": "a"}, {})]
        assert ends == [None, None, "run", None]
        assert (await walk(hub)).stop_reason == "run"


async def test_a_thread_is_a_run_with_its_turns_and_forks(tmp_path):
    async with opened(tmp_path, Walk(model=model()), allowances=[Allowance(per="thread", model_calls=4)]) as hub:
        first = await walk(hub)
        for number, stopped in ((2, None), (3, "run")):
            turn = await hub.continued(first.id, ASKS, turn=f"turn{number}")
            await hub.until_ended(turn.id, 30)
            assert (await hub.record(turn.id)).stop_reason == stopped
        assert (await walk(hub)).stop_reason is None


async def test_dollars_need_prices(tmp_path):
    with pytest.raises(ConfigError, match=r"usd needs prices"):
        async with opened(tmp_path, Walk(), allowances=[Allowance(per="day", usd=1)]):
            pass
    allowances = [Allowance(per="day", usd=1)]
    async with opened(tmp_path, Walk(model=model()), prices=lambda _model, _usage: None, allowances=allowances) as hub:
        assert (await walk(hub)).stop_reason == "run"

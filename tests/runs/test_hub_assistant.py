"""A whole product on the hub: the assistant over the made-up conference, without a model."""

from __future__ import annotations

import json
from pathlib import Path

from hosted_graphs import log

from loopwright.checkpoints import aopen_checkpointer
from loopwright.runs.hub import RunHub
from loopwright.runs.store import open_runs
from loopwright.workflows.assistant.workflow import AssistantWorkflow

NOTHING = {"message": "Is there a talk about underwater basket weaving on the moon?"}


async def test_a_question_is_kept_forked_and_asked_without_its_loop(tmp_path: Path) -> None:
    hosted = AssistantWorkflow.sample()
    store = open_runs(f"sqlite:{tmp_path}/runs.db")
    async with aopen_checkpointer(f"sqlite:{tmp_path}/checkpoints.db", allow=hosted.allow) as saver:
        hub = RunHub(store, [hosted], saver)
        await hub.open()
        live = await hub.start("assistant", NOTHING)
        record = await live.wait()
        assert (record.status, record.error) == ("finished", None)
        events = await log(hub, live.id)
        clients = await log(hub, live.id, "client")
        assert [event.seq for event in events] == [*range(1, len(events) + 1)]
        assert clients[-1].name == "done"
        assert json.loads(clients[-1].data)
        assert record.outcome.answer
        places = await hub.checkpoints(live.id)
        fork = await (await hub.fork(live.id, places[len(places) // 2].checkpoint_id)).wait()
        assert (fork.status, fork.outcome.answer) == ("finished", record.outcome.answer)
        for loop in (loop.loop for loop in record.loops if loop.passes):
            other = await (await hub.counterfactual(live.id, loop)).wait()
            assert (other.status, other.passes[loop]) == ("finished", 0)
        assert any(loop.passes for loop in record.loops), "the question was to make it go round"
        await hub.close()
    store.close()
    hosted.close()

"""A real process that stands still past its lease and wakes: nothing of what it does then is in the run's history."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hosted_graphs import PATH, Desk, Walk, log, opened
from hub_process import RUN

from loopwright.runs.hub import RunHub

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def checkpoints(hub: RunHub) -> list[str]:
    """The ids of a run's checkpoints."""
    thread = {"configurable": {"thread_id": RUN}}
    return [each.checkpoint["id"] async for each in hub._saver.alist(thread)]


@pytest.mark.parametrize("held", ["check#1", "answer"])
async def test_a_process_that_wakes_after_another_finished_its_run_gives_it_up(held: str, tmp_path: Path) -> None:
    given = {"question": "where?", "rounds": 2, "chunks": 3, "hold": held}
    script = Path(__file__).parents[1] / "support" / "hub_process.py"
    with (tmp_path / "errors").open("ab") as errors:
        first = subprocess.Popen([sys.executable, str(script), str(tmp_path), json.dumps(given)], stderr=errors)
    node = held.partition("#")[0]
    begun = tmp_path / "begun"
    wait_for(lambda: begun.exists() and node in begun.read_text().split())
    time.sleep(0.3)  # until what came before it is kept
    os.kill(first.pid, signal.SIGSTOP)
    try:
        # The lease of a process that stands still is lost; here it is a lock that the system would keep for it.
        (tmp_path / "runs.db.server").unlink()
        desk = Desk()
        desk.opened.add(held)
        async with opened(tmp_path, Walk(desk)) as hub:
            record = await hub.until_ended(RUN, 60)
            before = (record, await log(hub, RUN), await log(hub, RUN, "client"))
            saved = await checkpoints(hub)
            assert (record.status, record.path) == ("finished", (*PATH, *PATH, "answer"))
            (tmp_path / "go").touch()
            os.kill(first.pid, signal.SIGCONT)
            assert first.wait(60) == 0
            after = (await hub.record(RUN), await log(hub, RUN), await log(hub, RUN, "client"))
            assert await checkpoints(hub) == saved
        assert after == before
    finally:
        first.kill()
        first.wait()
    told = (tmp_path / "errors").read_text()
    assert f"run '{RUN}' was given up here: this was attempt 1, and attempt 3 began elsewhere" in told

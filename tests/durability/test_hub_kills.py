"""SIGKILL of a real process that runs a hub: what a client saw is there afterwards, and the run goes on."""

import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hosted_graphs import PATH, log, opened
from hub_process import RUN

GIVEN = {"question": "where?", "rounds": 9, "chunks": 5}
WHOLE = [*PATH] * 4 + ["answer"]


def process(folder: Path) -> subprocess.Popen[bytes]:
    script = Path(__file__).parents[1] / "support" / "hub_process.py"
    with (folder / "errors").open("ab") as errors:
        return subprocess.Popen([sys.executable, str(script), str(folder), json.dumps(GIVEN)], stderr=errors)


def lines(file: Path) -> list[str]:
    # The last line of a killed process may be torn.
    return file.read_text(encoding="utf-8").split("\n")[:-1] if file.exists() else []


async def check(folder: Path) -> None:
    """What holds of a run that came to its end at last, however often it was killed."""
    async with opened(folder) as hub:
        record = await hub.record(RUN)
        events = await log(hub, RUN)
    assert record.status == "finished"
    assert [event.seq for event in events] == [*range(1, len(events) + 1)]
    kept = {event.seq: event for event in events}
    for line in lines(folder / "seen"):
        seq, name, data = json.loads(line)
        assert (kept[seq].name, kept[seq].data) == (name, data), "what a client saw is what is kept"
    plain = [json.loads(event.data) for event in events]
    ended = {(each["node"], each["visit"]) for each in plain if each["type"] == "node_finished"}
    assert ended == {*((node, visit) for node in PATH for visit in range(1, 5)), ("answer", 1)}
    decided = [(each["decision"], each["spent"]) for each in plain if each["type"] == "loop"]
    assert [*dict.fromkeys(decided)] == [("granted", 1), ("granted", 2), ("granted", 3), ("exhausted", 3)]
    steps = [each["step"] for each in plain if each["type"] == "state"]
    assert steps == [*range(-1, 18)], "every checkpoint once, in order, without a gap"
    assert sorted(record.path) == sorted(WHOLE)
    assert record.passes == {"again": 3}
    assert record.stop_reason == "again"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_a_run_killed_at_random_times_has_a_log_without_gaps(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(6):
        running, events = process(tmp_path), len(lines(tmp_path / "seen"))
        more = dice.randint(1, 25)
        deadline = time.monotonic() + 90
        while running.poll() is None and len(lines(tmp_path / "seen")) < events + more:
            assert time.monotonic() < deadline
            time.sleep(0.0005)
        time.sleep(dice.random() * 0.02)
        running.kill()
        if running.wait(timeout=30) == 0:
            break
    else:
        assert process(tmp_path).wait(timeout=90) == 0
    await check(tmp_path)
    begun = Counter(lines(tmp_path / "begun"))
    assert (begun - Counter(WHOLE)).total() <= 2 * 6

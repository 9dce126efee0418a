"""SIGKILL at random times, several in one run, wherever the process is; also in the middle of a write."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from crashing import Account, CrashingRun, Kill

Start = Callable[..., CrashingRun]
Check = Callable[[CrashingRun], Account]


def kill_at_random(run: CrashingRun, chance: random.Random) -> CrashingRun:
    """Kill and go on until the end is reached; the processes are given longer and longer."""
    while not run.kill_after(chance.uniform(0.0, 0.25) * (1 + run.attempts / 4)):
        pass
    return run


def many(start: Start, check: Check, saver: str, kills: int, seed: int) -> list[Account]:
    """Run again and again until so many processes were killed."""
    chance = random.Random(seed)
    killed, found = 0, []
    while killed < kills:
        run = kill_at_random(start(saver=saver, options={"pause": 0.005}), chance)
        killed += run.killed
        found.append(check(run))
    return found


def test_a_few_kills_at_random_times_change_nothing(start: Start, check: Check) -> None:
    assert many(start, check, "json", 4, seed=3)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("saver", ["sqlite", "json"])
def test_a_hundred_kills_at_random_times_change_nothing(start: Start, check: Check, saver: str) -> None:
    found = many(start, check, saver, 100, seed=1)
    print(
        f"{saver}: {len(found)} runs, {sum(len(account.again) for account in found)} tasks ran again, at most "
        f"{max(account.most_again for account in found)} at once; {sum(account.saves_cut for account in found)} kills "
        "came in the middle of a save"
    )


JSON_WRITES: list[Kill] = [{"what": what, "nth": nth} for nth in (1, 2, 5, 9, 14) for what in ("syncing", "replacing")]
SQLITE_WRITES: list[Kill] = [
    {"what": "statement", "kind": kind, "nth": nth} for nth in (1, 3, 7, 12) for kind in ("BEGIN", "INSERT", "COMMIT")
]


@pytest.mark.parametrize(("saver", "kills"), [("json", JSON_WRITES), ("sqlite", SQLITE_WRITES)])
def test_a_run_killed_in_the_middle_of_a_write_ends_as_if_nothing_had_happened(
    start: Start, check: Check, saver: str, kills: list[Kill]
) -> None:
    run = start(saver=saver).finish(kills)
    assert run.killed == len(kills)
    assert check(run).saves_cut > len(kills) // 2

"""SIGKILL of a server at random moments: what a client saw is there afterwards, and the run goes on."""

import random
from collections import Counter
from pathlib import Path

import pytest
from hosts import begin, ended, hosts, log, stream, whole

KILLS, ROUNDS = 4, 9


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(3))
def test_a_run_killed_at_random_times_has_a_log_without_gaps(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    with hosts(tmp_path, "") as many:
        server = many.server(alone=True)
        run_id = begin(server, {"name": "r", "rounds": ROUNDS, "seconds": 0.02})
        seen = dict(stream(server, run_id, most=dice.randint(8, 16)))
        for _ in range(KILLS):
            server.kill()
            server = many.server(alone=True)
            # It comes further each time: one that ends its process in the same place three times is given up.
            seen |= stream(server, run_id, after=max(seen), most=dice.randint(8, 16))
        found, events = ended(server, run_id), log(server, run_id)
        again = Counter(many.begun("r")) - whole(ROUNDS)
    assert (found["status"], found["passes"]) == ("finished", {"again": ROUNDS - 1})
    assert {number: events[number - 1] for number in seen} == seen, "what a client saw is what is kept"
    steps = [event["step"] for event in events if event["type"] == "state"]
    assert steps == [*range(-1, len(steps) - 1)], "every checkpoint once, in order, without a gap"
    assert again.total() <= KILLS

"""What processes spend together of an allowance in a shared history never exceeds it, and nearly all of it is used."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from postgres import postgres_server, postgres_url  # noqa: F401
from run_histories import a_run

from loopwright.config import Allowance
from loopwright.runs.allowances import RunAllowances
from loopwright.runs.store import open_runs
from loopwright.runs.store.entries import Charge

PROGRAM = Path(__file__).parents[1] / "support" / "allowance_process.py"
TOKENS = 7
"""That a call takes: three words asked, four replied."""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return request.getfixturevalue("postgres_url") if request.param == "postgres" else f"sqlite:{tmp_path / 'runs.db'}"


def of_two(url: str, runs: int, **limits: float) -> tuple[int, list[str]]:
    """What two processes with so many runs each did: calls, and how the runs ended."""
    words = [sys.executable, PROGRAM, url, str(runs), json.dumps(limits), "2"]
    told = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=120, check=True).stdout
    found = [json.loads(line) for line in told.splitlines()]
    assert len(found) == 2
    return sum(each["calls"] for each in found), [said for each in found for said in each["said"]]


@pytest.mark.parametrize("url", ["postgres", pytest.param("sqlite", marks=pytest.mark.slow)], indirect=True)
def test_calls_to_the_last_one(url):
    calls, said = of_two(url, 4, model_calls=19)
    assert calls == 19
    assert "run" in said and set(said) <= {"run", "on"}


@pytest.mark.slow
@pytest.mark.parametrize("limits", [{"tokens": 250}, {"usd": 0.25}])
def test_tokens_and_dollars_with_what_is_set_aside(url, limits):
    calls, said = of_two(url, 8, **limits)
    # What a call may take is a little more than what it takes.
    assert 250 - 4 * TOKENS <= calls * TOKENS <= 250 and "run" in said
    with open_runs(url)._database.reading() as connection:
        row = connection.exec_driver_sql("SELECT model_calls, tokens, usd FROM run_allowances").one()
    assert tuple(row) == (calls, calls * TOKENS, calls * TOKENS * 10**9)


def test_each_value_has_one_of_its_own_whatever_its_length_and_signs(url):
    noise = "".join(map(chr, np.random.default_rng(1).integers(0x4E00, 0x9000, 4_000)))
    with closing(open_runs(url)) as store:
        for user in (noise, f"{noise}2", "a\0b", "a\ud800", "b"):
            allowance, run = Allowance(per="user", model_calls=1), a_run(input={"user": user})
            asked = [RunAllowances(store, [allowance], run, None, 0).reserve(uuid4(), "m", 1, 1) for _ in range(2)]
            assert asked[0] is None and len(asked[1].note) < 400


def test_all_of_several_or_nothing(url):
    store = open_runs(url)
    one = {"model_calls": 1, "tokens": 5, "usd": 0}
    assert store.charge([Charge("b", one, {"tokens": 9}), Charge("a", one, {"model_calls": 1})]) is None
    charge, resource, spent = store.charge([Charge("a", one), Charge("b", one, {"tokens": 9})])
    assert (charge.key, resource, spent) == ("b", "tokens", 5)
    assert store.charge([Charge("a", one, {"model_calls": 2})]) is None, "nothing of what was refused is kept"
    assert store.charge([Charge("b", {"model_calls": 0, "tokens": -1, "usd": 0})]) is None
    assert store.charge([Charge("b", one, {"tokens": 9})]) is None
    store.close()

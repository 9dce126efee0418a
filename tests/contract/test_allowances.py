"""What processes spend together of an allowance in a shared history never exceeds it, and nearly all of it is used."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from postgres import postgres_server, postgres_url  # noqa: F401
from run_histories import a_run
from shapes import State, graph, loop

from loopwright.config import Allowance
from loopwright.engine import bounded
from loopwright.engine.budget.meter import allowance
from loopwright.runs.allowances import RunAllowances
from loopwright.runs.schemas import Charge
from loopwright.runs.store import open_runs
from loopwright.testing import ScriptedChatModel

model = ScriptedChatModel("four words of reply", repeat_last=True, delay=0.002)
TOKENS = 7
"""That a call takes: three words asked, four replied."""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return request.getfixturevalue("postgres_url") if request.param == "postgres" else f"sqlite:{tmp_path / 'runs.db'}"


def ask(state: State) -> State:
    model.bind(max_tokens=5).invoke("three words here")
    return {"count": state.get("count", 0) + 1}


app = bounded(graph("START-ask ask?ask ask?END", ask=ask), [loop("on", "ask", "ask", 3)])


def spent(url: str, runs: int, limits: dict[str, float]) -> tuple[int, list[str]]:
    """Calls of so many runs at once, as long as an allowance lets them, and how the runs ended."""
    store, before = open_runs(url), len(model.calls)

    def run(number: int) -> str:
        price = lambda _model, usage: usage.total_tokens / 1000  # noqa: E731
        allowance.set(RunAllowances(store, [Allowance(per="day", **limits)], a_run(f"{number}"), price, 10))
        return app.invoke({})["stop_reason"]["loop"]

    with ThreadPoolExecutor(runs) as threads:
        said = [*threads.map(run, range(runs))]
    return len(model.calls) - before, said


def of_two(url: str, runs: int, **limits: float) -> tuple[int, list[str]]:
    """What two processes with so many runs each did."""
    with ProcessPoolExecutor(2, get_context("fork")) as processes:
        found = [*processes.map(spent, [url] * 2, [runs] * 2, [limits] * 2)]
    return sum(calls for calls, _ in found), [end for _, said in found for end in said]


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

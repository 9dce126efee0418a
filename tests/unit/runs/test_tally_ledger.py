"""The server's figures of a run and those of its page are held to the same ledgers."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from loopwright.engine.events.schema import LoopDecided, RunFinished, RunStarted
from loopwright.runs.schemas import LoggedEvent
from loopwright.runs.tally import Tally

ROOT = Path(__file__).resolve().parents[3]


def run_on_the_page(more: dict[str, str], *options: str) -> None:
    """Run the page's own property test."""
    node = subprocess.run([ROOT / "scripts/build_devtools", "--node"], capture_output=True, text=True, check=False)
    if node.returncode:
        pytest.skip(node.stderr.strip())
    folder = node.stdout.strip()
    subprocess.run(
        [f"{folder}/node", "node_modules/vitest/vitest.mjs", "run", "tests/model/ledger.test.ts", *options],
        cwd=ROOT / "devtools", check=True, capture_output=True, stdin=subprocess.DEVNULL,
        env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", **more},
    )  # fmt: skip


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Random runs with what their ledgers say after each event, as the page's own property test makes them."""
    file = tmp_path_factory.mktemp("logs") / "logs.json"
    run_on_the_page({"LOOPWRIGHT_LOGS": str(file)}, "-t", "looked at")
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_figure_of_the_page_is_the_ledgers_in_a_thousand_runs() -> None:
    run_on_the_page({"LOOPWRIGHT_RANDOM_RUNS": "1000"})


@pytest.mark.slow
def test_every_figure_of_the_record_is_the_ledgers_at_every_event(logs: list[dict[str, Any]]) -> None:
    taken_back = 0
    for log in logs:
        tally, before = Tally(), 0
        for logged, truth in zip(log["events"], log["truths"], strict=True):
            tally.see(LoggedEvent.model_validate(logged).event)
            figures = tally.figures()
            loops = {name: loop for name, loop in truth["loops"].items() if loop["limit"] is not None}
            granted = {name: passes for name, passes in figures["passes"].items() if passes or name in loops}
            assert granted == {name: loop["passes"] for name, loop in loops.items()}
            assert (figures["model_calls"], figures["tokens"]) == (truth["calls"], truth["tokens"])
            assert figures["unmetered_calls"] == truth["unmetered"]
            assert figures["cost"] == truth["cost"]
            assert figures["seconds"] == pytest.approx(truth["ms"] / 1000)
            assert len(figures["path"]) == sum(truth["visits"].values())
            taken_back += sum(granted.values()) < before
            before = sum(granted.values())
    assert taken_back > 5


@pytest.mark.parametrize("own", [{"mine": 1}, [{"b": 2}]])
def test_a_graph_s_own_stop_reason_is_none_of_the_engine_s(own: Any) -> None:
    tally = Tally()
    tally.see(RunFinished(seconds=1.0, stop_reason=own))
    assert tally.figures()["stop_reason"] is None


@pytest.mark.parametrize("kept", [True, False])
def test_a_decision_is_taken_back_unless_what_is_kept_of_the_run_holds_it(kept: bool) -> None:
    tally = Tally()
    for event in (
        LoopDecided(loop="a", decision="granted", spent=1, limit=3, reason="", goto=["x"], step=4, kept=kept),
        RunStarted(graph="g", thread_id=None, resumed=True),
    ):
        tally.see(event)
    assert tally.figures()["passes"] == {"a": int(kept)}

"""Processes that call a model as long as an allowance lets them, and print what their runs said of their ends.

Usage: python allowance_process.py URL RUNS LIMITS PROCESSES
"""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import psycopg  # noqa: F401
from shapes import State, graph, loop

from loopwright.config import Allowance
from loopwright.engine import bounded
from loopwright.engine.budget.meter import allowance
from loopwright.runs.allowances import RunAllowances
from loopwright.runs.schemas import RunRecord
from loopwright.runs.store import open_runs
from loopwright.testing import ScriptedChatModel

REPLY = "four words of reply"


model = ScriptedChatModel(REPLY, repeat_last=True, delay=0.002)


def ask(state: State) -> State:
    model.bind(max_tokens=5).invoke("three words here")
    return {"count": state.get("count", 0) + 1}


app = bounded(graph("START-ask ask?ask ask?END", ask=ask), [loop("on", "ask", "ask", 3)])


def main(url: str, runs: int, limits: dict[str, float]) -> None:
    store, before = open_runs(url), len(model.calls)

    def run(number: int) -> str:
        record = RunRecord(
            id=f"{number}", workflow="w", title="", status="running", started_at=datetime.now(UTC), input={}
        )
        price = lambda _model, usage: usage.total_tokens / 1000  # noqa: E731
        allowance.set(RunAllowances(store, [Allowance(per="day", **limits)], record, price, 10))
        return app.invoke({})["stop_reason"]["loop"]

    with ThreadPoolExecutor(runs) as threads:
        said = [*threads.map(run, range(runs))]
    print(json.dumps({"calls": len(model.calls) - before, "said": said}))


if __name__ == "__main__":
    # They part once all is imported and was used, which takes most of their time.
    app.invoke({})
    for _ in range(int(sys.argv[4])):
        if os.fork() == 0:
            main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
            sys.exit()
    sys.exit(any([os.wait()[1] for _ in range(int(sys.argv[4]))]))

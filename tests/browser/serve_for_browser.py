"""Serves the sample assistant and small graphs for the tests of the page, until its standard input ends.

Usage: serve_for_browser.py DATA [--port PORT] [--token TOKEN] [--runs ADDRESS]; it prints the address once clients can connect.
"""

import argparse
import asyncio
import operator
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

from langgraph.graph import END
from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from conferences import sample_services
from recorded_runs import keep_all
from run_page_graphs import Mechanical, desk, laps, parcel, permit
from shapes import graph, loop

from loopwright.engine import bounded
from loopwright.server.serving import Serving, serve
from loopwright.server.settings import ServerSettings
from loopwright.testing import ScriptedChatModel
from loopwright.workflows.assistant.workflow import AssistantWorkflow
from loopwright.workflows.user_graph import UserGraph

REFLECTION = {
    "reasoning": "No session has all of these words.",
    "strategy": "rewrite",
    "message": "I look for related topics.",
    "queries": [{"table": "sessions", "query_text": "repair"}],
}

DATA = Path(sys.argv[1])
"""The server's folder; the test leaves its sign there."""


class Essay(TypedDict, total=False):
    topic: str
    draft: str
    grades: Annotated[list[float], operator.add]
    sources: list[str]


async def _pause(state: Essay, place: str) -> None:
    """Wait a moment; where the topic says that it is held here, until the test lets it go on."""
    await asyncio.sleep(0.02)
    while f"held at the {place}" in state["topic"] and not (DATA / "go on").exists():
        await asyncio.sleep(0.02)


async def outline(state: Essay) -> dict[str, Any]:
    """Begin."""
    await _pause(state, "outline")
    return {"draft": f"Outline of {state['topic']}."}


async def collect(state: Essay) -> dict[str, Any]:
    """Look for sources, beside the outline."""
    await _pause(state, "outline")
    return {"sources": ["a book", "a letter"]}


async def write(state: Essay) -> dict[str, Any]:
    """Write a draft."""
    await _pause(state, "draft")
    if "broken" in state["topic"]:
        raise ValueError("the pen is broken")
    return {"draft": f"Draft {len(state.get('grades', [])) + 1} about {state['topic']}."}


async def grade(state: Essay) -> dict[str, Any]:
    """Judge the draft."""
    await _pause(state, "grade")
    return {"grades": [0.4 + 0.2 * len(state.get("grades", []))]}


def essay() -> UserGraph:
    """A graph with a loop and with parallel nodes; a topic held at its outline or draft waits there, broken fails."""
    more = {"grade": lambda state: "write" if state["grades"][-1] < 0.7 else END}
    edges = "START-outline START-collect outline+collect-write write-grade grade?write grade?END"
    made = graph(edges, Essay, more, outline=outline, collect=collect, write=write, grade=grade)
    improve = loop("improve", "grade", "write", 1, reason=lambda state: f"graded {state['grades'][-1]}")
    return UserGraph("essay", bounded(made, [improve]), title="Essay", description="Writes, grades, and writes again.")


def told() -> argparse.Namespace:
    """What either server is told, with the recorded runs kept; the process ends with its standard input."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token")
    parser.add_argument("--runs")
    parser.add_argument("--more", action="store_true")
    given = parser.parse_args()
    # The tests end with this pipe, however they end.
    threading.Thread(target=lambda: (sys.stdin.read(), os.kill(os.getpid(), signal.SIGTERM)), daemon=True).start()
    keep_all(given.runs or f"sqlite:{given.data / 'runs.db'}")
    return given


def main() -> None:
    """Serve."""
    given = told()
    model = ScriptedChatModel(REFLECTION, repeat_last=True)
    with (
        sample_services({"reflect_and_replan": model}) as services,
        sample_services(reflection_enabled=False) as without,
    ):
        serving = Serving(
            workflows=[AssistantWorkflow(services), essay(), Mechanical(without), parcel(), laps(), permit(), desk()],
            settings=ServerSettings(data=given.data),
            runs=given.runs,
            lease=2.0,
        )
        serve(serving, port=given.port, token=given.token, started=lambda address: print(address, flush=True))


if __name__ == "__main__":
    main()

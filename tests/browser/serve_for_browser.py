"""Serves the sample assistant and small graphs for the tests of the page, until its standard input ends.

Usage: serve_for_browser.py DATA [--port PORT] [--token TOKEN] [--runs ADDRESS] [--all]; it prints the address once clients
can connect. With --all it serves every workflow over its sample, and other graphs.
"""

import argparse
import asyncio
import operator
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from langgraph.graph import END
from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/headline"))

from conferences import sample_services
from headline import HeadlineWorkflow
from recorded_runs import keep_all
from run_page_graphs import Mechanical, desk, laps, parcel, parrot, permit
from shapes import graph, loop

from loopwright.engine import bounded
from loopwright.server.serving import Serving, serve
from loopwright.server.settings import ServerSettings
from loopwright.testing import ScriptedChatModel
from loopwright.workflows.api import Workflow
from loopwright.workflows.assistant.workflow import AssistantWorkflow
from loopwright.workflows.iqa import IQAConfig
from loopwright.workflows.iqa import Services as IqaServices
from loopwright.workflows.iqa.workflow import IQAWorkflow
from loopwright.workflows.rag import RAGConfig
from loopwright.workflows.rag.services import Services as RagServices
from loopwright.workflows.rag.sources.sample import sample_store
from loopwright.workflows.rag.workflow import RagWorkflow
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
    return UserGraph("essay", bounded(made, [improve]))


@contextmanager
def small_graphs() -> Iterator[list[Workflow[Any]]]:
    """The assistant with reflection and without it, and graphs that do one thing each."""
    model = ScriptedChatModel(REFLECTION, repeat_last=True)
    with (
        sample_services({"reflect_and_replan": model}) as services,
        sample_services(reflection_enabled=False) as without,
    ):
        yield [AssistantWorkflow(services), essay(), Mechanical(without), parcel(), laps(), permit(), desk()]


@contextmanager
def all_workflows() -> Iterator[list[Workflow[Any]]]:
    """Every workflow over its sample, one of somebody else, and three graphs."""
    with sample_services() as assistant, sample_store() as documents, RagServices.of(RAGConfig(), documents) as rag:
        headline = HeadlineWorkflow.open()
        headline.name = "headline"
        iqa = IQAWorkflow(IqaServices.of(IQAConfig()))
        yield [AssistantWorkflow(assistant), iqa, RagWorkflow(rag), parrot(), headline, essay(), permit()]


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token")
    parser.add_argument("--runs")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    # The tests end with this pipe, however they end.
    threading.Thread(target=lambda: (sys.stdin.read(), os.kill(os.getpid(), signal.SIGTERM)), daemon=True).start()
    keep_all(given.runs or f"sqlite:{given.data / 'runs.db'}")
    with all_workflows() if given.all else small_graphs() as workflows:
        serving = Serving(workflows=workflows, settings=ServerSettings(data=given.data), runs=given.runs, lease=2.0)
        serve(serving, port=given.port, token=given.token, started=lambda address: print(address, flush=True))


if __name__ == "__main__":
    main()

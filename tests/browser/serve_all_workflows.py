"""Serves every workflow over its sample, and a graph that repeats what it is told, for the tests of the page.

Usage: serve_all_workflows.py DATA [--port PORT] [--more]; it prints the address once clients can connect, and ends with
its standard input. With --more it serves two graphs of serve_for_browser.py too.
"""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/headline"))

from conferences import sample_services
from headline import HeadlineWorkflow
from run_page_graphs import permit
from serve_for_browser import essay, told
from shapes import graph

from loopwright.engine import bounded
from loopwright.engine.events.schema import emit
from loopwright.server.serving import Serving, serve
from loopwright.server.settings import ServerSettings
from loopwright.testing import ScriptedChatModel
from loopwright.workflows.assistant.workflow import AssistantWorkflow
from loopwright.workflows.iqa import IQAConfig
from loopwright.workflows.iqa import Services as IqaServices
from loopwright.workflows.iqa.workflow import IQAWorkflow
from loopwright.workflows.rag import RAGConfig
from loopwright.workflows.rag.services import Services as RagServices
from loopwright.workflows.rag.sources.sample import sample_store
from loopwright.workflows.rag.workflow import RagWorkflow
from loopwright.workflows.user_graph import UserGraph


class Talk(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    repeat: NotRequired[int]


def parrot() -> UserGraph:
    """A graph whose model repeats the question; with the word slowly a word at a time, with broken not at all."""
    model = ScriptedChatModel(lambda messages: str(messages[-1].text), repeat_last=True)

    async def answer(state: Talk) -> dict[str, Any]:
        """Repeat."""
        question = " ".join([str(state["messages"][-1].text)] * (state.get("repeat") or 1))
        if "broken" in question:
            raise ValueError("the beak is broken")
        if "slowly" not in question:
            return {"messages": [await model.ainvoke(question)]}
        for word in question.split(" "):
            emit({"type": "text", "node": "answer", "text": word + " "})
            await asyncio.sleep(0.1)
        return {"messages": [AIMessage(question)]}

    made = graph("START-answer", Talk, answer=answer)
    return UserGraph("parrot", bounded(made), title="Parrot", description="Repeats what it is told.")


def main() -> None:
    """Serve."""
    given = told()
    with sample_services() as assistant, sample_store() as documents, RagServices.of(RAGConfig(), documents) as rag:
        headline = HeadlineWorkflow.open()
        headline.name = "headline"
        serving = Serving(
            workflows=[
                AssistantWorkflow(assistant),
                IQAWorkflow(IqaServices.of(IQAConfig())),
                RagWorkflow(rag),
                parrot(),
                headline,
                *([essay(), permit()] if given.more else []),
            ],
            settings=ServerSettings(data=given.data),
        )
        serve(serving, port=given.port, started=lambda address: print(address, flush=True))


if __name__ == "__main__":
    main()

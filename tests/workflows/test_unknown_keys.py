"""A key that a workflow's state has not, in its input or in what a node returns, is an error; LangGraph drops it."""

import asyncio
from typing import Literal

import pytest
from langgraph.types import Command

from loopwright.errors import InputError, NodeFailed
from loopwright.workflows.assistant.graph import build_graph as assistant
from loopwright.workflows.assistant.workflow import AssistantWorkflow
from loopwright.workflows.iqa import IQAWorkflow
from loopwright.workflows.iqa import build_graph as iqa
from loopwright.workflows.rag.graph import build_graph as rag
from loopwright.workflows.rag.workflow import RagWorkflow


def writing(*keys):
    async def node(state):
        return dict.fromkeys(keys)

    return node


GRAPHS = {
    "iqa": (iqa, {}, "planner", {"query": "?", "image_path": "a.png"}, "plan"),
    "rag": (rag, {}, "route_question", {"question": "?"}, "route"),
    "assistant": (
        assistant,
        {name: writing() for name in ("fetch_data", "update_profile", "generate_acknowledgment")},
        "plan_queries",
        {"messages": [("user", "?")]},
        "messages",
    ),
}


def run(graph, given):
    return asyncio.run(graph.ainvoke(given, {"configurable": {"thread_id": "1"}}))


@pytest.mark.parametrize("name", GRAPHS)
def test_in_the_input_it_is_an_error_that_names_the_nearest_and_it_fails_the_node_that_returns_it(name):
    build, nodes, node, given, known = GRAPHS[name]
    key, wrong = next(iter(given)), known[:-1] + "x"
    with pytest.raises(InputError, match=rf"the input has an unknown key '{key[1:]}'\. Did you mean '{key}'"):
        run(build(nodes=nodes), {key[1:]: given[key], **given})
    with pytest.raises(NodeFailed, match=rf"{node} writes an unknown state key '{wrong}'\. Did you mean '") as caught:
        run(build(nodes={**nodes, node: writing(wrong)}), given)
    assert isinstance(caught.value.__cause__, InputError)


@pytest.mark.parametrize("kind", [IQAWorkflow, RagWorkflow, AssistantWorkflow])
def test_in_the_input_of_a_workflow_too(kind):
    with kind.Services.of(kind.Config()) as services:
        workflow = kind(services)
        key = next(iter(workflow.Input.model_fields))
        with pytest.raises(InputError, match=rf"unknown key '{key[:-1]}x'\. Did you mean '{key}'"):
            workflow.read({f"{key[:-1]}x": "?"})


def test_the_update_of_a_command_is_looked_at_too():
    def planner(state) -> Command[Literal["executor"]]:
        return Command(goto="executor", update={"plam": None})

    with pytest.raises(NodeFailed, match=r"planner writes an unknown state key 'plam'\. Did you mean 'plan'"):
        run(iqa(nodes={"planner": planner}), GRAPHS["iqa"][3])

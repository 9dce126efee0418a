"""LangChain's own limits count as bounds exactly where real agents with models that never end keep to them."""

from collections import Counter
from itertools import permutations
from typing import Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    hook_config,
)
from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
from langchain.agents.middleware.tool_call_limit import ToolCallLimitExceededError
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command
from looping_agents import JumpsAfterModel, calls, search
from pydantic import BaseModel

from loopwright import bounded, check_certificate
from loopwright.engine.proof import agent_limits
from loopwright.engine.proof.read import read_topology
from loopwright.langchain import LoopMiddleware
from loopwright.testing import always

ASK = {"messages": "hello"}
MODEL, TOOLS, OURS = (
    "ModelCallLimitMiddleware.before_model",
    "ToolCallLimitMiddleware.after_model",
    "LoopMiddleware.before_model",
)


def own_limits(builder: Any) -> dict[str, int]:
    return agent_limits.own_limits(builder, read_topology(builder).ways(granted=True))


class Note(BaseModel):
    text: str
    sure: bool


class JumpsAfterAgent(AgentMiddleware):
    """Sends the agent back to its model when it has come to its end."""

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: Any, runtime: Any) -> Any:
        return {"jump_to": "model"}


class Forgetful(ModelCallLimitMiddleware):
    """A limit that somebody changed."""

    def after_model(self, state: Any, runtime: Any) -> Any:
        return {"run_model_call_count": 0}


class Open(AgentState):
    run_model_call_count: int


def visits(agent: Any, *, steps: int = 80, input: Any = ASK) -> Counter[str]:
    """How often each node ran in a run, which may end in LangChain's own error or at the step limit."""
    ran: Counter[str] = Counter()
    try:
        for part in agent.stream(input, {"recursion_limit": steps}, stream_mode="tasks"):
            ran[part["name"]] += "triggers" in part
    except (ModelCallLimitExceededError, ToolCallLimitExceededError):
        pass
    except KeyError as missing:  # LangChain has no edge for the jump of the first middleware to itself
        assert ".before_model" in str(missing)
    except GraphRecursionError:
        ran["the step limit"] += 1
    return ran


BOUNDS = {
    "model calls": ([ModelCallLimitMiddleware(run_limit=3)], {MODEL: 3}),
    "model calls, error": ([ModelCallLimitMiddleware(run_limit=3, exit_behavior="error")], {MODEL: 3}),
    "model calls of a thread": ([ModelCallLimitMiddleware(thread_limit=2)], {MODEL: 2}),
    "both": ([ModelCallLimitMiddleware(thread_limit=2, run_limit=5)], {MODEL: 2}),
    "none at all": ([ModelCallLimitMiddleware(run_limit=0)], {MODEL: 0}),
    "below none": ([ModelCallLimitMiddleware(run_limit=-1)], {MODEL: 0}),
    "among others": ([TodoListMiddleware(), ModelCallLimitMiddleware(run_limit=2)], {MODEL: 2}),
    "tool calls, end": ([ToolCallLimitMiddleware(run_limit=3, exit_behavior="end")], {TOOLS: 3}),
    "tool calls, error": ([ToolCallLimitMiddleware(run_limit=3, exit_behavior="error")], {TOOLS: 3}),
    "tool calls of a thread": ([ToolCallLimitMiddleware(thread_limit=3, exit_behavior="end")], {TOOLS: 3}),
    "tool calls first": ([ToolCallLimitMiddleware(run_limit=2, exit_behavior="end"), TodoListMiddleware()], {TOOLS: 2}),
    "ours": ([LoopMiddleware(limit=3)], {OURS: 4}),
    "ours with theirs": ([LoopMiddleware(limit=3), ModelCallLimitMiddleware(run_limit=9)], {OURS: 4, MODEL: 9}),
    "ours before a jump": ([LoopMiddleware(limit=3), JumpsAfterModel()], {OURS: 4}),
}  # fmt: skip


@pytest.mark.parametrize("parallel", [1, 2])
@pytest.mark.parametrize("case", BOUNDS)
def test_a_limit_that_is_a_bound_is_kept_to(case, parallel):
    middle, limits = BOUNDS[case]
    agent = create_agent(always(calls(*["search"] * parallel)), [search], middleware=middle)
    assert own_limits(agent.builder) == limits
    ran = visits(agent)
    assert not ran["the step limit"]
    for node, limit in limits.items():
        assert ran[node] <= limit + 1
    if parallel == 1:  # tight: the model is asked as often as the smallest limit says
        assert ran["model"] == min(limit + (node == TOOLS) for node, limit in limits.items())


@pytest.mark.parametrize("case", BOUNDS)
def test_the_second_opinion_checks_all_but_what_the_limit_grants(case):
    app = bounded(create_agent(always(calls("search")), [search], middleware=BOUNDS[case][0]))
    assert [each.partition(":")[0] for each in check_certificate(app, app.certificate)] == ["not checked"]
    less = app.certificate.model_copy(update={"max_supersteps": app.certificate.max_supersteps - 1})
    assert any(each.startswith("max_supersteps is at least") for each in check_certificate(app, less))


NO_BOUNDS = {
    "tool calls, continue": [ToolCallLimitMiddleware(run_limit=3)],
    "calls of one tool": [ToolCallLimitMiddleware(tool_name="read", run_limit=3, exit_behavior="end")],
    "nothing counted on the way round": [ModelCallLimitMiddleware(run_limit=3), JumpsAfterModel()],
    "back from the end": [ModelCallLimitMiddleware(run_limit=3), JumpsAfterAgent()],
    "ours, back from the end": [LoopMiddleware(limit=3), JumpsAfterAgent()],
    "tool calls, back from the end": [ToolCallLimitMiddleware(run_limit=3, exit_behavior="end"), JumpsAfterAgent()],
    "somebody changed it": [Forgetful(run_limit=3)],
}  # fmt: skip


@pytest.mark.parametrize("case", NO_BOUNDS)
def test_a_limit_that_something_goes_round_is_no_bound(case):
    agent = create_agent(always(calls("search")), [search], middleware=NO_BOUNDS[case])
    assert own_limits(agent.builder) == {}
    assert visits(agent)["the step limit"]


def test_a_count_that_an_input_can_set_is_no_bound():
    agent = create_agent(
        always(calls("search")), [search], middleware=[ModelCallLimitMiddleware(run_limit=3)], state_schema=Open
    )
    assert own_limits(agent.builder) == {}
    assert visits(agent, input={**ASK, "run_model_call_count": -99})["the step limit"]


class JumpsBeforeModel(AgentMiddleware):
    """Sends the agent back to where it comes from."""

    @hook_config(can_jump_to=["model", "tools"])
    def before_model(self, state: Any, runtime: Any) -> Any:
        return {"jump_to": "tools"} if isinstance(state["messages"][-1], AIMessage) else {"jump_to": "model"}


MIXED = (
    lambda: ModelCallLimitMiddleware(run_limit=2),
    lambda: ToolCallLimitMiddleware(run_limit=2, exit_behavior="end"),
    lambda: ToolCallLimitMiddleware(tool_name="search", run_limit=2),
    lambda: LoopMiddleware(limit=2),
    JumpsAfterModel,
    JumpsAfterAgent,
    JumpsBeforeModel,
)


@pytest.mark.matrix
@pytest.mark.parametrize("format", [None, ToolStrategy(Note)], ids=["text", "structured"])
@pytest.mark.parametrize(
    "model", [always(calls("search")), always(calls("Note")), always("no")], ids=["calls", "notes", "says no"]
)
@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_no_limit_is_claimed_that_is_not_kept_in_whatever_company(model, format, size):
    claimed = 0
    for middle in permutations(MIXED, size):
        agent = create_agent(model, [search], middleware=[make() for make in middle], response_format=format)
        limits = own_limits(agent.builder)
        ran = visits(agent, steps=40)
        claimed += len(limits)
        for node, limit in limits.items():
            assert ran[node] <= limit + 1, [type(one).__name__ for one in middle]
    assert claimed


def test_what_a_run_is_to_a_run_limit():
    """An answer to an interrupt starts LangChain's ``run_limit`` anew, not its ``thread_limit``, and not ours."""

    def asked(middle: Any) -> int:
        model = always(calls("search"))
        human = HumanInTheLoopMiddleware(interrupt_on={"search": True})
        agent = create_agent(model, [search], middleware=[middle, human], checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "one"}}
        agent.invoke(ASK, config)
        for _ in range(5):
            if agent.get_state(config).interrupts:
                agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
        return len(model.calls)

    assert asked(ModelCallLimitMiddleware(run_limit=2)) == 6
    assert asked(ModelCallLimitMiddleware(thread_limit=2)) == 2
    assert asked(LoopMiddleware(limit=1)) == 2

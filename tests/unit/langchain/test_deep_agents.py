"""Deep agents, supervisors and swarms stop, with the agents inside, whatever their models want."""

import asyncio
from typing import Any

import deepagents
import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm
from looping_agents import calls, search

from loopwright import bounded
from loopwright.engine.proof.agent_limits import own_limits
from loopwright.engine.proof.read import read_topology
from loopwright.langchain import LoopMiddleware
from loopwright.testing import ScriptedChatModel, always

ASK = {"messages": [("user", "What is a loop?")]}


def delegate(to: str) -> Any:
    return calls("task", description="Find out.", subagent_type=to)


def subagent(name: str, model: Any, *middle: Any) -> Any:
    return {"name": name, "description": name, "system_prompt": "Find out.", "tools": [search], "model": model,
            "middleware": list(middle)}  # fmt: skip


def two(finder: Any, reader: Any) -> list[Any]:
    return [subagent("finder", finder, LoopMiddleware(limit=2)), subagent("reader", reader, LoopMiddleware(limit=1))]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_two_subagents_that_never_end_and_a_main_agent_that_never_ends(asynchronous):
    finder, reader = (always(calls("search")) for _ in range(2))
    turn = iter(["finder", "reader"] * 50)
    main = always(lambda messages: delegate(next(turn))(messages))
    limited = {"middleware": [LoopMiddleware(limit=3)], "checkpointer": InMemorySaver(), "name": "chief"}
    agent = deepagents.create_deep_agent(main, [search], subagents=two(finder, reader), **limited)
    assert own_limits(agent.builder, read_topology(agent).ways(granted=True)) == {"LoopMiddleware.before_model": 4}
    config: Any = {"configurable": {"thread_id": "one"}, "recursion_limit": 300}
    for turns in (1, 2):
        final = asyncio.run(agent.ainvoke(ASK, config)) if asynchronous else agent.invoke(ASK, config)
        assert [len(model.calls) for model in (main, finder, reader)] == [4 * turns, 6 * turns, 4 * turns]
        assert (final["stop_reason"]["loop"], final["stop_reason"]["spent"]) == ("chief", 3)
        results = [message.text for message in final["messages"] if isinstance(message, ToolMessage)]
        assert [text.splitlines()[0] for text in results[-4:-2]] == [
            "I stopped before I had an answer: the limit of 2 passes was reached in loop 'finder'.",
            "I stopped before I had an answer: the limit of 1 pass was reached in loop 'reader'.",
        ]


def test_the_main_agents_stop_reason_tells_of_the_subagents_that_were_stopped():
    finder, reader = (always(calls("search")) for _ in range(2))

    def both(messages: Any) -> AIMessage:
        asked = [*delegate("finder")(messages).tool_calls, *delegate("reader")(messages).tool_calls]
        return AIMessage("", tool_calls=[{**call, "id": str(place)} for place, call in enumerate(asked)])

    model, limited = ScriptedChatModel(both, "Nothing is known."), [LoopMiddleware(limit=5)]
    agent = deepagents.create_deep_agent(model, subagents=two(finder, reader), middleware=limited)
    final = agent.invoke(ASK, {"recursion_limit": 300})
    assert final["messages"][-1].text == "Nothing is known."
    assert sorted((stop["loop"], stop["spent"]) for stop in final["stop_reason"]) == [("finder", 2), ("reader", 1)]


def deep(main: Any, finder: Any) -> Any:
    return deepagents.create_deep_agent(main, [search], subagents=[subagent("finder", finder)])


def supervised(main: Any, finder: Any) -> Any:
    return create_supervisor([create_agent(finder, [search], name="finder")], model=main).compile()


@pytest.mark.parametrize(("made", "to"), [(deep, delegate("finder")), (supervised, calls("transfer_to_finder"))])
def test_one_limit_bounds_the_agent_and_the_agents_inside(made, to, caplog):
    main, finder = always(to), always(calls("search"))
    assert bounded(made(main, finder), limit=2).invoke(ASK, {"recursion_limit": 300})["stop_reason"]
    assert [len(main.calls), len(finder.calls)] == [3, 9]
    assert "no limit reaches it" not in caplog.text


def test_one_limit_bounds_a_swarm_and_its_agents():
    models = [always(calls(f"transfer_to_{to}")) for to in "ba"]
    tools = [[search, create_handoff_tool(agent_name=to)] for to in "ba"]
    agents = [create_agent(*each, name=name) for *each, name in zip(models, tools, "ab", strict=True)]
    assert bounded(create_swarm(agents, default_active_agent="a").compile(), limit=2).invoke(ASK)["stop_reason"]
    assert sum(len(model.calls) for model in models) <= 6

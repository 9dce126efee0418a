"""Deep agents' declarative subagents stop through their ``middleware`` list, whatever their models want."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from loopwright.engine.proof.agent_limits import own_limits
from loopwright.engine.proof.read import read_topology
from loopwright.langchain import LoopMiddleware
from loopwright.testing import ScriptedChatModel

deepagents = pytest.importorskip("deepagents")

ASK = {"messages": [("user", "What is a loop?")]}


def search(query: str) -> str:
    """Search."""
    return "Nothing found."


def calls(tool: str, **args: Any) -> Any:
    return lambda messages: AIMessage("", tool_calls=[{"name": tool, "args": args, "id": f"{tool} {len(messages)}"}])


def delegate(to: str) -> Any:
    return calls("task", description="Find out.", subagent_type=to)


def subagent(name: str, model: Any, *middle: Any) -> Any:
    return {"name": name, "description": name, "system_prompt": "Find out.", "tools": [search], "model": model,
            "middleware": list(middle)}  # fmt: skip


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_two_subagents_that_never_end_and_a_main_agent_that_never_ends(asynchronous):
    finder, reader = (ScriptedChatModel(calls("search", query="x"), repeat_last=True) for _ in range(2))
    turn = iter(["finder", "reader"] * 50)
    main = ScriptedChatModel(lambda messages: delegate(next(turn))(messages), repeat_last=True)
    agent = deepagents.create_deep_agent(
        main,
        [search],
        subagents=[
            subagent("finder", finder, LoopMiddleware(limit=2)),
            subagent("reader", reader, LoopMiddleware(limit=1)),
        ],
        middleware=[LoopMiddleware(limit=3)],
        checkpointer=InMemorySaver(),
        name="chief",
    )
    assert own_limits(agent.builder, [(edge.source, edge.target) for edge in read_topology(agent).edges]) == {
        "LoopMiddleware.before_model": 4
    }
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
    finder, reader = (ScriptedChatModel(calls("search", query="x"), repeat_last=True) for _ in range(2))

    def both(messages: Any) -> AIMessage:
        asked = [*delegate("finder")(messages).tool_calls, *delegate("reader")(messages).tool_calls]
        return AIMessage("", tool_calls=[{**call, "id": str(place)} for place, call in enumerate(asked)])

    subagents = [
        subagent("finder", finder, LoopMiddleware(limit=2)),
        subagent("reader", reader, LoopMiddleware(limit=1)),
    ]
    agent = deepagents.create_deep_agent(
        ScriptedChatModel(both, "Nothing is known."), subagents=subagents, middleware=[LoopMiddleware(limit=5)]
    )
    final = agent.invoke(ASK, {"recursion_limit": 300})
    assert final["messages"][-1].text == "Nothing is known."
    assert sorted((stop["loop"], stop["spent"]) for stop in final["stop_reason"]) == [("finder", 2), ("reader", 1)]

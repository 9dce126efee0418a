"""Agents, and deep agents, supervisors and swarms with the agents inside, stop whatever their models want.

One that is stopped tells so, ends as it would by itself, and leaves a history that models accept.
"""

import asyncio
from typing import Any

import deepagents
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm
from looping_agents import calls, search, unanswered

from loopwright import Budget, bounded
from loopwright.engine.proof.agent_limits import own_limits
from loopwright.engine.proof.read import read_topology
from loopwright.fallbacks import say_what_is_missing
from loopwright.langchain import LoopMiddleware
from loopwright.testing import ScriptedChatModel, always

ASK: Any = {"messages": [("user", "What is a loop?")]}


@pytest.mark.parametrize("told", ["last_message", "full_history"])
def test_an_agent_inside_that_is_stopped_gives_no_tools_result_for_its_answer(told: Any) -> None:
    finder = create_agent(always(calls("search", "search")), [search], name="finder")
    model = ScriptedChatModel(calls("transfer_to_finder"), "done")
    final = bounded(create_supervisor([finder], model=model, output_mode=told), limit=2).invoke(ASK)
    said = "I stopped before I had an answer: the limit of 2 passes was reached in loop 'finder'."
    assert said in [message.text for message in model.calls[-1].messages]
    assert [unanswered(call.messages) for call in model.calls] == [set(), set()]
    assert final["messages"][-1].text == "done"


def test_whoever_calls_an_agent_that_was_stopped_is_told_so() -> None:
    finder = create_agent(always(calls("search")), [search])

    def colleague(question: str) -> str:
        """Ask a colleague."""
        return finder.invoke({"messages": [("user", question)]})["messages"][-1].text

    final = bounded(create_agent(ScriptedChatModel(calls("colleague", question="?"), "ok"), [colleague]), limit=1)
    assert "I stopped before I had an answer" in final.invoke(ASK)["messages"][-2].text


@pytest.mark.parametrize("options", [
    {"limit": 9, "budget": Budget(model_calls=1)},
    {"limit": 9, "budget": Budget(model_calls=2), "fallback": lambda state: {"messages": [AIMessage("Sorry.")]}},
    {"limit": 9, "step": 4},
    {"limit": 9, "step": 4, "checkpointer": False},
], ids=["budget", "own fallback", "step limit", "nothing kept"])  # fmt: skip
def test_a_run_that_is_cut_off_leaves_no_tool_call_open(options: dict[str, Any]) -> None:
    step = {"recursion_limit": options.pop("step")} if "step" in options else {}
    app = bounded(create_agent(always(calls("think", n=1)), [think], checkpointer=InMemorySaver()), **options)
    for _ in range(2):
        final = app.invoke(ASK, {"configurable": {"thread_id": "one"}, **step})
        assert final["stop_reason"]
        assert unanswered(final["messages"]) == set()
        kept = app.get_state({"configurable": {"thread_id": "one"}}).values if app.checkpointer else final
        assert [message.id for message in kept["messages"]] == [message.id for message in final["messages"]]


def think(n: int) -> str:
    """A tool that asks a model itself."""
    return always("hm").invoke("?").text


class Room(AgentMiddleware[Any, Any, Any]):
    """Opens something before an agent begins, and closes it at its end."""

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    def before_agent(self, state: Any, runtime: Any) -> None:
        self.seen.append("open")

    def after_agent(self, state: Any, runtime: Any) -> None:
        self.seen.append("closed")


@pytest.mark.parametrize("options", [
    {"limit": 2},
    {"limit": 2, "fallback": say_what_is_missing()},
    {"limit": 9, "budget": Budget(model_calls=2)},
    {"limit": 9, "budget": Budget(model_calls=2), "fallback": say_what_is_missing()},
], ids=["limit", "fallback", "budget", "both"])  # fmt: skip
def test_what_a_middleware_does_at_an_agents_end_is_done_when_it_is_stopped_too(options: dict[str, Any]) -> None:
    seen: list[str] = []
    agent = create_agent(always(calls("search")), [search], middleware=[Room(seen)])
    assert bounded(agent, **options).invoke(ASK)["stop_reason"]
    assert seen == ["open", "closed"]
    inside = create_supervisor([create_agent(always(calls("search")), [search], middleware=[Room(seen)],
                                             name="finder")],
                               model=ScriptedChatModel(calls("transfer_to_finder"), "done"))  # fmt: skip
    bounded(inside, limit=2).invoke(ASK)
    assert seen == ["open", "closed"] * 2


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

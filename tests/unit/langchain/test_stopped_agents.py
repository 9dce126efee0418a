"""An agent that is stopped tells so, ends as it would by itself, and leaves a history that models accept."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_supervisor import create_supervisor
from looping_agents import calls, search, unanswered

from loopwright import Budget, bounded
from loopwright.fallbacks import say_what_is_missing
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

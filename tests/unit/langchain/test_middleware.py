"""LoopMiddleware stops agents whose models never say yes, and leaves a history that providers accept; its stall rules."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ModelRetryMiddleware, wrap_model_call
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from looping_agents import JumpsAfterModel, calls, unanswered
from pydantic import BaseModel

from loopwright import Budget, Loop, StateLimit, bounded
from loopwright.engine.events.reasons import warning
from loopwright.errors import LoopDeclarationError
from loopwright.fallbacks import answer_without_tools, best_effort
from loopwright.langchain import LoopMiddleware, alternation, repeated_error, same_call_same_result
from loopwright.testing import ScriptedChatModel, always

ASK = {"messages": [("user", "What is a loop?")]}


class Desk:
    """Two tools that note when they are run."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def search(self, query: str) -> str:
        """Search."""
        self.ran.append("search")
        return f"Nothing found, {len(self.ran)} times."

    def read(self, query: str) -> str:
        """Read."""
        self.ran.append("read")
        return "An empty page."


def never(*names: str) -> ScriptedChatModel:
    return always(calls(*(names or ("search",))))


def agent_of(
    model: ScriptedChatModel, *others: Any, desk: Desk | None = None, middle: Any = None, **options: Any
) -> Any:
    desk = desk or Desk()
    # Not every name of an agent may be a loop's: it is made one, as `bounded` does.
    return create_agent(model, [desk.search, desk.read], middleware=[middle, *others], name="finder:", **options)


def run(agent: Any, asynchronous: bool, input: Any = ASK, config: Any = None) -> Any:
    return asyncio.run(agent.ainvoke(input, config)) if asynchronous else agent.invoke(input, config)


BOTH = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


@BOTH
@pytest.mark.parametrize("limit", [0, 1, 4])
def test_a_model_that_never_ends_is_asked_once_more_than_the_limit(limit, asynchronous):
    model = never()
    final = run(agent_of(model, middle=LoopMiddleware(limit=limit)), asynchronous)
    assert len(model.calls) == limit + 1
    stop = final["stop_reason"]
    assert (stop["loop"], stop["outcome"], stop["limit"], stop["spent"]) == ("finder", "exhausted", limit, limit)
    assert stop["reason"] == "search(query='loop')"
    assert isinstance(final["messages"][-1], AIMessage)
    assert final["messages"][-1].text == (
        f"I stopped before I had an answer: the limit of {limit} pass{'es' if limit != 1 else ''} was reached in loop "
        "'finder'.\nAsked: What is a loop?\n"
        f"Tried: search(query='loop'){f' {limit + 1} times' if limit else ''}; "
        f"{limit} pass{'es' if limit != 1 else ''} of loop 'finder'.\nNot found out: the answer to the question"
    )
    assert unanswered(final["messages"]) == set()


@BOTH
def test_an_agent_that_ends_by_itself_gives_what_it_gives_without(asynchronous):
    def texts(*middle: Any) -> list[str]:
        model = ScriptedChatModel(calls("search"), "A loop goes round.")
        final = run(create_agent(model, [Desk().search], middleware=middle), asynchronous)
        assert final.get("stop_reason") is None
        return [message.text for message in final["messages"]]

    assert texts(LoopMiddleware(limit=1)) == texts()


@BOTH
def test_it_decides_and_reports_as_a_gate_does(asynchronous, caplog):
    def seen(agent: Any) -> tuple[list[Any], list[str], Any]:
        caplog.clear()
        with caplog.at_level(logging.INFO, "loopwright.loops"):
            if asynchronous:

                async def collect() -> list[Any]:
                    return [part async for part in agent.astream(ASK, stream_mode=["custom", "values"])]

                parts = asyncio.run(collect())
            else:
                parts = [*agent.stream(ASK, stream_mode=["custom", "values"])]
        events = [{**part, "at": "", "step": 0} for mode, part in parts if mode == "custom"]
        final = [part for mode, part in parts if mode == "values"][-1]
        return events, [record.getMessage() for record in caplog.records], {**final["stop_reason"], "step": 0}

    declared = Loop(name="finder", target="model", sources=("tools",), limit=3, stall=same_call_same_result())
    steady = ScriptedChatModel(calls("search"), calls("read"), calls("read"), repeat_last=True)
    gate = bounded(create_agent(steady, [Desk().search, Desk().read], name="finder"), [declared])
    again = ScriptedChatModel(calls("search"), calls("read"), calls("read"), repeat_last=True)
    by_hand = agent_of(again, middle=LoopMiddleware(limit=3, stall=same_call_same_result()))
    ours, theirs = seen(by_hand), seen(gate)
    assert ours == theirs
    assert [event["decision"] for event in ours[0]] == ["granted", "granted", "stalled"]


def test_the_limit_can_come_from_the_state_and_is_frozen_for_the_run():
    class WithLevel(AgentState):
        level: int

    model = never()
    limit = StateLimit(key="level", default=1, ceiling=3)
    agent = agent_of(model, middle=LoopMiddleware(limit=limit), state_schema=WithLevel)
    for level, passes in ((2, 2), (50, 3), (None, 1)):
        before = len(model.calls)
        final = agent.invoke({**ASK, "level": level})
        assert (len(model.calls) - before, final["stop_reason"]["limit"]) == (passes + 1, passes)
    with pytest.raises(LoopDeclarationError, match="state key 'level' must be a whole number from 0 up, not 'two'"):
        agent.invoke({**ASK, "level": "two"})


def test_a_key_of_the_same_name_is_not_written_over():
    class Own(AgentState):
        stop_reason: str

    agent = agent_of(never(), middle=LoopMiddleware(limit=1), state_schema=Own)
    final = agent.invoke({**ASK, "stop_reason": "mine"})
    assert final["stop_reason"] == "mine" and "the limit of 1 pass was reached" in final["messages"][-1].text
    agent = agent_of(ScriptedChatModel("Done."), middle=LoopMiddleware(limit=1), state_schema=Own)
    assert "stop_reason" not in agent.invoke(ASK)


@BOTH
def test_a_new_input_on_a_thread_starts_anew_and_clears_the_stop_reason(asynchronous):
    model = ScriptedChatModel(*[calls("search")] * 6, "Done.")
    agent = agent_of(model, middle=LoopMiddleware(limit=2), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "one"}}
    for spent in (3, 6):
        final = run(agent, asynchronous, config=config)
        assert len(model.calls) == spent
        assert final["stop_reason"]["spent"] == 2
    final = run(agent, asynchronous, config=config)
    assert final["messages"][-1].text == "Done."
    assert final.get("stop_reason") is None
    assert unanswered(final["messages"]) == set()


@BOTH
def test_an_answer_to_an_interrupt_grants_nothing(asynchronous):
    model, desk = never(), Desk()
    human = HumanInTheLoopMiddleware(interrupt_on={"search": True})
    agent = agent_of(model, human, desk=desk, middle=LoopMiddleware(limit=2), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "one"}}
    final = run(agent, asynchronous, config=config)
    answers = 0
    while "__interrupt__" in final:
        answers += 1
        assert answers < 10
        final = run(agent, asynchronous, Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert (answers, len(model.calls), len(desk.ran)) == (3, 3, 3)
    assert final["stop_reason"]["spent"] == 2


@BOTH
def test_a_resume_after_a_crash_grants_nothing(asynchronous):
    class Broken(Desk):
        def search(self, query: str) -> str:
            """Search."""
            result = super().search(query)
            if len(self.ran) == 2:
                raise ConnectionError("gone")
            return result

    model = never()
    agent = agent_of(model, desk=Broken(), middle=LoopMiddleware(limit=3), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "one"}}
    with pytest.raises(ConnectionError):
        run(agent, asynchronous, config=config)
    final = run(agent, asynchronous, None, config)
    assert (len(model.calls), final["stop_reason"]["spent"]) == (4, 3)


@pytest.mark.parametrize("fallback", [None, lambda state: "No answer."])
def test_calls_that_were_never_run_are_answered(fallback):
    model = never("search", "read")
    final = agent_of(model, JumpsAfterModel(), middle=LoopMiddleware(limit=0, fallback=fallback)).invoke(ASK)
    assert len(model.calls) == 1
    answers = [message for message in final["messages"] if isinstance(message, ToolMessage)]
    assert [answer.status for answer in answers] == ["error", "error"]
    assert all(answer.text.startswith("not run: the limit of 0 passes") for answer in answers)
    assert unanswered(final["messages"]) == set()


class Answer(BaseModel):
    text: str
    sure: bool


@BOTH
@pytest.mark.parametrize(
    ("fallback", "last"),
    [
        (lambda state: "No answer.", "No answer."),
        (lambda state: AIMessage(f"Stopped at {state['stop_reason']['limit']}."), "Stopped at 1."),
        (lambda state: [HumanMessage("Well?"), AIMessage("No.")], "No."),
        (lambda state: {"messages": [("ai", "No.")]}, "No."),
        (lambda state: {"messages": ("ai", "No.")}, "No."),
        (lambda state: {"role": "assistant", "content": "No."}, "No."),
        (lambda state: (HumanMessage("Well?"), AIMessage("No.")), "No."),
        (lambda state: {}, "I stopped before I had an answer"),
        (lambda state: None, "I stopped before I had an answer"),
        (lambda state: calls("search")(state["messages"]), ""),
        (answer_without_tools(always("From what there is: no.")), "From what there is: no."),
    ],
)
def test_a_fallback_answers_in_whatever_form(fallback, last, asynchronous):
    agents = [agent_of(never("search", "read"), middle=LoopMiddleware(limit=1, fallback=fallback))]
    if last and not last.startswith("I stopped"):  # what is an answer is one in a bounded graph, too
        agents += [bounded(create_agent(never("search"), [Desk().search]), limit=1, fallback=fallback)]
    for final in (run(agent, asynchronous) for agent in agents):
        said = [message for message in final["messages"] if isinstance(message, AIMessage)]
        assert said[-1].text.startswith(last)
        assert unanswered(final["messages"]) == set()


def test_a_fallback_that_gives_no_answer_is_named():
    with pytest.raises(LoopDeclarationError, match="its fallback gave 5: give text, a message"):
        agent_of(never("search"), middle=LoopMiddleware(limit=1, fallback=lambda state: 5)).invoke(ASK)


@BOTH
def test_further_calls_of_a_tool_are_answered_and_the_others_run(asynchronous):
    desk = Desk()
    model = ScriptedChatModel(calls("search", "read", "search"), calls("search", "read"), "Done.")
    final = run(agent_of(model, desk=desk, middle=LoopMiddleware(limit=9, per_tool={"search": 1})), asynchronous)
    assert sorted(desk.ran) == ["read", "read", "search"]
    assert final["messages"][-1].text == "Done."
    assert final.get("stop_reason") is None
    assert unanswered(final["messages"]) == set()
    told = "not run: search was called as often as it may be in one run (1). Go on without it."
    assert [each.text for each in final["messages"] if getattr(each, "status", "") == "error"] == [told] * 2


def test_a_limit_of_a_tool_that_the_agent_does_not_have_is_told_once(caplog):
    given = [len, {"type": "function", "function": {"name": "web"}}]  # as LangChain binds them, too
    more = wrap_model_call(lambda request, go: go(request.override(tools=[*request.tools, *given])))
    limited = LoopMiddleware(limit=2, per_tool={"serch": 1, "rea": 1, "len": 1, "web": 1})
    agent_of(never(), limited, middle=more).invoke(ASK)
    for told in ("'rea'. Did you mean 'read'?", "'serch'. Did you mean 'search'? Known: len, read, search, web."):
        assert caplog.text.count(f"per_tool has an unknown tool {told}") == 1


def test_the_last_rounds_are_announced_to_the_model_and_not_kept():
    model = never()
    final = agent_of(model, middle=LoopMiddleware(limit=3, warn_at=2)).invoke(ASK)
    assert [call.text if "Note" in call.text else "" for call in model.calls] == ["", *map(warning, (2, 1, 0))]
    assert "2 more rounds" in model.calls[1].text
    assert not any("Note:" in message.text for message in final["messages"])


@BOTH
def test_a_budget_counts_the_agents_calls_with_their_retries(asynchronous):
    outcomes = iter([ConnectionError("busy"), calls("search")] * 20)

    def flaky(messages: Any) -> Any:
        outcome = next(outcomes)
        return outcome if isinstance(outcome, Exception) else outcome(messages)

    model = ScriptedChatModel(flaky, repeat_last=True)
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    final = run(agent_of(model, retry, middle=LoopMiddleware(limit=50, budget=Budget(model_calls=5))), asynchronous)
    # Looked at before a pass: the third one finds 6 of 5 spent.
    assert len(model.calls) == 6
    assert final["stop_reason"] | {"step": 0} == {
        "loop": "finder", "outcome": "over_budget", "resource": "model_calls", "limit": 5, "spent": 6,
        "reason": "search(query='loop')", "derived": True, "step": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"limit": "3"}, "limit is '3': give a whole number from 0 up"),
        ({"limit": 1, "per_tool": {"search": -1}}, "per_tool is {'search': -1}: give the calls"),
        ({"limit": 1, "per_tool": {5: 1}}, r"per_tool is {5: 1}: give the calls"),
        ({"limit": 1, "stall": 5}, "stall is"),
        ({"limit": 1, "warn_at": 1.5}, "warn_at is 1.5: give a whole number from 0 up"),
        ({"limit": 1, "budget": Budget(seconds=1)}, "the budget's seconds cannot be kept by a middleware"),
        ({"limit": 1, "budget": Budget(tokens=1, exhausted="x")}, "its budget names exhausted='x'.*'fallback'"),
        ({"limit": 1, "fallback": "answer"}, "fallback is 'answer': give a function of the state"),
        ({"limit": 1, "fallback": lambda: {}}, "fallback is <.*: give a function of the state .*too many positional"),
        ({"limit": 1, "fallback": best_effort}, r"fallback is <.*makes a node; write best_effort\(...\)"),
        ({"limit": 1, "fallback": always("")}, "fallback is Scripted.*it takes messages.*answer_without_tools"),
        ({"limit": 1, "stall": same_call_same_result}, r"is called: same_call_same_result\(...\)"),
        ({"limit": StateLimit(key=lambda _: {}["no"], default=1, ceiling=1)}, "limit .* failed with KeyError: 'no'"),
    ],
)
def test_bad_values_are_named(options, problem):
    with pytest.raises(LoopDeclarationError, match=problem):
        agent_of(never(), middle=LoopMiddleware(**options)).invoke(ASK)


Round = list[tuple[str, str]]
"""Calls, as ``name`` or ``name:argument``, each with its result; one that begins with ! is an error."""


def messages_of(rounds: list[Round]) -> list[Any]:
    messages: list[Any] = [HumanMessage("q")]
    for number, pairs in enumerate(rounds):
        asked = [call.partition(":") for call, _result in pairs]
        messages.append(
            AIMessage("", tool_calls=[{"name": name, "args": {"q": argument}, "id": f"{number}-{place}"}
                                      for place, (name, _colon, argument) in enumerate(asked)])
        )  # fmt: skip
        for place, (call, result) in enumerate(pairs):
            status = "error" if result.startswith("!") else "success"
            messages.append(ToolMessage(result, tool_call_id=f"{number}-{place}", name=call, status=status))
    return messages


def stalled_at(rule: Any, rounds: list[Round]) -> int | None:
    """The round, from 1, at which a rule finds no progress."""
    notes: list[Any] = []
    for count in range(1, len(rounds) + 1):
        look = rule.look({"messages": messages_of(rounds[:count])}, notes)
        if look.stalled:
            return count
        notes = look.notes
    return None


def one(*calls: str) -> list[Round]:
    """Rounds of one call each: ``call=result``."""
    return [[(name, result)] for name, _sign, result in (call.partition("=") for call in calls)]


@pytest.mark.parametrize(
    ("rule", "rounds", "at"),
    [
        (same_call_same_result(), one("a=1", "b=1", "c=1", "a=1"), 4),
        # the result decides
        (same_call_same_result(), one("a=1", "a=2", "a=3", "a=4"), None),
        # an old pair beside a new one is progress; nothing but old ones is none, in whatever order and company
        (same_call_same_result(), [[("a", "1")], [("a", "1"), ("b", "1")], [("c", "1")]], None),
        (same_call_same_result(), [[("a", "1")], [("b", "1")], [("b", "1"), ("a", "1")]], 3),
        (same_call_same_result(times=2), one("a=1", "a=1", "a=1"), 3),
        (same_call_same_result(times=2), one("a=1", "a=1", "b=1", "b=1", "c=1", "c=1"), None),
        (same_call_same_result(remembers=2), one("a=1", "b=1", "c=1", "a=1"), None),
        (alternation(), one("a=1", "b=2", "a=3", "b=4"), 4),
        (alternation(), one("a=1", "b=2", "a=3", "c=4", "a=5", "b=6"), None),
        (alternation(), one("a=1", "a=2", "a=3", "a=4"), None),
        (alternation(), one("a:1=1", "b=2", "a:2=3", "b=4"), None),
        (alternation(times=3), one("a=1", "b=1", "a=1", "b=1", "a=1", "b=1"), 6),
        (repeated_error(), one("a:1=!gone", "a:2=!gone"), 2),
        (repeated_error(), one("a=!gone", "a=!late", "a=!gone"), None),
        (repeated_error(), one("a=!gone", "a=fine", "a=!gone"), None),
        (repeated_error(), [[("a", "!gone"), ("b", "fine")]] * 3, None),
    ],
)  # fmt: skip
def test_rounds_without_progress(rule, rounds, at):
    assert stalled_at(rule, rounds) == at


def test_states_with_attributes_and_messages_in_other_forms_are_read():
    thread = [
        {"role": "assistant", "content": "", "tool_calls": [{"name": "a", "args": {}, "id": "1", "type": "tool_call"}]},
        {"role": "tool", "content": "gone", "tool_call_id": "1", "status": "error"},
    ]
    assert repeated_error(messages="thread", times=1).look(SimpleNamespace(thread=thread), []).stalled

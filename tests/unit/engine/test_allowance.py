"""What a graph asks of an allowance that somebody handed in: once for each call, before it, and what it took after it."""

from __future__ import annotations

import pytest
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from loopwright.engine import Budget, bounded
from loopwright.engine.budget.budget import Overspent
from loopwright.engine.budget.meter import allowance
from loopwright.testing import ScriptedChatModel


class State(TypedDict, total=False):
    said: str


class Purse:
    """An allowance of so many calls that writes down what it is asked."""

    def __init__(self, calls: int) -> None:
        self.left, self.told = calls, []
        self._open = set()

    def reserve(self, call, model, prompt_tokens, reply_tokens):
        self.told.append((model, prompt_tokens > 0, reply_tokens))
        if self.left == 0:
            return Overspent("model_calls", 0, 0, "the purse is empty")
        self.left -= 1
        self._open.add(call)
        return None

    def settle(self, call, model, usage):
        self._open.remove(call)
        self.told.append(usage and usage.total_tokens)


@pytest.fixture
def purse():
    made = Purse(1)
    token = allowance.set(made)
    yield made
    assert not made._open
    allowance.reset(token)


def of(*nodes):
    builder = StateGraph(State)
    builder.add_sequence(nodes)
    builder.add_edge(START, nodes[0][0])
    return builder


def test_a_graph_without_loops_budget_and_saver_ends_with_what_it_has(purse):
    model = ScriptedChatModel("so it is", repeat_last=True)

    def ask(state):
        return {"said": state.get("said", "") + model.bind(max_tokens=9).invoke("Why?").text}

    state = bounded(of(("first", ask), ("second", ask))).invoke({})
    assert (state["said"], state["stop_reason"]["reason"]) == ("so it is", "the purse is empty")
    assert len(model.calls) == 1 and purse.told[0][2] == 9


def test_graphs_inside_ask_once_and_a_budgets_fallback_answers(purse):
    model = ScriptedChatModel("so it is", repeat_last=True)
    inner = bounded(of(("ask", lambda _state: {"said": model.invoke("Why?").text})), budget=Budget(model_calls=5))
    builder = of(("first", inner), ("second", inner))
    builder.add_node("excuse", lambda state: {"said": f"{state['said']}, and no more"})
    builder.add_edge("excuse", END)
    state = bounded(builder, budget=Budget(model_calls=9, exhausted="excuse")).invoke({})
    assert state["said"] == "so it is, and no more"
    assert (state["stop_reason"]["loop"], state["stop_reason"]["reason"]) == ("run", "the purse is empty")
    assert purse.told == [("scripted", True, None), 4, ("scripted", True, None)]

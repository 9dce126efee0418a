"""Random graph programs, written as source in many idioms: what ``check`` says against what LangGraph then does.

A program's truth is known by running it: every router and every Command is a script that the state steers, so every way
that a node can take is tried, and a graph goes round if some way leads back to a node that led there.
"""

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from loopwright.check.findings import Checker
from loopwright.engine.proof.graph import cyclic_components

HEAD = """
import functools
from typing import Any, Literal
from typing_extensions import TypedDict
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send

class State(TypedDict, total=False):
    pick: dict

def plain(state): return {}

def passing(function):
    @functools.wraps(function)
    def passed(state): return function(state)
    return passed

def wrapping(function):
    def wrapped(state): return function(state)
    return wrapped

def go(to): return Command(goto=to)

def chosen(node, state): return state["pick"].get(node, 0)
"""
# In a node, "pick" says which of its ways it takes; 0 is the first.


def _table(ways: list[str], key: type = int) -> str:
    return ", ".join(f"{key(number)!r}: {way!r}" for number, way in enumerate(ways))


def command(name: str, ways: list[str], idiom: str) -> tuple[str, str]:
    """The source of a node that goes one of these ways by a Command, and the expression that stands for it."""
    tests = [f"if chosen({name!r}, state) == {number}: return {{}}" for number in range(len(ways))]
    made = {
        "helper": "go({!r})", "method": "self.back({!r})", "send": "Command(goto=[Send({!r}, state)])",
    }.get(idiom, "Command(goto={!r})")  # fmt: skip
    returns = [
        test.format(made.format(way) if way != "__end__" else "Command(goto=END)")
        for test, way in zip(tests, ways, strict=True)
    ]
    body = "\n".join(f"    {line}" for line in returns)
    inner = "\n".join(f"        {line}" for line in returns)
    match idiom:
        case "method":
            text = f"class {name.upper()}:\n    def back(self, to): return Command(goto=to)\n    def run(self, state):\n{inner}\n"
            return text, f"{name.upper()}().run"
        case "closure":
            text = f"def make_{name}(ways):\n    def run(state): return Command(goto=ways[chosen({name!r}, state)])\n    return run\n"
            return text, f"make_{name}({{{_table(ways)}}})"
        case "variable":
            text = f"def {name}(state):\n    found = None\n" + "\n".join(
                f"    if chosen({name!r}, state) == {number}: found = Command(goto={way!r})"
                for number, way in enumerate(ways)
            )
            return f"{text}\n    return found\n", name
        case "wraps" | "wrapped":
            return f"@{'passing' if idiom == 'wraps' else 'wrapping'}\ndef {name}(state):\n{body}\n", name
        case "chain":
            return f"def {name}(state):\n{body}\n", f"RunnableLambda(lambda state: state) | RunnableLambda({name})"
        case "callable":
            return f"class {name.upper()}:\n    def __call__(self, state):\n{inner}\n", f"{name.upper()}()"
        case _:
            return f"def {name}(state):\n{body}\n", name


def router(name: str, ways: list[str], idiom: str) -> tuple[str, str]:
    """The source of a router behind a node, and what follows the source in ``add_conditional_edges``."""
    call = f"chosen({name!r}, state)"
    match idiom:
        case "map":
            return f"def route_{name}(state): return str({call})\n", f"route_{name}, {{{_table(ways, str)}}}"
        case "literal":
            said = f"Literal[{', '.join(map(repr, ways))}]"
            text = f"def route_{name}(state) -> {said}: return {{{_table(ways)}}}[{call}]\n"
        case "table":
            text = f"WAYS_{name} = {{{_table(ways)}}}\ndef route_{name}(state): return WAYS_{name}[{call}]\n"
        case "list" | "sends":
            sent = [f"Send({way!r}, state)" if idiom == "sends" and way != "__end__" else repr(way) for way in ways]
            text = f"def route_{name}(state):\n    out = []\n" + "\n".join(
                f"    if {call} == {number}: out.append({way})" for number, way in enumerate(sent)
            )
            text += "\n    return out\n"
        case _:
            text = f"def pick_{name}(state):\n    return {{{_table(ways)}}}[{call}]\n"
            text += f"def route_{name}(state): return pick_{name}(state)\n"
    return text, f"route_{name}"


COMMANDS = ("inline", "helper", "method", "closure", "variable", "wraps", "wrapped", "chain", "callable", "send")
ROUTERS = ("map", "literal", "table", "list", "sends", "helper")


def program(seed: int) -> tuple[str, dict[str, list[str]]]:
    """A random program, and the ways that each node has."""
    dice = random.Random(seed)
    names = [f"n{number}" for number in range(dice.randint(2, 5))]
    forward = dice.random() < 0.5
    lines, adding, ways = [HEAD], ["g = StateGraph(State)"], dict[str, list[str]]()
    for place, name in enumerate(names):
        can = [*(names[place + 1 :] if forward else names), "__end__"]
        goals = dice.sample(can, min(len(can), dice.randint(1, 2)))
        follows = names[place + 1] if place + 1 < len(names) else "__end__"
        goals = [*dict.fromkeys([*goals, follows])]  # so that every node is reached
        ways[name] = goals
        kind = dice.choice(("edge", "router", "command")) if len(goals) == 1 else dice.choice(("router", "command"))
        action = "plain"
        if kind == "command":
            idiom = dice.choice([idiom for idiom in COMMANDS if idiom != "send" or "__end__" not in goals])
            text, action = command(name, goals, idiom)
            lines.append(text)
        adding.append(f"g.add_node({name!r}, {action})")
        if kind == "edge":
            adding.append(f"g.add_edge({name!r}, {goals[0]!r})")
        if kind == "router":
            text, given = router(name, goals, dice.choice(ROUTERS))
            lines.append(text)
            adding.append(f"g.add_conditional_edges({name!r}, {given})")
    adding.append(f"g.add_edge(START, {names[0]!r})")
    if dice.random() < 0.3:
        adding = ["def build():", *(f"    {line}" for line in adding), "    return g", "app = build().compile()"]
    else:
        adding.append("app = g.compile()")
    return "\n".join([*lines, *adding, ""]), ways


def goes_round(text: str, ways: dict[str, list[str]]) -> bool:
    """Whether a run can come back to a node: every way of every node is taken in LangGraph, and the ways joined."""
    names: dict[str, Any] = {}
    exec(compile(text, "<program>", "exec"), names)
    app = names["app"]
    follow: dict[str, set[str]] = {name: set() for name in ways}
    for picks in itertools.islice(itertools.product(*(range(len(goals)) for goals in ways.values())), 243):
        pick = dict(zip(ways, picks, strict=True))
        before: str | None = None
        for step, update in enumerate(app.stream({"pick": pick}, {"recursion_limit": 9}, stream_mode="tasks")):
            if "input" in update:
                if before is not None:
                    follow[before].add(update["name"])
                before = update["name"]
            if step > 14:
                break
    return bool(cyclic_components(follow))


@pytest.mark.matrix(12)
@pytest.mark.parametrize("seed", range(100))
def test_a_random_program_is_bounded_only_if_it_never_comes_back(seed: int, tmp_path: Path) -> None:
    text, ways = program(seed)
    file = tmp_path / "file.py"
    file.write_text(text)
    (graph,) = Checker([tmp_path]).check(file)
    assert graph.verdict in ("bounded", "unbounded"), (graph.findings, text)
    assert (graph.verdict == "unbounded") == goes_round(text, ways), text

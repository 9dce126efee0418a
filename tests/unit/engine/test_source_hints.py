"""Where routers and Commands go, read from their source: exactly, or not at all."""

from __future__ import annotations

import operator
from enum import Enum, StrEnum
from functools import partial, wraps
from typing import Annotated, Any

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send
from typing_extensions import TypedDict

import loopwright.engine.loop as loops_module
from loopwright.engine.bounds import bounded
from loopwright.engine.loop import Loop
from loopwright.engine.proof.destinations import behaviour_of, router_words
from loopwright.engine.proof.read import read_topology
from loopwright.engine.proof.verify import verify

TARGET = "work"
CHANGED = "work"
CHANGED = "check"
MOVED = "work"
ALIAS = Command


def move() -> None:
    global MOVED
    MOVED = "check"


class Node(Enum):
    WORK = "work"


class Text(StrEnum):
    WORK = "work"


class Names:
    WORK = "work"
    _hidden = "check"

    @property
    def live(self) -> str:
        return "work"


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    items: list[int]


# Routers that can be read


def by_constant(_state: State) -> str:
    return "work"


def by_branch(state: State) -> str:
    if state:
        return "work"
    elif state is None:
        return END
    return "check"


def by_condition(state: State) -> Any:
    return "work" if state else ("check" if state is None else END)


def by_list(_state: State) -> list[str]:
    return ["work", TARGET, "check"]


def by_tuple(_state: State) -> Any:
    return ("work", END)


def by_name(_state: State) -> str:
    return TARGET


def by_module(_state: State) -> str:
    return loops_module.END


def by_class(_state: State) -> str:
    return Names.WORK


def by_text_enum(_state: State) -> str:
    return Text.WORK


def by_enum_value(_state: State) -> str:
    return Node.WORK.value


def by_sends(state: State) -> Any:
    return [Send("work", item) for item in state["items"]]


def by_send(_state: State) -> Any:
    return Send(node=TARGET, arg={})


def with_none(state: State) -> Any:
    if state:
        return None
    return "work"


def with_inner_function(_state: State) -> str:
    def other() -> str:
        return "check"

    other()
    return "work"


async def by_coroutine(_state: State) -> str:
    return "work"


def closing_over(target: str) -> Any:
    def router(_state: State) -> str:
        return target

    return router


class Router:
    def route(self, _state: State) -> str:
        return "work"

    def __call__(self, _state: State) -> str:
        return "work"


def with_argument(_state: State, *, level: int) -> str:
    return "work"


two = (lambda _: "work", lambda _: "check")


def by_local_name(_state: State) -> str:
    target = "work"
    return target


READABLE: dict[str, tuple[Any, set[str]]] = {
    "a local name": (by_local_name, {"work"}),
    "a constant": (by_constant, {"work"}),
    "branches": (by_branch, {"work", "check", END}),
    "conditional expressions": (by_condition, {"work", "check", END}),
    "a list": (by_list, {"work", "check"}),
    "a tuple": (by_tuple, {"work", END}),
    "a global name": (by_name, {"work"}),
    "a module's name": (by_module, {END}),
    "a class attribute": (by_class, {"work"}),
    "a member of a text enumeration": (by_text_enum, {"work"}),
    "the value of a member": (by_enum_value, {"work"}),
    "a list of Sends": (by_sends, {"work"}),
    "a Send": (by_send, {"work"}),
    "None beside a name": (with_none, {"work"}),
    "an inner function's return": (with_inner_function, {"work"}),
    "a coroutine": (by_coroutine, {"work"}),
    "a closure": (closing_over("check"), {"check"}),
    "a lambda": (lambda _: "work", {"work"}),
    "a lambda with a condition": (lambda state: "work" if state else END, {"work", END}),
    "the first lambda of a line": (two[0], {"work"}),
    "the second lambda of a line": (two[1], {"check"}),
    "a method": (Router().route, {"work"}),
    "a callable object": (Router(), {"work"}),
    "a partial function": (partial(with_argument, level=1), {"work"}),
    "a RunnableLambda": (RunnableLambda(by_constant), {"work"}),
    "a configured RunnableLambda": (RunnableLambda(by_constant).with_config(tags=["x"]), {"work"}),
}


# Routers that cannot


def one_unreadable_return(state: State) -> Any:
    if state:
        return "work"
    return state["log"][0]


def yields(_state: State) -> Any:
    yield "work"
    return "work"


def by_parameter(_state: State, target: str = "work") -> str:
    return target


def by_reassigned_name(_state: State) -> str:
    return CHANGED


def by_name_that_a_function_moves(_state: State) -> str:
    return MOVED


def by_enum_member(_state: State) -> Any:
    return Node.WORK


def by_property(_state: State) -> Any:
    return Names.live


def by_format(state: State) -> str:
    return f"work{len(state)}"


def by_options(state: State) -> Any:
    return Send(**state)  # type: ignore[misc]


def by_starred(state: State) -> Any:
    return [*state["log"]]


def by_dynamic_send(state: State) -> Any:
    return [Send(name, {}) for name in state["log"]]


def by_call(_state: State) -> Any:
    return by_constant(_state)


def only_raises(_state: State) -> Any:
    raise NotImplementedError


def changing(function: Any) -> Any:
    @wraps(function)
    def changed(_state: State) -> str:
        return "check"

    return changed


def handing_on(function: Any) -> Any:
    def handed(state: State) -> Any:
        return function(state)

    return handed


@changing
def wrapped(_state: State) -> Any:
    return "work"


@handing_on
def handed(_state: State) -> Any:
    return "work"


def late_lambdas() -> list[Any]:
    made = []
    for name in ("work", "check"):
        made.append(lambda _: name)  # noqa: B023
    return made


def closure_that_moves() -> Any:
    target = "work"

    def router(_state: State) -> str:
        return target

    target = "check"
    return router


def closure_that_another_moves() -> Any:
    target = "work"

    def router(_state: State) -> str:
        return target

    def other() -> None:
        nonlocal target
        target = "check"

    return router, other


def from_text() -> Any:
    names: dict[str, Any] = {}
    exec("def router(state): return 'work'", names)
    return names["router"]


UNREADABLE: dict[str, Any] = {
    "one unreadable return": one_unreadable_return,
    "a generator": yields,
    "a parameter": by_parameter,
    "a lambda's parameter": lambda _, first="work": first,
    "a reassigned name": by_reassigned_name,
    "a name that a function moves": by_name_that_a_function_moves,
    "a member that is no string": by_enum_member,
    "a property": by_property,
    "a formatted string": by_format,
    "keyword options": by_options,
    "starred items": by_starred,
    "a Send to any node": by_dynamic_send,
    "a call": by_call,
    "no return": only_raises,
    "a decorator with wraps": wrapped,
    "a decorator without": handed,
    "a closure over a loop's name": late_lambdas()[0],
    "a closure over a name that moves": closure_that_moves(),
    "a closure over a name that another function moves": closure_that_another_moves()[0],
    "no source": from_text(),
    "a chain": RunnableLambda(by_constant) | RunnableLambda(by_name),
}


def routed(router: Any) -> StateGraph[Any]:
    made = StateGraph(State)
    made.add_node("work", lambda _: {})
    made.add_node("check", lambda _: {})
    made.add_node("other", lambda _: {})
    made.add_edge(START, "work")
    made.add_conditional_edges("work", router)
    return made


def ways_from(made: StateGraph[Any], node: str) -> dict[str, str]:
    return {edge.target: edge.kind for edge in read_topology(made).edges if edge.source == node}


@pytest.mark.parametrize("case", READABLE)
def test_a_router_whose_source_can_be_read_goes_exactly_there(case: str) -> None:
    router, expected = READABLE[case]
    made = routed(router)
    (branch,) = made.branches["work"].values()
    assert router_words(branch.path) == expected
    assert ways_from(made, "work") == dict.fromkeys(expected, "conditional")


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_router_whose_source_cannot_be_read_goes_anywhere(case: str) -> None:
    made = routed(UNREADABLE[case])
    assert ways_from(made, "work") == dict.fromkeys(("work", "check", "other", END), "assumed")


def test_destinations_that_are_no_nodes_are_left_out() -> None:
    assert ways_from(routed(lambda state: "ghost" if state else "check"), "work") == {"check": "conditional"}


# Commands


def jumps(_state: State) -> Command[Any]:
    return Command(goto="work", update={"log": []})


def jumps_or_stays(state: State) -> Any:
    if state:
        return {"log": ["x"]}
    return Command(goto=["check", END]) if state is None else Command(goto=Send(TARGET, {}))


def jumps_by_another_name(_state: State) -> Any:
    return ALIAS(goto="work")


def stays(_state: State) -> Any:
    return Command(update={"log": []})


def leaves(_state: State) -> Any:
    return Command(goto="work", graph=Command.PARENT)


def jumps_in_its_own_graph(_state: State) -> Any:
    return Command(goto="work", graph=None)


def keeps_it(state: State) -> Any:
    command = Command(goto="work")
    return command


def hides_it(state: State) -> Any:
    state["log"].append(Command(goto="work"))  # type: ignore[arg-type]
    return {"log": []}


def hands_on(state: State) -> Any:
    if state:
        return Command(goto="work")
    return by_call(state)


def takes_options(state: State) -> Any:
    return Command(**state)  # type: ignore[misc]


def goes_where_it_is_told(state: State) -> Any:
    return Command(goto=state["log"][0])


@changing
def jumps_behind_a_decorator(_state: State) -> Any:
    return Command(goto="work")


COMMANDS: dict[str, tuple[Any, set[str] | None]] = {
    "a constant": (jumps, {"work"}),
    "some returns": (jumps_or_stays, {"work", "check", END}),
    "a lambda": (lambda _: Command(goto="work"), {"work"}),
    "another name of Command": (jumps_by_another_name, {"work"}),
    "no goto": (stays, set()),
    "the graph around it": (leaves, set()),
    "its own graph, said so": (jumps_in_its_own_graph, {"work"}),
    "no Command": (by_constant, set()),
    "a variable": (keeps_it, {"work"}),
    "a list that is not returned": (hides_it, None),
    "another function's result": (hands_on, None),
    "keyword options": (takes_options, None),
    "a goto from the state": (goes_where_it_is_told, None),
    "a decorator": (jumps_behind_a_decorator, {"work"}),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_a_node_without_declared_destinations_jumps_where_its_source_says(case: str) -> None:
    node, expected = COMMANDS[case]
    made = StateGraph(State)
    for name in ("work", "check"):
        made.add_node(name, lambda _: {})
    made.add_node("jump", node)
    made.add_edge(START, "jump")
    assert behaviour_of(made.nodes["jump"].runnable).jumps == expected
    anywhere = dict.fromkeys(("work", "check", "jump", END), "assumed")
    assert ways_from(made, "jump") == (anywhere if expected is None else dict.fromkeys(expected, "command"))


# What follows from it


def test_a_graph_that_only_its_source_tells_apart_from_a_cycle_is_bounded() -> None:
    made = routed(lambda _: "check")
    made.add_conditional_edges("check", lambda state: "other" if state else END)
    assert verify(made).bounded


def test_sends_that_are_read_from_source_leave_the_runs_of_their_target_open() -> None:
    made = routed(lambda state: [Send("check", item) for item in state["items"]])
    made.add_edge("check", "other")
    assert verify(made).max_runs_by_node == {"work": 1, "check": None, "other": 1}


def append(name: str) -> Any:
    return lambda _: {"log": [name]}


def test_a_loop_on_an_untyped_router_keeps_the_router_s_other_ways_as_they_are_read() -> None:
    made = StateGraph(State)
    for name in ("work", "check", "side"):
        made.add_node(name, append(name))
    made.add_edge(START, "work")
    made.add_edge("work", "check")
    made.add_conditional_edges("check", lambda state: "work" if len(state["log"]) < 99 else "side")
    app = bounded(made, [Loop(name="again", target="work", sources=("check",), limit=2, exhausted="side")])
    assert app.invoke({"log": []})["log"] == ["work", "check"] * 3 + ["side"]


@pytest.mark.parametrize("goto", ["work", "anywhere"])
def test_a_loop_may_begin_in_an_undeclared_command(goto: str) -> None:
    def told(state: State) -> Any:
        return Command(goto=["work"][len(state) - len(state)], update={"log": ["check"]})

    made = StateGraph(State)
    made.add_node("work", append("work"))
    made.add_node("check", (lambda _: Command(goto="work", update={"log": ["check"]})) if goto == "work" else told)
    made.add_edge(START, "work")
    made.add_edge("work", "check")
    loops = [Loop(name="again", target="work", sources=("check",), limit=2)]
    if goto == "anywhere":
        loops.append(Loop(name="self", target="check", sources=("check",), limit=1))
    app = bounded(made, loops)
    assert app.invoke({"log": []})["log"] == ["work", "check"] * 3
    assert app.certificate.bounded

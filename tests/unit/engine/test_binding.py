"""Gates are put into every kind of edge and decide there, what cannot be bound is refused by name, and the original stays."""

from __future__ import annotations

import asyncio
import dataclasses
import operator
import time
from collections.abc import Callable
from typing import Annotated, Any

import pytest
import shapes
from langgraph.channels import EphemeralValue, Topic
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, StateGraph
from langgraph.types import CachePolicy, Command, Send
from pydantic import BaseModel, ConfigDict
from shapes import HERE, State
from typing_extensions import TypedDict

from loopwright.engine.bounds import bounded
from loopwright.engine.budget.budget import Budget
from loopwright.engine.ledger import HIDDEN
from loopwright.engine.loop import Backoff, Loop, StateLimit
from loopwright.engine.proof.verify import verify
from loopwright.errors import GraphError, LoopDeclarationError


def loop(**fields: Any) -> Loop:
    return Loop(**{"name": "again", "target": "work", "sources": ("check",), "limit": 2, **fields})


def routed(schema: Any = State, **options: Any) -> StateGraph[Any]:
    made = shapes.graph("START-work work-check", schema=schema, **options)
    made.add_conditional_edges("check", lambda _: "again", {"again": "work", "done": END})
    return made


ROUND = ["work", "check"]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_send_across_the_loop_s_edge_that_nothing_shows_is_refused(mode: str) -> None:
    hidden = {"check": lambda _: [Send(max("work", ""), {})]}
    app = bounded(shapes.graph("START-work work-check check?work check?END", routes=hidden), [loop()])
    with pytest.raises(
        LoopDeclarationError,
        match=r"loop 'again': the router .* of 'check' sent a Send to 'work'.*fan_out={'work': 10}",
    ):
        app.invoke({"log": []}) if mode == "sync" else await app.ainvoke({"log": []})


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"target": "wrk"}, "unknown node 'wrk'. Did you mean 'work'? Known: check, work."),
        ({"sources": ("chek",)}, "unknown node 'chek'. Did you mean 'check'?"),
        ({"exhausted": "fallback"}, "END ends the run there; bounded(fallback=...) adds a 'fallback'."),
        ({"counter": "cuont"}, "unknown state key 'cuont'. Did you mean 'count'?"),
        ({"counter": "log"}, "state key 'log' is for something else: give its counter, a number, a key of its own"),
        ({"counter": "count", "history": "count"}, "give its history, a list, a key of its own"),
        ({"limit": StateLimit(key="coun", default=1, ceiling=2)}, "unknown state key 'coun'. Did you mean 'count'?"),
        ({"scope": "outer"}, "unknown scope 'outer'. Known: run."),
        ({"sources": ("work",)}, "there is no edge work -> work: 'work' leads to ['check'], and to 'work' leads ['check']"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_refused_and_the_nearest_is_named(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(LoopDeclarationError) as caught:
        bounded(routed(), [loop(**fields)])
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_scopes_that_lead_in_a_circle_are_refused() -> None:
    loops = [loop(scope="b"), loop(name="b", scope="again", sources=("check",), target="check")]
    with pytest.raises(LoopDeclarationError, match=r"leads back to itself: again -> b -> again"):
        bounded(routed(), loops)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"counter": "count"}, "'count' belongs to loop 'again'; a counter or history has exactly one writer"),
        ({"history": "past"}, "state key 'past' belongs to loop 'again'"),
        ({"target": "work"}, "the edge check -> work belongs to loop 'again'"),
        ({"name": "again"}, "two loops have this name"),
    ],
)
def test_loops_that_share_what_only_one_may_have_are_refused(other: dict[str, Any], says: str) -> None:
    made = routed()
    made.add_conditional_edges("work", lambda _: "work", ["work", "check"])
    second = {"name": "self", "target": "check", "sources": ("check",), **other}
    with pytest.raises(LoopDeclarationError, match=says):
        bounded(made, [loop(counter="count", history="past"), loop(**second)])


@pytest.mark.parametrize("again", [{"loops": [loop()]}, {"limit": 5}])
def test_a_graph_is_not_bounded_twice(again: dict[str, Any]) -> None:
    with pytest.raises(GraphError, match="is it bounded twice"):
        bounded(bounded(routed(), [loop()]), **again)


def test_a_graph_without_loops_may_be_bounded_again_with_the_words_of_its_routers() -> None:
    made = shapes.graph("START-ask a-END", ask=lambda _: {})
    once = bounded(made.add_conditional_edges("ask", lambda _: "yes", {"yes": "a", "no": END}))
    again = bounded(once, budget=Budget(model_calls=5), fallback=lambda _: {})
    assert again.invoke({"log": []})["log"] == ["a"]
    assert ("ask", "a", "yes") in [(each.source, each.target, each.data) for each in again.get_graph().edges]


def test_what_langgraph_refuses_to_compile_it_refuses_in_its_own_words() -> None:
    made = routed().add_edge("check", "wrk")
    with pytest.raises(ValueError, match="Found edge ending at unknown node `wrk`"):
        bounded(made, limit=2)
    with pytest.raises(GraphError, match="an edge names an unknown node 'wrk'"):
        verify(made)


@pytest.mark.parametrize("key", sorted(HIDDEN))
def test_the_engine_s_own_channels_are_no_state_keys(key: str) -> None:
    with pytest.raises(LoopDeclarationError, match=f"the state key '{key}' is reserved"):
        bounded(routed(TypedDict("Taken", {"log": list[str], key: Any})), [loop()])


@pytest.mark.parametrize("name", ["start", "fallback", "loop", "again.check"])
def test_nodes_and_loops_may_have_names_that_the_engine_uses_itself(name: str) -> None:
    made = shapes.graph(f"START-{name} {name}?{name} {name}?END")
    assert bounded(made, limit=1).invoke({"log": []})["log"] == [name, name]


@pytest.mark.parametrize("make", [routed, lambda: shapes.graph("START-work work-check check-work")])
@pytest.mark.parametrize("compiled", [False, True])
def test_the_original_runs_as_before(make: Callable[[], StateGraph[Any]], compiled: bool) -> None:
    graph: Any = make().compile() if compiled else make()
    bounded(graph, [loop()]).invoke({"log": []})
    found: list[Any] = []
    with pytest.raises(GraphRecursionError):
        for step in (graph if compiled else graph.compile()).stream({"log": []}, {"recursion_limit": 7}):
            found.append(step)
    assert found == [{name: {"log": [name]}} for name in [*ROUND * 3, "work"]]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid")

    log: Annotated[list[str], operator.add] = []
    count: int = 0
    past: list[str] = []


@dataclasses.dataclass
class Data:
    log: Annotated[list[str], operator.add] = dataclasses.field(default_factory=list)
    count: int = 0
    past: list[str] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize("schema", [Model, Data])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_states_may_be_pydantic_models_and_dataclasses(schema: Any, version: Any) -> None:
    seen: list[Any] = []

    def reason(state: Any) -> str:
        seen.append(state)
        return f"{len(state.log)} entries"

    app = bounded(routed(schema), [loop(counter="count", history="past", reason=reason)])
    result: Any = app.invoke({"log": []}, version=version)
    final = result if version == "v1" else result.value
    assert final["log"] == ROUND * 3
    assert (final["count"], final["past"]) == (2, ["[Iteration 1] 2 entries", "[Iteration 2] 4 entries"])
    assert final["stop_reason"]["reason"] == "6 entries"
    assert all(isinstance(state, schema) for state in seen)
    short: Any = app.invoke({"log": []}, {"recursion_limit": 3}, version=version)
    assert (short if version == "v1" else short.value)["log"] == ROUND
    once = bounded(shapes.graph("START-work", schema), budget=Budget(seconds=60))
    ended: Any = once.invoke({"log": []}, version=version)
    assert ended["log"] == ["work"] if version == "v1" else ended.value == schema(log=["work"])


async def test_a_node_that_langgraph_times_notes_that_it_asks() -> None:
    """LangGraph looks at all that such a node runs when it compiles."""

    async def grade(_state: Any) -> dict[str, Any]:
        return {"log": ["grade"]}

    edges = "START-grade grade-work check-work work?check work?END a-END b-END"
    made = shapes.graph(edges, grade={"action": grade, "timeout": 30})
    again = loop(sources=("grade", "check"), target="work", limit=0, exhausted={"grade": "a", "check": "b"})
    assert (await bounded(made, [again]).ainvoke({"log": []}))["log"] == ["grade", "a"]


def test_an_output_schema_of_its_own_is_kept_and_gains_the_stop_reason() -> None:
    class Out(TypedDict):
        count: int

    class In(TypedDict):
        log: list[str]

    made = shapes.graph("START-work work?work work?END", StateGraph(State, input_schema=In, output_schema=Out))
    final = bounded(made, [loop(sources=("work",), counter="count")]).invoke({"log": []})
    assert set(final) == {"count", "stop_reason"}
    assert final["count"] == 2


@pytest.mark.parametrize("kind", [str, Any, Annotated[list[str], operator.add]])
def test_a_stop_reason_of_the_state_s_own_is_refused_by_name(kind: Any) -> None:
    class Own(TypedDict, total=False):
        log: Annotated[list[str], operator.add]
        stop_reason: Any

    Own.__annotations__["stop_reason"] = kind

    with pytest.raises(GraphError, match=r"a key 'stop_reason' of its own.*StopReason"):
        bounded(routed(Own), [loop()])
    straight = shapes.graph("START-work", schema=Own)
    ended = straight.compile().invoke({"log": []})
    assert bounded(straight).invoke({"log": []}) == ended  # where nothing can stop, the key is free


@pytest.mark.parametrize("compiled", [False, True])
async def test_the_builder_s_node_defaults_hold_for_its_nodes_and_not_for_gates(compiled: bool) -> None:
    async def work(_state: State) -> dict[str, Any]:
        return {"log": ["work"]}

    async def fail(_state: State) -> dict[str, Any]:
        raise RuntimeError("broken")

    async def handle(_state: State) -> dict[str, Any]:
        return {"log": ["handled"]}

    made = shapes.graph("START-work work-check check-back back?work back?END", work=work, check=fail, back=work)
    made.set_node_defaults(timeout=5, cache_policy=CachePolicy(), error_handler=handle)
    app = bounded(made.compile() if compiled else made, [loop(sources=("back",), limit=1)])
    assert (await app.ainvoke({"log": []}))["log"] == ["work", "handled"]


def test_error_handlers_that_may_go_anywhere_are_bounded() -> None:
    def fail(_state: State) -> dict[str, Any]:
        raise RuntimeError("broken")

    def handle(state: State) -> Command[Any]:
        return Command(goto=state["log"][0], update={"log": ["handled"]})

    made = shapes.graph("START-work work-check check-END", check=fail)
    made.set_node_defaults(error_handler=handle)
    final = bounded(made, limit=2).invoke({"log": ["work"]})
    assert final["log"].count("handled") == 3
    assert final["stop_reason"]["loop"] == "work"


class Hints(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    hint: Annotated[str, EphemeralValue]
    hints: Annotated[list[str], Topic(str)]


def test_what_lives_for_one_step_is_read_behind_a_gate_too() -> None:
    made = shapes.graph(
        "START-work work-check check?work check?END", Hints,
        {"check": lambda state: "work" if len(state["log"]) < 4 else END},
        work=lambda state: {"log": [state.get("hint"), *state.get("hints", [])]},
        check=lambda state: {"hint": f"try {len(state['log'])}", "hints": ["more"]},
    )  # fmt: skip
    plain, held = (graph.invoke({"log": []})["log"] for graph in (made.compile(), bounded(made, limit=5)))
    assert held == plain == [None, "try 1", "more", "try 3", "more"]


def test_gates_side_by_side_hand_on_once_what_lives_for_one_step() -> None:
    def reading(wrote: Any) -> Any:
        return lambda state: {"log": [(state.get("hint"), *state.get("hints", []))], **wrote}

    again: Any = {name: lambda state, name=name: name if len(state["log"]) < 6 else END for name in "ab"}
    does = {"a": reading({"hint": "short", "hints": ["more"]}), "b": reading({})}
    made = shapes.graph("START-a START-b a?a b?b a?END b?END", Hints, again, **does)
    plain, held = (graph.invoke({"log": []})["log"] for graph in (made.compile(), bounded(made, limit=5)))
    assert held == plain == [(None,)] * 2 + [("short", "more")] * 6
    joined = shapes.graph(
        "START-a START-b a-p a-q p+q-a q-b", Hints, a=does["b"], b=does["b"], q=reading({"hint": "x"})
    )
    loops = [shapes.loop("first", "p q", "a", 2), shapes.loop("second", "q", "b", 2)]
    assert ("x",) in bounded(joined, loops).invoke({"log": []})["log"]


class Again(Command[Any]):
    """A Command whose constructor takes what its author likes."""

    def __init__(self, note: str) -> None:
        super().__init__(goto="work", update={"log": [note]})


def test_a_command_of_ones_own_class_asks_for_a_pass() -> None:
    made = shapes.graph("START-work work-check", check=lambda _: Again("again"))
    made.nodes["check"].ends = ("work",)
    assert bounded(made, limit=2).invoke({"log": []})["log"] == ["work", "again"] * 3


@pytest.mark.parametrize("garbage", [0, -7, 10**9, None, "three"])
def test_a_node_that_corrupts_the_visible_counter_gains_no_pass_and_the_last_word_is_the_gate_s(garbage: Any) -> None:
    made = routed(check=lambda _: {"log": ["check"], "count": garbage})
    final = bounded(made, [loop(limit=3, counter="count")]).invoke({"log": []})
    assert final["log"] == ROUND * 4
    assert final["count"] == 3


def test_every_pass_of_the_outer_loop_shows_the_inner_counter_from_nought() -> None:
    made = shapes.graph("START-a a-b b?b b?a", routes={"b": lambda state: "b" if state["count"] < 2 else "a"})
    outer = Loop(name="outer", target="a", sources=("b",), limit=2)
    inner = Loop(name="inner", target="b", sources=("b",), limit=2, scope="outer", counter="count")
    assert "".join(bounded(made, [outer, inner]).invoke({"log": []})["log"]) == "abbb" * 3


def test_a_reason_that_is_no_text_is_written_as_one() -> None:
    assert bounded(routed(), [loop(reason=lambda _: 5)]).invoke({"log": []})["stop_reason"]["reason"] == "5"


def test_a_first_visit_is_free_whatever_the_source_may_ask_for() -> None:
    made = shapes.graph("START-check check?work work-check")
    app = bounded(made, [loop(first_free=True, source_limits={"check": 1})])
    assert app.invoke({"log": []})["log"] == ["check", "work", "check", "work", "check"]


def test_requests_of_an_abandoned_run_do_not_steer_the_next_one() -> None:
    """The first run stops between the note of who asked and the gate; the second asks from elsewhere."""
    declared = loop(sources=("a", "b"), limit=0, exhausted={"a": "after_a", "b": "after_b"})
    edges = "START-work work?a work?b a?work b?work after_a-END after_b-END"
    made = shapes.graph(edges, routes={"work": lambda state: list(state["plan"])})
    app = bounded(made, [declared], checkpointer=InMemorySaver())
    app.invoke({"log": [], "plan": "a"}, HERE, interrupt_before=["loop.again"])
    assert app.get_state(HERE).next == ("loop.again",)
    assert app.invoke({"log": [], "plan": "b"}, HERE)["log"][-2:] == ["b", "after_b"]


async def test_an_async_backoff_leaves_the_event_loop_free() -> None:
    app = bounded(routed(), [loop(limit=2, backoff=Backoff(initial=0.05, factor=1))])
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    ticking = asyncio.create_task(tick())
    started = time.perf_counter()
    await app.ainvoke({"log": []})
    assert time.perf_counter() - started >= 0.1
    ticking.cancel()
    assert ticks >= 5

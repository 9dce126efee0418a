"""Random graphs with every kind of edge, and random answers; the same seed gives the same graph and the same run.

Nodes ``n0 n1 ...`` have forward edges, which make a DAG, and loops back. What a node or router decides depends on the
seed, its name, the superstep and its place among the tasks of that superstep, so threads change nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import shapes
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send
from typing_extensions import TypedDict

from loopwright.engine.bounds import bounded
from loopwright.engine.budget.patience import Stall
from loopwright.engine.graph import BoundedGraph
from loopwright.engine.loop import RUN, Loop, StateLimit

KINDS = ("static", "router", "command", "sends", "command sends", "parent", "inside", "fails")
GRADED = ("static graded", "router graded")
"""Kinds whose every way back has a router of its own; the graphs of seeds have none of them."""


def last_lines(old: list[str], new: list[str]) -> list[str]:
    """The last lines of a log: a graph inside a node gives the log back that it was given, which doubles it."""
    return (old + new)[-60:]


class State(TypedDict, total=False):
    log: Annotated[list[str], last_lines]
    limit: Annotated[int, lambda _old, new: new]
    count0: int
    count1: int
    count2: int
    count3: int
    past0: list[str]


@dataclass
class Case:
    """One random graph."""

    seed: int
    eager: float
    """How probable it is that a grader asks again; 1 is always."""
    busy: bool
    """Whether every node takes all its ways on, with as many Sends as declared."""
    graph: StateGraph[Any] = field(default_factory=lambda: StateGraph(State))
    loops: list[Loop] = field(default_factory=list)
    fan_out: dict[str, int] = field(default_factory=dict)
    features: Counter[str] = field(default_factory=Counter)
    handled: Counter[str] = field(default_factory=Counter)
    """Error handler -> its runs; LangGraph's stream does not show them."""
    edges: set[tuple[str, str]] = field(default_factory=set)
    """All ways from node to node."""
    asked: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """Node and its way back -> the node's tasks that asked for it."""
    spoiling: set[str] = field(default_factory=set)
    """Nodes that write nonsense into the counters of loops."""

    def dice(self, decision: str, config: RunnableConfig) -> random.Random:
        """The dice of one decision of one task."""
        about = config["metadata"]
        return random.Random(f"{self.seed}/{decision}/{about['langgraph_step']}/{about['langgraph_path']}")

    def again(self, name: str, back: list[str], config: RunnableConfig, mine: random.Random | None = None) -> list[str]:
        """The ways back that a task of a node asks for; without dice all."""
        found = [target for target in back if mine is None or mine.random() < self.eager]
        task, _, _inner = config["metadata"]["langgraph_checkpoint_ns"].partition("|")
        for target in found:
            self.asked[name, target].add(task.removeprefix(f"{name}:"))
        return found

    def app(self) -> BoundedGraph:
        return bounded(self.graph, self.loops, fan_out=self.fan_out)


def some(dice: random.Random, things: Iterable[Any], least: int = 0) -> list[Any]:
    """Some of the things, in their order."""
    known = [*things]
    chosen = {*dice.sample(range(len(known)), dice.randint(min(least, len(known)), len(known)))}
    return [thing for place, thing in enumerate(known) if place in chosen]


def case(
    seed: int,
    dice: random.Random | None = None,
    kinds: Sequence[str] = KINDS,
    *,
    forward_only: bool = False,
    disguised: Callable[[random.Random, list[str]], Any] | None = None,
) -> Case:
    """The graph of a seed, or of given dice.

    `forward_only` leaves its loops away, those of graphs inside it too; `disguised` makes the plain nodes' actions of
    dice and the names of all nodes.
    """
    dice = dice or random.Random(seed)
    made = Case(seed, eager=dice.choice([1.0, 1.0, 0.9, 0.5]), busy=dice.random() < 0.5)
    size = dice.randint(2, 8)
    names = [f"n{place}" for place in range(size)]
    forward: dict[str, list[str]] = {name: [] for name in names}
    for place in range(1, size):
        for before in dice.sample(range(place), dice.randint(1, min(place, 3))):
            forward[names[before]].append(names[place])
    back: dict[str, list[str]] = {name: [] for name in names}
    for _ in range(dice.randint(1, 4)):
        later = dice.randrange(size)
        target = names[dice.randint(0, later)]
        if target not in back[names[later]]:
            back[names[later]].append(target)
    if forward_only:
        back = {name: [] for name in names}
    for name in names:
        kind = dice.choice(kinds)
        made.features[kind] += 1
        action = _inside(dice, forward_only)
        if kind != "inside":
            action = disguised and disguised(dice, names)
        _add(made, dice, kind, name, forward[name], back[name], action)
    made.graph.add_edge(START, "n0")
    if size >= 3 and dice.random() < 0.3:
        made.graph.add_conditional_edges(START, lambda _: names[1], [names[1], END])
        made.features["conditional entry"] += 1
    if size >= 4 and dice.random() < 0.4:
        *starts, end = sorted(dice.sample(range(size), dice.choice([3, 3, 4])))
        made.graph.add_edge([names[start] for start in starts], names[end])
        made.edges |= {(names[start], names[end]) for start in starts}
        made.features["join"] += 1
    made.loops = [*_loops(made, dice, names, back)]
    return made


def _add(
    made: Case, dice: random.Random, kind: str, name: str, forward: list[str], back: list[str], action: Any
) -> None:
    """A node of a kind, with its ways on and back."""
    alone = back if kind in GRADED else []
    back = [target for target in back if target not in alone]
    graph, ways = made.graph, [*forward, *back]
    made.edges |= {(name, target) for target in (*ways, *alone)}
    deferred = dice.random() < 0.08
    made.features["deferred"] += deferred
    for target in forward if "sends" in kind else ():
        made.fan_out.setdefault(target, dice.randint(1, 3))
    gotos = _gotos(made, kind, name, forward, back)

    def plain(_state: State, config: RunnableConfig) -> dict[str, Any]:
        made.again(name, back if kind == "static" else [], config)
        counters = [loop.counter for loop in made.loops if name in made.spoiling and loop.counter]
        nonsense = dict(zip(counters, (-5, 10**6, 0, -1), strict=False))
        return {"log": [name], "limit": made.dice(f"{name} limit", config).randint(0, 9), **nonsense}

    def commanding(state: State, config: RunnableConfig) -> Any:
        found = gotos(config)
        if made.dice(f"{name} commands", config).random() < 0.3:
            return [Command(goto=goto) for goto in found] or {"log": [name]}
        return Command(goto=found, update=plain(state, config))

    def route(_state: State, config: RunnableConfig) -> list[Any]:
        return gotos(config) or [END]

    if kind in ("command", "command sends"):
        graph.add_node(name, commanding, destinations=(*ways, END), defer=deferred)
        return
    if kind == "parent":
        graph.add_node(name, _jumping(plain, gotos), destinations=(*ways, END), defer=deferred)
        return
    if kind == "fails":
        graph.add_node(name, **_failing(made, name, plain, forward), defer=deferred)
        graph.nodes[graph.nodes[name].error_handler_node or ""].ends = (*forward, END)
    else:
        graph.add_node(name, action or plain, defer=deferred)
    for target in alone:
        graph.add_conditional_edges(name, _grader(made, name, target), [target, END])
    if kind.startswith("static"):
        for target in ways:
            graph.add_edge(name, target)
    else:
        graph.add_conditional_edges(name, route, [*ways, END])


def _grader(made: Case, name: str, target: str) -> Callable[[State, RunnableConfig], str]:
    """A router that knows one way back."""

    def grade(_state: State, config: RunnableConfig) -> str:
        return (made.again(name, [target], config, made.dice(f"{name} {target}", config)) or [END])[0]

    grade.__name__ = f"grade_{target}"  # LangGraph names a node's routers after their functions
    return grade


def _gotos(
    made: Case, kind: str, name: str, forward: list[str], back: list[str]
) -> Callable[[RunnableConfig], list[Any]]:
    """What decides where a node goes: two functions, for the engine looks into the source to see who could send."""
    least = len(forward) if made.busy else 0

    def by_name(config: RunnableConfig) -> list[Any]:
        mine = made.dice(name, config)
        return some(mine, forward, least) + made.again(name, back, config, mine)

    def by_send(config: RunnableConfig) -> list[Any]:
        mine = made.dice(name, config)
        chosen: list[Any] = []
        for target in some(mine, forward, least):
            named = mine.random() < 0.3
            most = made.fan_out[target] - named
            chosen += [Send(target, {"log": []})] * (most if made.busy else mine.randint(0, most))
            chosen += [target] * named
        return chosen + made.again(name, back, config, mine)

    return by_send if "sends" in kind else by_name


def _jumping(plain: Any, gotos: Any) -> Any:
    """A graph whose last node jumps in the graph around it."""
    nodes = {"first": plain, "jump": lambda _, config: Command(goto=gotos(config), graph=Command.PARENT)}
    return shapes.graph("START-first first-jump", State, **nodes).compile()


def _failing(made: Case, name: str, plain: Any, forward: list[str]) -> dict[str, Any]:
    """A node that fails now and then, and its error handler, which goes on somewhere."""

    def failing(state: State, config: RunnableConfig) -> dict[str, Any]:
        if made.dice(f"{name} fails", config).random() < 0.5:
            raise RuntimeError("as planned")
        return plain(state, config)

    def handler(_state: State, config: RunnableConfig) -> Command[Any]:
        made.handled[name] += 1
        return Command(goto=some(made.dice(f"{name} handled", config), forward))

    return {"action": failing, "error_handler": handler}


def _inside(dice: random.Random, forward_only: bool) -> Any:
    """A graph of two nodes, with or without a loop."""
    inner = shapes.graph("START-x x-y", State)
    if forward_only or dice.random() < 0.5:
        return inner.compile()
    inner.add_conditional_edges("y", lambda _: "x", ["x", END])
    return bounded(inner, [Loop(name="in", target="x", sources=("y",), limit=dice.randint(0, 2))])


def _loops(made: Case, dice: random.Random, names: list[str], back: dict[str, list[str]]) -> Iterator[Loop]:
    """One loop for each edge back, or one for all edges into a node; its spent bound leads on or to the end."""
    taken: list[tuple[str, list[str]]] = []
    for target in names:
        sources = [name for name in names if target in back[name]]
        together = len(sources) > 1 and dice.random() < 0.5
        taken += [(target, sources)] if together else [(target, [source]) for source in sources]
    for number, (target, sources) in enumerate(taken):
        ways_on = [*names[max(names.index(source) for source in sources) + 1 :], END, END]
        exhausted: Any = dice.choice(ways_on)
        if dice.random() < 0.25:
            exhausted = {source: dice.choice(ways_on) for source in sources}
        limit: Any = dice.randint(0, 3)
        if dice.random() < 0.2:
            limit = StateLimit(key="limit", default=1, ceiling=limit)
        scope = f"l{dice.randrange(number)}" if number and dice.random() < 0.35 else RUN
        stall = Stall(key=lambda state: len(state.get("log", [])) // 3) if dice.random() < 0.2 else None
        made.features["loop"] += 1
        made.features["scope"] += scope != RUN
        made.features["stall"] += stall is not None
        made.features["fallback by source"] += not isinstance(exhausted, str)
        yield Loop(
            name=f"l{number}", target=target, sources=tuple(sources), limit=limit, exhausted=exhausted, scope=scope,
            stall=stall,
        )  # fmt: skip


def hold_within_certificate(made: Case, app: BoundedGraph, *, asynchronous: bool = False) -> shapes.Watched:
    """Run a graph that was made, and fail where it exceeds its certificate.

    Plain LangGraph's ``debug`` stream says what ran; it raises if the derived step limit is exceeded.
    """
    given = {"log": []}
    shapes.show_gates(app)
    seen = asyncio.run(shapes.watch_async(app, given)) if asynchronous else shapes.watch(app, given)
    for name, count in made.handled.items():
        seen.handled[app.builder.nodes[name].error_handler_node or ""] += count
    assert app.certificate.max_node_runs is not None, made.seed
    seen.hold_within(app.certificate, len(seen.inside), "seed", made.seed)
    return seen


def run(seed: int) -> str:
    """Run the graph of a seed within its certificate; the nodes of each superstep."""
    made = case(seed)
    return hold_within_certificate(made, made.app(), asynchronous=seed % 4 == 0).path

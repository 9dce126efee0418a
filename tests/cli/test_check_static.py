"""What ``loopwright check`` reads from source, against what importing the same file proves."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from loopwright import Loop, verify
from loopwright.check.findings import CheckedGraph, Checker
from loopwright.check.loading import check_imported, load_graphs, suggestions
from loopwright.errors import GraphError
from loopwright.testing import assert_bounded

HEAD = """
from __future__ import annotations
from enum import Enum, StrEnum
from typing import Any, Literal, Union
from typing_extensions import TypedDict
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send

class State(TypedDict, total=False):
    n: int

def work(state: State): return {"n": 1}
def check(state: State): return {"n": 2}
def other(state: State): return {"n": 3}
"""

THREE = """
g = StateGraph(State)
g.add_node("work", work)
g.add_node(check)
g.add_node("other", other)
g.add_edge(START, "work")
g.add_edge("work", "check")
"""

AGAIN = f"""{THREE}
from loopwright import Loop, bounded
g.add_conditional_edges("check", lambda s: s["n"], ["work", "other"])
"""
"""A graph that goes round, and what bounds it."""

FILES = {
    "a line": THREE + 'g.add_edge("check", "other")\napp = g.compile()',
    "a path map": THREE + 'g.add_conditional_edges("check", lambda s: s["n"], {1: "work", 2: "other", 3: END})',
    "a Literal": """
def route(state: State) -> Literal["work", "other", "__end__"]: return "work"
""" + THREE + 'g.add_conditional_edges("check", route)',
    "a set, which is no path map": """
def route(state: State) -> Literal["work", "other", "__end__"]: return "work"
""" + THREE + 'g.add_conditional_edges("check", route, {"other", END})',
    "an untyped router that can be read": """
FURTHER = "other"
def route(state): return FURTHER if state else END
""" + THREE + 'g.add_conditional_edges("check", route)',
    "an untyped router that cannot": THREE + 'g.add_conditional_edges("check", lambda s: s["n"])',
    "a Command in a union": """
def jump(state: State) -> Union[dict, Command[Literal["work"]]]: return Command(goto=state["n"])
""" + THREE + 'g.add_node("jump", jump)\ng.add_edge("check", "jump")\ng.add_edge("check", "other")',
    "a Command by its source": """
def jump(state: State): return Command(goto="other") if state else Command(goto="work")
""" + THREE + 'g.add_node("jump", jump)\ng.add_edge("check", "jump")',
    "declared destinations": """
def jump(state: State): return Command(goto=state["n"])
""" + THREE + 'g.add_node("jump", jump, destinations=("work", END))\ng.add_edge("check", "jump")\ng.add_edge("jump", "other")',
    "a join": THREE + 'g.add_edge(START, "other")\ng.add_edge(["check", "other"], "work")',
    "entry and finish points": """
g = StateGraph(State).add_node(work).add_node("second", check).add_edge("work", "second")
g.set_entry_point("work").set_finish_point("second")
app = g.compile(name="line")
""",
    "a chain of methods": """
app = (
    StateGraph(State)
    .add_node("work", work)
    .add_node("check", check)
    .add_edge(START, "work")
    .add_edge("work", "check")
    .add_conditional_edges("check", lambda s: "work" if s["n"] else END)
    .compile()
)
""",
    "names of constants": """
class Name(StrEnum):
    WORK = "work"
class Plain(Enum):
    CHECK = "check"
class Names:
    other = "other"
g = StateGraph(State).add_node(Name.WORK, work).add_node(Plain.CHECK.value, check).add_node(Names.other, other)
g.add_edge(START, Name.WORK)
g.add_edge(Name.WORK, Plain.CHECK.value)
g.add_edge(Plain.CHECK.value, Names.other)
g.add_edge(Names.other, Name.WORK)
""",
    "a loop over constants": """
names = ["a", "b"] + ["c", "last"]
g = StateGraph(State)
for name in names:
    g.add_node(name, work)
for first, second in ((START, names[0]), ("a", "b"), ("b", "c")):
    g.add_edge(first, second)
for first, second in {"c": names[3], "last": "b"}.items():
    g.add_edge(first, second)
""",
    "a loop over an enumeration": """
class Step(str, Enum):
    PLAN = "plan"
    DO = "do"
    DONE = "done"
g = StateGraph(State)
for step in Step: g.add_node(step.value, work)
g.add_edge(START, Step.PLAN.value)
g.add_conditional_edges(Step.PLAN.value, lambda s: Step.DO.value if s else Step.DONE.value)
g.add_edge("do", "plan")
app = g.compile()
""",
    "a function that makes it": """
def build(back: str, typed: bool = True):
    graph = StateGraph(State).add_node(work).add_node(check).add_edge(START, "work").add_edge("work", "check")
    if typed:
        graph.add_conditional_edges("check", lambda s: s["n"], [back, END])
    else:
        graph.add_edge("check", "work")
    return graph
app = build("check").compile()
plain = build("work", typed=False).compile()
""",
    "a subgraph with a cycle": """
inner = StateGraph(State).add_node("x", work).add_edge(START, "x").add_edge("x", "x").compile()
""" + THREE + 'g.add_node("sub", inner)\ng.add_edge("check", "sub")\ng.add_edge("check", "other")\napp = g.compile()',
    "an agent": """
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent
from loopwright.testing import ScriptedChatModel
@tool
def search(query: str) -> str:
    "Search."
    return query
app = create_react_agent(ScriptedChatModel(replies=[]), [search])
""",
    "bounded by a number": AGAIN + "app = bounded(g, limit=3)",
    "bounded by loops": THREE + """
import loopwright
g.add_conditional_edges("check", lambda s: s["n"], ["work", "other"])
g.add_edge("other", END)
LOOPS = [loopwright.Loop(name="again", target="work", sources=("check",), limit=3, exhausted="other")]
app = loopwright.bounded(g.compile(), LOOPS)
""",
    "a node that nothing reaches": THREE,
    "a node that nothing reaches beside a cycle, and one that goes round alone":
        THREE + 'g.add_edge("check", "work")\ng.add_edge("other", "other")',
    "names that are put together": """
STEPS = ["work", "check", "other"]
g = StateGraph(State)
for name, (place, action) in zip(STEPS, enumerate((work, check, other))):
    g.add_node(f"{name}_{place}", action)
g.add_edge(START, STEPS[0] + "_0")
for place in range(len(STEPS)):
    if place > 0:
        g.add_edge(f"{STEPS[place - 1]}_{place - 1}", f"{STEPS[place]}_{place}")
ways = {name: f"{name}_0" for name in STEPS[:1]}
ways["FINISH"] = END
g.add_conditional_edges(f"{STEPS[-1]}_2", lambda s: s["next"], ways)
app = g.compile()
straight = StateGraph(State).add_sequence([work, ("again", check)]).add_edge(START, "work").compile()
[g.add_edge(a, b) for a, b in dict(zip(["other_2"], ["check_1"])).items()]
round = g.compile()
""",
    "other graphs of the folder": """
from shared_nodes import NAME, build_inner, route
""" + THREE + 'g.add_node(NAME, build_inner())\ng.add_conditional_edges("check", route)\ng.add_edge("check", "other")',
}  # fmt: skip

SHARED = (
    HEAD
    + """
NAME = "inner"
def route(state): return NAME
def build_inner():
    return StateGraph(State).add_node("x", work).add_edge(START, "x").compile()
"""
)


Outline = tuple[str, set[tuple[str, ...]], set[str | None]]


def outline(graphs: list[CheckedGraph]) -> dict[str, Outline]:
    return {
        graph.name.partition(":")[2]: (
            graph.verdict,
            {finding.cycle for finding in graph.findings if finding.cycle},
            {finding.suggestion for finding in graph.findings if finding.cycle},
        )
        for graph in graphs
    }


def proven(graph: Any) -> Outline:
    """What the proof of the living graph says."""
    try:
        certificate = verify(graph)
    except GraphError:
        return "unreachable", set(), set()
    if certificate.bounded:
        return "bounded", set(), set()
    cycles = certificate.unbounded_cycles
    bounds = suggestions(graph, cycles)
    return "unbounded", {*cycles}, {bounds.get(cycle) for cycle in cycles}


@pytest.mark.parametrize("case", FILES)
def test_reading_finds_what_importing_proves(case: str, tmp_path: Path) -> None:
    (tmp_path / "shared_nodes.py").write_text(SHARED)
    file = tmp_path / f"graph_{list(FILES).index(case)}.py"
    file.write_text(HEAD + FILES[case])
    read = outline(Checker([]).check(file))
    assert read
    assert read == outline(check_imported(str(file)))
    living = {name.partition(":")[2]: proven(graph) for name, graph in load_graphs(str(file)).items()}
    assert read == {name: living.get(name) for name in read}


def checked(tmp_path: Path, source: str) -> dict[str, CheckedGraph]:
    file = tmp_path / "file.py"
    file.write_text(HEAD + textwrap.dedent(source))
    return {graph.name.partition(":")[2]: graph for graph in Checker([tmp_path]).check(file)}


def line_of(tmp_path: Path, text: str) -> int:
    lines = (tmp_path / "file.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


NOT_READ = {
    "a name from elsewhere": 'g.add_edge("check", some_name)',
    "keyword options": 'g.add_node("more", **options)',
    "starred arguments": "g.add_edge(*pair)",
    "destinations from elsewhere": 'g.add_node("more", work, destinations=some_names)',
    "a path map from elsewhere": 'g.add_conditional_edges("check", lambda s: "x", paths)',
    "an unknown function": "decorate(g)",
    "an unknown method": "g.attach(work)",
    "a loop over what is not known": 'for name in names():\n    g.add_edge("check", name)',
    "a name that one branch changes": 'name = "work"\nif state():\n    name = "other"\ng.add_edge("check", name)',
    "an edge to a node that is not there": 'g.add_edge("check", "ghost")',
}


@pytest.mark.parametrize("case", NOT_READ)
def test_what_cannot_be_read_is_named_with_its_line(case: str, tmp_path: Path) -> None:
    (graph,) = checked(tmp_path, THREE + NOT_READ[case]).values()
    (finding,) = graph.findings
    assert graph.verdict == "not read"
    line = line_of(tmp_path, NOT_READ[case].splitlines()[-1].strip())
    assert (finding.rule, finding.place.line) == ("graph-not-read", line)
    assert "--import reads it exactly" in finding.message


@pytest.mark.parametrize("returned", ["g", "g.compile()"])
def test_a_builder_whose_nodes_nobody_knows_is_not_taken_for_empty(returned: str, tmp_path: Path) -> None:
    added = "g = StateGraph(State)\n    for each in flow: g.add_node(each, work)"
    for more, rules in (("", []), ("    g.add_edge('x', 'x')\n", ["unbounded-cycle"])):  # beside which others may be
        (graph,) = checked(tmp_path, f"def build(flow):\n    {added}\n{more}    return {returned}\n").values()
        assert [finding.rule for finding in graph.findings] == [*rules, "graph-not-read"]


def test_a_graph_of_another_package_is_not_read(tmp_path: Path) -> None:
    made = "from elsewhere import builder, make\nbuilder.add_edge('a', 'b')\nmade = make()\nmade.add_conditional_edges('a', work)\n"
    first, second = checked(tmp_path, made).values()
    assert first.verdict == second.verdict == "not read" and "elsewhere.builder" in first.findings[0].message


def test_a_graph_that_is_bounded_in_a_function_is_still_unbounded_outside(tmp_path: Path) -> None:
    found = checked(tmp_path, AGAIN + "app = g.compile()\n\ndef main():\n    safe = bounded(app, limit=3)\n")
    assert {name: graph.verdict for name, graph in found.items()} == {"app": "unbounded", "main.safe": "bounded"}


@pytest.mark.parametrize(
    "use",
    [
        "def main():\n    app = bounded(make(), limit=3)",
        "def build():\n    return bounded(make(), limit=3)\napp = build()",
        "def build(memory=None):\n    g = make()\n    if memory: return bounded(g, limit=3, checkpointer=memory)\n"
        "    return bounded(g, limit=3)\napp = build()",
    ],
)
def test_a_factory_is_checked_where_its_graph_is_bounded(use: str, tmp_path: Path) -> None:
    factory = "def make():\n" + textwrap.indent(f"{AGAIN}return g", "    ")
    found = checked(tmp_path, f"from loopwright import bounded\n{factory}\n{use}\n")
    assert {graph.verdict for graph in found.values()} == {"bounded"}


def test_an_empty_builder_is_told_where_it_is_filled(tmp_path: Path) -> None:
    (tmp_path / "common.py").write_text(HEAD + "def new(): return StateGraph(State)\n")
    filled = "from common import new\ng = new()\ng.add_node(work)\ng.add_edge(START, 'work')\napp = g.compile()\n"
    (tmp_path / "main.py").write_text(HEAD + filled)
    checker = Checker([tmp_path])
    verdicts = [[graph.verdict for graph in checker.check(tmp_path / f"{name}.py")] for name in ("common", "main")]
    assert verdicts == [[], ["bounded"]]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("app = g.compile()\nsafe = bounded(g, limit=3)", {"app": "unbounded", "safe": "bounded"}),
        ("safe = bounded(g, limit=3)\napp = g.compile()", {"app": "unbounded", "safe": "bounded"}),
        ("app = g.compile()\nsafe = bounded(app, limit=3)", {"safe": "bounded"}),
        ("app = g.compile()\napp = bounded(g, limit=3)", {"app": "bounded"}),
        ("print(g.compile().get_graph())\nsafe = bounded(g, limit=3)", {"safe": "bounded"}),
    ],
)
def test_a_builder_that_is_compiled_plainly_beside_bounded_is_a_finding(
    made: str, expected: dict[str, str], tmp_path: Path
) -> None:
    found = checked(tmp_path, AGAIN + made)
    assert {name: graph.verdict for name, graph in found.items()} == expected
    (tmp_path / "imported.py").write_text(HEAD + AGAIN + made)
    imported = check_imported(str(tmp_path / "imported.py"))
    assert {graph.name.rpartition(":")[2]: graph.verdict for graph in imported} == expected


def test_loops_that_leave_a_cycle_or_do_not_fit_are_told(tmp_path: Path) -> None:
    text = AGAIN.replace('"other"]', '"other", "check"]')
    text += 'app = bounded(g, [Loop(name="x", target={!r}, sources=({!r},), limit=2, exhausted={!r})])\n'
    cases = [("work", "check", "__end__"), ("other", "work", "__end__"), ("check", "check", "check")]
    first, misfit, back = graphs = [checked(tmp_path, text.format(*case))["app"] for case in cases]
    assert [graph.verdict for graph in graphs] == ["unbounded", "not read", "unbounded"]
    assert [finding.cycle for finding in first.findings] == [("check",)]
    (told,) = (each.suggestion for each in back.findings if "exhausted" in (each.suggestion or ""))
    assert told == "exhausted='__end__'  # of the Loop 'x', whose own route leads back into it"
    assert "there is no edge work -> other" in misfit.findings[0].message


def test_what_is_suggested_is_taken_as_it_stands(tmp_path: Path) -> None:
    joined = "g.add_edge(START, 'other')\ng.add_edge(['check', 'other'], 'work')\ng.add_edge('other', 'other')\n"
    loop = "loops = [Loop(name='work', target='other', sources=('other',), limit=2)]\n"
    for given in ("loops = []\n", loop):
        source = f"{THREE}{joined}from loopwright import Loop, bounded\n{given}app = bounded(g, loops)\n"
        texts = {finding.suggestion for finding in checked(tmp_path, source)["app"].findings}
        (tmp_path / "made.py").write_text(HEAD + source.replace("app = ", "# "))
        made = load_graphs(str(tmp_path / "made.py:g"))[f"{tmp_path}/made.py:g"]
        loops = [eval(given.partition("= ")[2].strip("[]\n"), {"Loop": Loop})] if given == loop else []
        assert verify(made, [*loops, *(eval(text, {"Loop": Loop}) for text in texts)]).bounded
        with pytest.raises(AssertionError) as told:
            assert_bounded(made, loops)
        assert all(text in str(told.value) for text in texts)


def test_a_loop_may_lead_to_the_fallback_that_bounded_adds(tmp_path: Path) -> None:
    loop = 'Loop(name="x", target="work", sources=("check",), limit=2, exhausted="fallback")'
    text = AGAIN.replace('s["n"], ["work", "other"]', '"work" if s else "other"')
    text += f"app = bounded(g, [{loop}], fallback=work)\n"
    assert checked(tmp_path, text)["app"].verdict == "bounded"
    assert checked(tmp_path, text.replace(", fallback=work", ""))["app"].verdict == "not read"


@pytest.mark.parametrize("where", ["graph", "edge", "elsewhere"])
def test_a_comment_silences_what_is_found_on_its_line(where: str, tmp_path: Path) -> None:
    comment = "  # loopwright: ignore"
    source = THREE.replace("StateGraph(State)", "StateGraph(State)" + comment * (where == "graph"))
    source += 'g.add_edge("check", "other")' + comment * (where == "elsewhere")
    source += '\ng.add_edge("other", "work")' + comment * (where == "edge")
    (graph,) = checked(tmp_path, source).values()
    assert bool(graph.findings) == (where == "elsewhere")


HIDDEN_AWAY = {
    "an optional package": """
    try:
        from langgraph.graph import END as E, StateGraph as Maker
        FOUND = True
    except ImportError:
        Maker = E = None
        FOUND = False
    def build():
        if Maker is None or not FOUND:
            raise ImportError("pip install langgraph")
        return Maker(State).add_node("work", work).add_edge(START, "work").add_edge("work", "work")
    """,
    "a class that keeps it and compiles it elsewhere": """
    class Flow:
        def __init__(self):
            self.workflow = self.begun()
        def finish(self):
            self.app = self.workflow.compile()
        def begun(self):
            return StateGraph(State).add_node("work", work).add_edge(START, "work").add_edge("work", "work")
    """,
    "ways beside one that is not known": """
    def build(names):
        g = StateGraph(State).add_node("work", work).add_edge(START, "work")
        ways = {name: name for name in names}
        ways["again"] = "work"
        g.add_conditional_edges("work", lambda s: s["n"], ways)
        return g.compile()
    """,
    "a function in a function that nobody calls here": """
    async def register(config):
        from langgraph.graph import StateGraph as Maker
        async def answer(question):
            g = Maker(State).add_node("work", work).add_edge(START, "work").add_edge("work", "work")
            return await g.compile().ainvoke({})
        yield answer
    """,
}


@pytest.mark.parametrize("case", HIDDEN_AWAY)
def test_a_graph_is_found_where_its_maker_is_imported_out_of_sight(case: str, tmp_path: Path) -> None:
    assert [graph.verdict for graph in checked(tmp_path, HIDDEN_AWAY[case]).values()] == ["unbounded"]

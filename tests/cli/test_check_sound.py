"""``loopwright check`` never says "bounded" of what may go round, nor of what it did not read."""

import re
import textwrap
from pathlib import Path

import pytest

from loopwright.check.findings import CheckedGraph, Checker
from loopwright.check.loading import check_imported
from loopwright.check.proving import BY_LIMIT
from loopwright.check.targets import check_targets

HEAD = """
import functools
from typing import Any, Literal
from typing_extensions import TypedDict
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send

class State(TypedDict, total=False):
    n: int

def work(state): return {"n": 1}
def check(state): return {"n": 2}
"""

JUMP = """
g = StateGraph(State)
g.add_node("work", work)
g.add_node("jump", {})
g.add_edge(START, "work")
g.add_edge("work", "jump")
app = g.compile()
"""
"""A graph that goes round only if the node ``jump`` says so."""


def checked(tmp_path: Path, source: str) -> dict[str, CheckedGraph]:
    file = tmp_path / "file.py"
    file.write_text(HEAD + textwrap.dedent(source))
    return {graph.name.partition(":")[2]: graph for graph in Checker([tmp_path]).check(file)}


OUT = """
def out(state): return Command(goto='work', graph=Command.PARENT)
inner = StateGraph(State).add_node('out', out).add_edge(START, 'out').compile()
"""
"""A graph that jumps out; where a node calls it, however it comes by it, the graph around may go round."""


BACK = "Command(goto='work') if input() else 'well'"

ROUND = {  # The last line is the node.
    "a decorator that jumps itself": "def d(f):\n    def w(*a):\n        f(*a)\n        return Command(goto='work')\n    return w\n@d\ndef jump(state): return {}\njump",
    "a decorator of the project's where a package is missing": (
        "try: from langfuse import observe\nexcept ImportError:\n    def observe(name):\n        def d(f):\n"
        "            def w(state): return Command(goto='work', update=f(state))\n            return w\n        return d\n"
        "@observe('n')\ndef jump(state): return {}\njump"
    ),
    "a partial": "def go(to, state): return Command(goto=to)\nfunctools.partial(go, 'work')",
    "what a package wraps": "from langsmith import traceable\ndef go(state): return Command(goto='work')\ntraceable(go)",
    "a fallback": "def go(state): return Command(goto='work')\nRunnableLambda(check).with_fallbacks([go])",
    "a tool that a package makes": "from langchain_core.tools import StructuredTool\ndef t(): 't'; return Command(goto='work')\nToolNode([StructuredTool.from_function(t)])",
    "a tool in a ToolNode": "@tool\ndef t(): 't'; return Command(goto='work')\nToolNode([t])",
    "a tool that is an object": (
        "from langchain_core.tools import BaseTool\nclass Back(BaseTool):\n    name: str = 'back'\n"
        f"    description: str = 'b'\n    def _run(self): return {BACK}\ntools = ToolNode([Back()])\ntools"
    ),
    "what wraps a tool's call": (
        f"@tool\ndef plain() -> str:\n    'b'\n    return 'well'\ndef wrap(request, handler): return {BACK}\n"
        "tools = ToolNode([plain], wrap_tool_call=wrap)\ntools"
    ),
    "a goto from the state": "def jump(state): return Command(goto=state['to'])\njump",
    "a goto from a table": "TO = {'a': 'work', 'b': END}\ndef jump(state): return Command(goto=TO[state['n']])\njump",
    "a list of Commands": "def jump(state): return [Command(goto='work')]\njump",
    "a Send": "def jump(state): return Send('work', {})\njump",
    "a Send to what the state says": "def jump(state): return Send(state['to'], {})\njump",
    "sends that are collected": "def jump(state):\n    s = []\n    for x in state['xs']:\n        s.append(Send('work', x))\n    return Command(goto=s)\njump",
    "an annotation that does not say all": "def jump(state) -> Command[Literal['__end__']]: return Command(goto='work')\njump",
    "an annotation that says only a part": "def jump(state) -> Command[Literal['__end__']]:\n    to = state.get('to') or 'work'\n    return Command(goto=to)\njump",
    "a helper's default that nobody declares": "def to(state): return state['to'] if state else state.get('to', 'work')\ndef jump(state) -> Command[Literal['__end__']]: return Command(goto=to(state))\njump",
    "a helper that says nothing of the declaration": "def pick(state): return None if state else Command(goto=state.get('to') or 'work')\ndef jump(state) -> Command[Literal['__end__']]: return pick(state)\njump",
    "a Command of the module": "BACK = Command(goto='work')\ndef jump(state): return BACK\njump",
    "a graph that jumps out": OUT + "inner",
    "a bounded graph that jumps out": OUT + "from loopwright import bounded\nbounded(inner, limit=3)",
    "a graph that jumps out by options": (
        OUT.replace("(state)", "(_) -> Command[Literal['__end__']]").replace("goto='work'", "**{'goto': 'work'}")
        + "inner"
    ),
    "a graph with a cycle": "inner = StateGraph(State).add_node('x', work).add_edge(START, 'x').add_edge('x', 'x').compile()\ninner",
    "an object that is kept": "class R:\n    def go(self): return Command(goto='work')\nclass N:\n    def __init__(self): self.r = R()\n    def jump(self, state): return self.r.go()\nN().jump",
}  # fmt: skip


CALLED = {
    "by its name": "def jump(state): return inner.invoke(state)",
    "out of a table": "AGENTS = {'x': inner}\ndef jump(state): AGENTS['x'].invoke(state)",
    "in a helper": "def ask(state): return inner.invoke(state)\ndef jump(state): ask(state)",
    "made by a factory": "def make():\n    g = StateGraph(State).add_node('out', out).add_edge(START, 'out')\n    return g.compile()\ndef jump(state): make().invoke(state)",
    "from a registry": "class R:\n    def __init__(self): self.items = {}\n    def get(self, k): return self.items[k]\nr = R()\nr.items['x'] = inner\ndef jump(state): r.get('x').invoke(state)",
    "in an object": "class S:\n    def __init__(self, graph): self.graph = graph\n    def ask(self, s): return self.graph.invoke(s)\ns = S(inner)\ndef jump(state): s.ask(state)",
    "raised": "from langgraph.errors import ParentCommand\ndef leave(to): raise ParentCommand(Command(graph='jump', goto=to))\ndef jump(state): leave('work')",
    "for a graph of another name": "def jump(state): return Command(goto='work', graph='elsewhere')",
}  # fmt: skip
ROUND |= {f"a graph that jumps out, called {how}": f"{OUT}{node}\njump" for how, node in CALLED.items()}


FORWARD = {
    "a method": "class N:\n    def jump(self, state): return {'n': self.n}\nN().jump",
    "what a partial gives": "def go(state, to): return Command(goto=to)\nfunctools.partial(go, to=END)",
    "a chain": "from elsewhere import prompt, model\nprompt | model | RunnableLambda(work)",
    "a function of another package": "from elsewhere import node\nnode",
    "what a model returns": "from elsewhere import model\ndef jump(state): return model.invoke(state)\njump",
    "tools that return no Command": "@tool\ndef t(): 't'; return 1\nToolNode([t])",
    "a state that is handed on": "def jump(state):\n    state['n'] += 1\n    return state\njump",
    "a Command without a goto": "def jump(state): return Command(update={'n': 1})\njump",
}


@pytest.mark.parametrize("case", ROUND | FORWARD)
def test_a_jump_is_followed_to_where_it_is_made_and_none_is_seen_where_none_is(case: str, tmp_path: Path) -> None:
    before, _, node = (ROUND | FORWARD)[case].rpartition("\n")
    graph = checked(tmp_path, before + JUMP.format(node))["app"]
    assert graph.verdict == ("unbounded" if case in ROUND else "bounded"), graph.findings


def test_what_a_verdict_rests_on_is_said(tmp_path: Path) -> None:
    graph = checked(tmp_path, "from elsewhere import node" + JUMP.format("node"))["app"]
    assert any("elsewhere.node" in assumption for assumption in graph.assumptions)
    found = checked(tmp_path, ROUND_INSIDE + JUMP.format("lambda state: spin.invoke(state)"))
    assert {name: graph.verdict for name, graph in found.items()} == {"spin": "unbounded", "app": "bounded"}
    assert any(text.startswith("jump calls 1 graph(s) inside") for text in found["app"].assumptions)


UNREAD = {
    "a parameter": "def build(node):\nnode",
    "a name from nowhere": "def build():\nsome_node",
    "an item of a table": "def build(nodes):\nnodes['x']",
    "a module that is not there": "from .missing import node\ndef build():\nnode",
    "a graph of another package of agents": "from langgraph_codeact import create_codeact\ndef build():\ncreate_codeact()",
    "a wrapper that was not read": "from .missing import wrapped\ndef f(state): return {}\nnode = wrapped(f)\ndef build():\nnode",
    "a branch that was not read": "from langchain_core.runnables import RunnableBranch\nfrom elsewhere import ways\ndef f(state): return ways(state)\ndef h(state): return {}\ndef build():\nRunnableBranch((h, f), h)",
    "a decorator that was not read": "def build(d):\n    @d\n    def node(state): return {}\nnode",
}  # fmt: skip


@pytest.mark.parametrize("case", UNREAD)
def test_a_node_that_was_not_read_leaves_the_graph_not_read(case: str, tmp_path: Path) -> None:
    before, _, node = UNREAD[case].rpartition("\n")
    other = "\ndef somewhere(state): return Command(goto='work')\n"
    body = textwrap.indent(JUMP.format(node), "    ")
    (graph,) = checked(tmp_path, f"{other}{before}\n{body}\n    return app\n").values()
    assert graph.verdict == "not read"
    assert "--import" not in graph.findings[0].message  # nor does that make what only a function makes


MAY_JUMP = {
    "a name of the module": "def jump(state): return globals()['go'](state)",
    "a table of functions": "WAYS = {'x': go}\ndef jump(state): return WAYS['x'](state)",
    "a table of Commands": "WAYS = {'x': Command(goto='work')}\ndef jump(state): return WAYS[state['x']]",
    "a changed Command": "import dataclasses\ndef jump(state): return dataclasses.replace(Command(), goto='work')",
    "a copied Command": "BACK = Command(goto='work')\ndef jump(state):\n    import copy\n    return copy.copy(BACK)",
    "the state": "def jump(state): return state['next']",
    "an exception": "def jump(state):\n    try: work(state)\n    except OSError as error: return error.command",
    "an attribute of a module": "import settings\ndef jump(state):\n    settings.NEXT = 'work'\n    return Command(goto=settings.NEXT)",
    "an attribute that a node sets": "class N:\n    def __init__(self): self.to = END\n    def jump(self, state): return Command(goto=self.to)\nn = N()\ndef jump(state):\n    n.to = 'work'\n    return n.jump(state)",
    "a map": "def jump(state): return list(map(go, [state]))",
    "a name of a pattern": "def jump(state):\n    match state:\n        case {'next': c}: pass\n        case _: c = {}\n    return c",
    "a list that a method of its name hands on": "ITEMS = [END]\nclass S:\n    def list(self): return ITEMS\nE = S().list()\ndef more(): ITEMS.append('work')\ndef jump(state): return Command(goto=E)",
    "a list of two names": ("C = E = [END]\ndef more(): C.append('work')\ndef jump(state): return Command(goto=E)"),
    "a part of an object": "from typing import NamedTuple\nclass D(NamedTuple):\n    c: object\ndef jump(state):\n    (c,) = D(go(state))\n    return c",
    "a name on the way": "def note(c): return {}\ndef jump(state):\n    c = {}\n    c['x'] = 1\n    note({'c': (c := go(state))})\n    return c",
    "a list that another function fills": "def jump(state):\n    c = state['n'] and [] or []\n    c[0:] = [go(state)]\n    return c",
    "a table that a function inside replaces": "def jump(state):\n    c = {}\n    def f():\n        nonlocal c\n        c = go(state)\n    f()\n    return c",
    "an argument that may be replaced": "def pick(state, c):\n    if state: c = {}\n    return c\ndef jump(state): return pick(state, go(state))",
    "a default": "def jump(state, back=go): return back(state)",
    "a function by type": "@functools.singledispatch\ndef jump(state): return {}\n@jump.register(dict)\ndef _(state): return go(state)",
    "a pair": "def two(state): return go(state), 1\ndef jump(state):\n    c, n = two(state)\n    return c",
    "what a with gives": "class R:\n    def __enter__(self): return go(self)\n    def __exit__(self, *_): pass\ndef jump(state):\n    with R() as r:\n        held = r\n    return held",
    "getattr": "class K:\n    def back(self, s): return go(s)\nk = K()\ndef jump(state): return getattr(k, 'back')(state)",
    "what another answers under an agent's name": "from langchain.agents import create_agent\ndef jump(state):\n    agent = create_agent('m', tools=[])\n    agent = input() or agent\n    return agent.invoke(state)",
    "what a class of that name makes": "class MessagesState(Command): pass\ndef jump(state): return MessagesState(goto='work')",
    "super": "class B:\n    def jump(self, s): return go(s)\nclass K(B):\n    def jump(self, s): return super().jump(s)\njump = K().jump",
}  # fmt: skip


@pytest.mark.parametrize("case", MAY_JUMP)
def test_what_may_be_a_command_is_not_called_none(case: str, tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("NEXT = '__end__'\n")
    source = f"def go(state): return Command(goto='work')\n{MAY_JUMP[case]}\n" + JUMP.format("jump")
    assert checked(tmp_path, source)["app"].verdict in ("not read", "unbounded")


ROUTED = """
g = StateGraph(State)
g.add_node("work", work)
g.add_node("other", check)
g.add_edge(START, "work")
g.add_conditional_edges("work", route)
app = g.compile()
"""
"""A graph whose first node goes where the router ``route`` says."""

FILLS = "from langchain.agents import create_agent\nclass Flow:\n    {}\n    def load(self): self.tools.append(work)\n    def build(self): return create_agent('m', self.tools)\n"
FLOW = """
import dataclasses
@dataclasses.dataclass
class Flow:
    back: str = END
    def __post_init__(self): self._wire()
    def _wire(self):
        self.app = StateGraph(State).add_node("work", work).add_edge(START, "work").add_edge("work", self.back).compile()
    {}
app = Flow().app
"""
NEVER_BOUNDED = {
    "what a method changes and wires again": FLOW.format("def __init__(self):\n        self.back = END\n        self._wire()\n    def again(self):\n        self.back = 'work'\n        self._wire()"),
    "another of its class": FLOW.format("@classmethod\n    def again(cls): return cls('work')"),
    "another of its own type": FLOW.format("def again(self, back): return type(self)(back)"),
    "another, with a field replaced": FLOW.format("def again(self): return dataclasses.replace(self, back='work')"),
    "a graph that an option leaves without a bound": "from loopwright import bounded\ndef wired(): return StateGraph(State).add_node('x', work).add_edge(START, 'x').add_edge('x', 'x')\ndef make(debug=False):\n    g = wired()\n    return g.compile() if debug else bounded(g, limit=2)\napp = make()",
    "an attribute that another method fills": FILLS.format("def __init__(self): self.tools = []"),
    "a list of its class that a method fills": FILLS.format("tools = []"),
    "a graph of its class that a method replaces": "from langchain.agents import create_agent\nclass Flow:\n    agent = create_agent('m', [])\n    def use(self, other): self.agent = other\n    def build(self): return StateGraph(State).add_node('x', self.agent).add_edge(START, 'x').compile()\n",
    "names that globals() changes": "AFTER = END\ndef configure(values): globals().update(values)\ndef route(state): return AFTER" + ROUTED,
    "a list that a decorator fills": """
        from langchain.agents import create_agent
        TOOLS = []
        def register(f):
            TOOLS.append(f)
            return f
        @register
        def search(q): return q
        app = create_agent("m", TOOLS)
        """,
    "a property": """
        from functools import cached_property
        class Flow:
            def __init__(self): self.g = StateGraph(State).add_node("work", work).add_edge(START, "work")
            @property
            def builder(self): return self.g
            @cached_property
            def again(self): return self.builder
            def make(self):
                self.again.add_edge("work", "work")
                return self.g.compile()
        app = Flow().make()
        """,
    "a hook for subclasses": """
        WAYS = [("work", END)]
        class Step:
            def __init_subclass__(cls): WAYS.append(cls.way)
        class Back(Step): way = ("work", "work")
        g = StateGraph(State).add_node("work", work).add_edge(START, "work")
        for way in WAYS: g.add_edge(*way)
        app = g.compile()
        """,
    "a bound in one way of an if": """
        from loopwright import bounded
        g = StateGraph(State).add_node("work", work).add_edge(START, "work").add_edge("work", "work")
        if input(): app = bounded(g, limit=3)
        else: app = g.compile()
        """,
    "a bound in one way of an expression": "from loopwright import bounded" + JUMP.format("work").replace("app =", "g.add_edge('jump', 'work')\napp = bounded(g, limit=3) if input() else"),
    "a graph of the direct run": """
        def wire(): g.add_edge("work", "work")
        if __name__ == "__main__":
            g = StateGraph(State).add_node("work", work).add_edge(START, "work")
            wire()
            app = g.compile()
        """,
    "a maker by another name": "from langgraph.prebuilt import create_react_agent as react\ndef build(m): return react(m, [work])",
    "a builder's class of a class": "class A(StateGraph): pass\nclass B(A): pass\ng = B(State).add_node('x', work).add_edge(START, 'x').add_edge('x', 'x')",
    "an annotation behind a partial": "def pick(n, state) -> Literal['__end__']: return 'work' if state else END\nroute = functools.partial(pick, 3)" + ROUTED,
    "a path map with an unknown part": """
        def build(name):
            ways = {"a": END}
            ways[name] = name
            g = StateGraph(State).add_node("work", work).add_edge(START, "work")
            g.add_conditional_edges("work", lambda s: s["n"], ways)
            return g.compile()
        """,
    "a router with a pattern": (
        "def route(state):\n    match state:\n        case {'next': to}: pass\n        case _: to = END\n    return to"
        + ROUTED
    ),
    "a field that others fill": """
        import dataclasses
        @dataclasses.dataclass
        class Flow:
            back: bool = False
            def build(self):
                g = StateGraph(State).add_node("work", work).add_edge(START, "work")
                if self.back: g.add_edge("work", "work")
                return g.compile()
        """,
    "a method of what it inherits that it changes": """
        class Flow:
            def build(self):
                g = StateGraph(State).add_node("work", work).add_edge(START, "work")
                self.more(g)
                return g.compile()
            def more(self, g): g.add_edge("work", END)
        class Back(Flow):
            def more(self, g): g.add_edge("work", "work")
        """,
    "a factory that a function calls otherwise": """
        def build(back=False):
            g = StateGraph(State).add_node("work", work).add_edge(START, "work")
            if back: g.add_edge("work", "work")
            return g.compile()
        def second(back): return build(back)
        app = second(False)
        def main(): second(True).invoke({})
        """,
    "a graph that its node calls by a helper": "def go(s): return app.invoke(s)\ndef f(s): return go(s)\napp = StateGraph(State).add_node(f).add_edge(START, 'f').compile()",
    "a graph that a graph inside it calls": "def f(s): return app.invoke(s)\ninner = StateGraph(State).add_node(f).add_edge(START, 'f').compile()\napp = StateGraph(State).add_node('i', inner).add_edge(START, 'i').compile()",
    "a state with a default": (
        "class R:\n    def route(self, state='__end__'): return state\nroute = R().route" + ROUTED
    ),
    "a Send past the path map": (
        "def route(state): return [Send('work', {})]" + ROUTED.replace("route)", "route, [END, 'other'])")
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NEVER_BOUNDED)
def test_what_may_go_round_is_never_bounded(case: str, tmp_path: Path) -> None:
    graphs = checked(tmp_path, NEVER_BOUNDED[case]).values()
    assert "bounded" not in [graph.verdict for graph in graphs] or len(graphs) > 1
    assert any(graph.verdict in ("unbounded", "not read") for graph in graphs)


BACK_IF = (
    "g = StateGraph(dict).add_node('a', print).add_edge(START, 'a')\nif {}: g.add_edge('a', 'a')\napp = g.compile()\n"
)
MADE = "def make(back=True):\n    " + BACK_IF.replace("\n", "\n    ").format("back") + "return app\n"
IMPORTS = "from langgraph.graph import START, StateGraph\n"
BEGIN = f"{IMPORTS}def begin(): return StateGraph(dict).add_node('a', print).add_edge(START, 'a')\n"
ELSEWHERE = {
    "a factory that another file calls": {"b": f"{IMPORTS}{MADE}app = make(False)\n", "c": "from b import make as m\nm(True)\n"},
    "a file that only calls it": {"c": f"{IMPORTS}{MADE}", "b": "from c import make\napp = make()\n", "a": f"{IMPORTS}from b import app\n"},
    "a module": {"c": "BACK = False\n", "a": "import c\nc.BACK = 1\n", "b": f"{IMPORTS}import c\n" + BACK_IF.format("c.BACK")},
    "a module that is handed on": {"c": "BACK = False\n", "a": "import c\ndef f(m): setattr(m, input(), 1)\nf(c)\n", "b": f"{IMPORTS}import c\n" + BACK_IF.format("c.BACK")},
    "a name of a module": {"c": "BACK = False\n", "d": "import c\nc.BACK = 1\n", "b": f"{IMPORTS}from c import X as x, BACK\n" + BACK_IF.format("BACK")},
    "a name of a module, renamed": {"c": "BACK = X = False\n", "d": "import c\nc.BACK = 1\n", "b": f"{IMPORTS}from c import X, BACK as back\n" + BACK_IF.format("back")},
    "a name that a star does not bring": {"c": "__all__ = ['C']\nBACK = C = False\n", "b": f"{IMPORTS}BACK = True\nfrom c import *\n" + BACK_IF.format("BACK")},
    "a factory that is handed on": {"a": f"{IMPORTS}{MADE}app = make(False)\n", "b": "import pool\nfrom a import make\npool.submit(make, True)\n"},
    "an object's attributes": {"a": "from b import s\nfor k in {}: setattr(s, k, 'a')\n", "b": f"from langgraph.graph import END\n{IMPORTS}class S: to = END\ns = S()\ndef route(_): return s.to\n" + BACK_IF.replace("if {}: g.add_edge('a', 'a')", "g.add_conditional_edges('a', route)")},
    "a module that one of a package hides": {"p/c": "BACK = True\n", "p/q/__init__": "", "p/q/c": "BACK = False\n", "p/q/b": f"{IMPORTS}from c import BACK\n" + BACK_IF.format("BACK")},
    "a maker with an option that no file gives": {"a": f"from c import make\n{IMPORTS}app = make()\n", "c": f"{IMPORTS}{MADE.replace('True', 'False')}"},
    "a maker that only another option calls": {"a": f"from c import make\n{IMPORTS}def outer(deep=False):\n    g = StateGraph(dict).add_node('a', print).add_edge(START, 'a')\n    if deep: g.add_node('b', make(False))\n    return g.compile()\napp = outer()\n", "c": f"{IMPORTS}{MADE.replace('=True', '')}"},
    "a package of another project": {"x/setup": "", "x/src/p/__init__": "def wire(g): g.add_edge('a', 'a')\n", "y/b": f"{IMPORTS}from p import wire\n" + BACK_IF.format("wire(g)")},
    "a module that is not there": {"src/p/__init__": "", "src/p/b": f"{IMPORTS}from p.c import jump\n" + BACK_IF.replace("print", "jump").format("False")},
    "a class": {"c": "class C: BACK = False\n", "a": "from c import C\nC.BACK = 1\n", "b": f"{IMPORTS}from c import C\n" + BACK_IF.format("C.BACK")},
    "what a star imports": {"nodes": "from langgraph.types import *\ndef jump(state): return Command(goto='a')\n", "b": "from langgraph.graph import *\nfrom nodes import *\n" + BACK_IF.replace("print", "jump").format("False")},
    "a module beside any folder around, package or not": {"plain/nodes": "from langgraph.types import Command\ndef go(s): return Command(goto='a')\n", "plain/inner/app": f"{IMPORTS}from nodes import go\n" + BACK_IF.replace("print", "go").format("False")},
    "another name of a maker, that helpers hand on": {"c": BEGIN, "d": "import c\nnew = c.begin\n" + "".join(f"def f{n}(x): return f{n + 1}(x)\n" for n in range(6)) + "def f6(x): return x()\n", "b": "import d\ndef build(): return d.f0(d.new).add_edge('a', d.f0(lambda: 'a'))\n"},
    "a builder of a base": {"c": BEGIN, "d": "import c\nclass Base:\n    def __init__(self): self.g = c.begin()\n", "b": "from d import Base\nclass Mine(Base):\n    def close(self): self.app = self.g.add_edge('a', 'a').compile()\n"},
    "a list of a class": {"c": "class C:\n    tools = []\n    @classmethod\n    def add(cls, f): cls.tools.append(f)\n", "b": "from c import C\nfrom langchain.agents import create_agent\napp = create_agent('m', C.tools)\n"},
}  # fmt: skip


@pytest.mark.parametrize("case", ELSEWHERE)
def test_what_another_file_changes_or_calls_is_not_taken_for_fixed(case: str, tmp_path: Path) -> None:
    for name, text in ELSEWHERE[case].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text(text)
    verdict = "not read" if "not there" in case else "unbounded"
    assert verdict in {graph.verdict for graph in check_targets([str(tmp_path)], None, False).graphs}


@pytest.mark.parametrize("importing", [False, True])
def test_two_projects_may_use_the_same_names(importing: bool, tmp_path: Path) -> None:
    for name, back in (("one", "False"), ("two", "True")):
        (tmp_path / name / "app").mkdir(parents=True)
        (tmp_path / name / "app" / "__init__.py").touch()
        (tmp_path / name / "app" / "ways.py").write_text(f"BACK = {back}\n")
        built = f"{IMPORTS}import app.ways\n{BACK_IF.replace('print', 'lambda s: s').format('app.ways.BACK')}"
        (tmp_path / name / "app" / "graph.py").write_text(built.replace("\napp =", "\nmade ="))
    graphs = check_targets([str(tmp_path / "one"), str(tmp_path / "two")], importing, False).graphs
    assert [graph.verdict for graph in graphs] == ["bounded", "unbounded"]


ROUTERS = {
    "a local name": "def route(state):\n    to = 'other'\n    if state['n']: to = END\n    return to",
    "a table": "WAYS = {'a': 'other', 'b': END}\ndef route(state): return WAYS.get(state['n'], END)",
    "a partial": "def pick(state, to): return to\nroute = functools.partial(pick, to='other')",
    "a match": "def route(state):\n    match state['n']:\n        case 1: return 'other'\n        case _: return END",
    "a sum of lists": "def route(state): return [Send('other', x) for x in state['xs']] + [END]",
    "one or the other": "def route(state): return None or 'other'",
    "objects that decorate": "import statsd\nstats = statsd.Client()\nclass Timed:\n    def __init__(self, name): self.name = name\n    def __call__(self, f): return lambda state: f(state)\n@stats.timer('x')\n@Timed('x')\ndef route(state): return 'other'",
}  # fmt: skip


@pytest.mark.parametrize("case", ROUTERS)
def test_a_router_that_leads_elsewhere_is_no_cycle(case: str, tmp_path: Path) -> None:
    found = checked(tmp_path, ROUTERS[case] + ROUTED)["app"]
    assert found.verdict == "bounded", found.findings
    back = ROUTERS[case].replace("'other'", "'work'") + ROUTED.replace("app =", 'g.add_edge("work", "other")\napp =')
    assert checked(tmp_path, back)["app"].verdict == "unbounded"


READ_OTHERWISE = {
    "a builder that is taken from a compiled graph": "g.compile().builder.add_edge('jump', 'work')",
    "a builder of a list": "all = []\nall.append(g)\nall[0].add_edge('jump', 'work')",
    "a method by another name": "edge, other = g.add_edge, g.add_node\nedge('jump', 'work')",
    "a method that is kept": "class K:\n    def __init__(self): self.add = g.add_edge\nK().add('jump', 'work')",
    "a method that is handed on": "def link(add): add('jump', 'work')\nlink(g.add_edge)",
    "a with": "class W:\n    def __exit__(self, *a): g.add_edge('jump', 'work')\nwith W(): pass",
    "a lambda that is handed on": "import threading\nthreading.Thread(target=lambda: g.add_edge('jump', 'work')).start()",
    "a partial of a function": "def wire(end=END): g.add_edge('jump', end)\nfunctools.partial(wire, end='work')()",
    "a property": "class P:\n    def __init__(self, g): self.g = g\n    @property\n    def it(self): return self.g\nP(g).it.add_edge('jump', 'work')",
    "a list that is added to in place": "def more(ways): ways += ['work']\nends = [END]\nmore(ends)\nfor end in ends: g.add_edge('jump', end)",
    "a dataclass's place": "from dataclasses import dataclass, field\nfrom typing import ClassVar\n@dataclass\nclass Way:\n    kind: ClassVar[str] = 'x'\n    seen: str = field(init=False)\n    to: str = END\ng.add_edge('jump', Way('work').to)",
    "what a dataclass does at last": "class Way:\n    to: str = END\n    def __post_init__(self): self.to = 'work'\ng.add_edge('jump', Way().to)",
    "a method of the nearer class": "class A:\n    def to(self): return END\nclass B(A): pass\nclass C(A):\n    def to(self): return 'work'\nclass D(B, C):\n    def to(self): return super().to()\ng.add_edge('jump', D().to())",
    "an attribute that a later class gives": "class A:\n    def __init__(self):\n        self.to = END\n        g.add_conditional_edges('jump', self.way)\n    def way(self, s): return self.to\nclass B(A):\n    def __init__(self):\n        super().__init__()\n        self.to = 'work'\nB()",
    "a graph whose error handler jumps out": OUT + "inner = StateGraph(State).add_node('x', work, error_handler=out).add_edge(START, 'x')\ng.add_node('x', inner.compile()).add_edge('jump', 'x')",
    "a graph that jumps past what is declared": OUT + "g.add_node('x', inner, destinations=(END,)).add_edge('jump', 'x')",
    "a table that a function changes": "WAYS = {'a': END}\ndef more(): WAYS['b'] = 'work'\ng.add_conditional_edges('jump', lambda s: WAYS[s['n']])",
    "an attribute that is set by its name": "class Way:\n    to = END\nway = Way()\nsetattr(way, 'to', 'work')\ng.add_edge('jump', way.to)",
    "a method of what it inherits": "class A:\n    def build(self): return g\nclass B(A):\n    def build(self):\n        q = super().build()\n        q.add_edge('jump', 'work')\nB().build()",
    "a node whose name is not known": "g.add_edge('jump', 'work')\ng.add_node(input(), work)",
    "an attribute by its name": "class P: pass\np = P()\np.g = g\ngetattr(p, 'g').add_edge('jump', 'work')",
    "names in order": "for to in sorted({'work': 1}): g.add_edge('jump', to)",
    "the item behind the last": "WAYS = ['work', 'jump']\ng.add_edge('jump', WAYS[(1 + 1) % len(WAYS)])",
    "a choice between constants": "g.add_edge('jump', 'work' if True else END)",
    "what a table has": "ways = {'a': 'work'}\nif 'a' in ways: g.add_edge('jump', ways.get('a'))",
    "tables put together": "g.add_conditional_edges('jump', check, {n: n for n in ['work']} | {'x': END})",
    "what a function keeps": "import functools\nclass P:\n    to = END\n@functools.lru_cache(maxsize=1)\ndef kept(): return P()\np = kept()\np.to = 'work'\ng.add_edge('jump', kept().to)",
    "an assertion": "assert g.add_edge('jump', 'work')",
    "a case's guard": "match input():\n    case _ if g.add_edge('jump', 'work'): pass",
    "a class's decorator": "def back(of):\n    g.add_edge('jump', 'work')\n    return of\n@back\nclass P: pass",
    "an attribute that is made when it is asked for": "class P:\n    def __getattr__(self, name): return lambda to: g.add_edge(name, to)\nP().jump('work')",
    "an attribute of an attribute": "class P: to = END\nclass Q:\n    def __init__(self): self.p = P()\nq = Q()\nq.p.to = 'work'\ng.add_edge('jump', q.p.to)",
    "one of two that are assigned": "ways = {}\nways['a'], x = 'work', 1\ng.add_edge('jump', ways['a'])",
    "a table of a table": "g.add_conditional_edges('jump', check, dict({'a': 'work', 'b': END}))",
    "keys that number themselves": "from enum import Enum, auto\nclass Way(Enum):\n    BACK = auto()\n    DONE = auto()\ng.add_conditional_edges('jump', check, {Way.BACK: 'work', Way.DONE: END})",
    "two keys that are not known": "g.add_conditional_edges('jump', check, {input(): 'work', **{input(): END}})",
    "keys that look alike": "g.add_conditional_edges('jump', check, {1: 'work', '1': END})",
    "members that name themselves": "from enum import StrEnum, auto\nclass To(StrEnum): WORK = auto()\nfor to in To: g.add_edge('jump', to)",
    "members that are pairs": "from enum import Enum\nclass To(Enum): BACK = 'work', 1\nfor to in To: g.add_edge('jump', to.value[0])",
    "a setting": "from pydantic_settings import BaseSettings\nclass S(BaseSettings): back: bool = False\nif S().back: g.add_edge('jump', 'work')",
    "a node that is added in two ways": "if input(): g.add_node('x', lambda s: Command(goto='work'))\nelse: g.add_node('x', check)\ng.add_edge('jump', 'x')",
    "a node that declares its way in one of two": "def out(s) -> Command[Literal['__end__']]: ...\nif input(): g.add_node('x', lambda s: Command(goto='work'))\nelse: g.add_node('x', out)\ng.add_edge('jump', 'x')",
    "one of two functions": "g.add_node('x', work if input() else lambda s: Command(goto='work')).add_edge('jump', 'x')",
    "one of two functions, the other of which declares": "def out(s) -> Command[Literal['__end__']]: ...\ng.add_node('x', out if input() else lambda s: Command(goto='work')).add_edge('jump', 'x')",
    "a chain whose last part declares": "def f(s) -> Command[Literal['work']]: ...\ng.add_node('x', RunnableLambda(work) | f).add_edge('jump', 'x')",
    "a table with a key that nobody knows": "for to, _ in {input(): 1, 'work': 2}.items(): g.add_edge('jump', to)",
    "a text with a width": "g.add_edge('jump', '{:4}'.format('work'))",
    "a list that a class's method only looks at": "ways = ['work']\ndict.fromkeys(ways)\nfor to in ways: g.add_edge('jump', to)",
    "a helper with options that nobody knows": "def more(b, **k): b.add_edge('jump', 'work')\nmore(g, **input())",
    "lists and builders that a dataclass keeps": "import dataclasses\n@dataclasses.dataclass\nclass Plan:\n    ways: list = dataclasses.field(default_factory=lambda: [END])\nplan, own = Plan([END]), Plan()\nown.ways.append('work')\nfor end in (*plan.ways, *own.ways): Plan([g]).ways[0].add_edge('jump', end)",
    "what is taken where nothing is given, and a function under another name": "def link(*ends):\n    for end in ends or ('x',): g.add_edge('jump', end)\nlink()\ng.add_node(RunnableLambda(check, name='x')).add_edge('x', 'work')",
}  # fmt: skip

NOT_READ_OTHERWISE = {
    "a builder in a list of one of several objects": "class Box: pass\nall = [Box(), Box()]\nall[int(input())].of = [g]\nall[int(input())].of[0].add_edge('jump', 'work')",
    "a list that a model's validator changes": "from pydantic import BaseModel, field_validator\nclass Plan(BaseModel):\n    ways: list\n    @field_validator('ways')\n    def more(cls, ways): return [*ways, 'work']\nfor end in Plan(ways=[END]).ways: g.add_edge('jump', end)",
    "lists of an object that a package is handed": "from plans import fill\nclass Plan:\n    def __init__(self): self.ways = []\nplan = Plan()\nfill(plan)\nfor end in plan.ways: g.add_edge('jump', end)",
    "what a getter takes out": "import operator\nclass P: pass\np = P()\np.ways = [('jump', END)]\noperator.attrgetter('ways')(p).append(('jump', 'work'))\nfor a, b in p.ways: g.add_edge(a, b)",
    "a method of a class of Python's": "ways = [('jump', END)]\nfunctools.partial(list.append, ways)(('jump', 'work'))\nfor a, b in ways: g.add_edge(a, b)",
    "such a method that is handed on": "ways = [('jump', END)]\nlist(map(list.append, [ways], [('jump', 'work')]))\nfor a, b in ways: g.add_edge(a, b)",
    "edges": "g.edges.add(('work', 'work'))",
    "edges assigned": "g.edges |= {('work', 'work')}",
    "edges by another name": "e = g.edges\ne |= {('jump', 'work')}",
    "nodes": "g.nodes['work'] = g.nodes['other']",
    "one of two builders": "q = g if input() else StateGraph(State)\nq.add_edge('jump', 'work')",
    "an unknown method of a table": "ways = {'edge': g.add_edge}\nways[input()]('jump', 'work')",
    "a partial of a method": "functools.partial(g.add_edge, 'jump')('work')",
    "a map of a method": "list(map(g.add_edge, ['jump'], ['work']))",
    "a map of a method of one of two": "q = [g, StateGraph(State)][int(input())]\nlist(map(q.add_edge, ['jump'], ['work']))",
    "a list of builders in a lambda": "of = [g]\nfunctools.reduce(lambda _, end: of[0].add_edge('jump', end), ['work'], None)",
    "a proxy": "class P:\n    def __init__(self, g): self.g = g\nP(g).add_edge('jump', 'work')",
    "text that is run": "exec('g.add_edge(\"jump\", \"work\")')",
    "the names around": "globals()['g'].add_edge('jump', 'work')",
    "an attribute of something unknown": "import types\nbox = types.SimpleNamespace()\nbox.g = g\nsame = [box][0]\nsame.g.add_edge('jump', 'work')",
    "a set that gets more": "ways = {('jump', END)}\nways.add(('jump', 'work'))\nfor a, b in ways: g.add_edge(a, b)",
    "a global list": "WAYS = [END]\ndef turn():\n    global WAYS\n    WAYS = [*WAYS, 'work']\nturn()\nfor end in WAYS: g.add_edge('jump', end)",
    "a helper that is handed on after a call": "from elsewhere import run\ndef link(a, b): g.add_edge(a, b)\nlink('jump', END)\nrun(link, 'jump', 'work')",
    "a comprehension whose condition is not known": "[g.add_edge('jump', end) for end in [END, 'work'] if input()]",
    "lambdas in a table": "later = [lambda: g.add_edge('jump', 'work')]\nlater[input()]()",
    "an object that holds it": "class P:\n    def __init__(self, g): self.g = g\nfrom elsewhere import install\ninstall(P(g))",
    "what is suppressed": "import contextlib\nend = 'work'\nwith contextlib.suppress(ImportError):\n    import missing\n    end = END\ng.add_edge('jump', end)",
    "keys that are not read": "ends = {t.swapcase(): t for t in ['work', END]}\nfor end in ends.values(): g.add_edge('jump', end)",
    "a builder that is yielded": "import contextlib\n@contextlib.contextmanager\ndef held():\n    yield g\nwith held() as q: q.add_edge('jump', 'work')",
    "what an object's place is in one branch": "class P: pass\np = P()\np.to = END\nif input():\n    p.to = 'work'\nelse:\n    p.other = 1\ng.add_edge('jump', p.to)",
    "one of several graphs": "flat = StateGraph(State).add_node('x', work).add_edge(START, 'x')\nback = StateGraph(State).add_node('x', work).add_edge(START, 'x').add_edge('x', 'x')\ng.add_node('x', RunnableLambda(work) | flat.compile() | back.compile()).add_edge('jump', 'x')",
    "only a node whose name is not known": "g.add_node(input(), work)",
    "its attributes as a table": "g.__dict__['edges'].add(('jump', 'work'))",
    "the compiled graph": "g.compile().attach_edge('jump', 'work')",
    "an error's message": "try:\n    raise ValueError(g.add_edge('jump', 'work'))\nexcept ValueError: pass",
    "a list that gets shorter": "ends = [END, 'work']\ndel ends[0]\ng.add_edge('jump', ends[0])",
    "attributes that are set by their names": "class P:\n    def __init__(self): self.to = END\np = P()\nfor name in input(): setattr(p, name, 1)\ng.add_edge('jump', p.to)",
    "attributes that a table brings": "class P:\n    def __init__(self): self.to = END\np = P()\np.__dict__.update(input())\ng.add_edge('jump', p.to)",
    "vars": "class P:\n    def __init__(self): self.to = END\np = P()\nvars(p).update(input())\ng.add_edge('jump', p.to)",
    "an attribute that one way gives": "class P:\n    to = 'work'\n    def __init__(self, once):\n        if once: self.to = END\ng.add_edge('jump', P(input()).to)",
    "a helper with arguments that nobody knows": "def more(b, *k): b.add_edge('jump', 'work')\nmore(g, *input())",
    "a name of a pattern": "end = END\nmatch input():\n    case {'to': end}: pass\ng.add_edge('jump', end)",
}  # fmt: skip


@pytest.mark.parametrize("case", READ_OTHERWISE | NOT_READ_OTHERWISE)
def test_what_changes_a_builder_otherwise_than_by_its_methods_is_read_or_not_read(case: str, tmp_path: Path) -> None:
    otherwise = (READ_OTHERWISE | NOT_READ_OTHERWISE)[case]
    verdict = "unbounded" if case in READ_OTHERWISE else "not read"
    source = JUMP.format("check")
    assert checked(tmp_path, source.replace("app =", f"{otherwise}\napp ="))["app"].verdict == verdict
    looked = "import logging\nlogging.getLogger().info('%s', g)\nfor n in g.nodes: print(n, len(g.edges), sorted(g.nodes), g.nodes.get(n), hasattr(g, 'n'))\napp ="
    assert checked(tmp_path, source.replace("app =", looked) + "app.name = 'app'\n")["app"].verdict == "bounded"


ROUND_INSIDE = """
inner = StateGraph(State).add_node("spin", work).add_edge(START, "spin")
inner.add_conditional_edges("spin", lambda s: END if s["n"] > input() else "spin", ["spin", END])
spin = inner.compile()
"""


@pytest.mark.parametrize("node", ["RunnableLambda(check) | spin", "RunnableParallel(a=spin)", "spin.with_retry()"])
def test_a_graph_within_a_chain_is_one_that_the_node_runs(node: str, tmp_path: Path) -> None:
    source = f"from langchain_core.runnables import RunnableParallel\n{ROUND_INSIDE}{JUMP.format(node)}"
    assert checked(tmp_path, source)["app"].verdict in ("unbounded", "not proven")


@pytest.mark.parametrize("imported", ["import importlib\nimportlib.import_module('plugin')", "__import__('plugin')"])
def test_what_an_import_by_its_name_does_is_read(imported: str, tmp_path: Path) -> None:
    (tmp_path / "ways.py").write_text("WAYS = []\n")
    (tmp_path / "plugin.py").write_text("import ways\nways.WAYS.append('work')\n")
    builds = f"import ways\n{imported}\nfor way in ways.WAYS: g.add_edge('jump', way)\napp ="
    assert checked(tmp_path, JUMP.format("check").replace("app =", builds))["app"].verdict != "bounded"


@pytest.mark.parametrize("compiled", ["app = g.compile()\n", ""])
def test_a_graph_that_another_file_goes_on_with_is_checked_there(compiled: str, tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(HEAD + JUMP.format("check").replace("app = g.compile()", ""))
    (tmp_path / "more.py").write_text("from base import g\ng.add_edge('jump', 'work')\n" + compiled)
    for name, verdict in (("base", "bounded"), ("more", "unbounded")):
        assert [graph.verdict for graph in Checker([tmp_path]).check(tmp_path / f"{name}.py")] == [verdict]


@pytest.mark.parametrize("again", ["self.to = 'work'", "setattr(self, 'to', 'work')"])
@pytest.mark.parametrize("hook", ["__init__", "__post_init__"])
def test_an_attribute_that_gets_another_value_later_is_not_the_first(again: str, hook: str, tmp_path: Path) -> None:
    build = textwrap.indent(JUMP.format("self.jump").replace("app = g", "self.app = g"), "        ")
    begin = "to: str = END" if hook == "__post_init__" else ""
    lines = [
        "from dataclasses import dataclass", "@dataclass" * bool(begin), "class N:", f"    {begin}", f"    def {hook}(self):",
        "        self.to = END" * (not begin), build, f"        {again}", "    def jump(self, state): return Command(goto=self.to)",
        "app = N().app",
    ]  # fmt: skip
    for source, verdict in (("\n".join(lines), "unbounded"), ("\n".join(lines).replace(again, "pass"), "bounded")):
        assert checked(tmp_path, source)["app"].verdict == verdict


TURNED_ON = {
    "by a function": ("c = C()\ndef on(): c.back = True", "c.back"),
    "by a method": ("class D(C):\n    def on(self): self.back = True\nc = D()", "c.back"),
    "by its name": ("c = C()\ndef on(name): setattr(c, name, True)", "c.back"),
    "in another object": ("class A:\n    def __init__(self): self.c = C()\na = A()\ndef on(): a.c.back = True", "a.c.back"),
    "in a table": ("held = {'c': C()}\ndef on(): held['c'].back = True", "held['c'].back"),
    "in a class": ("class A: c = C()\ndef on(): A.c.back = True", "A.c.back"),
    "where a function made it": ("def make(): return C()\nc = make()\nc.back = False\ndef on(): c.back = True", "c.back"),
    "where it was given": ("@dataclass\nclass D: back: bool\nc = D(False)\ndef on(): c.back = True", "c.back"),
    "before one way sets it back": ("c = C()\ndef on(): c.back = True\ndef asks():\n    if unknown(): c.back = False\n    return c.back", "asks()"),
    "around the function": ("c = None\ndef around():\n    c = C()\n    def on(): c.back = True\n", "c.back"),
    "by nobody": ("c = C()", "c.back"),
}  # fmt: skip
"""Objects whose attribute gets another value than ``__init__`` gave it, or none, and how a builder asks for it."""


BEGUN = "from dataclasses import dataclass\nclass C:\n    def __init__(self): self.back = False\n"


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("case", TURNED_ON)
def test_what_others_change_of_an_object_is_not_what_it_began_with(case: str, early: bool, tmp_path: Path) -> None:
    given, asked = TURNED_ON[case]
    build = f"if not {asked}: return\n" + BACK_IF.format(True) if early else BACK_IF.format(asked)
    build = "def build():\n" + textwrap.indent(build, "    ")
    source = BEGUN + given + "\n" + (textwrap.indent(build, "    ") if "around" in case else build)
    verdicts = [graph.verdict for graph in checked(tmp_path, source.replace("print", "work")).values()]
    assert verdicts == (["unbounded"] if "True" in given else [] if early else ["bounded"])


LET_GO = {
    "a method that calls itself": ("self.load(3)", "def load(self, n):\n        if n: self.load(n - 1)\n        else: self.end = 'work'"),
    "a generator": ("[*self.load()]", "def load(self):\n        yield\n        self.end = 'work'"),
    "a thread": ("threading.Thread(target=self.load).start()", "def load(self): self.end = 'work'"),
    "a lambda that names it": ("atexit.register(lambda: self.load())", "def load(self): self.end = 'work'"),
    "a map": ("list(map(self.load, hooks))", "def load(self, end): self.end = end"),
    "one of several": ("[self.load, print][len(hooks)]()", "def load(self): self.end = 'work'"),
    "functions in order": ("for hook in sorted([self.load], key=id): hook()", "def load(self): self.end = 'work'"),
    "a hook of another function's": ("for hook in hooks: hook(self)", "pass\ndef back(flow): flow.end = 'work'"),
    "a hook that fills": ("for hook in hooks: hook(self)", "pass\ndef back(flow): flow.ends.append('work')"),
}  # fmt: skip
"""Calls that nobody follows: where they stand, and what they may run."""
KEPT = {
    "a log": ("logging.getLogger().info('%s', self)", "pass\ndef back(flow): flow.end = 'work'"),
    "a model that is given a tool": ("self.llm = hooks.bind_tools([self.load])", "def load(self): return self.end\ndef back(user): user.end = 'work'"),
    "another class's attribute": ("threading.Thread(target=self.load).start()", "def load(self): pass\nclass B:\n    def load(self): self.end = 'work'"),
    "what runs nothing": ("self.tools = ToolNode([self.load])", "def load(self): self.end = 'work'"),
}  # fmt: skip


@pytest.mark.parametrize("case", LET_GO | KEPT)
def test_what_a_call_that_nobody_follows_may_change_is_not_known_behind_it(case: str, tmp_path: Path) -> None:
    call, method = (LET_GO | KEPT)[case]
    source = f"import atexit, logging, threading\nclass Flow:\n    def build(self, hooks):\n        self.end, self.ends = END, [END]\n        {call}\n"
    source += "        g = StateGraph(State).add_node('work', work).add_edge(START, 'work')\n"
    source += f"        for end in (self.end, *self.ends): g.add_edge('work', end)\n        return g.compile()\n    {method}\n"
    (graph,) = checked(tmp_path, source).values()
    assert graph.verdict == ("bounded" if case in KEPT else "not read"), graph.findings


HANDED = """
import threading
def call(f, *args, **named): return f(*args, **named)
def logged(f): return lambda *args, **named: f(*args, **named)
def back(box): box.to = 'work'
def more(ends): ends.append('work')
def lazily(ends):
    yield
    ends.append('work')
class Box:
    def __init__(self): self.to, self.ends = END, [END]
    @logged
    def turn(self, to='work'): self.to = to
    def fill(self): self.ends.append('work')
box, other = Box(), Box()
class Own:
    def __init__(self, ends, *parts): self.to, self.ends, self.parts = END, ends, [*parts]
ends = [END]
one, two = Own(ends), Own([])
"""
HANDED_ON = {
    "to a method under a decorator": "box.turn()",
    "to a function that hands on": "call(back, box=box)",
    "a method's object to one": "call(Box.turn, box)",
    "to a partial of one": "functools.partial(call, back, box)()",
    "a list to one": "call(more, box.ends)",
}
NOT_SEEN = {
    "one of two objects": "(box if input() else other).to = 'work'",
    "an attribute of one by its name": "setattr(box if input() else other, 'to', 'work')",
    "a method of one": "(box if input() else other).turn()",
    "a list of one": "(box.ends if input() else other.ends).append('work')",
    "an item": "{'a': box}[input()].to = 'work'",
    "a package's choice": "import random\nrandom.choice([ends, []]).append('work')\nbox = Own(ends)",
    "the next item": "box = one\nnext(iter([one, two])).ends.append('work')",
    "an object in a list of one": "box = one\n[Own([], one), Own([], two)][input()].parts[0].ends.append('work')",
    "a function of a table": "def fill(): ends.append('work')\n{'fill': fill}[input()]()\nbox = Own(ends)",
    "arguments": "def turn(of, *_): of.append('work')\nturn(*[ends, *input()])\nbox = Own(ends)",
    "named arguments": "back(**{input(): 1, 'box': box})",
    "a list beside a function": "input().submit(more, box.ends)",
    "a list in a generator": "list(lazily(ends))\nbox = Own(ends)",
    "a list out of a generator": "def each(of): yield of\nfor some in each(ends): some.append('work')\nbox = Own(ends)",
    "a list of another name": "other.ends = ends\nthreading.Thread(target=other.fill).start()\nbox = Own(ends)",
    "a method of a list": "threading.Timer(0, ends.append, ['work']).start()\nbox = Own(ends)",
    "a list that Python's own functions change": "import heapq\nheapq.heappush(ends, 'work')\nbox = Own(ends)",
    "an object in another's place": "class Held:\n    def __init__(self): self.own = Own([END])\n    def swap(self): self.own = Own(['work'])\nheld = Held()\nthreading.Thread(target=held.swap).start()\nbox = held.own",
    "an operator": "class Own(Box):\n    def __getitem__(self, key): self.to = 'work'\nbox = Own()\nbox['x']",
    "going through it": "class Own(Box):\n    def __iter__(self):\n        self.to = 'work'\n        return iter(())\nbox = Own()\nfor _ in box: pass",
    "setting it": "class Own(Box):\n    def __setattr__(self, name, value): object.__setattr__(self, name, 'work')\nbox = Own()\nbox.ends = [END]",
    "setting another": "class Own(Box):\n    @property\n    def way(self): return self.to\n    @way.setter\n    def way(self, way): self.to = way\nbox = Own()\nbox.way = 'work'",
    "the one object of a class": "class One(type):\n    def __call__(cls): return box\nclass Own(metaclass=One):\n    def __init__(self): self.to, self.ends = END, [END]\nOwn().to = 'work'\nbox = Own()",
}  # fmt: skip
SEEN = {
    "other arguments": "box.turn(END)",
    "another attribute of one of two": "(box if input() else other).name = 'work'",
    "what is only looked at": "max(sorted(box.ends, key=lambda end: end[0]))",
    "all of several": "for each in (box, other): each.turn(to=END)",
    "own methods that are called as a builder's": "class Made(Own):\n    def add_more(self): self.g.add_edge('jump', END)\nbox = Made([END])\nbox.g = g\nbox.add_more()",
    "items that a function is given": "def read(end): return open(end)\nlist(map(lambda end: read(end), ends))\nbox = Own(ends)",
}
"""What is done to an object or list: by arguments that are handed on, where nobody sees which it is, or all is seen."""


@pytest.mark.parametrize("case", HANDED_ON | NOT_SEEN | SEEN)
def test_what_is_lost_from_sight_and_changed_is_not_what_it_was(case: str, tmp_path: Path) -> None:
    build = f"{(HANDED_ON | NOT_SEEN | SEEN)[case]}\nfor end in (box.to, *box.ends): g.add_edge('jump', end)\napp ="
    found = checked(tmp_path, HANDED + JUMP.format("check").replace("app =", build))["app"]
    verdict = "unbounded" if case in HANDED_ON else "bounded" if case in SEEN else "not read"
    assert found.verdict == verdict, found.findings


ARMS = {
    "returned": "if saver: return bounded(g, limit=3, checkpointer=saver)\n    return {}",
    "in one expression": "return bounded(g, limit=3, checkpointer=saver) if saver else {}",
    "where something failed": "try: app = bounded(g, limit=3, checkpointer=saver())\n    except TypeError: app = {}\n    return app",
    "by the same name": "if saver: g = bounded(g, limit=3)\n    else: g = {}\n    return g",
}  # fmt: skip


@pytest.mark.parametrize("case", ARMS)
def test_a_builder_that_every_way_bounds_is_bounded_and_else_not(case: str, tmp_path: Path) -> None:
    build = "from loopwright import bounded\ndef make(saver=None):\n    g = StateGraph(dict).add_node('a', work)\n"
    build += f"    g.add_edge(START, 'a').add_edge('a', 'a')\n    {ARMS[case]}\n"
    for other, verdict in (("bounded(g, limit=4)", "bounded"), ("g.compile()", "unbounded"), ("g", "unbounded")):
        found = checked(tmp_path, build.format(other)).values()
        assert (verdict == "bounded") == all(graph.verdict == "bounded" for graph in found), other


@pytest.mark.parametrize("packages", [True, False])
@pytest.mark.parametrize("imported", ["app.nodes", ".nodes", "..app.nodes"])
@pytest.mark.parametrize(
    ("here", "target"), [(".", "back/app/graph.py"), ("back/app", "."), ("back/app", "graph.py"), ("other", "../back")]
)
def test_from_wherever_a_file_is_checked_it_is_read_the_same(
    here: str, target: str, imported: str, packages: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("back/app", "other"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in ("back/app", "back")[: packages + (packages and imported.startswith(".."))]:
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "back/app/nodes.py").write_text(HEAD + "def jump(state): return Command(goto='work')\n")
    (tmp_path / "back/app/graph.py").write_text(f"from {imported} import jump\n{HEAD}{JUMP.format('jump')}")
    monkeypatch.chdir(tmp_path / here)
    for place in (target, str(tmp_path / here / target)):
        (graph,) = check_targets([place], None, False).graphs
        assert graph.verdict == "unbounded"
        assert graph.place.file.is_absolute() == Path(place).is_absolute()


@pytest.mark.parametrize("made", ["list(TABLE)", "[*TABLE][:1] + ['c']", "[name for name in TABLE]"])
def test_a_list_that_a_module_makes_of_another_is_known_elsewhere(made: str, tmp_path: Path) -> None:
    (tmp_path / "c.py").write_text(f"TABLE = {{'b': 1, 'c': 2}}\nMADE = {made}\n")
    source = "from c import MADE\ng = StateGraph(State).add_node('a', work).add_edge(START, 'a')\nfor name in ('b', 'c'):\n    "
    source += "g.add_node(name, check)\ng.add_conditional_edges('a', lambda s: MADE[s['n']])\napp = g.compile()\n"
    assert checked(tmp_path, source)["app"].verdict == "bounded"


OPTIONS = {
    "none": "def make(back=None):{}\nmake()",
    "a word": "def make(mode='plain'):{mode == 'back'}\nmake()",
    "a number, behind another argument": "def make(name, rounds=0):{rounds > 0}\nmake('a')",
    "words": "def make(parts=()):{'back' in parts}\nmake()",
    "called before it is defined": "def main(): make()\ndef make(back=False):{}",
    "given in so many words": "def make(back=False):{}\nmake(back=False)",
    "handed on under another name": "def make(back):{}\ndef outer(again=False): return make(again)\nouter()",
    "a lambda's": "def make(back=False):{}\nouter = lambda back=False: make(back=back)\nouter()",
    "a method's": "class M:\n  def __init__(self): self.make()\n  def make(self, back=False):{}\nM()",
    "an object's, whose beginning is a lambda": "class M:\n  __init__ = lambda self, back=False: None\n  def make(self, back=False):{}\nM().make()",
    "an object's": "class M:\n  def __init__(self, back=False): self.back = back\n  def make(self):{self.back}\nM().make()",
    "an object's, of its base": "class B:\n  def __init__(self, back=False): self.made = self.make(back)\n  def make(self, back):{}\nclass M(B): pass\nM()",
    "a dataclass's": "class M:\n  back: bool = False\n  def make(self):{self.back}\nM().make()",
    "a function's in a function": "def outer():\n  def make(back=False):{}\n  return make()\nouter()",
    "without other ways, told once": "def make(back=None):{True if back else True}\nmake()",
}  # fmt: skip


@pytest.mark.parametrize("case", OPTIONS)
def test_options_that_a_call_leaves_out_may_be_anything(case: str, tmp_path: Path) -> None:
    before, asked, after = re.split(r"{(.*)}", OPTIONS[case])
    source = before + textwrap.indent(f"\n{BACK_IF.format(asked or 'back')}return app\n", "    ") + after
    verdicts = [graph.verdict for graph in checked(tmp_path, source.replace("print", "work")).values()]
    assert verdicts == ["unbounded"] if "once" in case else "unbounded" in verdicts


def test_a_cycle_that_its_own_option_or_what_is_around_it_bounds_is_not_told(tmp_path: Path) -> None:
    source = "from loopwright import bounded\ndef make(back=False):\n    g = StateGraph(dict).add_node('a', work).add_edge(START, 'a')\n"
    source += (
        "    if back: g.add_edge('a', 'a')\n    return bounded(g, limit=3) if back else g.compile()\none = make()\n"
    )
    source += "def inner(quiet=False): return StateGraph(dict).add_node('a', work).add_edge(START, 'a').add_edge('a', 'a').compile()\n"
    source += "two = bounded(StateGraph(dict).add_node('in', inner()).add_edge(START, 'in'), limit=3)\n"
    assert {graph.verdict for graph in checked(tmp_path, source).values()} == {"bounded"}


BOUNDED = {
    "what only a type checker reads": "from typing import TYPE_CHECKING\nend = END\nif TYPE_CHECKING: end = 'work'\ng.add_edge('jump', end)",
    "names of a loop as defaults": "for one, to in (('work', 'jump'), ('jump', END)): g.add_conditional_edges(one, lambda s, to=to: to)",
    "what a node makes": "inner = StateGraph(State).add_node('x', work).add_edge(START, 'x').compile()\ndef told(s): return State(n=1) if s else dict(n=1) if s.n else s.model_copy() or s.model_dump() or inner.invoke(s)\ng.add_node('told', told)\ng.add_edge('jump', 'told')",
    "what an agent answers that a node makes": "from langchain.agents import create_agent\nfrom langgraph.graph import MessagesState\nclass Own(MessagesState): m: int\nasync def told(s):\n    agent, b = create_agent('m', tools=[]), StateGraph(State)\n    inner = b.compile()\n    found = await agent.ainvoke(s)\n    found['n'] = 1\n    return found if s else inner.invoke(s) if s.n else MessagesState(messages=[]) if s.m else Own(m=1)\ng.add_node('told', told)\ng.add_edge('jump', 'told')",
    "a decorator where a package is missing": "try: from langfuse import observe\nexcept ImportError:\n    def observe(name): return lambda f: f\n@observe('n')\ndef told(s): return {}\ng.add_node('told', told)\ng.add_edge('jump', 'told')",
    "what asks for coroutines": "import asyncio\ndef d(f):\n    if asyncio.iscoroutinefunction(f):\n        async def w(s): return await f(s)\n    else:\n        def w(s): return f(s)\n    return w\n@d\ndef told(s): return {}\ng.add_node('told', told)\ng.add_edge('jump', 'told')",
    "one of two functions": "g.add_node('told', work if input() else lambda s: {}).add_edge('jump', 'told')",
    "one of two functions under other decorators": "import m\n@m.traced(name='x')\ndef one(s): return {}\n@m.traced(name='y')\ndef two(s): return {}\ng.add_node('told', one if input() else two).add_edge('jump', 'told')",
    "what something else has": "import json\njson.dumps(vars(input()))",
    "defaults of nodes": "g.set_node_defaults(retry_policy=None)",
    "what keeps no graph": OUT + "import json, logging\nlog = logging.getLogger()\nlog.info(json.dumps(inner.invoke({})))\ndef told(s):\n    log.info('x')\n    with open('x') as file:\n        found = {'n': json.load(file)}\n    return found\ng.add_node('told', told)\ng.add_edge('jump', 'told')",
    "texts put together": "def told(s): return f'{s}' + ', '.join(s)\ng.add_node('told', told)\ng.add_edge('jump', 'told')",
    "an annotated table": "def told(s):\n    found: dict[str, Any] = {}\n    found['n'] = 1\n    return found\ng.add_node('told', told)\ng.add_edge('jump', 'told')",
    "a copy that is changed": "def more(s): return {'m': 1}\ndef told(s):\n    s = more(s)\n    s['n'] = 1\n    new = s.copy()\n    new['n'] = 2\n    return new\ng.add_node('told', told)\ng.add_edge('jump', 'told')",
    "a node that asks its graph": "def told(s, config):\n    print(app, app.name, app.nodes, app.config, app.store)\n    return {'n': f'{app.get_state(config)}{app}'}\ng.add_node('told', told)\ng.add_edge('jump', 'told')",
    "a node that asks what only shares names with its graph": "class A:\n    def __init__(self, llm): self.llm, self.app = llm.bind(1), app\n    def invoke(self, q): self.content = self.app.invoke(q)\n    def clean(self, s): return s\n    def run(self, s): return {'n': self.llm.invoke(self.clean(s)).content}\na = A(input())\ng.add_node('told', a.run)\ng.add_edge('jump', 'told')",
    "a node that takes another graph than its own from a table": "def told(s): return {'n': T['a'].invoke(s)['n']}\nT = {'a': StateGraph(dict).add_node(work).add_edge(START, 'work').compile()}\ng.add_node('told', told)\ng.add_edge('jump', 'told')\nT['b'] = app = g.compile()",
    "a node that asks for the class that makes its graph": "class A:\n    def __init__(self): self.app = StateGraph(State).add_node('x', self.x).add_edge(START, 'x').compile()\n    def x(self, s): return {} if isinstance(s, A) else {'n': 1}\ng.add_node('told', A().app).add_edge('jump', 'told')",
    "a node by its decorator": "@g.add_node\ndef told(s): return {}\ng.add_edge('jump', 'told')",
    "names that are put in": "def chosen(s) -> Command[Literal[*['told'], '__end__']]: ...\ng.add_node('told', work)\ng.add_node('chosen', chosen)\ng.add_edge('jump', 'chosen')",
}  # fmt: skip


@pytest.mark.parametrize("case", BOUNDED)
def test_what_goes_nowhere_back_is_read(case: str, tmp_path: Path) -> None:
    jumps = "def other(s): return Command(goto='work')\n"  # so that a file has Commands at all
    source = jumps + JUMP.format("check").replace("app =", f"{BOUNDED[case]}\napp =")
    found = checked(tmp_path, source.replace('g.add_edge("work", "jump")\n', "") if "loop" in case else source)["app"]
    assert found.verdict == "bounded", found.findings


def test_a_cycle_that_an_error_handler_closes_is_told_with_advice_that_works(tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    source = "def fail(state): raise ValueError\ndef again(state, error=None): return Command(goto='work')\n"
    source += "g = StateGraph(State)\ng.add_node('work', fail, error_handler=again)\ng.add_edge(START, 'work')\n"
    file.write_text(HEAD + source)
    for graphs in (Checker([tmp_path]).check(file), check_imported(str(file))):
        (finding,) = graphs[0].findings
        assert finding.cycle == ("work",)
        assert finding.suggestion == BY_LIMIT
    file.write_text(HEAD + source + "from loopwright import bounded\napp = bounded(g, limit=5)\n")
    assert Checker([tmp_path]).check(file)[-1].verdict == "bounded"
    assert check_imported(str(file))[-1].verdict == "bounded"


MAY_GO_BACK = {
    "a loop that may not run": "target = 'a'\nfor _ in unknown():\n    target = END\n",
    "what the body of a failed try gave first": "try:\n    target = 'a'\n    import missing\n    target = END\nexcept ImportError: pass\n",
    "a while that may not run": "target = 'a'\nwhile unknown():\n    target = END\n",
    "a list that a while may lengthen": "ways = ['a']\nwhile unknown():\n    ways.append(END)\ntarget = ways[-1]\n",
    "a list that a branch may lengthen": "ways = ['a']\nif unknown():\n    ways.append(END)\ntarget = ways[-1]\n",
    "a length that a branch may change": "ways = ['a']\nif unknown():\n    ways.append(END)\ntarget = END if len(ways) > 1 else 'a'\nif len(ways) > 1:\n    target = END\nelse:\n    target = 'a'\n",
    "a slice of what a branch may lengthen": "ways = ['a']\nif unknown():\n    ways.append(END)\nfor target in ways[1:]:\n    pass\nelse:\n    target = ways[-1]\n",
    "a table that a branch may change": "ways = {'x': 'a'}\nif unknown():\n    ways['x'] = END\ntarget = ways['x']\n",
    "a pass that is left": "for name in ('y', 'x'):\n    if name == 'x':\n        target = 'a'\n        continue\n    target = END\n",
    "a pass that may be left": "target = 'a'\nfor name in ('y', 'x'):\n    if unknown():\n        continue\n    target = END\n",
    "a loop that is left": "for name in ('x', 'y'):\n    if name == 'x':\n        target = 'a'\n        break\n    target = END\n",
    "a loop that may be left": "for name in ('x', 'y'):\n    target = 'a' if name == 'x' else END\n    if name == 'x':\n        target = 'a'\n    else:\n        target = END\n    if unknown():\n        break\n",
    "a name that is given in an expression": "target = END\n[(target := 'a') for _ in (1,)]\n",
    "a global name that a function changes": "target = END\ndef change():\n    global target\n    target = 'a'\nchange()\n",
    "a class's attribute that a function changes": "class Way:\n    to = END\ndef change():\n    Way.to = 'a'\nchange()\ntarget = Way.to\n",
    "a function that may be left": "class Way:\n    def __init__(self):\n        self.to = 'a'\n        if unknown(): return\n        self.to = END\ntarget = Way().to\n",
}  # fmt: skip


@pytest.mark.parametrize("case", MAY_GO_BACK)
def test_what_may_be_done_or_not_is_not_taken_for_done(case: str, tmp_path: Path) -> None:
    build = "g = StateGraph(State)\ng.add_node('a', work)\ng.add_node('b', check)\ng.add_edge(START, 'a')\n"
    build += "g.add_edge('a', 'b')\n" + MAY_GO_BACK[case] + "g.add_edge('b', target)\n"
    verdicts = {graph.verdict for graph in checked(tmp_path, build).values()}
    assert verdicts and "bounded" not in verdicts


IN_FUNCTIONS = {
    "a builder that one method begins and another goes on with": ("not read", "class Maker:\n    def begin(self): self.g = StateGraph(State).add_node('x', work).add_edge(START, 'x')\n    def end(self): self.g.add_edge('x', 'x')"),
    "what is left early for certain": ("bounded", """
    def build(strict: bool):
        if not strict:
            raise ValueError
        g = StateGraph(State)
        for name in ("a", "b", "c", "d"):
            if name == "c":
                break
            g.add_node(name, work)
        for name, back in (("a", "b"), ("b", "a")):
            if name == "b":
                continue
            g.add_edge(name, back)
        g.add_edge(START, "a")
        return g
        g.add_edge("b", "a")
    """),
    "a name of the function around that hides one of the module": ("not read", """
    target = END
    def outer(flag):
        target = "a"
        if flag:
            target = "b"
        def build():
            g = StateGraph(State).add_node("a", work).add_node("b", work).add_edge(START, "a").add_edge("a", "b")
            g.add_edge("b", target)
            return g.compile()
        return build
    """),
}  # fmt: skip


@pytest.mark.parametrize("case", IN_FUNCTIONS)
def test_statements_and_names_of_functions_are_followed_as_python_does(case: str, tmp_path: Path) -> None:
    verdict, build = IN_FUNCTIONS[case]
    assert {graph.verdict for graph in checked(tmp_path, build).values()} == {verdict}

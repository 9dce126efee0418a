"""What ``loopwright check`` makes of agents, their middleware and their limits; of counters; of makers that it knows."""

import textwrap
from pathlib import Path

import pytest

from loopwright.check.findings import EXACTLY, CheckedGraph, Checker
from loopwright.check.found import FUNCTIONAL
from loopwright.check.loading import check_imported
from loopwright.check.proving import CALLED_AGAIN, WHOLE

HEAD = """
import os
import settings
from functools import partial
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware, ModelCallLimitMiddleware, SummarizationMiddleware, TodoListMiddleware, ToolCallLimitMiddleware,
    ToolRetryMiddleware, before_model, hook_config, wrap_tool_call,
)
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command
from loopwright.langchain import LoopMiddleware
from langgraph_supervisor import create_handoff_tool, create_supervisor
from langgraph_swarm import create_swarm

@tool
def search(q): return q
@tool
def jumping(q): return Command(goto="model")
class Jumping(AgentMiddleware):
    @hook_config(can_jump_to=["model"])
    def after_model(self, state, runtime): return {"jump_to": "model"}
class Looking(AgentMiddleware[dict, int]):
    def before_model(self, state, runtime): return None
class Ours(SummarizationMiddleware): pass
class Tooled(Looking): tools = [search]
class Strange(settings.SummarizationMiddleware): pass
@before_model(can_jump_to=["model"])
def jump(state, runtime): return None
@wrap_tool_call
def wrapping(request, handler): return handler(request)
given = os.environ["X"]
"""


def checked(tmp_path: Path, source: str) -> dict[str, CheckedGraph]:
    file = tmp_path / "file.py"
    file.write_text(HEAD + textwrap.dedent(source))
    return {graph.name.partition(":")[2]: graph for graph in Checker([tmp_path]).check(file)}


def one(tmp_path: Path, expression: str) -> CheckedGraph:
    return checked(tmp_path, f"app = {expression}\n")["app"]


UNBOUNDED = [
    'create_agent("m", [], middleware=[wrapping])',
    'create_agent("m", [], middleware=[Tooled()])',
    'create_agent("m", [], middleware=[it := Looking(), setattr(it, "tools", [search])][:1])',
    'create_agent("m", **{"tools": [search]})',
    'create_agent("m", [*given])',
    'create_agent("m", [], middleware=[TodoListMiddleware()])',
    'create_agent("m", [], middleware=[ToolRetryMiddleware()])',
    'create_agent("m", response_format=settings.Answer)',
    'create_agent("m", [search], middleware=[ToolCallLimitMiddleware(run_limit=3)])',
    'create_agent("m", [search], middleware=[ToolCallLimitMiddleware(run_limit=3, tool_name="x", exit_behavior="end")])',
    'create_agent("m", [], response_format=int, middleware=[ToolCallLimitMiddleware(run_limit=3, exit_behavior="end")])',
    'create_agent("m", [jumping], middleware=[ModelCallLimitMiddleware(run_limit=3)])',
    "create_deep_agent()",
    'create_deep_agent("m", middleware=[ModelCallLimitMiddleware(run_limit=3)])',
    'create_react_agent("m", [search])',
    'create_react_agent("m", [search], **given)',
    'create_supervisor([create_agent("m", name="a")], model="m").compile()',
    'create_swarm([create_react_agent("m", [create_handoff_tool(agent_name="b")], name="a"),'
    ' create_react_agent("m", [create_handoff_tool(agent_name="a")], name="b")], default_active_agent="a").compile()',
    'partial(create_agent, "m")([search])',
]
UNFOLLOWED = [
    'create_agent("m", **given)',
    "create_agent(*given)",
    'create_agent("m", [], middleware=given)',
    'create_agent("m", [], middleware=[given])',
    'create_agent("m", [], middleware=[*given])',
    'create_agent("m", [], middleware=[settings.Middleware()])',
    'create_agent("m", [], middleware=[Jumping()])',
    'create_agent("m", [], middleware=[Strange()])',
    'create_agent("m", [], middleware=[jump])',
]
"""Their middleware may bound them, for all that anybody read."""


@pytest.mark.parametrize("expression", UNBOUNDED + UNFOLLOWED)
def test_an_agent_that_may_go_round_is_not_bounded(expression: str, tmp_path: Path) -> None:
    graph = one(tmp_path, expression)
    assert graph.verdict == ("not proven" if expression in UNFOLLOWED else "unbounded")
    assert graph.steps == (
        9_999 if "create_agent" in expression.partition("(")[0] or "deep" in expression else None
    ) or ("partial" in expression)


@pytest.mark.parametrize("its", ["", "middleware=[Looking()]", "middleware=x", "pre_model_hook=x", "response_format=x"])
def test_an_agent_with_nodes_of_its_middleware_is_bounded_as_a_whole(its: str, tmp_path: Path) -> None:
    maker = "create_react_agent" if "hook" in its else "create_agent"
    (finding,) = one(tmp_path, f'{maker}("m", [search], {its})').findings
    assert finding.suggestion == (WHOLE if its else "Loop(name='model', target='model', sources=('tools',), limit=5)")


BOUNDED = {
    'create_agent("m")': (),
    'create_agent("m", tools=[])': (),
    'create_agent("m", [{"type": "web_search"}])': (),
    'create_agent("m", [], middleware=[SummarizationMiddleware("m"), Looking(), Ours()])': (),
    'create_agent("m", [search], middleware=[ModelCallLimitMiddleware(run_limit=10)])': ("ModelCallLimitMiddleware(run_limit=10)",),
    'create_agent("m", given, middleware=[Looking(), ModelCallLimitMiddleware(thread_limit=9)])': None,
    'create_agent("m", [search], middleware=[TodoListMiddleware(), ToolCallLimitMiddleware(run_limit=3, exit_behavior="error")])': ("ToolCallLimitMiddleware(run_limit=3)",),
    'create_agent("m", [search], middleware=[LoopMiddleware(limit=4)])': ("LoopMiddleware(limit=4)",),
    'create_agent("m", [search], middleware=[LoopMiddleware(limit=4), *given])': None,
    'create_react_agent("m", [])': (),
}  # fmt: skip


@pytest.mark.parametrize("expression", BOUNDED)
def test_an_agent_without_tools_or_with_a_limit_that_holds_is_bounded(expression: str, tmp_path: Path) -> None:
    graph, bounds = one(tmp_path, expression), BOUNDED[expression]
    if bounds is None:  # a tool that nobody read may jump past the limit: this file has one that makes Commands
        assert graph.verdict == "not proven"
    else:
        assert (graph.verdict, graph.bounds) == ("bounded", bounds)


def test_a_number_that_was_not_read_bounds_where_it_must_be_one(tmp_path: Path) -> None:
    limited = 'create_agent("m", [], middleware=[TodoListMiddleware(), LoopMiddleware(limit=settings.passes)])'
    plain = HEAD.replace('@tool\ndef jumping(q): return Command(goto="model")\n', "")
    for source in (limited, 'bounded(create_react_agent("m", [search]), limit=5, **given)'):
        (tmp_path / "file.py").write_text(f"{plain}from loopwright import bounded\napp = {source}\n")
        (graph,) = Checker([tmp_path]).check(tmp_path / "file.py")
        assert (graph.verdict, len(graph.bounds)) == ("bounded", 1), graph.findings


def test_an_agent_s_own_steps_are_those_that_it_was_given_last(tmp_path: Path) -> None:
    agent = 'create_agent("m", [search]).with_config({"recursion_limit": 25})'
    assert [one(tmp_path, text).steps for text in (agent, f"{agent}.with_config(tags=[])")] == [25, 25]


@pytest.mark.parametrize(
    "middleware", ["[ModelCallLimitMiddleware(run_limit=given)]", "[given, ModelCallLimitMiddleware(run_limit=3)]"]
)
def test_a_limit_that_was_not_read_may_bound_and_is_not_counted_on(middleware: str, tmp_path: Path) -> None:
    graph = one(tmp_path, f'create_agent("m", [search], middleware={middleware})')
    assert graph.verdict == "not proven"
    assert "ModelCallLimitMiddleware" in graph.findings[0].message


@pytest.mark.parametrize(("text", "why"), [
    ("from langgraph_codeact import create_codeact as a\nx = a('m').compile()", "create_codeact() builds it{exactly}"),
    ("from langgraph_reflection import create_reflection_graph as a\nx = a(1)", "create_reflection_graph() builds it{exactly}"),
    ("from langgraph.graph import StateGraph\ndef f(s): return x.invoke(s)\nx = StateGraph(dict).add_node(f).set_entry_point('f').compile()\nx = x.with_config(tags=[])", f"what runs at 'f' {CALLED_AGAIN}"),
    ("from langgraph.graph import StateGraph\ndef f(s):\n  from file import x\n  return x.invoke(s)\nx = StateGraph(dict).add_node(f).set_entry_point('f').compile()", f"what runs at 'f' {CALLED_AGAIN}"),
    ("from langgraph.graph import StateGraph\nT = {}\ndef f(s): return T['x'].invoke(s)\nx = StateGraph(dict).add_node(f).set_entry_point('f').compile()\nT['x'] = x", f"what runs at 'f' {CALLED_AGAIN}"),
    ("from langgraph.graph import StateGraph\nclass T:\n  its = []\n  @classmethod\n  def add(cls, x): cls.its.append(x)\ndef f(s): return T.its[0].invoke(s)\nx = StateGraph(dict).add_node(f).set_entry_point('f').compile()\nT.add(x)", f"what runs at 'f' {CALLED_AGAIN}"),
    ("from langgraph.graph import StateGraph\nclass T:\n  its = {}\n  @classmethod\n  def add(cls, n, x): cls.its[n] = x\ndef f(s): return T.its['x'].invoke(s)\nx = StateGraph(dict).add_node(f).set_entry_point('f').compile()\nT.add('x', x)", f"what runs at 'f' {CALLED_AGAIN}"),
    ("from langgraph.graph import StateGraph\nclass A:\n  def __init__(self): self.x = StateGraph(dict).add_node('f', self.f).set_entry_point('f').compile()\n  def f(self, s): return A().x.invoke(s)\nx = A().x", f"what runs at 'f' {CALLED_AGAIN}"),
    ("from langgraph.graph import StateGraph\ndef f(s): return f.x.invoke(s)\nx = StateGraph(dict).add_node(f).set_entry_point('f').compile()\nf.x = x", f"what runs at 'f' {CALLED_AGAIN}"),
    ("from langgraph.graph import StateGraph\ndef f(s): return make().invoke(s)\ndef make(): return StateGraph(dict).add_node(f).set_entry_point('f').compile()\nx = make()", f"what runs at 'f' {CALLED_AGAIN}"),
    ("from langgraph.graph import StateGraph\ndef f(s): return b.compile().invoke(s)\nb = StateGraph(dict).add_node(f).set_entry_point('f')\nx = b.compile()", f"what runs at 'f' {CALLED_AGAIN}"),
    ("from langgraph.graph import StateGraph\ndef f(s): return y.invoke(s)\nx = StateGraph(dict).add_node(f).set_entry_point('f').compile()\ny = StateGraph(dict).add_node('g', lambda s: x.invoke(s)).set_entry_point('g').compile()", f"what runs at 'f' {CALLED_AGAIN}"),
    ("from langgraph.graph import StateGraph\ndef f(s): return s\ndef way(s): return '__end__' if x.invoke(s) else '__end__'\nx = StateGraph(dict).add_node(f).set_entry_point('f').add_conditional_edges('f', way).compile()", f"what runs at 'f' {CALLED_AGAIN}"),
    ("from langgraph.graph import StateGraph\nclass A:\n  def f(self, s): return self.ask(s)\n  def ask(self, s): return self.x.invoke(s)\n  def make(self):\n    x = StateGraph(dict).add_node('f', self.f).set_entry_point('f').compile()\n    self.x = x\na = A()\na.make()\na.b.x = 1\nx = a.x", f"what runs at 'f' {CALLED_AGAIN}"),
    ("from langgraph.func import entrypoint\n@entrypoint(cache=c)\ndef x(n):\n    while n: n = go(n)", FUNCTIONAL),
])  # fmt: skip
def test_other_makers_are_not_read_and_named(text: str, why: str, tmp_path: Path) -> None:
    graph = next(iter(checked(tmp_path, text).values()))
    assert graph.verdict == "not read"
    assert graph.findings[0].why == f"not read: {why.format(exactly=EXACTLY)}"
    if CALLED_AGAIN in why and not any(each in text for each in ("make", "b.c", "T.its", "A()")):  # no import sees it
        for imported, verdict in ((text, "not read"), (text.replace(".invoke(s)", ".name"), "bounded")):
            (tmp_path / "file.py").write_text(imported)
            assert check_imported(str(tmp_path / "file.py"))[0].verdict == verdict


def test_every_agent_of_a_team_is_looked_into(tmp_path: Path) -> None:
    agents = 'create_agent("m", [search], name="a"), create_agent("m", name="b")'
    graph = one(tmp_path, f'create_supervisor([{agents}], model="m").compile()')
    cycles = {finding.cycle for finding in graph.findings}
    team = {("supervisor", "a"), ("supervisor", "b")}
    assert team | {("a/model", "a/tools"), ("supervisor/agent", "supervisor/tools")} == {
        tuple(sorted(cycle, key=lambda node: (node != "supervisor", node))) for cycle in cycles
    }


COUNTED = """
def work(state): return {{"{key}": state.get("{key}", 0) + 1}}
def other(state): return {{}}
{before}
def route(state):
    {test}
    return "work"
g = StateGraph(dict)
g.add_node("work", work)
g.add_edge(START, "work")
g.add_conditional_edges("work", route)
app = g.compile()
"""

COUNTERS = {
    "a constant": ("", "if state['tries'] >= 3: return END", "limit=4"),
    "get": ("", "if state.get('tries', 0) >= 4: return END", "limit=5"),
    "an attribute": ("", "if state.tries > 2: return END", "limit=3"),
    "a constant of the module": ("MOST = 7", "if state['tries'] >= MOST: return END", "limit=8"),
    "a length": ("", "if len(state['tries']) > 6: return END", "limit=7"),
    "a variable": ("", "n = state['tries']\n    if n >= 3: return END", "limit=4"),
    "counted down from what a node gives it": ("def down(state): return {'tries': state.get('tries', 9) - 1}", "if state['tries'] <= 0: return END", "limit=10"),
    "counted down from nothing known": ("def down(state): return {'tries': state['tries'] - 1}", "if state['tries'] <= 0: return END", "limit=..."),
    "a number of the state's items": ("", "if sum(1 for m in state['tries'] if m) >= 3: return END", "limit=4"),
    "an attribute of its class": ("class Most: MOST = 6", "if state['tries'] >= Most.MOST: return END", "limit=7"),
    "something of the configuration": ("", "if state['tries'] >= given['most']: return END", "limit=..."),
    "a limit in the state": ("", "if state['tries'] >= state['most']: return END", "limit=StateLimit(key='most', default=..., ceiling=...)"),
}  # fmt: skip


TWO = "class K:\n    def __init__(self, key): self.key = key\n    def __call__(self, s): return {{self.key: {}}}\none, two = K('m'), K('n')\ndef work(s): return one(s) | two(s) | {}\n"
"""Two objects of a class, which give a value to different keys."""

HELD_ELSEWHERE = {
    "in a helper": "def much(s): return s['tries'] > 3\ndef route(state):\n    if much(state): return END",
    "and counted by a helper": "def more(s): return {'again': up(s['again'])}\ndef up(n): return n + 1\ndef work(s): return more(s)\ndef route(state):\n    if state['again'] > 3: return END",
    "in a variable": "def route(state):\n    n = len(state['tries'])\n    if n >= 3: return END",
    "under a name for its key": "class K: N = 'n'\ndef work(s): return {K.N: s.get(K.N, 0) + 1}\ndef route(state):\n    if state[K.N] > 3: return END",
    "LangGraph's own, in a node": "def work(s): return {'done': True} if s['is_last_step'] else {'done': False}\ndef route(state):\n    if state['done']: return END",
    "LangGraph's own": "def route(state):\n    if state['remaining_steps'] < 2: return END",
    "against the state's own limit": "def route(state):\n    most = state.get('most', 2)\n    if len(state['tries']) >= most: return END",
    "in a method of the state": "class Kept:\n    def much(self): return self.tries > 3\ndef route(state: Kept):\n    if state.much(): return END",
    "in a property of the state": "class Kept:\n    @property\n    def much(self): return self.tries > 3\ndef route(state: Kept):\n    if state.much: return END",
    "around the graph": "N = 0\ndef work(s):\n    global N\n    N += 1\ndef route(state):\n    if N > 3: return END",
    "in an object": "class Kept:\n    def __init__(self): self.n = 0\n    def __call__(self, s): self.n += 1\n    @property\n    def much(self): return self.n > 3\nwork = Kept()\ndef route(state):\n    if work.much: return END",
    "behind a reducer": "import operator\nclass dict:\n    tries: Annotated[int, operator.add]\ndef work(s): return {'tries': 1} if s['ok'] else {'tries': 0}\ndef route(state):\n    if state['tries'] > 3: return END",
    "a stage": "from enum import IntEnum\nclass Stage(IntEnum): LAST = 3\ndef work(s): return {'at': Stage(s['at'] + 1)}\ndef route(state):\n    if state['at'] == Stage.LAST: return END",
    "a flag": "def work(s): return {'asked': True}\ndef route(state):\n    if state['asked']: return END",
    "a deadline": "import time\ndef work(s): return {}\ndef route(state):\n    if time.monotonic() > state['until']: return END",
    "a list without its first": "def work(s):\n    x, *rest = s['queue']\n    return {'queue': rest}\ndef route(state):\n    if not state['queue']: return END",
    "what is left of a list": "def work(s): return {'queue': [x for x in s['queue'] if x != s['x']]}\ndef route(state):\n    if not state['queue']: return END",
    "a copy of a list": "def work(s):\n    rest = s['queue'].copy()\n    rest.pop(0)\n    return {'queue': rest}\ndef route(state):\n    if not state['queue']: return END",
    "a number down to nothing": "def work(s): return {'left': s['left'] - 1}\ndef route(state):\n    if not state['left']: return END",
    "behind a reducer of one's own": "def add(old, new): return (old or 0) + new\nclass dict: tries: Annotated[int, add]\ndef work(s): return {'tries': 1} if s['ok'] else {'tries': 0}\ndef route(state):\n    if state['tries'] > 3: return END",
    "by its reducer": "class dict: tries: Annotated[int, lambda old, new: old + 1]\ndef work(s): return {'tries': s['ok']}\ndef route(state):\n    if state['tries'] > 3: return END",
    "in a pattern": "def work(s): return {'n': s['n'] + 1}\ndef route(state):\n    match state:\n        case {'n': n} if n > 3: return END",
    "in a pattern of two": "def work(s): return {'n': s['n'] + 1}\ndef route(state):\n    match (state['ok'], state['n']):\n        case (_, n) if n > 3: return END",
    "in a part with a name": "def work(s):\n    at = s['at']\n    at.n += 1\n    return {'at': at}\ndef route(state):\n    at = state['at']\n    if at.n >= 3: return END",
    "raised in one way": "def work(s): return {'n': s['n'] + 1 if s['bad'] else s['n']}\ndef route(state):\n    if state['n'] > 3: return END",
    "with a name": "def work(s): return {'n': (n := s['n'] + 1)}\ndef route(state):\n    if state['n'] > 3: return END",
    "begun by the node": "def work(s):\n    if 'n' not in s: s['n'] = 0\n    s['n'] += 1\n    return s\ndef route(state):\n    if state['n'] > 3: return END",
    "beside an option of its name": "import httpx\ndef work(s):\n    httpx.Client(tries=3)\n    return {'tries': s['tries'] + 1}\ndef route(state):\n    if state['tries'] > 3: return END",
    "a length against another": "def work(s): return {'done': [1]}\ndef route(state):\n    if len(state['done']) >= len(state['todo']): return END",
    "counted by the router": "def work(s): return {'m': [1]}\ndef route(state):\n    n = 0\n    for m in state['m']:\n        if m: n += 1\n    if n >= 3: return END",
    "a list of the state": "def work(s):\n    s['m'].append(1)\n    return s\ndef route(state):\n    if len(state['m']) >= 3: return END",
    "in a table": "def work(s):\n    t = dict(s['t'])\n    t[s['k']] = t.get(s['k'], 0) + 1\n    return {'t': t}\ndef route(state):\n    if state['t'].get(state['k'], 0) >= 3: return END",
    "in a part of the state": "def work(s):\n    s.at.n += 1\n    return s\ndef route(state):\n    if state.at.n >= 3: return END",
    "taken with its limit": "def route(state):\n    n, most = state['tries'], state['most']\n    if n >= most: return END",
    "a batch at a time": "SIZE = 4\ndef work(s): return {'todo': s['todo'][SIZE:]}\ndef route(state):\n    if not state['todo']: return END",
    "before a way under a name of the module's": "step = END\ndef route(state):\n    step = state['next']\n    if state['tries'] > 3: return END\n    return step",
    "behind a reducer with a word": "import operator\nclass dict: tries: Annotated[int, 'x', operator.add]\ndef work(s): return {'tries': 1}\ndef route(state):\n    if state['tries'] > 3: return END",
    "behind one decorator twice": "def d(f):\n    def w(s): return f(s)\n    return w\n@d\n@d\ndef work(s): return {'n': s['n'] + 1}\ndef route(state):\n    if state['n'] > 3: return END",
    "by the second object of a class": TWO.format("s[self.key] + 1", "{}") + "def route(state):\n    if state['n'] > 3: return END",
    "a list that is given up": "def work(s): return {'todo': s['todo'][1:]} if s['ok'] else {'todo': []}\ndef route(state):\n    if not state['todo']: return END",
    "between two": "def route(state):\n    if 3 < state['tries'] < 9: return END",
    "with what it begins with": "def work(s): return {'n': s.setdefault('n', 0) + 1}\ndef route(state):\n    if state['n'] >= 5: return END",
    "by an object in the state": "class Spent:\n    def spend(self): self.used += 1\n    def over(self): return self.used > 3\ndef work(s): s['spent'].spend()\ndef route(state):\n    if state['spent'].over(): return END",
    "in what a wrapper may hand back": "def traced(f, to=None):\n    if to is None: return f\n    def wrapped(s): return f(s)\n    return wrapped\ndef asks(state): return END if state['tries'] > 3 else 'work'\nroute = traced(asks, given)\ndef unused():",
}  # fmt: skip


COUNTED_INSIDE = {
    "by a graph that is a node": """
        def up(state): return {"tries": state.get("tries", 0) + 1}
        inner = StateGraph(dict).add_node(up).add_edge(START, "up").compile()
        g = StateGraph(dict).add_node("work", inner).add_edge(START, "work")
        g.add_conditional_edges("work", lambda state: END if state["tries"] > 3 else "work")
        app = g.compile()
        """,
    "by an error handler": """
        def recover(state, error):
            tries = state.get("tries", 0) + 1
            return Command(update={"tries": tries}, goto=END if tries > 3 else "work")
        def work(state): return {}
        app = StateGraph(dict).add_node(work, error_handler=recover).add_edge(START, "work").compile()
        """,
    "as a list that a limit is made for, and one that runs out": """
        ROUNDS = 3
        def work(state): return {"said": [*state["said"], "a"], "todo": state["todo"][1:]}
        def left(state): return len(state["todo"]) > 0
        g = StateGraph(dict).add_sequence([work, ("more", work)])
        g.add_edge(START, "work")
        g.add_conditional_edges("work", left, {True: "work", False: "more"})
        g.add_conditional_edges("more", lambda state: "more" if len(state["said"]) < 2 * ROUNDS else END)
        app = g.compile()
        """,
    "by what a base class decides": """
        class Base:
            def bump(self, state): return {"tries": state.get("tries", 0) + 1}
            def route(self, state): return END if state["tries"] > 3 else "bump"
            def build(self):
                g = StateGraph(dict)
                g.add_node("bump", self.bump)
                g.add_edge(START, "bump")
                g.add_conditional_edges("bump", self.route, ["bump", END])
                return g.compile()
        class Own(Base):
            def route(self, state): return END if state["ok"] else super().route(state)
        app = Own().build()
        """,
}

PLAIN = COUNTED.format(key="tries", before="", test="pass")
ELSEWHERE = COUNTED_INSIDE | {
    case: PLAIN.replace("def route(state):\n    pass", held) for case, held in HELD_ELSEWHERE.items()
}


RUNAWAYS = {
    "a table of dicts": ("return {'step': [{'n': 1}, {'n': 2}][state['i']]}", "state['ok']"),
    "a list that grows": ("rest = state['todo'][1:]; rest.extend(input()); return {'todo': rest}", "not state['todo']"),
    "a list given to itself": ("rest = input(); rest = sorted(rest); return {'todo': rest}", "not state['todo']"),
    "a mean": ("return {'score': (state['score'] + float(input())) / 2}", "state['score'] > 7"),
    "a difference": ("new = int(input()); return {'was': new, 'by': new - state['was']}", "state['by'] < 1"),
    "a slow node": ("t = time.time(); print(time.time() - t > 9); return {'a': input()}", "state['a']"),
    "two lengths": (
        "return {'done': state['done'] + [1], 'todo': state['todo'] + [input()]}",
        "len(state['done']) >= len(state['todo'])",
    ),
    "a number of a variable's name": ("n = input()['n'] / 9; return {'best': n}", "state['best'] > 3"),
    "one of two values": ("return {'n': 0 if input() else state['n'] + 1}", "state['n'] > 3"),
    "a table": ("t = dict(state['t']); t[state['k']] = input(); return {'t': t}", "state['t'][state['k']] > 3"),
    "nothing written": ("return {'a': input()}", "state['done']"),
    "a report": ("text = ''; " + "text += f'{state[1]}'; " * 40 + "return {'a': text}", "state['a']"),
}
"""What only looks like an end: what a node does, and when it is over."""


NO_END = {
    "asked behind the way back": "def route(state):\n    if state['go']: return 'work'\n    if state['tries'] > 3: return END\n    return END",
    "asked by a helper behind it": "def much(s): return s['tries'] > 3\ndef route(state):\n    if state['go']: return 'work'\n    return END if much(state) else END",
    "set back by the second object of a class": TWO.format("0", "{'n': s['n'] + 1}") + "def route(s): return END if s['n'] > 3 else 'work'",
    "a list that is filled anew": "def work(s): return {'todo': s['todo'][1:]} if s['ok'] else {'todo': [] if s['n'] else [1]}\ndef route(state):\n    return END if not state['todo'] else 'work'",
    "a 1 that nothing adds": "class dict: tries: int\ndef work(s): return {'tries': 1}\ndef route(state):\n    return END if state['tries'] > 3 else 'work'",
    "set back behind a reducer that keeps the last": "class dict: tries: Annotated[int, lambda old, new: old if new is None else new]\ndef work(s): return {'tries': s['tries'] + 1} if s['ok'] else {'tries': 0}\ndef route(state):\n    return END if state['tries'] > 3 else 'work'",
}  # fmt: skip


NOT_COUNTED = {
    "by a tool": "N = 0\n@tool\ndef like(x):\n    global N\n    N += 1\n    if N > 3: return 'enough'\n"
    'app = create_agent("m", [like])\n',
    "beside a cycle that is": COUNTED.format(key="tries", before="", test="if state['tries'] > 3: return END")
    + 'g.add_node("a", other)\ng.add_edge("work", "a")\ng.add_edge("a", "a")\napp = g.compile()\n',
}
NOT_COUNTED |= {
    case: PLAIN.replace('def route(state):\n    pass\n    return "work"', held) for case, held in NO_END.items()
}
ROUTED = COUNTED.replace("route)", "route, ['work', END])")
for case, (work, over) in RUNAWAYS.items():
    work = f"import time\ndef work(state): {work}"
    NOT_COUNTED[case] = ROUTED.format(key="tries", before=work, test=f"if {over}: return END")


@pytest.mark.parametrize("case", ELSEWHERE | NOT_COUNTED)
def test_a_counter_may_be_counted_and_compared_elsewhere_and_what_ends_no_cycle_is_none(
    case: str, tmp_path: Path
) -> None:
    verdict = "unbounded" if case in NOT_COUNTED else "not proven"
    assert checked(tmp_path, (ELSEWHERE | NOT_COUNTED)[case])["app"].verdict == verdict


@pytest.mark.parametrize("case", COUNTERS)
def test_a_counter_is_told_from_none(case: str, tmp_path: Path) -> None:
    before, test, limit = COUNTERS[case]
    source = COUNTED.format(key="tries", before=before, test=test)
    graph = checked(tmp_path, source.replace('"work", work', '"work", down') if "down" in before else source)["app"]
    (finding,) = graph.findings
    assert (graph.verdict, finding.rule) == ("not proven", "unproven-cycle")
    long = case in ("a length", "a number of the state's items")
    assert ("`len(tries)` in `route`" if long else "`tries` in `route`") in finding.message
    assert finding.suggestion and limit in finding.suggestion


@pytest.mark.parametrize(
    "test",
    [
        "if state['score'] > 7: return END", "if state['tries'] is None: return END", "if state['ok']: return END",
        "if state['reset'] > 7: return END",  # which the node also sets back
        "if state['other'] > 7: return END",  # what is counted is another key's value
        "if state['n'] > 7: print(state)",  # nothing comes of it
        "if len(state['tries'][-1].calls) > 7: return END", "if state['tries'].count('x') > 7: return END",
        "x = state['tries'][-2] if len(state['tries']) > 1 else None\n    if x: return END",  # only whether it is there
        "if state['n'] > state['reset'] or next(iter([1]), 0) or time.time() > state['reset']: return END",  # begun anew
        "if state['aside'] > 7: return END",  # counted by a node that is not on the cycle
        "state['own'] = state['own'] + 1\n    if state['own'] > 7: return END",  # what a router writes is lost
    ],
)  # fmt: skip
def test_what_nobody_counts_up_is_no_counter(test: str, tmp_path: Path) -> None:
    before = "import time\ndef aside(state): return {'aside': state['aside'] + 1}\n"
    before += "def work(state): return {'reset': 0.5} if state['ok'] else {'reset': state['reset'] + 1, 'other': state['n'] + 1, 'n': state['n'] + 1}\n"
    source = COUNTED.format(key="tries", before=before, test=test)
    source = source.replace("app =", "g.add_node('aside', aside)\ng.add_edge(START, 'aside')\napp =")
    assert checked(tmp_path, source)["app"].verdict == "unbounded"

"""Where routers and Commands go, read from their source: exactly, or not at all."""

from __future__ import annotations

import ast
import operator
import re
import runpy
from pathlib import Path
from typing import Annotated, Any

import pytest
import shapes
from langgraph.graph import END, StateGraph
from typing_extensions import TypedDict

from loopwright.engine.proof.destinations import behaviour_of, router_words
from loopwright.engine.proof.read import read_topology
from loopwright.engine.proof.source import copies

PREFACE = """
import logging, sqlite3, sys
from contextvars import ContextVar
from functools import lru_cache
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from enum import Enum, StrEnum
from functools import partial, wraps
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END
from langgraph.types import Command, Send

TARGET = "work"
MOVED = "work"
ALIAS = Command
HERE = sys.modules[__name__]

def move():
    global MOVED
    MOVED = "check"

class Node(Enum):
    WORK = "work"

class Text(StrEnum):
    WORK = "work"

class Names:
    TASK = "work"

class Router:
    def route(self, state):
        return "work"

    __call__ = route

class Hop(Router):
    def __init__(self, to):
        self.to = self.last = to

    def __call__(self, state):
        return Command(goto=self.to)

    def jump(self, target):
        return Command(goto=target)

    def looked_up(self, state):
        return getattr(self, "jump")("work")

    def helped(self, state):
        return self.jump("work")

    def moving(self, state):
        self.last = "check"
        return Command(goto=self.last)

class Handoff(Command):
    pass

class Home(Command):
    def __init__(self):
        super().__init__(goto="work")

PLACES = ("work", "check")
LISTED = ["work", "check"]
TABLE = {"a": "work", "b": "check"}
FILLED = {"a": "work"}
LENT = {"a": "work"}
USED = dict(LENT)
also = LENT
MADE = dict(a="work")

def fill():
    FILLED["b"] = "check"

class Chooser:
    BY = {"a": "work", "b": "check"}

    def route(self, state):
        return self.BY[state["log"][0]]

class Settings:
    moved = "work"

def configure(settings):
    settings.moved = "check"

def goes(state):
    return Command(goto="work")

class Desk:
    def __init__(self):
        self.private = Hop("work")

    @property
    def clerk(self):
        return self.private

class Office:
    __slots__ = ("desk", "handlers", "jump_home")

    def __init__(self):
        self.desk = Desk()
        self.handlers = {"first": {"second": goes}}
        self.jump_home = [Command(goto="work")]

OFFICE = Office()
NESTED = {"first": {"second": goes}}
CALLED = {"first": [Hop("work")]}
CHAIN = RunnableLambda(lambda state: state) | RunnableLambda(goes)
HELD = ContextVar("held")
HELD.set(goes)
CACHED = lru_cache(goes)
MODEL = FakeListChatModel(responses=["done"])
LOG = logging.getLogger(__name__)
BASE = sqlite3.connect(":memory:")

def opened():
    return Desk()

def carrying(state, to):
    return Command(goto=to)

def constant(state):
    return "work"

def changing(function):
    @wraps(function)
    def changed(state):
        return "check"
    return changed

def handing_on(function):
    def handed(state):
        return function(state)
    return handed
"""
"""What the functions of the cases can name."""


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    items: list[int]


def function(source: str, folder: Path) -> Any:
    """What a case calls ``it``, read from a file; where it calls nothing so, it is the body of the function."""
    if not re.search(r"\bit\b", source):
        source = "def it(state):\n    " + source.replace("\n", "\n    ")
    file = folder / "routers.py"
    file.write_text(f"{PREFACE}\n{source}\n")
    return runpy.run_path(str(file))["it"]


READABLE: dict[str, tuple[str, set[str]]] = {
    "a local name": ("def it(state):\n    target = 'work'\n    return target", {"work"}),
    "branches": (
        "if state:\n    return 'work'\nelif state is None:\n    return END\nreturn 'check'",
        {"work", "check", END},
    ),
    "a list": ("return ['work', TARGET, 'check']", {"work", "check"}),
    "a class attribute": ("return Names.TASK", {"work"}),
    "a member of a text enumeration": ("return Text.WORK", {"work"}),
    "the value of a member": ("return Node.WORK.value", {"work"}),
    "a list of Sends": ("return [Send('work', item) for item in state['items']]", {"work"}),
    "a Send": ("return Send(node=TARGET, arg={})", {"work"}),
    "an inner function's return": (
        "def it(state):\n    def other():\n        return 'check'\n    other()\n    return 'work'",
        {"work"},
    ),
    "a coroutine": ("async def it(state):\n    return 'work'", {"work"}),
    "a closure": (
        "def make(target):\n    def router(state):\n        return target\n    return router\nit = make('check')",
        {"check"},
    ),
    "the first lambda of a line": ("two = (lambda _: 'work', lambda _: 'check')\nit = two[0]", {"work"}),
    "the second lambda of a line": ("two = (lambda _: 'work', lambda _: 'check')\nit = two[1]", {"check"}),
    "a callable object": ("it = Router()", {"work"}),
    "a partial function": ("def f(state, *, level):\n    return 'work'\nit = partial(f, level=1)", {"work"}),
    "a recursion": ("def it(state):\n    return it(state) if state else 'work'", {"work"}),
    "a call": ("return constant(state)", {"work"}),
    "a decorator without wraps": ("@handing_on\ndef it(state):\n    return 'work'", {"work"}),
    "a RunnableLambda": ("it = RunnableLambda(constant)", {"work"}),
    "a tuple around it": ("return PLACES[len(state)]", {"work", "check"}),
    "a list around it": ("return [name for name in LISTED if state]", {"work", "check"}),
    "a table around it": ("return TABLE.get(state['log'][0], END)", {"work", "check", END}),
    "a table of its class": ("it = Chooser().route", {"work", "check"}),
    "a table's keys": ("to = {'work': 'a', END: 'b'}\nreturn [way for way in to if to[way] == state]", {"work", END}),
    "a list in an update": ("to = ['work']\nupdate = {'to': to}\nupdate['n'] = 1\nreturn to", {"work"}),
    "a name of its module": ("return HERE.TARGET", {"work"}),
    "what nobody gives": (
        "def it(state, target='work', *, other=END):\n    return target if state else other",
        {"work", END},
    ),
    "a loop's name as a default": ("it = [lambda state, to=to: to for to in ('check', 'work')][1]", {"work"}),
}
CLOSURE = "def make():\n    target = 'work'\n    def router(state):\n        return target\n"
UNREADABLE = {
    "a recursion that asks for more": (
        "def told(state, word):\n    return told(state, 'check') if state else word\n"
        "def it(state):\n    return told(state, 'work')"
    ),
    "a recursion that leaves out an argument": "def told(state, word='work'):\n    return told(state) if word == END else word\ndef it(state):\n    return told(state, END)",
    "objects in a row": (
        "class Row:\n    def __init__(self, to, after=None):\n        self.to, self.after = to, after\n"
        "    def route(self, state):\n        return self.after.route(state) if state else self.to\n"
        "it = Row('work', Row('check')).route"
    ),
    "one unreadable return": "if state:\n    return 'work'\nreturn state['log'][0]",
    "a generator": "yield 'work'\nreturn 'work'",
    "a state with a default": ("class R:\n    def route(self, state='work'):\n        return state\nit = R().route"),
    "a state behind what a partial gives": "def f(way, state='work'):\n    return state\nit = partial(f, 'check')",
    "a parameter": "def it(state, store='work'):\n    return store",
    "a reassigned name": "CHANGED = 'work'\nCHANGED = 'check'\ndef it(state):\n    return CHANGED",
    "a name that a function moves": "return MOVED",
    "a name of its module that a function moves": "return HERE.MOVED",
    "the letters of a text": "word = 'ab'\nreturn [letter for letter in word]",
    "a table that its own method fills": "ways = {'a': 'work'}\nways.update(b='check')\nreturn ways[state]",
    "a list with another name": "to = ['work']\nmore = to or []\nmore.append('check')\nreturn to",
    "a list in a table": "ways = {'a': ['work']}\nfor way in ways.values():\n    way.append('check')\nreturn ways['a']",
    "what a helper adds to": "def add(to):\n    to.append('check')\n    return to\ndef it(state):\n    return add(['work'])",
    "a member that is no string": "return Node.WORK",
    "a Send to any node": "return [Send(name, {}) for name in state['log']]",
    "a decorator with wraps": "@changing\ndef it(state):\n    return 'work'",
    "a closure over a loop's name": (
        "def make():\n    made = []\n    for name in ('work', 'check'):\n        made.append(lambda _: name)\n"
        "    return made\nit = make()[0]"
    ),
    "a closure over a name that moves": f"{CLOSURE}    target = 'check'\n    return router\nit = make()",
    "a closure over a name that another function moves": (
        f"{CLOSURE}    def other():\n        nonlocal target\n        target = 'check'\n"
        "    return router, other\nit = make()[0]"
    ),
    "no source": "names = {}\nexec(\"def router(state): return 'work'\", names)\nit = names['router']",
    "a table that a function fills": "return FILLED['a']",
    "a table that has another name": "return LENT['a']",
    "a table that a call made": "return MADE['a']",
    "a table that is handed over": "it = partial(lambda state, table: table['a'], table=TABLE)",
    "an attribute of a class that a function sets": "return Settings.moved",
    "an attribute of an object that a function sets": "OBJECT = Settings()\ndef it(state):\n    return OBJECT.moved",
    "a chain": "it = RunnableLambda(constant) | RunnableLambda(lambda _: TARGET)",
}


def routed(router: Any) -> StateGraph[Any]:
    made = shapes.graph("START-work check-END other-END", State)
    made.add_conditional_edges("work", router)
    return made


def ways_from(made: StateGraph[Any], node: str) -> dict[str, str]:
    return {edge.target: edge.kind for edge in read_topology(made).edges if edge.source == node}


@pytest.mark.parametrize("case", READABLE)
def test_a_router_whose_source_can_be_read_goes_exactly_there(case: str, tmp_path: Path) -> None:
    source, expected = READABLE[case]
    made = routed(function(source, tmp_path))
    (branch,) = made.branches["work"].values()
    assert router_words(branch.path) == expected
    assert ways_from(made, "work") == dict.fromkeys(expected, "conditional")


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_router_whose_source_cannot_be_read_goes_anywhere(case: str, tmp_path: Path) -> None:
    made = routed(function(UNREADABLE[case], tmp_path))
    assert ways_from(made, "work") == dict.fromkeys(("work", "check", "other", END), "assumed")


COMMANDS: dict[str, tuple[str, set[str] | None]] = {
    "some returns": (
        "if state:\n    return {'log': ['x']}\n"
        "return Command(goto=['check', END]) if state is None else Command(goto=Send(TARGET, {}))",
        {"work", "check", END},
    ),
    "a lambda": ("it = lambda _: Command(goto='work')", {"work"}),
    "another name of Command": ("return ALIAS(goto='work')", {"work"}),
    "no goto": ("return Command(update={'log': []})", set()),
    "the graph around it": ("return Command(goto='work', graph=Command.PARENT)", set()),
    "its own graph, said so": ("return Command(goto='work', graph=None)", {"work"}),
    "no Command": ("return 'work'", set()),
    "a table that is filled": ("to = {}\nto['log'] = []\nreturn to if state else Command(goto='work')", {"work"}),
    "a variable": ("def it(state):\n    command = Command(goto='work')\n    return command", {"work"}),
    "a list that is not returned": (
        "def it(state):\n    state['log'].append(Command(goto='work'))\n    return {'log': []}",
        None,
    ),
    "another function's result": ("if state:\n    return Command(goto='work')\nreturn constant(state)", {"work"}),
    "keyword options": ("return Command(**state)", None),
    "a goto from the state": ("return Command(goto=state['log'][0])", None),
    "a decorator": ("@changing\ndef it(state):\n    return Command(goto='work')", {"work"}),
    "a subclass of Command": ("return Handoff(goto='work')", {"work"}),
    "a subclass that decides": ("return Home() if state else Command(update={})", None),
    "a Command that is changed": (
        "from dataclasses import replace\ndef it(state):\n    return replace(Command(update={}), goto='work')",
        None,
    ),
    "what two partials carry": (
        "it = RunnableLambda(partial(carrying, to='work')) | RunnableLambda(partial(carrying, to='check'))",
        {"work", "check"},
    ),
    "an object's attribute": ("it = Hop('check')", {"check"}),
    "an attribute that moves": ("it = Hop('work').moving", None),
    "a helper's argument": ("it = Hop('check').helped", {"work"}),
    "an attribute of an attribute": ("return OFFICE.desk.clerk.jump('work')", None),
    "a function in an attribute's table": ("return OFFICE.handlers['first']['second'](state)", {"work"}),
    "a Command in an attribute": ("return OFFICE.jump_home[0]", None),
    "a function in a nested table": ("return NESTED['first']['second'](state)", {"work"}),
    "an object in a nested table": ("return CALLED['first'][0](state)", {"work"}),
    "a chain that it invokes": ("return CHAIN.invoke(state)", {"work"}),
    "a function that a context variable holds": ("return HELD.get()(state)", {"work"}),
    "a function behind a cache": ("return CACHED(state)", {"work"}),
    "an object made in a helper": ("return opened().clerk(state)", None),
    "an object that a partial carries": ("it = partial(lambda state, desk: desk.clerk(state), desk=Desk())", {"work"}),
    "a goto that something sets": ("return Command(goto=Settings.moved)", None),
    "a model, a logger, a database": (
        "LOG.info('asked')\nrow = BASE.execute('select 1').fetchone()\nreturn {'log': [MODEL.invoke('x').content, row]}",
        set(),
    ),
    "a package that is not loaded": ("from turtledemo import clock\nreturn {'log': [clock.now()]}", set()),
    "a method by its name": ("it = Hop('check').looked_up", None),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_a_node_without_declared_destinations_jumps_where_its_source_says(case: str, tmp_path: Path) -> None:
    source, expected = COMMANDS[case]
    made = shapes.graph("START-jump work-END check-END", State, jump=function(source, tmp_path))
    assert behaviour_of(made.nodes["jump"].runnable).jumps == expected
    anywhere = dict.fromkeys(("work", "check", "jump", END), "assumed")
    assert ways_from(made, "jump") == (anywhere if expected is None else dict.fromkeys(expected, "command"))
    # What is declared adds to what is read, and decides alone where nothing is.
    made.nodes["jump"].ends = (END,)
    seen = {
        "a list that is not returned": {"work"},
        "a method by its name": {"check"},  # the object is handed on: it may be called
        "an attribute of an attribute": {"work"},
    }
    assert ways_from(made, "jump").keys() == {END, *(seen.get(case, set[str]()) if expected is None else expected)}


@pytest.mark.parametrize(
    ("asks", "number"), [("isinstance(made, Command)", 1), ("made", 0), ("isinstance(made, str)", 0)]
)
def test_a_copy_of_a_command_is_of_what_is_asked_to_be_one(asks, number):
    text = f"def hand(made):\n    if {asks}:\n        return Command(goto=made.goto, update={{}})\n"
    assert len(copies(ast.parse(text))) == number

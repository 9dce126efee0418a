"""What a user sees who runs pytest with the plug-in, and what `assert_bounded` says."""

import re
from pathlib import Path
from typing import Any, Literal

import agent
import pytest
from langgraph.graph import StateGraph
from shapes import State, graph

from loopwright import Loop, bounded
from loopwright.testing import assert_bounded

pytest_plugins = ["pytester"]

GRAPH = """
from langgraph.graph import START, END, MessagesState, StateGraph
from loopwright import Loop

builder = StateGraph(MessagesState)
builder.add_node("agent", lambda state: {})
builder.add_node("tools", lambda state: {})
builder.add_edge(START, "agent")
builder.add_conditional_edges("agent", lambda state: "tools", ["tools", END])
builder.add_edge("tools", "agent")
app = builder.compile(name="my agent")
"""


@pytest.fixture
def user(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A user's own folder; the plug-in is loaded by name, whether or not it is installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makepyfile(my_graph=GRAPH)
    pytester.syspathinsert()
    return pytester


def run(user: pytest.Pytester, *options: str) -> pytest.RunResult:
    return user.runpytest_inprocess("-p", "loopwright.testing.plugin", *options)


def test_an_unbounded_graph_fails_with_the_fix_and_no_traceback_of_ours(user):
    user.makepyfile("""
        from my_graph import Loop, app

        def test_it_stops(assert_bounded):
            assert assert_bounded(app, Loop(name="a", target="agent", sources=("tools",), limit=1)).bounded
            assert_bounded(app)
    """)
    result = run(user)
    result.assert_outcomes(failed=1)
    assert "raise AssertionError" not in result.stdout.str()
    document = Path(__file__).resolve().parents[3] / "docs/testing.md"
    (shown,) = re.findall(r"```text\n(E .*?)```", document.read_text(), re.DOTALL)
    told = shown.replace("E   ", "E       ")  # pytest indents it like the line that failed
    assert told in result.stdout.str(), "the failure that the document shows is the real one"


MODELS = """
    from loopwright.models import model_requests_allowed

    def test_plain():
        assert {plain} == model_requests_allowed()

    def test_blocked(no_model_requests):
        assert not model_requests_allowed()

    class TestMethods:
        def test_method(self):
            assert {plain} == model_requests_allowed()
"""


@pytest.mark.parametrize("blocked", [True, False])
def test_models_are_blocked_by_the_fixture_or_everywhere(user, blocked):
    from loopwright.models import allow_model_requests

    if blocked:
        user.makeini("[pytest]\nloopwright_block_models = true")
    user.makepyfile(MODELS.format(plain=not blocked))
    with allow_model_requests(True):  # as it is for a user, whose tests are not within ours
        run(user).assert_outcomes(passed=3)


def test_a_test_run_that_does_not_use_it_imports_neither_langgraph_nor_langchain(user):
    user.makepyfile("""
        import sys

        def test_nothing_heavy():
            assert not {"langgraph", "langchain_core", "pydantic"} & {name.partition(".")[0] for name in sys.modules}
    """)
    user.runpytest_subprocess("-p", "loopwright.testing.plugin").assert_outcomes(passed=1)


def decide(state: State) -> Literal["retrieve", "generate"]:
    return "generate" if state["text"] == "yes" else "retrieve"


def rag() -> StateGraph[State]:
    made = graph("START-retrieve retrieve-grade generate-END")
    made.add_conditional_edges("grade", decide)
    return made


def message_of(call: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        call()
    return str(caught.value)


def test_a_bounded_graph_gives_its_certificate():
    loop = Loop(name="again", target="retrieve", sources=("grade",), limit=2)
    certificate = assert_bounded(rag(), [loop], max_supersteps=10, max_node_runs=20)
    assert certificate == assert_bounded(bounded(rag(), [loop])) == bounded(rag(), [loop]).certificate


def test_a_graph_inside_a_node_is_bounded_from_outside():
    text = message_of(lambda: assert_bounded(graph("START-inner", inner=rag().compile())))
    assert "inner/retrieve -> inner/grade -> inner/retrieve" in text
    assert "bounded(GRAPH, limit=5)  # bounds the graphs inside it, too" in text


def test_a_worst_case_that_is_too_much_is_shown_with_all_figures():
    app = bounded(agent.app, limit=5)
    text = message_of(lambda: assert_bounded(app, max_supersteps=10, max_node_runs=1000, max_model_calls=6))
    lines = text.splitlines()
    assert lines[0] == "LangGraph is bounded, but its worst case is more than the test allows"
    assert lines[1].split() == [">", "max_supersteps", f"{app.certificate.max_supersteps},", "allowed", "10"]
    assert lines[2].split() == ["max_node_runs", f"{app.certificate.max_node_runs},", "allowed", "1,000"]
    assert lines[3].split() == [">", "max_model_calls", "unknown,", "allowed", "6"]
    assert lines[4].split() == ["max_seconds", "unknown"]

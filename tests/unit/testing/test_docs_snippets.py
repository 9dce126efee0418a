"""The snippets of the documents about tests and fallbacks run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[3] / "docs"

pytest_plugins = ["pytester"]


def snippets(document: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / document).read_text(), re.MULTILINE | re.DOTALL)


FILES = {snippet.splitlines()[0].removeprefix("# "): snippet for snippet in snippets("testing.md")}
TESTS = {name: len(re.findall(r"^def test_", text, re.MULTILINE)) for name, text in FILES.items()}


def test_every_snippet_about_testing_is_a_file_and_has_tests():
    assert all(re.fullmatch(r"\w+\.py", name) for name in FILES)
    assert [name for name, tests in TESTS.items() if not tests] == ["my_graph.py", "test_contracts.py"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "test_durability.py" else ())
        for name in FILES
        if name.startswith("test_")
    ],
)
def test_a_snippet_about_testing_passes(name, pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.syspathinsert()
    for file in ("my_graph.py", name):
        (pytester.path / file).write_text(FILES[file])
    result = pytester.runpytest_inprocess("-p", "loopwright.testing.plugin", name)
    if name == "test_contracts.py":
        assert result.parseoutcomes()["passed"] >= 30
        assert result.ret == pytest.ExitCode.OK
    else:
        result.assert_outcomes(passed=TESTS[name])


@pytest.mark.parametrize("number", range(len(snippets("fallbacks.md"))))
def test_a_snippet_about_fallbacks_runs(number):
    text = snippets("fallbacks.md")[number]
    assert "assert " in text
    exec(compile(text, f"fallbacks.md, snippet {number}", "exec"), {"__name__": "snippet"})


def test_the_failure_that_the_document_shows_is_the_real_one():
    from langgraph.graph import END, START, MessagesState, StateGraph

    from loopwright.testing import assert_bounded

    builder = StateGraph(MessagesState)
    builder.add_node("agent", lambda state: {})
    builder.add_node("tools", lambda state: {})
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", lambda state: "tools", ["tools", END])
    builder.add_edge("tools", "agent")
    with pytest.raises(AssertionError) as caught:
        assert_bounded(builder.compile(name="my agent"))
    shown = "".join(f"E   {line}\n" for line in f"AssertionError: {caught.value}".splitlines())
    assert f"```text\n{shown}```" in (DOCS / "testing.md").read_text()

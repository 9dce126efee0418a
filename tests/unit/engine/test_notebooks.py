"""What a notebook shows of a graph and of a certificate, by IPython's own display formatter."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from installed import needs
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, StateGraph
from shapes import graph, loop

from loopwright import bounded, verify
from loopwright.engine.proof.destinations import router_words

needs("IPython")

from IPython.core.formatters import DisplayFormatter  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402


def shown(value: Any) -> tuple[str, str]:
    """Its text and its HTML."""
    data, _metadata = DisplayFormatter().format(value)
    assert set(data) == {"text/plain", "text/html"}
    return data["text/plain"], data["text/html"]


@pytest.fixture
def builder() -> StateGraph:
    return graph("START-write<b> write<b>-judge judge?write<b> judge?END", routes={"judge": lambda _: END})


@pytest.mark.parametrize("drawn", [True, False])
def test_a_bounded_graph_is_its_picture_with_limits_and_its_certificate(drawn, builder, monkeypatch):
    if drawn:
        needs("mermaidx")
    else:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    app = bounded(builder, [loop("better", "judge", "write<b>", 3)])
    text, html = shown(app)
    for said in (text, html):
        assert "better" in said and "3" in said and f"at most {app.certificate.max_supersteps}" in said
    assert ("<svg" in html) is drawn
    assert "<b>" not in html and "<script" not in html
    if drawn:
        assert len(ElementTree.fromstring(html)) == 2


def test_a_certificate_names_its_figures_or_the_cycle(builder):
    text, html = shown(verify(builder))
    assert text.splitlines()[:2] == ["verdict: unbounded", "cycle without a bound: write<b> → judge → write<b>"]
    assert "write&lt;b&gt; → judge" in html


def test_what_other_cells_name_is_known():
    cells = ["from langgraph.graph import END", "GO = 'a'", "def go(state): return GO if state else END"]
    shell = InteractiveShell.instance()
    for cell in [*cells, cells[0]]:
        shell.run_cell(cell)
    route = RunnableLambda(shell.user_ns["go"])
    assert router_words(route) == {"a", END}
    shell.run_cell("GO = 'b'")
    assert router_words(route) is None

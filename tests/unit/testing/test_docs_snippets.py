"""The failure that docs/testing.md shows is the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[3] / "docs"


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

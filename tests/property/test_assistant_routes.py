"""`should_retry`, which has wish and bound in one, agrees with the wish behind its gate, on every state."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from loopwright.engine.loop import Spend, decide
from loopwright.workflows.assistant import AssistantConfig
from loopwright.workflows.assistant.graph import loops_of, should_retry
from loopwright.workflows.assistant.routes import wish_after_check


@given(st.booleans(), st.integers(0, 5), st.integers(1, 4), st.booleans())
def test_after_the_check(wanted, spent, limit, reflecting):
    config = AssistantConfig.load(None, {"assistant": {"reflection_enabled": reflecting, "max_retry_count": limit}}, {})
    (loop,) = loops_of(config)
    state = {
        "retry_wanted": "nothing was found" if wanted else None,
        "retry_count": spent,
        "needs_retry": wanted and spent < limit,
    }
    wish = wish_after_check(state)
    if wish == "retry":
        ledger = {loop.name: Spend(spent=min(spent, limit), limit=limit, refused=0)}
        granted = decide(loop, state, state, ledger, asked=["check_results"]).decision == "granted"
        wish = loop.target if granted else loop.exhausted
    with patch("loopwright.workflows.assistant.graph.settings") as settings:
        settings.reflection_enabled = reflecting
        assert should_retry(state) == wish

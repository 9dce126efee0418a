"""What is a wish to be forgotten, and what only sounds like one."""

from __future__ import annotations

import pytest

from loopwright.workflows.assistant.question.personal import forgets_all


@pytest.mark.parametrize("message", ["forget everything", "Please delete my profile.", "Thanks! Forget me, please."])
def test_forgetting_everything_is_never_missed(message: str) -> None:
    assert forgets_all(message)


@pytest.mark.parametrize("message", ["How do I delete my data from a phone?", "talks on how to clear my data lake"])
def test_what_only_sounds_like_a_command_forgets_nothing(message: str) -> None:
    assert not forgets_all(message)

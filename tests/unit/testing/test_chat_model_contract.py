"""The scripted fake keeps the contract for chat models."""

from __future__ import annotations

import pytest

from loopwright.testing import ChatModelContract, ScriptedChatModel


class TestScriptedChatModel(ChatModelContract):
    @pytest.fixture
    def replying(self) -> type[ScriptedChatModel]:
        return ScriptedChatModel


def test_a_model_that_mends_replies_breaks_the_contract():
    def mending(*texts: str) -> ScriptedChatModel:
        return ScriptedChatModel(*(text.replace("perhaps", "no") for text in texts), repeat_last=True)

    from loopwright.models import ask

    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        ChatModelContract().test_replies_that_stay_wrong_are_an_error_that_shows_them(mending, ask)

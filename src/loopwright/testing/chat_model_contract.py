"""What `loopwright.models.ask` needs of a chat model, as tests to inherit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from loopwright.errors import StructuredReplyError
from loopwright.models import StructuredMethod, UsageRecorder, aask, ask

Replying: TypeAlias = Callable[..., BaseChatModel]
Asking: TypeAlias = Callable[..., Any]

GOOD = '{"answer": "no", "reasons": ["because"]}'


class _Verdict(BaseModel):
    answer: Literal["yes", "no"]
    reasons: list[str] = []


class ChatModelContract:
    """Tests of a chat model, to inherit.

    A model that replies as told is given in a fixture::

        class TestMyModel(ChatModelContract):
            @pytest.fixture
            def replying(self):
                return lambda *texts: MyModel(transport=fake_server(texts))

    Each test runs sync and async, and with each way of asking that the model supports.
    """

    @pytest.fixture
    def replying(self) -> Replying:
        """What makes a model that replies with the given texts, in order. Override it."""
        raise NotImplementedError("override the fixture 'replying': it makes a model that replies with given texts")

    @pytest.fixture(params=["auto", "prompt"])
    def method(self, request: pytest.FixtureRequest) -> StructuredMethod:
        """How a structured reply is asked for."""
        return request.param

    @pytest.fixture(params=["sync", "async"])
    def asking(self, request: pytest.FixtureRequest, method: StructuredMethod) -> Asking:
        """`ask`, or `aask` in an event loop of its own."""

        def asked(*args: Any, **kwargs: Any) -> Any:
            if request.param == "sync":
                return ask(*args, method=method, **kwargs)
            return asyncio.run(aask(*args, method=method, **kwargs))

        return asked

    def test_a_reply_becomes_an_object(self, replying: Replying, asking: Asking) -> None:
        """The schema's object, from a conversation of several messages."""
        talk = [SystemMessage("Be strict."), HumanMessage("one"), AIMessage("two"), HumanMessage("Is it so?")]
        assert asking(replying(GOOD), talk, _Verdict) == _Verdict(answer="no", reasons=["because"])

    def test_a_wrong_reply_is_answered_and_the_next_one_counts(self, replying: Replying, asking: Asking) -> None:
        """A reply of the wrong shape comes back as it is, so that the model can be told what was wrong."""
        model = replying('{"answer": "perhaps"}', "no JSON at all", GOOD)
        assert asking(model, "Is it so?", _Verdict, repairs=2).answer == "no"

    def test_replies_that_stay_wrong_are_an_error_that_shows_them(self, replying: Replying, asking: Asking) -> None:
        """Neither the client nor LangChain raises first, or mends the reply."""
        with pytest.raises(StructuredReplyError, match="perhaps"):
            asking(replying('{"answer": "perhaps"}', '{"answer": "perhaps"}'), "Is it so?", _Verdict, repairs=1)

    def test_every_call_is_counted(self, replying: Replying, asking: Asking) -> None:
        """The replies that were wrong too."""
        usage = UsageRecorder()
        asking(replying("{}", GOOD), "Is it so?", _Verdict, usage=usage)
        assert usage.total().calls == 2

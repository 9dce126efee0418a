"""The switch that blocks real model requests, so that a test spends no money; what keeps secrets out of messages."""

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from json import JSONDecodeError
from traceback import walk_tb
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage

from loopwright.errors import ModelError

_switch = SimpleNamespace(allowed=True)
"""One flag for all threads: a context variable would not reach threads that were started before."""


@contextmanager
def allow_model_requests(allowed: bool = True) -> Generator[None]:
    """Allow or block every model that a `ModelRegistry` makes, in all threads, and restore the former state at the end.

    Models handed over ready-made, such as `loopwright.testing.ScriptedChatModel`, are not affected.

    Yields:
        Nothing.
    """
    before, _switch.allowed = _switch.allowed, allowed
    try:
        yield
    finally:
        _switch.allowed = before


def model_requests_allowed() -> bool:
    """Whether models made by a registry may be made and called now."""
    return _switch.allowed


def require_model_requests(what: str) -> None:
    """Refuse when model requests are blocked.

    Args:
        what: What was about to happen, for the message.

    Raises:
        ModelError: If they are blocked.
    """
    if not _switch.allowed:
        raise ModelError(
            f"{what}, but model requests are blocked here. Assign a fake such as "
            "loopwright.testing.ScriptedChatModel, or allow it: with allow_model_requests(): ..."
        )


_STUMBLES = (AttributeError, JSONDecodeError, LookupError, TypeError)
"""What the clients raise where a server answers, but not as their protocol says."""
_OURS = re.compile("unexpected keyword|not JSON serializable")
_ASKING = {"_get_request_payload", "_chat_params", "_prepare_request"}
"""Where the clients write the request: what they stumble over there is the caller's."""


class RequestGuard(BaseCallbackHandler):
    """Stops a request of a registry's model while requests are blocked, also if the model was made before.

    What a request raises passes through it too: a server that repeats the key would get it into logs and reports.

    Args:
        model: The model's name, for messages.
        secrets: What must not be seen in exceptions.
        at: The address that it is asked at, where that is configured.
    """

    raise_error = True
    run_inline = True

    def __init__(self, model: str, secrets: Sequence[str] = (), at: str | None = None) -> None:
        self.model = model
        self._secrets = [*secrets]
        self._asked = f" (model {model!r} at {at})" if at else f" (model {model!r})"

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Called by LangChain just before a request is sent.

        Raises:
            ModelError: If requests are blocked.
        """
        require_model_requests(f"model {self.model!r} was about to be called")

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Called by LangChain just before it raises what a request ended with: it is to say which model that was."""
        said, *others = error.args or ("",)
        if isinstance(error, Exception) and isinstance(said, str) and self._asked not in said:
            frames = (frame.f_code.co_name for frame, _ in walk_tb(error.__traceback__))
            stumbles = isinstance(error, _STUMBLES) and not _OURS.search(said) and _ASKING.isdisjoint(frames)
            if stumbles or said.startswith(("No generation", "No data received")):
                said = f"the reply is not what the protocol says, is base_url right? {said}"
                with suppress(AttributeError):  # a class may let nobody set it
                    cast("Any", error).type = "server_error"
            error.args = (f"{said}{self._asked}", *others)
            if self._asked not in str(error) and isinstance(shown := getattr(error, "error", None), str):
                cast("Any", error).error = f"{shown}{self._asked}"  # which Ollama's client shows
        redact_error(error, self._secrets)


_SEEN = ("message", "error", "body")
"""Attributes in which the clients' exceptions repeat what a server said."""


def redact(text: str, secrets: list[str]) -> str:
    """Replace each secret in a text by ``***``."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def redact_error(error: BaseException, secrets: list[str]) -> None:
    """Replace each secret in what an exception and those that it was raised from or during say, in place.

    Args:
        error: The exception. Its class and attributes stay, so that its kind can still be told.
        secrets: What must not be seen.
    """
    for link in _chain(error):
        link.args = tuple(_without(value, secrets) for value in link.args)
        for name in _SEEN:
            value = getattr(link, name, None)
            if isinstance(value, (str, dict, list)):
                setattr(link, name, _without(value, secrets))


def _chain(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set[int]()
    while waiting:
        link = waiting.pop()
        if id(link) not in seen:
            seen.add(id(link))
            yield link
            waiting += [each for each in (link.__cause__, link.__context__) if each is not None]


def _without(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, dict):
        return {name: _without(item, secrets) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_without(item, secrets) for item in value)
    return value

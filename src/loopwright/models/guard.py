"""The switch that blocks real model requests, so that a test spends no money; what keeps secrets out of messages."""

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from json import JSONDecodeError
from traceback import walk_tb
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from loopwright.engine.nodes.failures import failure_kind
from loopwright.errors import ModelError

_switch = SimpleNamespace(allowed=True)
"""One flag for all threads: a context variable would not reach threads that were started before."""


@contextmanager
def allow_model_requests(allowed: bool = True) -> Generator[None]:
    """Allow or block every model that a `ModelRegistry` makes, in all threads, and restore the former state at the end.

    Models handed over ready-made, such as `loopwright.testing.ScriptedChatModel`, are not affected.
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
    """Refuse what was about to happen when model requests are blocked.

    Raises:
        ModelError: If they are blocked.
    """
    if not _switch.allowed:
        raise ModelError(
            f"{what}, but model requests are blocked here. Assign a fake such as "
            "loopwright.testing.ScriptedChatModel, or allow it: with allow_model_requests(): ..."
        )


_STUMBLES = (AttributeError, JSONDecodeError, LookupError, TypeError)
"""What the clients raise where a server answers, but not as their protocol says; where they read, a ValueError too."""
_OURS = re.compile("unexpected keyword|not JSON serializable|surrogates not allowed")
_ASKING = {"_chat_params", "_create_message_dicts", "_get_request_payload", "_prepare_request"}
"""Where LangChain's classes write the request: what they stumble over there is the caller's."""
_READING = {"_construct_lc_result_from_responses_api", "_create_chat_result", "_response_to_result", "inner"}
"""Where they read the reply, and Ollama's client its stream."""


class RequestGuard(BaseCallbackHandler):
    """Stops a request of a registry's model while requests are blocked, also if the model was made before.

    What a request raises passes through it too: a server that repeats the key would get it into logs and reports.
    Messages name the model and, where it is configured, the address that it is asked at; they show no secret.
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
        said = said.model_dump(exclude_none=True) if isinstance(said, BaseModel) else said
        if isinstance(error, Exception) and isinstance(said, str | Mapping) and self._asked not in said:
            if said and isinstance(said, Mapping):  # the error that a server told, in a reply that began well
                told = cast("Mapping[str, Any]", said)
                for name, value in (("body", told), ("code", told.get("code")), ("type", told.get("type"))):
                    _mark(error, name, value)
                if failure_kind(error) is None:
                    _mark(error, "type", "server_error")
                said = told.get("message") or told
            elif stumbles(error):
                said = f"the reply is not what the protocol says, is base_url right? {said}"
                _mark(error, "type", "server_error")
            error.args = (f"{said}{self._asked}", *others)
            if self._asked not in str(error) and (shown := getattr(error, "error", None)):
                _mark(error, "error", f"{shown}{self._asked}")  # which Ollama's client shows
        redact_error(error, self._secrets)


def stumbles(error: Exception) -> bool:
    """Whether a client stumbled over a reply, and not over what it was asked to send."""
    within = {frame.f_code.co_name for frame, _ in walk_tb(error.__traceback__)}
    empty = str(error).startswith(("No generation", "No data received"))  # told before it is raised
    reading = isinstance(error, ValueError) and (empty or not _READING.isdisjoint(within))
    asking = _OURS.search(str(error)) or not _ASKING.isdisjoint(within)
    return (reading or isinstance(error, _STUMBLES)) and not asking


def _mark(error: Exception, name: str, value: Any) -> None:
    with suppress(AttributeError):  # a class may let nobody set it
        setattr(error, name, value)


_SEEN = ("message", "error", "body")
"""Attributes in which the clients' exceptions repeat what a server said."""


def redact(text: str, secrets: list[str]) -> str:
    """Replace each secret in a text by ``***``."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def redact_error(error: BaseException, secrets: list[str]) -> None:
    """Replace each secret in what an exception and those that it was raised from or during say, in place.

    The exception's class and attributes stay, so that its kind can still be told.
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

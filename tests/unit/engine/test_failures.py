"""What kind of failure an exception is, how long a server asks to wait, and what is shown of a failed node's state."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import time
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from loopwright.engine.budget.meter import comes_of_draining
from loopwright.engine.nodes.failures import failure_kind, retry_after, words_of
from loopwright.engine.nodes.policy import is_transient
from loopwright.engine.nodes.redact import redacted, snapshot
from loopwright.errors import InputError, NodeFailed, NodeTimeout, StructuredReplyError, UnknownNameError

REQUEST = httpx.Request("POST", "http://localhost/v1")


def made(name: str, message: str = "", **attributes: Any) -> BaseException:
    """An exception of a class of that name, as a client that is not installed here would raise it."""
    error = type(name, (Exception,), {})(message)
    vars(error).update(attributes)
    return error


def http_error(status: int, message: str = "", **headers: str) -> BaseException:
    """As openai and anthropic raise it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return made("APIStatusError", message=message, status_code=status, response=SimpleNamespace(headers=named))


def caused_by(cause: BaseException, error: BaseException | None = None) -> BaseException:
    error = error or RuntimeError("wrapped")
    error.__cause__ = cause
    return error


def test_a_group_of_exceptions_says_what_failed_in_it() -> None:
    inner = ExceptionGroup("inner", [OSError("disk full")])
    said = "outer (2 sub-exceptions): ExceptionGroup: inner (1 sub-exception): OSError: disk full; KeyError: 'key'"
    assert words_of(ExceptionGroup("outer", [inner, KeyError("key")])) == said
    assert words_of(ExceptionGroup("many", [ValueError("v")] * 999)).endswith("ValueError: v; …")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (http_error(401), "auth"),
        (http_error(429), "rate_limit"),
        (http_error(429, "Error code: 429 - insufficient_quota"), "quota"),
        (http_error(400), "rejected"),
        (http_error(409), None),
        (http_error(500), "server_error"),
        (http_error(400, "prompt is too long: 250000 tokens > 200000 maximum"), "context_length"),
        (made("BadRequestError", status_code=400, code="context_length_exceeded"), "context_length"),
        (made("ContextOverflowError"), "context_length"),
        (http_error(400, "Your credit balance is too low to access the API"), "quota"),
        (made("APIStatusError", status_code=200, type="overloaded_error"), "server_error"),
        (made("APIError", type="server_error", code={}), "server_error"),
        (made("ServiceUnavailable", code=HTTPStatus.SERVICE_UNAVAILABLE), "server_error"),
        (made("StrangeError", code="429"), None),
        (made("APIError", code="429", body={"code": 429}), "rate_limit"),
        (made("APIError", code="502", body={"code": "502"}), "server_error"),
        (made("ResponseError", status_code=-1), "server_error"),
        (httpx.HTTPStatusError("no", request=REQUEST, response=httpx.Response(404)), "not_found"),
        (ConnectionRefusedError(), "connection"),
        (RuntimeError("Event loop is closed"), "connection"),
        (TimeoutError(), "timeout"),
        (NodeTimeout("n", 1), "node_timeout"),
        (ValueError("429"), None),
        (StructuredReplyError("Verdict", "?", "?", 0), None),
        (ExceptionGroup("all", [ConnectionError(), ExceptionGroup("one", [ConnectionError()])]), "connection"),
        (ExceptionGroup("some", [ConnectionError(), ValueError()]), None),
        (caused_by(ExceptionGroup("all", [LONE := KeyError("raised anew out of it")]), LONE), None),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{type(value).__name__} {value}"[:40],
)  # fmt: skip
def test_kinds(error: BaseException, kind: str | None) -> None:
    assert failure_kind(error) == kind
    assert failure_kind(caused_by(error)) == kind, "what it was raised from counts too"
    assert not comes_of_draining(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None), ({"retry_after": "7"}, 7), ({"Retry_After": " 1.5 "}, 1.5),
        ({"retry_after_ms": "250", "retry_after": "1"}, 0.25),
        ({"retry_after": "Sun, 06 Nov 1994 08:49:37 GMT"}, 97),
        ({"retry_after": "Sun, 06 Nov 1994 08:00:00 GMT"}, 0),
        ({"retry_after": "-5"}, None), ({"retry_after": "1" * 400}, None),
    ],
)  # fmt: skip
def test_what_a_server_asks_for(
    headers: dict[str, str], seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = http_error(429, **headers)
    monkeypatch.setattr(time, "time", lambda: 784111680.0)  # 1994-11-06 08:48:00 UTC
    assert retry_after(error) == (None if seconds is None else pytest.approx(seconds))
    for whole in (caused_by(error), both := ExceptionGroup("two", [ValueError(), error]), caused_by(both)):
        assert retry_after(whole) == (None if seconds is None else pytest.approx(seconds))


def test_headers_are_found_where_clients_keep_them() -> None:
    assert retry_after(made("HTTPError", headers={"Retry-After": "4"})) == 4
    response = httpx.Response(429, headers={"RETRY-AFTER": "5"})
    assert retry_after(httpx.HTTPStatusError("no", request=REQUEST, response=response)) == 5
    assert retry_after(made("Odd", response="text")) is None


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (http_error(409), True),
        (http_error(429, "insufficient_quota"), False),
        (http_error(401), False),
        (http_error(400, "prompt is too long"), False),
        (caused_by(http_error(429), InputError("bad")), False),
        (ExceptionGroup("some", [ConnectionError(), ValueError()]), False),
    ],
)
def test_requests_that_fail_again_are_not_transient(error: BaseException, transient: bool) -> None:
    assert is_transient(error) is transient
    assert is_transient(caused_by(error, NodeFailed("n", ""))) is transient


SECRET = "sk-very-secret"


class Settings(BaseModel):
    token: str = SECRET
    size: int = 3


@dataclasses.dataclass
class Account:
    password: str = SECRET
    name: str = "me"
    settings: Settings = dataclasses.field(default_factory=Settings)


NAMES = [
    "api_key", "apikey", "API_KEY", "x-api-key", "client_secret", "access_token", "password", "db_passwd", "Authorization",
    "credentials", "private_key", "access-key", "Cookie", "tokenId", "tokenIssuer",
]  # fmt: skip


def test_values_whose_name_says_secret_are_hidden() -> None:
    assert redacted(dict.fromkeys(NAMES, SECRET)) == dict.fromkeys(NAMES, "***")


@pytest.mark.parametrize(
    "state",
    [
        {"outer": {"inner": [{"api_key": SECRET}]}}, Settings(), Account(), {"a": Account()}, [Account()],
        {"pair": (1, {"secret": SECRET})},
    ],
)  # fmt: skip
def test_secrets_are_found_in_mappings_sequences_models_and_dataclasses(state: object) -> None:
    shown = snapshot(state)
    assert SECRET not in shown and "***" in shown


def test_what_is_no_secret_is_shown_as_it_is() -> None:
    assert snapshot({"text": "hello", "n": 3}) == "text='hello', n=3"
    assert redacted({"keyboard": 1, "tokenizer": "word"}) == {"keyboard": 1, "tokenizer": "word"}
    assert "name='me'" in snapshot(Account())


@pytest.mark.parametrize("error", [NodeFailed("a", "m"), NodeTimeout("a", 3), UnknownNameError("x", 5, "y")])  # type: ignore[arg-type]
def test_an_error_stays_what_it_is_when_it_is_copied_or_goes_to_another_process(error: Exception) -> None:
    error.add_note("noted")
    for same in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(same), str(same), vars(same), same.args) == (type(error), str(error), vars(error), error.args)

"""What kind of failure an exception is, read from its attributes and class names, so that no client is imported.

The clients of model providers, httpx, requests and the like each have their own exceptions, often wrapped in others;
what they share is an HTTP status, headers, and the names of their classes.
"""

import re
import time
from collections.abc import Collection, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Literal, cast

from loopwright.errors import NodeTimeout

FailureKind = Literal[
    "auth", "connection", "context_length", "node_timeout", "not_found", "quota", "rate_limit", "rejected",
    "server_error", "timeout",
]  # fmt: skip
"""What went wrong with a request.

``auth``: 401 or 403. ``connection``: no connection, or a broken one. ``context_length``: the prompt is too long for the
model. ``node_timeout``: the node's own timeout, after which the first attempt may still be running. ``not_found``: 404,
such as a model that does not exist. ``quota``: 402, or 400, 403 or 429 because the account is spent, which no wait
mends. ``rate_limit``: 429. ``rejected``: any other 4xx but 409 and 425. ``server_error``: 5xx, overloaded servers among
them. ``timeout``: the client waited too long, or 408.
"""

PASSING: frozenset[FailureKind] = frozenset({"connection", "rate_limit", "server_error", "timeout"})
"""The kinds that can pass by themselves."""

_STATUS: Mapping[int, FailureKind] = {
    401: "auth", 402: "quota", 403: "auth", 404: "not_found", 408: "timeout", 429: "rate_limit",
}  # fmt: skip

_UNCLEAR = frozenset({409, 425})
"""Conflicts and requests that came too early may pass, or not."""

_NAMES: Mapping[FailureKind, frozenset[str]] = {
    "auth": frozenset({"ModelAuthenticationError", "ModelPermissionDeniedError"}),
    "connection": frozenset({
        "APIConnectionError", "ChunkedEncodingError", "ClientConnectionError", "ConnectionError", "IncompleteRead",
        "ModelConnectionError", "NetworkError", "NewConnectionError", "ProxyError", "RemoteProtocolError", "gaierror",
    }),
    "context_length": frozenset({"ContextOverflowError", "context_length_exceeded"}),
    "not_found": frozenset({"ModelNotFoundError"}),
    "quota": frozenset({"insufficient_quota"}),
    "rate_limit": frozenset({"ModelRateLimitError", "rate_limit_error", "rate_limit_exceeded"}),
    "server_error": frozenset({"ModelAPIError", "api_error", "overloaded_error", "server_error"}),
    "timeout": frozenset({
        "APITimeoutError", "ConnectTimeoutError", "DeadlineExceeded", "ModelTimeoutError", "ReadTimeoutError",
        "ServerTimeoutError", "Timeout", "TimeoutError", "TimeoutException", "timeout_error",
    }),
}  # fmt: skip
"""Classes of the builtins, anthropic, aiohttp, httpx, langchain-core, openai, requests and urllib3; a class
counts by any name in its line of ancestors. In small letters, what Anthropic and OpenAI call an error: within a stream
that began with 200, it is the only sign."""

_SPENT = re.compile(r"insufficient_quota|billing_(not_active|hard_limit)|credit balance is too low", re.IGNORECASE)

_TOO_LONG = re.compile(
    r"context[ _]length|context window|maximum context|prompt is too long|input token count.{0,40}exceeds",
    re.IGNORECASE,
)

_MAX_CHAIN = 10


def failure_kind(error: BaseException, *around: BaseException) -> FailureKind | None:
    """What kind of failure an exception, or all in a group, is, or the first it was raised from that tells, or None."""
    return next((kind for link in _chain(error, around) if (kind := _own_kind(link, *around)) is not None), None)


def status_code(error: BaseException) -> int | None:
    """The HTTP status that an exception carries itself; None if there is none."""
    response, body = getattr(error, "response", None), getattr(error, "body", None)
    holders = ((error, "status_code"), (response, "status_code"), (error, "code"), (error, "status"))
    # Within a stream only the provider's own words tell it, and some servers write it as a text.
    told = str(cast("Mapping[str, Any]", body).get("code")) if isinstance(body, Mapping) else ""
    codes = [*(getattr(holder, name, None) for holder, name in holders), int(told) if told.isdecimal() else None]
    return next((code for code in codes if isinstance(code, int) and 100 <= code < 600), None)


def retry_after(error: BaseException, *around: BaseException) -> float | None:
    """How many seconds a server asks to wait before the next attempt; None if it says nothing that can be read.

    Read are ``retry-after-ms`` and ``retry-after`` (seconds or an HTTP date); the longest of what a group holds.
    """
    for link in _chain(error, around):
        inside = [wait for each in errors_in(link) if (wait := retry_after(each, link, *around)) is not None]
        if (asked := max(inside, default=_asked(_headers(link)))) is not None:
            return asked
    return None


def errors_in(error: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group, as tasks that run together raise it; none of any other."""
    return cast("tuple[BaseException, ...]", error.exceptions) if isinstance(error, BaseExceptionGroup) else ()


def words_of(error: BaseException) -> str:
    """What an exception says; of a group, which says only how many it holds, also what the first of these say."""
    if not (inside := errors_in(error)):
        return str(error)
    said = [f"{type(each).__name__}: {words_of(each)}" for each in inside[:_MAX_CHAIN]]
    return f"{error}: {'; '.join(said + ['…'] * (len(inside) > len(said)))}"


def _chain(error: BaseException, around: Collection[BaseException]) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(_MAX_CHAIN):
        if link is None or any(link is each for each in around):  # an error may be raised from the group that holds it
            return
        yield link
        link = link.__cause__


def _own_kind(error: BaseException, *around: BaseException) -> FailureKind | None:
    if kinds := set[FailureKind | None](failure_kind(each, error, *around) for each in errors_in(error)):
        return kinds.pop() if len(kinds) == 1 else None
    if isinstance(error, NodeTimeout):
        return "node_timeout"
    if isinstance(error, RuntimeError) and str(error).startswith("Event loop is closed"):
        return "connection"  # one that a client kept from an event loop before this one
    status, named = status_code(error), _kind_by_name(error)
    if (status in (400, 403, 429) or named == "rate_limit") and _SPENT.search(_said(error)):
        return "quota"
    if status == 429 or named == "rate_limit":
        return "rate_limit"
    if status is None or status < 400:
        return "server_error" if getattr(error, "status_code", None) == -1 else named  # Ollama's, within a stream
    if status >= 500:
        return "server_error"
    if status in (400, 413) and (named == "context_length" or _TOO_LONG.search(_said(error))):
        return "context_length"
    return None if status in _UNCLEAR else _STATUS.get(status, "rejected")


def _kind_by_name(error: BaseException) -> FailureKind | None:
    """The kind of the nearest ancestor whose name is known: a client's timeout is often a kind of connection error."""
    called = [ancestor.__name__ for ancestor in type(error).__mro__]
    called += (str(getattr(error, told, None)) for told in ("type", "code"))
    return next((kind for name in called for kind, names in _NAMES.items() if name in names), None)


def _said(error: BaseException) -> str:
    return f"{getattr(error, 'code', '')} {error}"


def _headers(error: BaseException) -> dict[str, str]:
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    items = headers.items() if hasattr(headers, "items") else ()
    return {str(name).lower(): str(value).strip() for name, value in items}


def _asked(headers: Mapping[str, str]) -> float | None:
    asked = headers.get("retry-after", "")
    for text, in_a_second in ((headers.get("retry-after-ms", ""), 1000), (asked, 1)):
        if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", text, re.ASCII):
            return float(text) / in_a_second
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None

"""What clients are told when something goes wrong: problem details (RFC 9457) in JSON, never a traceback."""

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match

from loopwright import errors
from loopwright.engine.nodes.policy import cause_of, is_transient
from loopwright.errors import BackendError, InputError, LoopwrightError, NodeFailed, UnknownRun, UnknownWorkflow

logger = logging.getLogger(__name__)

INTERNAL = "InternalError"
"""The error type of what nobody foresaw; what it was stands in the server's log."""

AGAIN = "5"
"""Seconds after which to ask again for what can succeed later."""

CLOSE = {"Connection": "close"}
"""What a reply says where the request's body was not read."""

LONGEST = 2000
"""Characters of what is told of an error."""

METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
"""What may be asked of a path."""

UNREADABLE: dict[type, str] = {UnicodeDecodeError: ": it is not in UTF-8", RecursionError: ": it is nested too deeply"}
"""Why FastAPI could not read a body, where it does not say that."""


class ProblemBody(BaseModel):
    """Every reply with a status from 400 on: the members of RFC 9457, and those that the workflows' own events have."""

    type: str = "about:blank"
    """Always this: ``error_type`` names the kind."""
    title: str
    """The status in words."""
    status: int
    """The HTTP status."""
    detail: str
    """The same as ``error``."""
    error: str
    """What is wrong and what would mend it, for people."""
    error_type: str
    """Its kind, for programs."""
    can_retry: bool
    """Whether the same request could succeed later."""


MEDIA_TYPE = "application/problem+json"
PROBLEM: dict[str, Any] = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}}
"""A `ProblemBody`, as the description of the API has it; a model in its place would be read anew for each route."""
MISSING: dict[int | str, dict[str, Any]] = {404: PROBLEM}
"""What a route may answer that is asked for something by its name."""


class Problem(HTTPException):
    """What went wrong, as clients may know it; raised, it is the application's reply.

    Attributes:
        error: What is wrong and what would mend it, for people.
        error_type: Its kind, for programs.
        can_retry: Whether the same request could succeed later.
    """

    def __init__(
        self,
        error: str,
        error_type: str,
        can_retry: bool = False,
        status: int = 500,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, error, headers)
        self.error, self.error_type, self.can_retry = error, error_type, can_retry

    @property
    def response(self) -> JSONResponse:
        """It as a reply, as `ProblemBody` describes."""
        title = HTTPStatus(self.status_code).phrase
        told = {"type": "about:blank", "title": title, "status": self.status_code, "detail": self.error}
        told |= {"error": self.error, "error_type": self.error_type, "can_retry": self.can_retry}
        return JSONResponse(told, self.status_code, self.headers, MEDIA_TYPE)


def problem_of(error: BaseException) -> Problem:
    """What clients are told of an exception.

    The message of what Loopwright raises on purpose is for people; anything else may hold what is nobody's business.
    """
    if isinstance(error, Problem):
        return error
    if not isinstance(error, LoopwrightError):
        return Problem("something went wrong inside the server: its log says what", INTERNAL)
    cause = cause_of(error)
    # The class as errors.py has it, not a module's own kind of it.
    names = [each.__name__ for each in type(cause).__mro__]
    kind = next((name for name in names if hasattr(errors, name)), names[0])
    can_retry = is_transient(cause)
    headers = {"Retry-After": AGAIN} if can_retry else {}
    # A node's input is for the log: it is state that no client was ever sent.
    told = _shortened(error.told if isinstance(error, NodeFailed) else str(error))
    return Problem(told, kind, can_retry, status_of(kind, can_retry=can_retry), headers)


def status_of(error_type: str, *, can_retry: bool) -> int:
    """The HTTP status for something of a kind that went wrong."""
    kind = getattr(errors, error_type, Exception)
    if issubclass(kind, UnknownRun | UnknownWorkflow):
        return 404
    if issubclass(kind, InputError):
        return 400
    return 503 if can_retry or issubclass(kind, BackendError) else 500


def handle_problems(app: FastAPI) -> None:
    """Make an application answer every problem in JSON."""
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(LoopwrightError, _foreseen)


def _shortened(told: str) -> str:
    # A message may repeat what the client gave, which may be long.
    return told if len(told) <= LONGEST else f"{told[: LONGEST - 1]}…"


async def _refused(request: Request, error: Exception) -> JSONResponse:
    refused = cast("HTTPException", error)
    if isinstance(refused, Problem):
        return refused.response
    kind = HTTPStatus(refused.status_code).phrase.replace(" ", "")
    headers = {**(refused.headers or {})}
    if refused.status_code == 405:  # Starlette tells the methods of the first route of several with the path
        asked = {method: {**request.scope, "method": method} for method in METHODS}
        taken = (
            name for name in METHODS if any(each.matches(asked[name])[0] is Match.FULL for each in request.app.routes)
        )
        headers["Allow"] = ", ".join(taken)
    told = f"{refused.detail} ({request.method} {request.url.path}){UNREADABLE.get(type(refused.__cause__), '')}"
    return Problem(_shortened(told), kind, status=refused.status_code, headers=headers).response


async def _invalid(_request: Request, error: Exception) -> JSONResponse:
    found: Sequence[Any] = cast("RequestValidationError", error).errors()
    # The offending value itself is not repeated: it may be long, or half of a character.
    told = "; ".join(f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in found)
    if any(isinstance(each.get("input"), bytes) for each in found):
        told = "the body is taken for JSON only with the header Content-Type: application/json"
    return Problem(_shortened(told), "InvalidRequest", status=422).response


async def _foreseen(request: Request, error: Exception) -> JSONResponse:
    logger.warning("%s %s: %s", request.method, request.url.path[:LONGEST], _shortened(str(error)))
    return problem_of(error).response

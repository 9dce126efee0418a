"""A run as one reply, for clients that do not follow it; and one that is asked for twice and begins once."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

from loopwright.errors import InputError
from loopwright.runs.schemas import ENDED, RunRecord
from loopwright.server.context import Context
from loopwright.server.problems import AGAIN, Problem, status_of

LONGEST_KEY = 255
"""Characters of an ``Idempotency-Key``."""


async def begin_once(
    context: Context, key: str | None, asked: Any, begin: Callable[..., Awaitable[RunRecord]]
) -> RunRecord:
    """Begin a run, or give the one that the same request began before.

    The key names the run: whoever keeps it first has begun it, on whichever server, and it is known as long as the run.

    Args:
        context: Knows the runs.
        key: The value of the header ``Idempotency-Key``; without one each request begins a run.
        asked: What is asked for, in plain JSON.
        begin: Begins the run with the ``run_id`` that it is given.

    Raises:
        HTTPException: With status 400 if the key is unusable, 409 while the first request is worked on, 422 if that
            asked for something else.
    """
    if key is None:
        return await begin()
    request = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
    bare = key.strip().removeprefix('"').removesuffix('"')
    if not 0 < len(bare) <= LONGEST_KEY:
        told = f"the header Idempotency-Key has {len(bare)} characters: give 1 to {LONGEST_KEY}, a UUID for example"
        raise Problem(told, "BadRequest", status=400)
    run_id = hashlib.sha256(f"idempotency key {bare}".encode()).hexdigest()[:32]
    record = await context.hub.record(run_id)
    if record is None:
        try:
            return await begin(run_id=run_id, request=request)
        except InputError:
            made_ready = run_id in context.hub.reserved
            record = await context.hub.record(run_id)
            if record is None and not made_ready:
                raise
    if record is None:
        told = "a request with this Idempotency-Key is worked on right now: ask again in a moment"
        raise Problem(told, "Busy", can_retry=True, status=409, headers={"Retry-After": "1"})
    if record.request != request:
        told = f"the Idempotency-Key belongs to run {run_id}, which was asked for otherwise: give a new key"
        raise Problem(told, "InputError", status=422)
    return record


def end_of(record: RunRecord) -> str:
    """How a run ended without an outcome, in words; one that goes on behind a server that stops has not."""
    if record.status not in ENDED:
        return f"run {record.id} goes on: look at it when the server is back"
    return record.error or f"the run is {record.status}"


def failure_of(record: RunRecord) -> Problem:
    """What a client is told of a run that ended without an outcome."""
    if record.status not in ENDED:
        return Problem(end_of(record), "Busy", True, 503, {"Retry-After": AGAIN})
    if record.status == "waiting":
        return Problem(f"run {record.id} waits for an answer: resume it with one", "Waiting", status=409)
    kind = record.error_type or record.status.capitalize()
    can_retry = record.status in ("cancelled", "interrupted")
    return Problem(f"run {record.id}: {end_of(record)}", kind, can_retry, status_of(kind, can_retry=can_retry))

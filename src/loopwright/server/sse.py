"""Server-Sent Events: how a run's events are written, and where a client that comes back goes on.

The format is that of the HTML standard, section 9.2 "Server-sent events". An event's id is ``RUN_ID:N``, N its number
in the run from 1.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from fastapi import Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from starlette.types import Message, Send

from loopwright.server.problems import Problem
from loopwright.server.runs import KeptEvent, Run, Runs

BATCH = 64
"""Events that are written at once at most."""
ESCAPED = {"\x85": r"\u0085", "\u2028": r"\u2028", "\u2029": r"\u2029"}
"""Line ends of Unicode that JSON leaves as they are: the standard does not end a line there, but many clients do."""


def frame(run_id: str, number: int, event: KeptEvent) -> bytes:
    """One event as it goes over the wire.

    Args:
        run_id: The run.
        number: The event's number, from 1.
        event: The event.
    """
    data = event.data
    for character, escaped in ESCAPED.items():
        data = data.replace(character, escaped)
    return format_sse_event(event=event.name, data_str=data, id=f"{run_id}:{number}")


def position(last_event_id: str) -> tuple[str, int]:
    """Read the id of the last event that a client has.

    Args:
        last_event_id: The value of the header ``Last-Event-ID``.

    Returns:
        The run and the event's number.

    Raises:
        HTTPException: With status 400, if it is no such id.
    """
    run_id, _colon, number = last_event_id.strip().rpartition(":")
    if not run_id or not (number.isascii() and number.isdigit() and len(number) < 10):
        told = f"the header Last-Event-ID is {last_event_id[:80]!r}: give the id of an event that came, RUN_ID:N"
        raise Problem(told, "BadRequest", status=400).exception
    return run_id, int(number)


def resumed(runs: Runs, last_event_id: str) -> tuple[Run, int]:
    """Find the run that a client wants to go on reading.

    Args:
        runs: All runs.
        last_event_id: The value of the header ``Last-Event-ID``.

    Returns:
        The run and the number of the last event that the client has.

    Raises:
        HTTPException: With status 404 if there is no such run, 400 if the run has no such event.
    """
    run_id, number = position(last_event_id)
    run = known_run(runs, run_id)
    if number > len(run.events):
        told = f"run {run_id} has {len(run.events)} events so far, and the header Last-Event-ID names event {number}"
        raise Problem(told, "BadRequest", status=400).exception
    return run, number


def known_run(runs: Runs, run_id: str) -> Run:
    """Find a run.

    Args:
        runs: All runs.
        run_id: The run.

    Raises:
        HTTPException: With status 404, if there is none.
    """
    run = runs.get(run_id)
    if run is None:
        told = f"there is no run {run_id[:80]!r}: it never began here, or it ended too long ago"
        raise Problem(told, "UnknownRun", status=404).exception
    return run


class EventStream(EventSourceResponse):
    """A run's events as they happen, until it ends; the run goes on when the client leaves."""

    def __init__(self, run: Run, after: int) -> None:
        """Begin behind an event.

        Args:
            run: The run.
            after: The number of the last event that the client has, 0 for none.
        """
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no", "X-Run-Id": run.id}
        super().__init__(_frames(run, after), headers=headers)
        self._stalled = run.limits.stalled

    async def stream_response(self, send: Send) -> None:
        """Send what the run brings, for as long as the client takes it.

        Args:
            send: Writes to the client; waits while the client does not read.
        """

        async def timely(message: Message) -> None:
            async with asyncio.timeout(self._stalled):
                await send(message)

        # Without an end of the body the connection is closed, so that the client knows that there is more.
        with suppress(TimeoutError):
            await super().stream_response(timely)


def event_stream(run: Run, after: int) -> Response:
    """Answer a client that wants a run's events.

    Args:
        run: The run.
        after: The number of the last event that the client has, 0 for none.

    Returns:
        The events; an empty reply (204, which ends an ``EventSource``) if the client has all and no more will come.
    """
    if after and run.ended and after == len(run.events):
        return Response(status_code=204)
    return EventStream(run, after)


async def _frames(run: Run, after: int) -> AsyncIterator[bytes]:
    while True:
        news = (await run.after(after, run.limits.keep_alive))[:BATCH]
        if news:
            yield b"".join(frame(run.id, number, event) for number, event in enumerate(news, after + 1))
            after += len(news)
        elif run.ended:
            return
        else:
            yield KEEPALIVE_COMMENT

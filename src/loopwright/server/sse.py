"""Server-Sent Events: how a run's events are written, and where a client that comes back goes on.

The format is that of the HTML standard, section 9.2 "Server-sent events". An event's id is ``RUN_ID:N``, N its number
in its channel of the run, from 1.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import Header, Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event

from loopwright.runs.schemas import ENDED, Channel, KeptEvent
from loopwright.server.context import Context
from loopwright.server.problems import Problem

LastEventId = Annotated[
    str | None, Header(description="The id of the last event that was received, RUN_ID:N; goes on behind it.")
]
BATCH = 16
"""Events that are read at once at most; a client that reads nothing holds so many of them in memory."""
SIZE = 2**16
"""Characters of JSON that are written at once at most; what was written waits in memory until the client takes it."""
ESCAPED = {"\x85": r"\u0085", "\u2028": r"\u2028", "\u2029": r"\u2029"}
"""Line ends of Unicode that JSON leaves as they are: the standard does not end a line there, but many clients do."""


def _frame(run_id: str, event: KeptEvent) -> bytes:
    data = event.data
    for character, escaped in ESCAPED.items():
        data = data.replace(character, escaped)
    return format_sse_event(data_str=data, event=event.name, id=f"{run_id}:{event.seq}")


def position(last_event_id: str) -> tuple[str, int]:
    """The run, and the number of the last event that a client has, by the header ``Last-Event-ID``.

    Raises:
        HTTPException: With status 400, if it is no such id.
    """
    run_id, _colon, number = last_event_id.strip().rpartition(":")
    if not run_id or not (number.isascii() and number.isdigit() and len(number) < 10):
        told = f"the header Last-Event-ID is {last_event_id[:80]!r}: give the id of an event that came, RUN_ID:N"
        raise Problem(told, "BadRequest", status=400)
    return run_id, int(number)


async def event_stream(context: Context, run_id: str, channel: Channel, last_event_id: str | None = None) -> Response:
    """Answer a client that wants a run's events.

    Args:
        context: Knows the runs.
        run_id: The run.
        channel: Which of its channels.
        last_event_id: The value of the header ``Last-Event-ID``, which must name this run; None for all events.

    Returns:
        The events; an empty reply (204, which ends an ``EventSource``) if the client has all and no more will come.

    Raises:
        HTTPException: With status 404 if there is no such run, 400 if the run has no such event.
    """
    after = 0
    if last_event_id is not None:
        named, after = position(last_event_id)
        if named != run_id:
            told = f"the header Last-Event-ID names run {named[:80]}, the address run {run_id[:80]}: give them alike"
            raise Problem(told, "BadRequest", status=400)
    record = await context.hub.known(run_id)
    if after:
        kept = await context.hub.store.aside(context.hub.store.count, run_id, channel)
        if after > kept:
            told = f"run {run_id} has {kept} events so far, and the header Last-Event-ID names event {after}"
            raise Problem(told, "BadRequest", status=400)
        if after == kept and record.status in ENDED:
            return Response(status_code=204)
    # Who takes nothing of it is disconnected as anybody is, see `loopwright.server.connections`, and can come back.
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no", "X-Run-Id": run_id}
    sent = followed(context, run_id, channel, after)
    frames = (b"".join(_frame(run_id, event) for event in events) or KEEPALIVE_COMMENT async for events in sent)
    return EventSourceResponse(frames, headers=headers)


async def followed(
    context: Context, run_id: str, channel: Channel, after: int, *, cancel: bool = False
) -> AsyncIterator[Sequence[KeptEvent]]:
    """What a run brings behind an event, a few at a time, until it has ended; none where nothing came for a while.

    With `cancel`, the run is cancelled when whoever follows it leaves.
    """
    ended = False
    with context.metrics.streams.track_inprogress():
        try:
            while not ended:
                patience = context.hub.limits.keep_alive
                events, ended = await context.hub.follow(run_id, channel, after, patience, BATCH, SIZE)
                if events:
                    after = events[-1].seq
                if events or not ended:
                    yield events
        finally:
            if cancel and not ended:  # here every wait would be cancelled itself
                context.hub.cancel_soon(run_id)

"""Connections that end where a request's head is too long or too slow, or where nobody takes the answer.

Before a head is there, nobody can be refused; and what was written stays in memory until somebody takes it.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_BYTES = 65_536
"""The longest head of a request, beyond what comes in one piece."""


class Connection(HttpToolsProtocol):
    """A connection of uvicorn's, which itself bounds neither the length of a head nor the time that it takes."""

    head_seconds = 20.0
    """The time that a head may take, the first one from the connection on; also what is left of an unwanted body."""

    idle_seconds = 60.0
    """The time in which a client must take something of what waits for it; one that followed a run can come back."""

    _in_head = False
    _head_bytes = 0
    _deadline: asyncio.TimerHandle | None = None
    _idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._unwatch()
        self._stop_waiting()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        super().data_received(data)
        self._head_bytes = self._head_bytes + len(data) if self._in_head else 0
        if self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(f"The head of the request is longer than {HEAD_BYTES} bytes.")
        self._watch()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        """A head has come."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A whole request has come."""
        super().on_message_complete()
        self.cycle.more_body = False  # which uvicorn leaves where the reply came first
        self._unwatch()  # the next head may have begun in the same piece

    def on_response_complete(self) -> None:
        """A reply was sent."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """More waits than is good."""
        super().pause_writing()
        self._wait_for_client()

    def resume_writing(self) -> None:
        """The client took it."""
        super().resume_writing()
        self._stop_waiting()

    def _wait_for_client(self) -> None:
        self._stop_waiting()
        self._idle = self.loop.call_later(self.idle_seconds, self._check_client, self.transport.get_write_buffer_size())

    def _check_client(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._wait_for_client()
        else:
            # A connection that is only closed keeps what waits until it is taken, however long that is.
            self.transport.abort()

    def _stop_waiting(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _watch(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        if self.transport.is_closing() or (cycle and not cycle.response_complete):
            self._unwatch()
        elif cycle and not self._in_head and not cycle.more_body:
            if not self.timeout_keep_alive_task:  # uvicorn has no rest behind a body whose reply came first
                wait, end = self.timeout_keep_alive, self.timeout_keep_alive_handler
                self.timeout_keep_alive_task = self.loop.call_later(wait, end)
        elif self._deadline is None:
            # Data that comes in the meantime does not put it off.
            self._deadline = self.loop.call_later(self.head_seconds, self.transport.close)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

"""How much the runs of one hub may hold and take, together and each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunLimits:
    """How much runs may hold, together and each, and how long their clients are waited for."""

    running: int = 1000
    """Runs at the same time; a further one is refused."""
    seconds: float = 900.0
    """The longest that a run may take; a resumed one begins anew."""
    events: int = 20_000
    """Events of one run, in each of its channels."""
    event_bytes: int = 32 * 2**20
    """Characters of JSON of one run's events, in each of its channels."""
    keep_alive: float = 15.0
    """Seconds without an event after which a comment is sent, so that nothing on the way takes the connection for
    dead."""
    stalled: float = 60.0
    """Seconds that a client may take nothing before its connection is closed; it can come back and go on."""

"""Where the run history is kept: SQLite by default, PostgreSQL for production, one protocol and one code."""

from loopwright.runs.schemas import KeptEvent, NewEvents
from loopwright.runs.store.history import RunStore
from loopwright.runs.store.opening import open_runs

__all__ = ["KeptEvent", "NewEvents", "RunStore", "open_runs"]

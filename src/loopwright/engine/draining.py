"""Asking LangGraph to end a run with the superstep that is under way, for more than one reason."""

from __future__ import annotations

from langgraph.runtime import RunControl


class Control(RunControl):
    """Asks LangGraph for an end, for the budget's sake or because the caller's own control does."""

    __slots__ = ("_caller",)

    def __init__(self, caller: RunControl | None) -> None:
        super().__init__()
        self._caller = caller

    @property
    def drain_requested(self) -> bool:
        """Whether anybody asked for an end."""
        return super().drain_requested or (self._caller is not None and self._caller.drain_requested)

    @property
    def drain_reason(self) -> str | None:
        """Why, of the budget first."""
        return super().drain_reason or (self._caller.drain_reason if self._caller else None)

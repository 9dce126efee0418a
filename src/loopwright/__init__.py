"""Agent graphs that correct themselves, and always stop.

Declare a loop once; from that come its enforcement, its fallback route, its logs and its label in the diagram, and a
proof, before the first run, that every cycle of the graph is bounded::

    from loopwright import bounded

    app = bounded(app, limit=5)

Names are imported when they are first used, because LangGraph's own import takes more than a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loopwright.engine import (
        Backoff,
        BoundedGraph,
        Budget,
        Certificate,
        EngineConfig,
        GiveUp,
        Loop,
        LoopMessages,
        NodePolicy,
        Plateau,
        PriceTable,
        Retry,
        RunEvent,
        RunResult,
        Stall,
        StateLimit,
        StopReason,
        Usage,
        add_node,
        arun,
        astream,
        bounded,
        choose_loops,
        contents,
        normalised,
        record_usage,
        resume,
        run,
        stream,
        usual_retries,
        verify,
    )
    from loopwright.engine.checkpoints import open_checkpointer
    from loopwright.errors import LoopwrightError

__version__ = "0.1.0"

__all__ = [
    "Backoff",
    "BoundedGraph",
    "Budget",
    "Certificate",
    "EngineConfig",
    "GiveUp",
    "Loop",
    "LoopMessages",
    "LoopwrightError",
    "NodePolicy",
    "Plateau",
    "PriceTable",
    "Retry",
    "RunEvent",
    "RunResult",
    "Stall",
    "StateLimit",
    "StopReason",
    "Usage",
    "add_node",
    "arun",
    "astream",
    "bounded",
    "choose_loops",
    "contents",
    "normalised",
    "open_checkpointer",
    "record_usage",
    "resume",
    "run",
    "stream",
    "usual_retries",
    "verify",
]

_ELSEWHERE = {"LoopwrightError": "loopwright.errors", "open_checkpointer": "loopwright.engine.checkpoints"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_ELSEWHERE.get(name, "loopwright.engine")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

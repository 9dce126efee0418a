"""Loops that are declared once, bounded at run time, and proven bounded before.

Names are imported when they are first used: ``loopwright check`` reads source files with parts of the engine that need
no LangGraph, whose import takes more than a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loopwright.engine.books import StopReason
    from loopwright.engine.bounded_graph import BoundedGraph
    from loopwright.engine.bounding import bounded, choose_loops
    from loopwright.engine.budgets import Budget
    from loopwright.engine.certificate import Certificate
    from loopwright.engine.config import EngineConfig
    from loopwright.engine.events import RunEvent
    from loopwright.engine.guarding import add_node
    from loopwright.engine.loops import Backoff, Loop, LoopMessages, StateLimit
    from loopwright.engine.meter import record_usage
    from loopwright.engine.policies import GiveUp, NodePolicy, Retry, usual_retries
    from loopwright.engine.progress import Plateau, Stall, contents, normalised
    from loopwright.engine.proof import verify
    from loopwright.engine.runner import RunResult, arun, astream, resume, run, stream
    from loopwright.engine.usage import PriceTable, Usage

__all__ = [
    "Backoff",
    "BoundedGraph",
    "Budget",
    "Certificate",
    "EngineConfig",
    "GiveUp",
    "Loop",
    "LoopMessages",
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
    "record_usage",
    "resume",
    "run",
    "stream",
    "usual_retries",
    "verify",
]

_HOMES = {
    "Backoff": "loopwright.engine.loops",
    "BoundedGraph": "loopwright.engine.bounded_graph",
    "Budget": "loopwright.engine.budgets",
    "Certificate": "loopwright.engine.certificate",
    "EngineConfig": "loopwright.engine.config",
    "GiveUp": "loopwright.engine.policies",
    "Loop": "loopwright.engine.loops",
    "LoopMessages": "loopwright.engine.loops",
    "NodePolicy": "loopwright.engine.policies",
    "Plateau": "loopwright.engine.progress",
    "PriceTable": "loopwright.engine.usage",
    "Retry": "loopwright.engine.policies",
    "RunEvent": "loopwright.engine.events",
    "RunResult": "loopwright.engine.runner",
    "Stall": "loopwright.engine.progress",
    "StateLimit": "loopwright.engine.loops",
    "StopReason": "loopwright.engine.books",
    "Usage": "loopwright.engine.usage",
    "add_node": "loopwright.engine.guarding",
    "arun": "loopwright.engine.runner",
    "astream": "loopwright.engine.runner",
    "bounded": "loopwright.engine.bounding",
    "choose_loops": "loopwright.engine.bounding",
    "contents": "loopwright.engine.progress",
    "normalised": "loopwright.engine.progress",
    "record_usage": "loopwright.engine.meter",
    "resume": "loopwright.engine.runner",
    "run": "loopwright.engine.runner",
    "stream": "loopwright.engine.runner",
    "usual_retries": "loopwright.engine.policies",
    "verify": "loopwright.engine.proof",
}
"""Name -> the module that defines it."""


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value

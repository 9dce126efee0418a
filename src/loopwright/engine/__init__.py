"""Loops that are declared once, bounded at run time, and proven bounded before."""

from __future__ import annotations

from loopwright.engine.bounded_graph import BoundedGraph
from loopwright.engine.bounding import bounded, choose_loops
from loopwright.engine.certificate import Certificate
from loopwright.engine.config import EngineConfig
from loopwright.engine.events import RunEvent
from loopwright.engine.gate import StopReason
from loopwright.engine.guarding import add_node
from loopwright.engine.loops import Backoff, Loop, LoopMessages, Stall, StateLimit
from loopwright.engine.policies import GiveUp, NodePolicy
from loopwright.engine.runner import RunResult, arun, astream, resume, run, stream
from loopwright.engine.verify import verify

__all__ = [
    "Backoff",
    "BoundedGraph",
    "Certificate",
    "EngineConfig",
    "GiveUp",
    "Loop",
    "LoopMessages",
    "NodePolicy",
    "RunEvent",
    "RunResult",
    "Stall",
    "StateLimit",
    "StopReason",
    "add_node",
    "arun",
    "astream",
    "bounded",
    "choose_loops",
    "resume",
    "run",
    "stream",
    "verify",
]

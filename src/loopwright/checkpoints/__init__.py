"""Savers that keep the state of a run, so that it can be resumed, forked and looked at."""

from loopwright.checkpoints.allowlist import state_types
from loopwright.checkpoints.json_files import JsonFileSaver
from loopwright.checkpoints.opening import aopen_checkpointer, open_checkpointer

__all__ = ["JsonFileSaver", "aopen_checkpointer", "open_checkpointer", "state_types"]

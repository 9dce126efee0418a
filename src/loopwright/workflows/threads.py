"""Names for the threads under which runs are kept: a new run never mixes with an old one of the same name."""

from __future__ import annotations

from itertools import count

from langgraph.checkpoint.base import BaseCheckpointSaver


def free_thread(saver: BaseCheckpointSaver[str], name: str) -> tuple[str, str | None]:
    """Find the next free thread of a name: ``NAME``, ``NAME~2``, ``NAME~3``, ...

    Args:
        saver: Where runs are kept.
        name: What the runs are called.

    Returns:
        The first thread that no run has used, and the last one that a run has, or None.
    """
    thread, last, numbers = name, None, count(2)
    while saver.get_tuple({"configurable": {"thread_id": thread}}) is not None:
        thread, last = f"{name}~{next(numbers)}", thread
    return thread, last

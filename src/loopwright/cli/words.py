"""How things are said on the command line."""

from __future__ import annotations

from loopwright.errors import LoopwrightError, NodeFailed


def one_line(error: LoopwrightError) -> str:
    """An error's message in one line; of an error of ours within a node, its own message.

    Args:
        error: The error.
    """
    cause = error.__cause__ if isinstance(error, NodeFailed) else None
    return " ".join(str(cause if isinstance(cause, LoopwrightError) else error).split())


def printable(text: str) -> str:
    """Text in which file names that are not UTF-8 are written with escapes, which every terminal takes.

    Args:
        text: What is to be printed.
    """
    return text.encode("utf-8", "backslashreplace").decode()

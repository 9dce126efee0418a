"""Where a run failed: the frames of the user's own code that its error passed, each with the lines around."""

from __future__ import annotations

import linecache
import sysconfig
import traceback
from pathlib import Path

import loopwright
from loopwright.engine.nodes.policy import cause_of
from loopwright.runs.plain import shortened
from loopwright.runs.schemas import Frame

MOST = 8
"""Frames that are kept, the innermost ones."""

AROUND = 8
"""Lines that are shown before and behind the one that failed."""

_WIDEST = 300
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_OURS = str(Path(loopwright.__file__).parent)
_SHIPPED = str(Path(_OURS, "workflows"))


def frames_of(error: BaseException) -> tuple[Frame, ...]:
    """The frames that an error passed on its way, the innermost last; those of libraries and of the engine left out.

    Args:
        error: What ended a run; of one that wraps another, that one tells.
    """
    passed = traceback.extract_tb(cause_of(error).__traceback__, limit=-200)
    return tuple(_shown(frame) for frame in [each for each in passed if _is_own(each.filename)][-MOST:])


def _is_own(file: str) -> bool:
    return not file.startswith((*_LIBRARIES, "<")) and (file.startswith(_SHIPPED) or not file.startswith(_OURS))


def _shown(frame: traceback.FrameSummary) -> Frame:
    path, line = Path(frame.filename), frame.lineno or 1
    first, lines = max(1, line - AROUND), linecache.getlines(frame.filename)
    code = [shortened(each.rstrip(), _WIDEST) for each in lines[first - 1 : line + AROUND]]
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else Path(path.name)
    return Frame(file=str(shown), line=line, function=frame.name, first=first, code=(*code,))

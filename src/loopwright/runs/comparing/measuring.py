"""Figures of two runs side by side, and their loops."""

from __future__ import annotations

from typing import Literal

from loopwright.runs.comparing.schemas import FigureRow, LoopSides
from loopwright.runs.comparing.sharing import Shared
from loopwright.runs.schemas import RunRecord


def figure_rows(a: RunRecord, a_shared: Shared, b: RunRecord, b_shared: Shared) -> tuple[FigureRow, ...]:
    """Put the figures of two runs side by side.

    Args:
        a: A run.
        a_shared: What it took over from `b`, which is counted in.
        b: Another run.
        b_shared: What it took over from `a`, which is counted in.

    Returns:
        The quality, the scores, what was spent, and the passes.
    """
    scores_a, scores_b = (run.outcome.scores if run.outcome else {} for run in (a, b))
    # Some workflows tell the quality among their scores again.
    names = [name for name in dict.fromkeys((*scores_a, *scores_b)) if name != "quality"]
    return (
        _row("quality", a.quality, b.quality, "higher"),
        *(_row(name, scores_a.get(name), scores_b.get(name)) for name in names),
        _row("seconds", _plus(a.seconds, a_shared.seconds), _plus(b.seconds, b_shared.seconds), "lower"),
        _row("tokens", a.tokens + a_shared.tokens, b.tokens + b_shared.tokens, "lower"),
        _row("cost", _plus(a.cost, a_shared.cost), _plus(b.cost, b_shared.cost), "lower"),
        _row("model_calls", a.model_calls + a_shared.model_calls, b.model_calls + b_shared.model_calls, "lower"),
        _row("passes", sum(a.passes.values()), sum(b.passes.values())),
    )


def loop_sides(a: RunRecord, b: RunRecord) -> tuple[LoopSides, ...]:
    """Put the loops of two runs side by side.

    Args:
        a: A run.
        b: Another run.
    """
    in_a, in_b = ({loop.loop: loop for loop in run.loops} for run in (a, b))
    return tuple(LoopSides(loop=name, a=in_a.get(name), b=in_b.get(name)) for name in dict.fromkeys((*in_a, *in_b)))


def _row(name: str, a: float | None, b: float | None, better: Literal["higher", "lower"] | None = None) -> FigureRow:
    difference = None if a is None or b is None else b - a
    return FigureRow(name=name, a=a, b=b, difference=difference, better=better)


def _plus(own: float | None, shared: float | None) -> float | None:
    return None if own is None or shared is None else own + shared

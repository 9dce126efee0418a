"""What two runs have in common, and what not."""

from __future__ import annotations

from typing import Any, Literal

from loopwright.runs.schemas import Frozen, LoopPasses, RunSummary
from loopwright.workflows.api import Citation


class CitationSides(Frozen):
    """What two answers cite."""

    both: tuple[Citation, ...] = ()
    """What both cite, as run a has it."""
    only_a: tuple[Citation, ...] = ()
    """What run a alone cites."""
    only_b: tuple[Citation, ...] = ()
    """What run b alone cites."""


class FigureRow(Frozen):
    """One figure of two runs."""

    name: str
    """``quality``, ``tokens``, ``cost`` (US dollars), ``seconds``, ``model_calls``, ``passes``, or a score's name."""
    a: float | None
    """Run a's; None if it is not known."""
    b: float | None
    """Run b's; None if it is not known."""
    difference: float | None
    """Run b's less run a's; None if one is not known."""
    better: Literal["higher", "lower"] | None = None
    """Which is better, where that can be said of the figure alone."""


class LoopSides(Frozen):
    """One loop in two runs."""

    loop: str
    """The loop."""
    a: LoopPasses | None
    """What it did in run a; None if run a does not know it."""
    b: LoopPasses | None
    """What it did in run b; None if run b does not know it."""


class Verdict(Frozen):
    """Which of two runs came out better."""

    better: Literal["a", "b", "same", "unknown"]
    """The better one; ``unknown`` where nothing tells."""
    by: Literal["quality", "status", "answer"] | None
    """What tells: the workflow's own measure, how honest the ends are, that the answers are the same;
    None where nothing does."""
    why: str
    """The same in a sentence."""


class LoopEffect(Frozen):
    """What a loop's passes did for a run, told by the same run without them."""

    loop: str
    """The loop."""
    with_passes: Literal["a", "b"]
    """The run in which the loop was free to go round."""
    helped: bool | None
    """Whether the run with them came out better; False too where both are as good. None where nothing tells."""
    says: str
    """The same in a sentence, with what it cost."""


class Comparison(Frozen):
    """Two runs side by side. Whatever is ``a`` or ``b`` here belongs to the run of that name."""

    a: RunSummary
    """A run."""
    b: RunSummary
    """Another run."""
    a_path: tuple[str, ...]
    """The nodes of run a in the order in which they ran; gates left out."""
    b_path: tuple[str, ...]
    """Those of run b."""
    shared: int = 0
    """So many steps at the beginning of both ran once, for both: one run was forked from the other behind them."""
    a_state: dict[str, Any]
    """Run a's final state in plain JSON."""
    b_state: dict[str, Any]
    """Run b's."""
    a_answer: str = ""
    """Run a's answer."""
    b_answer: str = ""
    """Run b's."""
    citations: CitationSides = CitationSides()
    """What the answers cite."""
    figures: tuple[FigureRow, ...]
    """Figures side by side. Those of a fork hold what it took over from the run that it was forked from."""
    loops: tuple[LoopSides, ...] = ()
    """What each loop did."""
    verdict: Verdict
    """Which run came out better."""
    loop_effect: LoopEffect | None = None
    """Whether a loop helped, where one run is the other without the loop's passes."""
    notes: tuple[str, ...] = ()
    """What must be known to read this comparison, for example that the runs were asked different things."""

"""What two runs have in common, and what not."""

from __future__ import annotations

from typing import Any, Literal

from loopwright.runs.schemas import Frozen, KeptComparison, LoopPasses, RunSummary
from loopwright.workflows.api import Citation

Where = Literal["both", "a", "b"]
"""Which of the two runs has something."""


class PathStep(Frozen):
    """A visit of a node, in one run or in both."""

    node: str
    """The node."""
    where: Where
    """Whether both runs went here at this point of their ways, or one alone."""
    a_visit: int | None = None
    """Which visit of the node it is in run a, from 1."""
    b_visit: int | None = None
    """Which visit of the node it is in run b, from 1."""


class ValueDifference(Frozen):
    """One place within a value at which two runs differ."""

    pointer: str
    """Where, as a JSON pointer (RFC 6901) into the value of the key; empty for the whole."""
    where: Where
    """Whether both have something there, or one alone."""
    a: Any = None
    """What run a has there, shortened."""
    b: Any = None
    """What run b has there, shortened."""


class KeyDifference(Frozen):
    """A key of the final state whose value differs."""

    key: str
    """The key."""
    where: Where
    """Whether both states have it, or one alone."""
    differences: tuple[ValueDifference, ...]
    """Where the values differ, in the order of the values."""
    more: int = 0
    """Further differences that are not told."""


class TextPart(Frozen):
    """A piece of two answers."""

    where: Where
    """Whether both answers have it, or one alone."""
    text: str
    """The piece. All pieces of one answer, put together, are that answer."""


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
    by: Literal["person", "quality", "status", "answer"] | None
    """What tells: a person's word, the workflow's own measure, how honest the ends are, that the answers are the same;
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
    path: tuple[PathStep, ...]
    """Both ways through the graph, aligned; gates left out."""
    shared: int = 0
    """So many steps at the beginning of the path ran once, for both: one run was forked from the other behind them."""
    plan: tuple[KeyDifference, ...] = ()
    """Where the plans and the queries of the final states differ."""
    state: tuple[KeyDifference, ...] = ()
    """Where the final states differ elsewhere."""
    answer: tuple[TextPart, ...] = ()
    """Both answers by words, what is common once."""
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
    kept: KeptComparison | None = None
    """What a person thought of the two, as it was kept: its own ``a`` and ``b`` hold there."""
    notes: tuple[str, ...] = ()
    """What must be known to read this comparison, for example that the runs were asked different things."""

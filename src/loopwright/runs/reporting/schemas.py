"""What kept runs tell of the loops of a workflow."""

from __future__ import annotations

from datetime import datetime

from loopwright.runs.schemas import Frozen


class PassCount(Frozen):
    """How many runs a loop went round so often in."""

    passes: int
    """Passes granted."""
    ended_by_itself: int
    """Runs that asked for no further pass."""
    refused: int
    """Runs that were refused a further pass."""
    failed: int
    """Runs that failed, and had been refused none."""


class PassCosts(Frozen):
    """What the passes of a loop took, over all runs that were counted."""

    seconds: float
    """Wall time within passes."""
    seconds_share: float | None
    """Its share of the wall time of all counted runs, from 0 to 1; None if they took none."""
    tokens: int | None
    """Tokens within passes, a lower bound where a model told none; None if no model told any, and some were asked."""
    tokens_share: float | None
    """Their share of the tokens of all counted runs, from 0 to 1; None if there were none."""
    cost: float | None
    """Price in US dollars within passes; None if that of a run with passes is not known."""
    cost_share: float | None
    """Its share of the price of all counted runs, from 0 to 1; None if one of them is not known, or there is none."""


class LoopGain(Frozen):
    """What a loop's passes gained, told by runs that were run again without them."""

    compared: int
    """Runs that were run again without the loop's passes; of several such runs, the newest counts."""
    better: int
    """Runs that came out better with the passes."""
    same: int
    """Runs that came out as good without them."""
    worse: int
    """Runs that came out better without them."""
    unknown: int
    """Pairs of which nothing tells which is better."""
    mean_quality_gain: float | None
    """The mean of quality with the passes less quality without them; None if no pair has both."""
    quality_pairs: int
    """Pairs that have both qualities."""


class LimitSuggestion(Frozen):
    """A limit for a loop, as far as the runs tell."""

    limit: int | None
    """The limit; None if the runs do not tell."""
    runs: int
    """Runs that the limit, or the lack of one, rests on."""
    why: str
    """The reason in words."""


class LoopRow(Frozen):
    """One loop over all counted runs."""

    loop: str
    """The loop."""
    runs: int
    """Counted runs: those of `LoopReport.runs`. Each ended in one of the five ways that follow."""
    ended_by_itself: int
    """Runs that asked for no further pass, or for none at all."""
    exhausted: int
    """Runs that were refused a pass last because the limit was reached."""
    stalled: int
    """Runs that were refused a pass last because nothing came out of the passes before."""
    over_budget: int
    """Runs that were refused a pass last because the loop's budget was spent."""
    failed: int
    """Runs that failed, and had been refused none."""
    with_passes: int
    """Runs with at least one pass."""
    passes: int
    """Passes of all runs together."""
    histogram: tuple[PassCount, ...]
    """Passes -> runs, from 0 to the most, without gaps."""
    limits: tuple[int, ...]
    """The limits that were in force in these runs."""
    costs: PassCosts
    """What the passes took."""
    gain: LoopGain | None
    """What the passes gained; None if no run was run again without them, so that nothing can be said of it."""
    suggestion: LimitSuggestion
    """A limit for this loop."""


class LoopReport(Frozen):
    """How the loops of a workflow served, by its kept runs."""

    workflow: str
    """The workflow's name."""
    runs: int
    """Counted runs: those that finished or failed, and are no forks."""
    left_out: int
    """Kept runs that are not counted: forks repeat a part of another run, and the others did not come to their end."""
    since: datetime | None
    """When the oldest counted run began, UTC; None if there is none."""
    until: datetime | None
    """When the newest counted run began, UTC; None if there is none."""
    loops: tuple[LoopRow, ...]
    """Each loop of the workflow that these runs know, by name."""

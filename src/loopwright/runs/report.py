"""How the loops of a workflow served: how often they ran, what they cost and gained, and which limit suits them."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from loopwright.config import Frozen
from loopwright.runs.compare import judged
from loopwright.runs.schemas import LoopPasses, RunFilter, RunRecord
from loopwright.runs.store.history import RunStore


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


MOST_RUNS = 1_000
"""Runs that a report reads, the newest first."""

REFUSED: tuple[Literal["exhausted", "stalled", "over_budget"], ...] = ("exhausted", "stalled", "over_budget")
Ended = Literal["by_itself", "exhausted", "stalled", "over_budget", "failed"]


def loop_report(workflow: str, runs: Iterable[RunRecord]) -> LoopReport:
    """Tell how the loops of a workflow served.

    A gain is told only of runs that were run again without the loop's passes.

    Args:
        workflow: The workflow's name.
        runs: Kept runs; those of other workflows are passed over. Forks are not counted as runs, but tell what their
            parents gained.
    """
    kept = {run.id: run for run in runs if run.workflow == workflow}
    counted = [run for run in kept.values() if run.parent is None and run.status in ("finished", "failed")]
    pairs = counterfactual_pairs(kept)
    names = {loop.loop for run in counted for loop in run.loops}.union(*(run.passes for run in counted), pairs)
    begun = [run.started_at for run in counted]
    return LoopReport(
        workflow=workflow,
        runs=len(counted),
        left_out=len(kept) - len(counted),
        since=min(begun, default=None),
        until=max(begun, default=None),
        loops=tuple(_row(name, counted, gain_of(pairs.get(name, ()))) for name in sorted(names)),
    )


def workflow_report(store: RunStore, workflow: str) -> LoopReport:
    """Tell how the loops of a workflow served, by its newest `MOST_RUNS` kept runs.

    Raises:
        StoreError: If the history cannot be read.
    """
    newest = store.list(RunFilter(workflow=workflow), MOST_RUNS).runs
    return loop_report(workflow, filter(None, (store.get(run.id) for run in newest)))


def _row(name: str, runs: Sequence[RunRecord], gain: LoopGain | None) -> LoopRow:
    # A run that was never asked for a pass may say nothing of the loop.
    told = ((run, [loop for loop in run.loops if loop.loop == name]) for run in runs)
    loops = [its[0] if its else LoopPasses(loop=name, passes=run.passes.get(name, 0), limit=None) for run, its in told]
    ends: list[Ended] = [
        loop.refused or ("failed" if run.status == "failed" else "by_itself")
        for run, loop in zip(runs, loops, strict=True)
    ]
    ways = Counter(ends)
    went_round = [(loop.passes, end) for loop, end in zip(loops, ends, strict=True) if loop.passes]
    refused = sum(ways[way] for way in REFUSED)
    return LoopRow(
        loop=name,
        runs=len(runs),
        ended_by_itself=ways["by_itself"],
        **{way: ways[way] for way in (*REFUSED, "failed")},
        with_passes=len(went_round),
        passes=sum(loop.passes for loop in loops),
        histogram=_histogram([loop.passes for loop in loops], ends),
        limits=tuple(sorted({loop.limit for loop in loops if loop.limit is not None})),
        costs=_costs(runs, loops),
        gain=gain,
        suggestion=suggested_limit([passes for passes, end in went_round if end == "by_itself"], refused, gain),
    )


def _histogram(passes: Sequence[int], ends: Sequence[Ended]) -> tuple[PassCount, ...]:
    counted = Counter(zip(passes, ends, strict=True))
    return tuple(
        PassCount(
            passes=number,
            ended_by_itself=counted[number, "by_itself"],
            refused=sum(counted[number, end] for end in REFUSED),
            failed=counted[number, "failed"],
        )
        for number in range(max(passes, default=-1) + 1)
    )


def _costs(runs: Sequence[RunRecord], loops: Sequence[LoopPasses]) -> PassCosts:
    seconds = sum(loop.seconds for loop in loops)
    tokens = sum(loop.tokens for loop in loops)
    asked = any(run.unmetered_calls for run, loop in zip(runs, loops, strict=True) if loop.passes)
    cost = _sum([_price(run, loop.cost) for run, loop in zip(runs, loops, strict=True) if loop.passes])
    return PassCosts(
        seconds=seconds,
        seconds_share=_share(seconds, sum(run.seconds or 0.0 for run in runs)),
        tokens=tokens if tokens or not asked else None,
        tokens_share=_share(tokens, sum(run.tokens for run in runs)),
        cost=cost,
        cost_share=_share(cost, _sum([_price(run, run.cost) for run in runs])),
    )


def _price(run: RunRecord, cost: float | None) -> float | None:
    """A run that asked no model cost nothing, whatever prices are known."""
    return cost if run.model_calls else 0.0


def _sum(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _share(part: float | None, whole: float | None) -> float | None:
    """A part may be a little more than the whole, as the two are measured apart."""
    return None if part is None or not whole else min(1.0, part / whole)


Pair = tuple[RunRecord, RunRecord]
"""A run, and the same run without a loop's passes."""

SHARE = 0.95
"""The share of the runs that a limit shall suffice for."""

ENOUGH = 5
"""Runs, or compared pairs, below which nothing is suggested."""


def suggested_limit(ended: Sequence[int], refused: int, gain: LoopGain | None) -> LimitSuggestion:
    """Suggest a limit: the fewest passes within which 95 % of the runs that ended by themselves did.

    Only runs that went round at all are asked: a limit is for them. Where runs were run again without the passes and
    none of them had come out better with them, no pass is the suggestion.

    Args:
        ended: The passes of each run that went round at least once and asked for no further pass.
        refused: Runs that were refused a further pass: how many they would have needed is not known.
        gain: What the passes gained, or None if that is not known.

    Returns:
        The limit with its reason. It is never higher than the most passes of a run in `ended`.
    """
    told = 0 if gain is None else gain.better + gain.same + gain.worse
    was, needed = ("was", "it would") if refused == 1 else ("were", "they would")
    unknown = f" {_runs(refused)} {was} refused a further pass; how many {needed} have needed is not known."
    if gain is not None and told >= ENOUGH and not gain.better:
        why = f"None of {told} compared runs came out better with the passes than without them."
        return LimitSuggestion(limit=0, runs=told, why=why)
    if len(ended) < ENOUGH:
        why = (
            f"{_runs(len(ended))} went round and ended by {'itself' if len(ended) == 1 else 'themselves'}; "
            f"at least {ENOUGH} are needed to suggest a limit."
        )
        return LimitSuggestion(limit=None, runs=len(ended), why=f"{why}{unknown if refused else ''}")
    limit = sorted(ended)[math.ceil(SHARE * len(ended)) - 1]
    within = sum(passes <= limit for passes in ended)
    why = (
        f"{within} of {_runs(len(ended))} that went round and ended by themselves did so within "
        f"{limit} {'pass' if limit == 1 else 'passes'}."
    )
    return LimitSuggestion(limit=limit, runs=len(ended), why=f"{why}{unknown if refused else ''}")


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"


def counterfactual_pairs(runs: Mapping[str, RunRecord]) -> dict[str, list[Pair]]:
    """Find the runs that were run again without a loop's passes.

    Args:
        runs: Id -> run, the runs without passes among them.

    Returns:
        Loop -> its pairs; for each run and loop the newest run without passes that ended.
    """
    newest: dict[tuple[str, str], RunRecord] = {}
    for run in sorted(runs.values(), key=lambda run: (run.started_at, run.id)):
        origin = run.parent
        if run.status not in ("finished", "failed") or not origin or origin.kind != "counterfactual" or origin.kept:
            continue
        if origin.loop and origin.run_id in runs:
            newest[origin.run_id, origin.loop] = run
    pairs: dict[str, list[Pair]] = {}
    for (parent, loop), without in newest.items():
        pairs.setdefault(loop, []).append((runs[parent], without))
    return pairs


def gain_of(pairs: Sequence[Pair]) -> LoopGain | None:
    """Count how the runs of one loop's pairs came out; None if there is no pair."""
    if not pairs:
        return None
    verdicts = [judged(*pair) for pair in pairs]
    counted = Counter(verdict.better for verdict in verdicts)
    gains = [
        with_passes.quality - without.quality
        for with_passes, without in pairs
        if with_passes.quality is not None and without.quality is not None
    ]
    return LoopGain(
        compared=len(pairs),
        better=counted["a"],
        same=counted["same"],
        worse=counted["b"],
        unknown=counted["unknown"],
        mean_quality_gain=sum(gains) / len(gains) if gains else None,
        quality_pairs=len(gains),
    )

"""How the loops of a workflow served: how often they ran, what they cost and gained, and which limit suits them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Literal

from loopwright.runs.reporting.gains import counterfactual_pairs, gain_of, suggested_limit
from loopwright.runs.reporting.schemas import LoopGain, LoopReport, LoopRow, PassCosts, PassCount
from loopwright.runs.schemas import LoopPasses, RunFilter, RunRecord
from loopwright.runs.store.history import RunStore

MOST_RUNS = 1_000
"""Runs that a report reads, the newest first."""

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
    runs = islice(store.every(RunFilter(workflow=workflow)), MOST_RUNS)
    return loop_report(workflow, runs)


def _row(name: str, runs: Sequence[RunRecord], gain: LoopGain | None) -> LoopRow:
    loops = [_loop_of(run, name) for run in runs]
    ends: list[Ended] = [_ended(run, loop) for run, loop in zip(runs, loops, strict=True)]
    ways = Counter(ends)
    went_round = [(loop.passes, end) for loop, end in zip(loops, ends, strict=True) if loop.passes]
    refused = sum(end not in ("by_itself", "failed") for end in ends)
    return LoopRow(
        loop=name,
        runs=len(runs),
        ended_by_itself=ways["by_itself"],
        exhausted=ways["exhausted"],
        stalled=ways["stalled"],
        over_budget=ways["over_budget"],
        failed=ways["failed"],
        with_passes=len(went_round),
        passes=sum(loop.passes for loop in loops),
        histogram=_histogram([loop.passes for loop in loops], ends),
        limits=tuple(sorted({loop.limit for loop in loops if loop.limit is not None})),
        costs=_costs(runs, loops),
        gain=gain,
        suggestion=suggested_limit([passes for passes, end in went_round if end == "by_itself"], refused, gain),
    )


def _loop_of(run: RunRecord, name: str) -> LoopPasses:
    """A run that was never asked for a pass may say nothing of the loop."""
    known = next((loop for loop in run.loops if loop.loop == name), None)
    return known or LoopPasses(loop=name, passes=run.passes.get(name, 0), limit=None)


def _ended(run: RunRecord, loop: LoopPasses) -> Ended:
    return loop.refused or ("failed" if run.status == "failed" else "by_itself")


def _histogram(passes: Sequence[int], ends: Sequence[Ended]) -> tuple[PassCount, ...]:
    counted = Counter(zip(passes, ends, strict=True))
    return tuple(
        PassCount(
            passes=number,
            ended_by_itself=counted[number, "by_itself"],
            refused=sum(counted[number, end] for end in ("exhausted", "stalled", "over_budget")),
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

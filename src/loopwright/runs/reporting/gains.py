"""What a loop's passes gained, and which limit suits it, as far as runs tell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from loopwright.runs.comparing.judging import judged
from loopwright.runs.reporting.schemas import LimitSuggestion, LoopGain
from loopwright.runs.schemas import RunRecord

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
    if gain is not None and told >= ENOUGH and not gain.better:
        why = f"None of {told} compared runs came out better with the passes than without them."
        return LimitSuggestion(limit=0, runs=told, why=why)
    if len(ended) < ENOUGH:
        why = (
            f"{_runs(len(ended))} went round and ended by {'itself' if len(ended) == 1 else 'themselves'}; "
            f"at least {ENOUGH} are needed to suggest a limit."
        )
        return LimitSuggestion(limit=None, runs=len(ended), why=f"{why}{_censored(refused)}")
    limit = sorted(ended)[math.ceil(SHARE * len(ended)) - 1]
    within = sum(passes <= limit for passes in ended)
    why = (
        f"{within} of {_runs(len(ended))} that went round and ended by themselves did so within "
        f"{limit} {'pass' if limit == 1 else 'passes'}."
    )
    return LimitSuggestion(limit=limit, runs=len(ended), why=f"{why}{_censored(refused)}")


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"


def _censored(refused: int) -> str:
    if not refused:
        return ""
    needed = "it would have needed" if refused == 1 else "they would have needed"
    was = "was" if refused == 1 else "were"
    return f" {_runs(refused)} {was} refused a further pass; how many {needed} is not known."


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
    """Count how the runs of one loop's pairs came out.

    Returns:
        None if there is no pair.
    """
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

"""What a loop's passes gained: runs against the same runs without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from loopwright.runs.comparing.judging import judged
from loopwright.runs.reporting.schemas import LoopGain
from loopwright.runs.schemas import KeptComparison, RunRecord

Pair = tuple[RunRecord, RunRecord, KeptComparison | None]
"""A run, the same run without a loop's passes, and what a person thought of the two."""


def counterfactual_pairs(runs: Mapping[str, RunRecord], comparisons: Iterable[KeptComparison]) -> dict[str, list[Pair]]:
    """Find the runs that were run again without a loop's passes.

    Args:
        runs: Id -> run, the runs without passes among them.
        comparisons: What people thought of pairs.

    Returns:
        Loop -> its pairs; for each run and loop the newest run without passes that ended.
    """
    oldest_first = sorted(comparisons, key=lambda kept: kept.created_at)
    said = {frozenset((kept.a, kept.b)): kept for kept in oldest_first}
    newest: dict[tuple[str, str], RunRecord] = {}
    for run in sorted(runs.values(), key=lambda run: (run.started_at, run.id)):
        origin = run.parent
        ended = run.status in ("finished", "failed")
        if ended and origin and origin.kind == "counterfactual" and origin.loop and origin.run_id in runs:
            newest[origin.run_id, origin.loop] = run
    pairs: dict[str, list[Pair]] = {}
    for (parent, loop), without in newest.items():
        pairs.setdefault(loop, []).append((runs[parent], without, said.get(frozenset((parent, without.id)))))
    return pairs


def gain_of(pairs: Sequence[Pair]) -> LoopGain | None:
    """Count how the runs of one loop's pairs came out.

    Args:
        pairs: The pairs.

    Returns:
        None if there is no pair.
    """
    if not pairs:
        return None
    verdicts = [judged(with_passes, without, kept) for with_passes, without, kept in pairs]
    counted = Counter(verdict.better for verdict in verdicts)
    gains = [
        with_passes.quality - without.quality
        for with_passes, without, _kept in pairs
        if with_passes.quality is not None and without.quality is not None
    ]
    return LoopGain(
        compared=len(pairs),
        better=counted["a"],
        same=counted["same"],
        worse=counted["b"],
        unknown=counted["unknown"],
        by_person=sum(verdict.by == "person" for verdict in verdicts),
        mean_quality_gain=sum(gains) / len(gains) if gains else None,
        quality_pairs=len(gains),
    )

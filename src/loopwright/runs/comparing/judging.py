"""Which of two runs came out better, by what is known of them, and whether a loop helped."""

from __future__ import annotations

from typing import Literal

from loopwright.runs.comparing.schemas import FigureRow, LoopEffect, Verdict
from loopwright.runs.schemas import RunRecord

SAME_QUALITY = 0.01
"""Qualities that differ by less are taken as equal: so much they differ by chance of wording."""

RANKS = {"answered": 3, "best_effort": 2, "partial": 2, "abstained": 1, "nothing_found": 1, "failed": 0}
"""How good an end it is. An honest "I don't know" is less than an answer that is borne out in part, and more than a
failure."""


def judged(a: RunRecord, b: RunRecord) -> Verdict:
    """Say which of two runs came out better.

    First by the workflow's own measure of quality, then by how honest the ends are (but that a run was refused a pass
    makes its answer no worse), then by that the answers are the same. Runs that did not end, and runs that were asked
    different things, are not judged.

    Args:
        a: A run.
        b: Another run.
    """
    for name, run in (("a", a), ("b", b)):
        if run.status not in ("finished", "failed"):
            return Verdict(better="unknown", by=None, why=f"Run {name} is {run.status}: it has not come to its end.")
    if (a.workflow, a.input) != (b.workflow, b.input):
        return Verdict(better="unknown", by=None, why="They were asked different things, so their ends do not compare.")
    return _by_figures(a, b)


def loop_effect(a: RunRecord, b: RunRecord, verdict: Verdict, figures: tuple[FigureRow, ...] = ()) -> LoopEffect | None:
    """Say whether a loop's passes helped, where one run is the other without them.

    Args:
        a: A run.
        b: Another run.
        verdict: Which came out better.
        figures: Their figures, to say what the passes cost.

    Returns:
        None if neither run is the counterfactual of the other.
    """
    side = counterfactual_side(a, b)
    if side is None:
        return None
    without, with_passes = (b, "a") if side == "b" else (a, "b")
    loop = without.parent.loop if without.parent and without.parent.loop else ""
    helped = None if verdict.better == "unknown" else verdict.better == with_passes
    ends = {
        True: "It helped.",
        False: "It did not help: both came out as good." if verdict.better == "same" else "It made the answer worse.",
        None: "Whether it helped cannot be told.",
    }
    cost = ", ".join(_spent(a, b, loop, figures, -1 if with_passes == "a" else 1))
    kept = without.parent.kept if without.parent else 0
    part = f"pass {kept + 1} on of the loop {loop}" if kept else f"the loop {loop}"
    says = f"With {part}: {cost}{_quality(a, b, with_passes)}. {ends[helped]}"
    why = "" if verdict.by == "quality" else f" {verdict.why}"
    return LoopEffect(loop=loop, with_passes=with_passes, helped=helped, says=says + why)


def counterfactual_side(a: RunRecord, b: RunRecord) -> Literal["a", "b"] | None:
    """Which of two runs is the other without a loop's passes, or None."""
    for side, child, parent in (("b", b, a), ("a", a, b)):
        origin = child.parent
        if origin is not None and origin.kind == "counterfactual" and origin.run_id == parent.id:
            return "b" if side == "b" else "a"
    return None


def _by_figures(a: RunRecord, b: RunRecord) -> Verdict:
    failed = "failed" in (a.status, b.status)
    qualities = None if failed or a.quality is None or b.quality is None else (a.quality, b.quality)
    if qualities and abs(qualities[0] - qualities[1]) >= SAME_QUALITY:
        better = "a" if qualities[0] > qualities[1] else "b"
        return Verdict(
            better=better, by="quality", why=f"Quality {qualities[0]:.2f} in run a, {qualities[1]:.2f} in run b."
        )
    owed = _owed_to_the_refusal(a, b)
    rank_a, rank_b = _rank(a), _rank(b)
    if rank_a is not None and rank_b is not None and rank_a != rank_b and not owed:
        better = "a" if rank_a > rank_b else "b"
        return Verdict(better=better, by="status", why=f"Run a ended as {_end(a)}, run b as {_end(b)}.")
    answers = [" ".join(run.outcome.answer.split()) if run.outcome else "" for run in (a, b)]
    if answers[0] == answers[1] and (_end(a) == _end(b) or (owed and answers[0])):
        why = "Both give the same answer." if answers[0] else f"Both ended as {_end(a)}, without an answer."
        return Verdict(better="same", by="answer", why=why)
    if qualities and _end(a) == _end(b):
        return Verdict(better="same", by="quality", why=f"Quality {qualities[0]:.2f} in both, within {SAME_QUALITY:g}.")
    tells = "neither quality nor the way they ended tells" if qualities else "nothing that is measured tells"
    return Verdict(better="unknown", by=None, why=f"The answers differ, and {tells} which is better.")


def _owed_to_the_refusal(a: RunRecord, b: RunRecord) -> bool:
    """Whether an answer is only called ``best_effort`` since its run was to be refused the passes."""
    side = counterfactual_side(a, b)
    without, with_passes = (b, a) if side == "b" else (a, b)
    return side is not None and (_end(without), _end(with_passes)) == ("best_effort", "answered")


def _end(run: RunRecord) -> str:
    return "failed" if run.status == "failed" else run.outcome_status or run.status


def _rank(run: RunRecord) -> int | None:
    return RANKS.get(_end(run))


def _spent(a: RunRecord, b: RunRecord, loop: str, figures: tuple[FigureRow, ...], sign: int) -> list[str]:
    """What the run with the passes took more than the one without, in words; `sign` turns b less a into that."""
    more = {row.name: sign * row.difference for row in figures if row.difference is not None}
    passes = sign * (b.passes.get(loop, 0) - a.passes.get(loop, 0))
    said = [f"{passes:+d} {'pass' if abs(passes) == 1 else 'passes'}"]
    if more.get("tokens"):
        said.append(f"{round(more['tokens']):+,} tokens")
    if more.get("cost"):
        said.append(f"{'-' if more['cost'] < 0 else '+'}${abs(more['cost']):.4f}")
    if "seconds" in more:
        said.append(f"{more['seconds']:+.1f} s")
    return said


def _quality(a: RunRecord, b: RunRecord, with_passes: str) -> str:
    before, after = (b, a) if with_passes == "a" else (a, b)
    if before.quality is None or after.quality is None:
        return ""
    return f"; quality {before.quality:.2f} -> {after.quality:.2f}"

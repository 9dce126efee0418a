"""Two runs side by side: their ways, states, answers and figures, and which came out better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loopwright.engine.events.schema import RunEvent
from loopwright.runs.comparing.judging import judged, loop_effect
from loopwright.runs.comparing.measuring import (
    NOTHING,
    Shared,
    compared_citations,
    figure_rows,
    loop_sides,
    nodes_of,
    shared_part,
)
from loopwright.runs.comparing.schemas import Comparison
from loopwright.runs.schemas import RunRecord, RunSummary


def compare(
    a: RunRecord,
    a_events: Sequence[RunEvent],
    a_state: Mapping[str, Any],
    b: RunRecord,
    b_events: Sequence[RunEvent],
    b_state: Mapping[str, Any],
) -> Comparison:
    """Put two runs side by side.

    A fork's events begin behind the checkpoint that it was forked from. If the other run is its parent, what came
    before is counted for both: path and figures then compare whole ways.

    Args:
        a: A run.
        a_events: Its events in order.
        a_state: Its final state in plain JSON.
        b: Another run.
        b_events: Its events in order.
        b_state: Its final state in plain JSON.

    Returns:
        What they have in common, and what not.
    """
    took_a, took_b = shared_part(b, b_events, a), shared_part(a, a_events, b)
    a_shared, b_shared = took_a or NOTHING, took_b or NOTHING
    figures = figure_rows(a, a_shared, b, b_shared)
    verdict = judged(a, b)
    return Comparison(
        a=summary_of(a),
        b=summary_of(b),
        a_path=a_shared.path + nodes_of(a_events),
        b_path=b_shared.path + nodes_of(b_events),
        shared=len(a_shared.path) + len(b_shared.path),
        a_state=dict(a_state),
        b_state=dict(b_state),
        a_answer=_answer(a),
        b_answer=_answer(b),
        citations=compared_citations(*(run.outcome.citations if run.outcome else () for run in (a, b))),
        figures=figures,
        loops=loop_sides(a, b),
        verdict=verdict,
        loop_effect=loop_effect(a, b, verdict, figures),
        notes=tuple(_notes(a, took_a, b, took_b)),
    )


def summary_of(run: RunRecord) -> RunSummary:
    """The part of a run that lists show."""
    return RunSummary(**{name: getattr(run, name) for name in RunSummary.model_fields})


def _answer(run: RunRecord) -> str:
    return run.outcome.answer if run.outcome else ""


def _notes(a: RunRecord, took_a: Shared | None, b: RunRecord, took_b: Shared | None) -> list[str]:
    notes: list[str] = []
    if a.workflow != b.workflow:
        notes.append(f"Run a is of the workflow {a.workflow}, run b of {b.workflow}.")
    elif a.input != b.input:
        notes.append("The runs were asked different things.")
    for name, run, took in (("a", a, took_a), ("b", b, took_b)):
        if run.parent is not None and took is None:
            origin = f"step {run.parent.step} of run {run.parent.run_id}"
            notes.append(
                f"Run {name} was forked at {origin}: what came before is neither in its path nor in its figures."
            )
        unmetered = sum(row.unmetered_calls for row in run.usage)
        if unmetered:
            notes.append(f"The tokens of run {name} are a lower bound: {unmetered} of its model calls told none.")
    return notes

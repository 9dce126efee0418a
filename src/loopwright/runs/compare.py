"""Two runs side by side: their ways, states, answers and figures, and which came out better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loopwright.engine.events.schema import RunEvent
from loopwright.runs.comparing.judging import judged, loop_effect
from loopwright.runs.comparing.measuring import compared_citations, figure_rows, loop_sides, whole
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
    whole_a, took_a = whole(a, a_events, b, b_events)
    whole_b, took_b = whole(b, b_events, a, a_events)
    figures, verdict = figure_rows(whole_a, whole_b), judged(a, b)
    return Comparison(
        a=summary_of(a),
        b=summary_of(b),
        a_path=whole_a.path,
        b_path=whole_b.path,
        shared=(took_a or 0) + (took_b or 0),
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


def _notes(a: RunRecord, took_a: int | None, b: RunRecord, took_b: int | None) -> list[str]:
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

"""What two runs took over, spent and cite, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from loopwright.engine.events.schema import RunEvent, RunStarted, StateSaved
from loopwright.runs.comparing.schemas import CitationSides, FigureRow, LoopSides
from loopwright.runs.schemas import RunRecord
from loopwright.runs.tally import Tally
from loopwright.workflows.api import Citation


def whole(
    run: RunRecord, events: Sequence[RunEvent], other: RunRecord, other_events: Sequence[RunEvent]
) -> tuple[RunRecord, int | None]:
    """A run with what it took over from another one counted in: its path and its figures.

    Args:
        run: The run.
        events: Its events.
        other: The run that it may have been forked from.
        other_events: That run's events.

    Returns:
        The run, and how many steps it took over; None if it is a fork, and what came before is not known from the other
        run.
    """
    path = _figures(events)["path"]
    before = _before(run, other, other_events)
    if before is None:
        return run.model_copy(update={"path": path}), None
    shared = _figures(before)
    names = ("tokens", "cost", "model_calls", "unmetered_calls")
    counted: dict[str, Any] = {name: _plus(getattr(run, name), shared[name]) for name in names}
    seconds = _plus(run.seconds, _seconds(before))
    return run.model_copy(update={**counted, "seconds": seconds, "path": shared["path"] + path}), len(shared["path"])


def _before(run: RunRecord, other: RunRecord, other_events: Sequence[RunEvent]) -> Sequence[RunEvent] | None:
    """What happened in the other run before the checkpoint that a run was forked at; nothing if it is no fork."""
    if run.parent is None:
        return ()
    if run.parent.run_id == other.id:
        for number, event in enumerate(other_events, 1):
            if isinstance(event, StateSaved) and event.checkpoint_id == run.parent.checkpoint_id:
                return other_events[:number]
    return None


def _figures(events: Sequence[RunEvent]) -> dict[str, Any]:
    tally = Tally()
    for event in events:
        tally.see(event)
    return tally.figures()


def _seconds(events: Sequence[RunEvent]) -> float:
    """Wall time, without the time between an end and a resume."""
    begun = [number for number, event in enumerate(events) if isinstance(event, RunStarted)]
    spans = zip(begun, [*begun[1:], len(events)], strict=False)
    return sum((events[end - 1].at - events[start].at).total_seconds() for start, end in spans)


def compared_citations(a: Iterable[Citation], b: Iterable[Citation]) -> CitationSides:
    """Compare what two answers cite.

    A mark that names a record (``sessions:6196``) names it in every answer; one that only counts (``1``) does not, so
    that such a citation is the same where title, address and quote are.

    Returns:
        What both cite, and what each cites alone, each source once and in the order of the answers.
    """
    in_a, in_b = _by_source(a), _by_source(b)
    return CitationSides(
        both=tuple(citation for source, citation in in_a.items() if source in in_b),
        only_a=tuple(citation for source, citation in in_a.items() if source not in in_b),
        only_b=tuple(citation for source, citation in in_b.items() if source not in in_a),
    )


def _by_source(citations: Iterable[Citation]) -> dict[tuple[str | None, ...], Citation]:
    sources: dict[tuple[str | None, ...], Citation] = {}
    for citation in citations:
        counted = not citation.mark or citation.mark.isdigit()
        source = (citation.title, citation.url, citation.quote) if counted else (citation.mark,)
        sources.setdefault(source, citation)
    return sources


def figure_rows(a: RunRecord, b: RunRecord) -> tuple[FigureRow, ...]:
    """Put the figures of two `whole` runs side by side.

    Returns:
        The quality, the scores, what was spent, and the passes.
    """
    scores_a, scores_b = (run.outcome.scores if run.outcome else {} for run in (a, b))
    # Some workflows tell the quality among their scores again.
    names = [name for name in dict.fromkeys((*scores_a, *scores_b)) if name != "quality"]
    return (
        _row("quality", a.quality, b.quality, "higher"),
        *(_row(name, scores_a.get(name), scores_b.get(name)) for name in names),
        _row("seconds", a.seconds, b.seconds, "lower"),
        _row("tokens", _tokens(a), _tokens(b), "lower"),
        _row("cost", a.cost, b.cost, "lower"),
        _row("model_calls", a.model_calls, b.model_calls, "lower"),
        _row("passes", sum(a.passes.values()), sum(b.passes.values())),
    )


def loop_sides(a: RunRecord, b: RunRecord) -> tuple[LoopSides, ...]:
    """Put the loops of two runs side by side."""
    in_a, in_b = ({loop.loop: loop for loop in run.loops} for run in (a, b))
    return tuple(LoopSides(loop=name, a=in_a.get(name), b=in_b.get(name)) for name in dict.fromkeys((*in_a, *in_b)))


def _row(name: str, a: float | None, b: float | None, better: Literal["higher", "lower"] | None = None) -> FigureRow:
    difference = None if a is None or b is None else b - a
    return FigureRow(name=name, a=a, b=b, difference=difference, better=better)


def _tokens(run: RunRecord) -> int | None:
    """None where models were asked and none told a number; where some did, it is a lower bound."""
    return None if not run.tokens and run.unmetered_calls else run.tokens


def _plus(own: float | None, shared: float | None) -> float | None:
    return None if own is None or shared is None else own + shared

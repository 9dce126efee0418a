"""What two runs took over, spent and cite, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from loopwright.engine.events.schema import ModelCalled, NodeStarted, RunEvent, RunStarted, StateSaved
from loopwright.engine.gate import is_engine_node
from loopwright.runs.comparing.schemas import CitationSides, FigureRow, LoopSides
from loopwright.runs.schemas import RunRecord
from loopwright.workflows.api import Citation


@dataclass(frozen=True, slots=True)
class Shared:
    """The part of a run before one of its checkpoints."""

    path: tuple[str, ...] = ()
    """The nodes in the order in which they ran, gates left out."""
    seconds: float = 0.0
    """Wall time, without the time between an end and a resume."""
    tokens: int = 0
    """Tokens, in and out."""
    cost: float | None = 0.0
    """The price in US dollars; None if that of a call is not known."""
    model_calls: int = 0
    """Calls of chat models."""
    unmetered_calls: int = 0
    """Those of them that told no tokens."""


NOTHING = Shared()
"""Of a run that is not forked from the other one."""


def nodes_of(events: Sequence[RunEvent]) -> tuple[str, ...]:
    """The nodes in the order in which they ran, gates left out; a visit that a resume repeats is one."""
    visits: dict[str, str] = {}
    for event in events:
        if isinstance(event, NodeStarted) and not is_engine_node(event.node):
            visits.setdefault(event.task_id, event.node)
    return tuple(visits.values())


def shared_part(parent: RunRecord, parent_events: Sequence[RunEvent], child: RunRecord) -> Shared | None:
    """What a run took over from another one.

    Args:
        parent: The run that it may have been forked from.
        parent_events: That run's events.
        child: The run.

    Returns:
        The part before the checkpoint; `NOTHING` if the run is no fork, and None if it is one, but what came before is
        not known from the other run.
    """
    if child.parent is None:
        return NOTHING
    if child.parent.run_id != parent.id:
        return None
    checkpoint = child.parent.checkpoint_id
    for number, event in enumerate(parent_events):
        if isinstance(event, StateSaved) and event.checkpoint_id == checkpoint:
            return _part(parent_events[: number + 1])
    return None


def _part(events: Sequence[RunEvent]) -> Shared:
    calls = [event for event in events if isinstance(event, ModelCalled)]
    costs = [call.cost for call in calls]
    begun = [number for number, event in enumerate(events) if isinstance(event, RunStarted)]
    spans = zip(begun, [*begun[1:], len(events)], strict=True)
    return Shared(
        path=nodes_of(events),
        seconds=sum((events[end - 1].at - events[start].at).total_seconds() for start, end in spans),
        tokens=sum((call.input_tokens or 0) + (call.output_tokens or 0) for call in calls),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        model_calls=len(calls),
        unmetered_calls=sum(call.input_tokens is None for call in calls),
    )


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


def figure_rows(a: RunRecord, a_shared: Shared, b: RunRecord, b_shared: Shared) -> tuple[FigureRow, ...]:
    """Put the figures of two runs side by side.

    Args:
        a: A run.
        a_shared: What it took over from `b`, which is counted in.
        b: Another run.
        b_shared: What it took over from `a`, which is counted in.

    Returns:
        The quality, the scores, what was spent, and the passes.
    """
    scores_a, scores_b = (run.outcome.scores if run.outcome else {} for run in (a, b))
    # Some workflows tell the quality among their scores again.
    names = [name for name in dict.fromkeys((*scores_a, *scores_b)) if name != "quality"]
    return (
        _row("quality", a.quality, b.quality, "higher"),
        *(_row(name, scores_a.get(name), scores_b.get(name)) for name in names),
        _row("seconds", _plus(a.seconds, a_shared.seconds), _plus(b.seconds, b_shared.seconds), "lower"),
        _row("tokens", _tokens(a, a_shared), _tokens(b, b_shared), "lower"),
        _row("cost", _plus(a.cost, a_shared.cost), _plus(b.cost, b_shared.cost), "lower"),
        _row("model_calls", a.model_calls + a_shared.model_calls, b.model_calls + b_shared.model_calls, "lower"),
        _row("passes", sum(a.passes.values()), sum(b.passes.values())),
    )


def loop_sides(a: RunRecord, b: RunRecord) -> tuple[LoopSides, ...]:
    """Put the loops of two runs side by side."""
    in_a, in_b = ({loop.loop: loop for loop in run.loops} for run in (a, b))
    return tuple(LoopSides(loop=name, a=in_a.get(name), b=in_b.get(name)) for name in dict.fromkeys((*in_a, *in_b)))


def _row(name: str, a: float | None, b: float | None, better: Literal["higher", "lower"] | None = None) -> FigureRow:
    difference = None if a is None or b is None else b - a
    return FigureRow(name=name, a=a, b=b, difference=difference, better=better)


def _tokens(run: RunRecord, shared: Shared) -> int | None:
    """None where models were asked and none told a number; where some did, it is a lower bound."""
    tokens = run.tokens + shared.tokens
    return None if not tokens and run.unmetered_calls + shared.unmetered_calls else tokens


def _plus(own: float | None, shared: float | None) -> float | None:
    return None if own is None or shared is None else own + shared

"""Two runs side by side: their ways, states, answers and figures, which came out better, and whether a loop helped."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from loopwright.config import Frozen
from loopwright.engine.events.schema import RunEvent, StateSaved
from loopwright.runs.checkpoints import saved_states
from loopwright.runs.schemas import LoopPasses, RunRecord, RunSummary
from loopwright.runs.tally import Tally
from loopwright.workflows.api import Citation


class CitationSides(Frozen):
    """What two answers cite."""

    both: tuple[Citation, ...] = ()
    """What both cite, as run a has it."""
    only_a: tuple[Citation, ...] = ()
    """What run a alone cites."""
    only_b: tuple[Citation, ...] = ()
    """What run b alone cites."""


class FigureRow(Frozen):
    """One figure of two runs."""

    name: str
    """``quality``, ``tokens``, ``cost`` (US dollars), ``seconds``, ``model_calls``, ``passes``, or a score's name."""
    a: float | None
    """Run a's; None if it is not known."""
    b: float | None
    """Run b's; None if it is not known."""
    difference: float | None
    """Run b's less run a's; None if one is not known."""
    better: Literal["higher", "lower"] | None = None
    """Which is better, where that can be said of the figure alone."""


class LoopSides(Frozen):
    """One loop in two runs."""

    loop: str
    """The loop."""
    a: LoopPasses | None
    """What it did in run a; None if run a does not know it."""
    b: LoopPasses | None
    """What it did in run b; None if run b does not know it."""


class Verdict(Frozen):
    """Which of two runs came out better."""

    better: Literal["a", "b", "same", "unknown"]
    """The better one; ``unknown`` where nothing tells."""
    by: Literal["quality", "status", "answer"] | None
    """What tells: the workflow's own measure, how honest the ends are, that the answers are the same;
    None where nothing does."""
    why: str
    """The same in a sentence."""


class LoopEffect(Frozen):
    """What a loop's passes did for a run, told by the same run without them."""

    loop: str
    """The loop."""
    with_passes: Literal["a", "b"]
    """The run in which the loop was free to go round."""
    helped: bool | None
    """Whether the run with them came out better; False too where both are as good. None where nothing tells."""
    says: str
    """The same in a sentence, with what it cost."""


class Comparison(Frozen):
    """Two runs side by side. Whatever is ``a`` or ``b`` here belongs to the run of that name."""

    a: RunSummary
    """A run."""
    b: RunSummary
    """Another run."""
    a_path: tuple[str, ...]
    """The nodes of run a in the order in which they ran; gates left out."""
    b_path: tuple[str, ...]
    """Those of run b."""
    shared: int = 0
    """So many steps at the beginning of both ran once, for both: one run was forked from the other behind them."""
    a_state: dict[str, Any]
    """Run a's final state in plain JSON."""
    b_state: dict[str, Any]
    """Run b's."""
    a_answer: str = ""
    """Run a's answer."""
    b_answer: str = ""
    """Run b's."""
    citations: CitationSides = CitationSides()
    """What the answers cite."""
    figures: tuple[FigureRow, ...]
    """Figures side by side. Those of a fork hold what it took over from the run that it was forked from."""
    loops: tuple[LoopSides, ...] = ()
    """What each loop did."""
    verdict: Verdict
    """Which run came out better."""
    loop_effect: LoopEffect | None = None
    """Whether a loop helped, where one run is the other without the loop's passes."""
    notes: tuple[str, ...] = ()
    """What must be known to read this comparison, for example that the runs were asked different things."""


def compare(a: RunRecord, a_events: Sequence[RunEvent], b: RunRecord, b_events: Sequence[RunEvent]) -> Comparison:
    """Put two runs side by side, each with its events in order.

    A fork's events begin behind the checkpoint that it was forked from. If the other run is its parent, what came
    before is counted for both: path and figures then compare whole ways.
    """
    whole_a, took_a = whole(a, a_events, b, b_events)
    whole_b, took_b = whole(b, b_events, a, a_events)
    figures, verdict = figure_rows(whole_a, whole_b), judged(a, b)
    in_a, in_b = ({loop.loop: loop for loop in run.loops} for run in (whole_a, whole_b))
    return Comparison(
        a=a,
        b=b,
        a_path=whole_a.path,
        b_path=whole_b.path,
        shared=(took_a or 0) + (took_b or 0),
        a_state=_final_state(a_events),
        b_state=_final_state(b_events),
        a_answer=a.outcome.answer if a.outcome else "",
        b_answer=b.outcome.answer if b.outcome else "",
        citations=compared_citations(*(run.outcome.citations if run.outcome else () for run in (a, b))),
        figures=figures,
        loops=tuple(LoopSides(loop=name, a=in_a.get(name), b=in_b.get(name)) for name in (in_a | in_b)),
        verdict=verdict,
        loop_effect=loop_effect(whole_a, whole_b, verdict, figures),
        notes=tuple(_notes(a, took_a, b, took_b)),
    )


def _final_state(events: Iterable[RunEvent]) -> dict[str, Any]:
    last = deque(saved_states(events), maxlen=1)
    return last[0][1] if last else {}


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


def whole(
    run: RunRecord, events: Iterable[RunEvent], other: RunRecord, other_events: Sequence[RunEvent]
) -> tuple[RunRecord, int | None]:
    """A run with what it took over from another one, if it was forked from that, counted in: its path and its figures.

    Returns:
        The run, and how many steps it took over; None if it is a fork, and what came before is not known from the other
        run.
    """
    before = _before(run, other, other_events)
    if not before:
        return run, None if before is None else 0
    tally = Tally()
    for event in before:
        tally.see(event)
    took = len(tally.figures()["path"])
    for event in events:
        tally.see(event)
    return run.model_copy(update=tally.figures()), took


def _before(run: RunRecord, other: RunRecord, other_events: Sequence[RunEvent]) -> Sequence[RunEvent] | None:
    """What happened in the other run before the checkpoint that a run was forked at; nothing if it is no fork."""
    if run.parent is None:
        return ()
    if run.parent.run_id == other.id:
        for number, event in enumerate(other_events, 1):
            if isinstance(event, StateSaved) and event.checkpoint_id == run.parent.checkpoint_id:
                return other_events[:number]
    return None


def compared_citations(a: Iterable[Citation], b: Iterable[Citation]) -> CitationSides:
    """What both answers cite, and what each cites alone, each source once and in the order of the answers.

    A mark that names a record (``sessions:6196``) names it in every answer; one that only counts (``1``) does not, so
    that such a citation is the same where title, address and quote are.
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
    """Put the figures of two `whole` runs side by side: the quality, the scores, what was spent, and the passes."""
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


def _row(name: str, a: float | None, b: float | None, better: Literal["higher", "lower"] | None = None) -> FigureRow:
    difference = None if a is None or b is None else b - a
    return FigureRow(name=name, a=a, b=b, difference=difference, better=better)


def _tokens(run: RunRecord) -> int | None:
    """None where models were asked and none told a number; where some did, it is a lower bound."""
    return None if not run.tokens and run.unmetered_calls else run.tokens


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
    """
    for name, run in (("a", a), ("b", b)):
        if run.status not in ("finished", "failed"):
            return Verdict(better="unknown", by=None, why=f"Run {name} is {run.status}: it has not come to its end.")
    if (a.workflow, a.input) != (b.workflow, b.input):
        return Verdict(better="unknown", by=None, why="They were asked different things, so their ends do not compare.")
    failed = "failed" in (a.status, b.status)
    qualities = None if failed or a.quality is None or b.quality is None else (a.quality, b.quality)
    if qualities and abs(qualities[0] - qualities[1]) >= SAME_QUALITY:
        better = "a" if qualities[0] > qualities[1] else "b"
        return Verdict(
            better=better, by="quality", why=f"Quality {qualities[0]:.2f} in run a, {qualities[1]:.2f} in run b."
        )
    pair = counterfactual_pair(a, b)
    # An answer may only be called "best_effort" since its run was to be refused the passes.
    owed = pair is not None and [_end(run) for run in pair] == ["best_effort", "answered"]
    ranks = [RANKS[_end(run)] for run in (a, b) if _end(run) in RANKS]
    if len({*ranks}) == 2 and not owed:
        better = "a" if ranks[0] > ranks[1] else "b"
        return Verdict(better=better, by="status", why=f"Run a ended as {_end(a)}, run b as {_end(b)}.")
    answers = [" ".join(run.outcome.answer.split()) if run.outcome else "" for run in (a, b)]
    if answers[0] == answers[1] and (_end(a) == _end(b) or (owed and answers[0])):
        why = "Both give the same answer." if answers[0] else f"Both ended as {_end(a)}, without an answer."
        return Verdict(better="same", by="answer", why=why)
    if qualities and _end(a) == _end(b):
        return Verdict(better="same", by="quality", why=f"Quality {qualities[0]:.2f} in both, within {SAME_QUALITY:g}.")
    tells = "neither quality nor the way they ended tells" if qualities else "nothing that is measured tells"
    return Verdict(better="unknown", by=None, why=f"The answers differ, and {tells} which is better.")


def loop_effect(a: RunRecord, b: RunRecord, verdict: Verdict, figures: tuple[FigureRow, ...]) -> LoopEffect | None:
    """Say whether a loop's passes helped, and by the figures what they cost; None if no run is the other without them.

    The verdict says which run came out better.
    """
    pair = counterfactual_pair(a, b)
    if pair is None or (origin := pair[0].parent) is None:
        return None
    without, free = pair
    loop = origin.loop or ""
    with_passes = "a" if free is a else "b"
    helped = None if verdict.better == "unknown" else verdict.better == with_passes
    ends = {
        True: "It helped.",
        False: "It did not help: both came out as good." if verdict.better == "same" else "It made the answer worse.",
        None: "Whether it helped cannot be told.",
    }
    passes = free.passes.get(loop, 0) - without.passes.get(loop, 0)
    spent = _spent(passes, figures, -1 if free is a else 1)
    quality = ""
    if without.quality is not None and free.quality is not None:
        quality = f"; quality {without.quality:.2f} -> {free.quality:.2f}"
    part = f"pass {origin.kept + 1} on of the loop {loop}" if origin.kept else f"the loop {loop}"
    says = f"With {part}: {', '.join(spent)}{quality}. {ends[helped]}"
    why = "" if verdict.by == "quality" else f" {verdict.why}"
    return LoopEffect(loop=loop, with_passes=with_passes, helped=helped, says=says + why)


def counterfactual_pair(a: RunRecord, b: RunRecord) -> tuple[RunRecord, RunRecord] | None:
    """Of two runs the one that is the other without a loop's passes, and that other one; None if neither is."""
    for child, parent in ((b, a), (a, b)):
        origin = child.parent
        if origin is not None and origin.kind == "counterfactual" and origin.run_id == parent.id:
            return child, parent
    return None


def _end(run: RunRecord) -> str:
    return "failed" if run.status == "failed" else run.outcome_status or run.status


def _spent(passes: int, figures: tuple[FigureRow, ...], sign: int) -> list[str]:
    """What the run with the passes took more than the one without, in words; `sign` turns b less a into that."""
    more = {row.name: sign * row.difference for row in figures if row.difference is not None}
    said = [f"{passes:+d} {'pass' if abs(passes) == 1 else 'passes'}"]
    if more.get("tokens"):
        said.append(f"{round(more['tokens']):+,} tokens")
    if more.get("cost"):
        said.append(f"{'-' if more['cost'] < 0 else '+'}${abs(more['cost']):.4f}")
    if "seconds" in more:
        said.append(f"{more['seconds']:+.1f} s")
    return said

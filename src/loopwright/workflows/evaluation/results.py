"""What an evaluation finds."""

import json
from typing import Any

from pydantic import Field

from loopwright.config import Frozen
from loopwright.workflows.evaluation.figures import Figure

COUNTS = ("passes", "model_calls", "seconds")
"""The figures that are never shares; nor is one that any question brings beyond -1 or 1."""


class EvaluatedAnswer(Frozen):
    """What came of one question."""

    id: str
    """The question's id."""
    kind: str = ""
    """What kind of question it is."""
    input: dict[str, Any]
    """The workflow's input."""
    status: str
    """How honest an end it came to, in the workflow's own word; ``failed`` if a node failed for good."""
    answer: str
    """The answer."""
    cited: tuple[str, ...] = ()
    """The marks of what it cites."""
    scores: dict[str, float | None]
    """Name -> score; None where the question has none."""
    passes: dict[str, int]
    """Loop -> passes that were granted."""
    model_calls: int
    """Calls of chat models."""
    seconds: float
    """Wall time of its run, beside that of the other questions at the same time."""
    people: float | None = None
    """What people gave, where that is known."""
    ranked: dict[str, float] = Field(default={})
    """Name -> number that is to rise with it."""
    error: str | None = None
    """What failed, or None."""

    @property
    def numbers(self) -> dict[str, float | None]:
        """Its scores and what it cost."""
        passes = float(sum(self.passes.values()))
        return {**self.scores, "passes": passes, "model_calls": float(self.model_calls), "seconds": self.seconds}


class LoopGain(Frozen):
    """What one loop costs and brings: the wired limits against a run in which it is allowed no pass."""

    passes: int
    """Passes that were granted, over all questions."""
    questions: int
    """Questions that it went round for; only these were asked again without it, the others would run the same."""
    gains: dict[str, Figure]
    """Figure -> what the loop adds to it, over all questions; paired, with its interval."""


class Evaluation(Frozen):
    """What came of a set of questions."""

    workflow: str
    """What was asked."""
    questions: int
    """How many questions."""
    figures: dict[str, Figure]
    """Name -> mean over all questions: what `loopwright.workflows.evaluation.scores_of` and the workflow itself score,
    then ``passes`` of all loops, ``model_calls`` and ``seconds``."""
    by_kind: dict[str, dict[str, Figure]]
    """Kind -> the same of its questions; empty where all are of one kind."""
    statuses: dict[str, int]
    """Status -> questions that ended so."""
    loops: dict[str, LoopGain]
    """Loop -> what it costs and brings; empty if that was not asked for."""
    outcomes: tuple[EvaluatedAnswer, ...]
    """What came of each question, in order."""

    def as_json(self) -> str:
        """The evaluation as the text of one JSON object, without what came of each question.

        Means stand by their figures' names, intervals and numbers of questions under ``intervals``.
        """
        means = {name: figure.value for name, figure in self.figures.items()}
        intervals = {name: figure.model_dump(exclude={"value"}) for name, figure in self.figures.items()}
        rest = self.model_dump(mode="json", exclude={"figures", "outcomes"})
        return json.dumps({**means, **rest, "intervals": intervals}, indent=2, ensure_ascii=False)

    def table(self) -> str:
        """The evaluation as text for people; shares are in percent, with their 95 % bootstrap intervals."""
        lines = [f"{self.questions} questions to {self.workflow}, shares in percent with 95 % intervals", ""]
        beyond = {name for each in self.outcomes for name, value in each.numbers.items() if abs(value or 0) > 1}
        counts = beyond.union(COUNTS)
        rows = [[name, shown(figure, name in counts), f"n {figure.n}"] for name, figure in self.figures.items()]
        lines += _rows(rows)
        if self.by_kind:
            rows = [["by kind", *(kind or "-" for kind in self.by_kind)]]
            rows.append(["questions", *(str(figures["passes"].n) for figures in self.by_kind.values())])
            for name in self.figures:
                cells = (shown(figures.get(name), name in counts, interval=False) for figures in self.by_kind.values())
                rows.append([name, *cells])
            lines += ["", *_rows(rows)]
        lines += ["", ", ".join(f"{status or '-'}: {count}" for status, count in self.statuses.items())]
        if self.loops:
            rows = [["what a loop adds", *self.loops]]
            rows.append(["passes granted", *(str(gain.passes) for gain in self.loops.values())])
            rows.append(["questions that it went round for", *(str(gain.questions) for gain in self.loops.values())])
            for name in self.figures:
                gains = (gain.gains.get(name) for gain in self.loops.values())
                rows.append([name, *(shown(gain, name in counts, sign="+") for gain in gains)])
            lines += ["", *_rows(rows)]
        lines += [f"{asked.id} failed: {asked.error}" for asked in self.outcomes if asked.error]
        return "\n".join(lines)


def shown(figure: Figure | None, is_count: bool, *, sign: str = "", interval: bool = True) -> str:
    """A figure as text: a share in percent, a count as it is; with ``"+"`` for a sign also that of what is more."""
    if figure is None or figure.value is None or figure.low is None or figure.high is None:
        return "-"
    factor, form = (1, f"{sign}.3g") if is_count else (100, f"{sign}.1f")
    value, low, high = (format(number * factor, form) for number in (figure.value, figure.low, figure.high))
    return f"{value} [{low}, {high}]" if interval else value


def _rows(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width) for place, (cell, width) in enumerate(row))
        for row in ([*zip(row, widths, strict=True)] for row in rows)
    ]

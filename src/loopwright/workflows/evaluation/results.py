"""What an evaluation finds."""

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from pydantic import Field

from loopwright.config import Frozen

COUNTS = ("passes", "model_calls", "seconds")
"""The figures that are never shares; nor is one that any question brings beyond -1 or 1."""
RESAMPLES = 2_000
"""Resamples of one interval."""
SEED = 20_260_101
"""The seed of the resamples: the same values always have the same interval."""
FEWEST = 5
"""Pairs from which a rank correlation is told."""


class Figure(Frozen):
    """A mean over questions."""

    value: float | None = None
    """The mean; None if no question counts."""
    low: float | None = None
    """The lower end of its 95 % bootstrap interval."""
    high: float | None = None
    """The upper end."""
    n: int = Field(ge=0)
    """The questions that count."""


def mean_figure(values: Iterable[float | None]) -> Figure:
    """The mean of a value over questions, with its 95 % percentile bootstrap interval.

    The mean of differences between two ways of answering the same questions has the interval of a paired comparison.
    A question that has no value, but None, does not count.
    """
    import numpy as np

    kept = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(kept):
        return Figure(n=0)
    mean = float(kept.mean())
    # Where nothing can be drawn that differs, scipy makes no interval of a single value.
    low, high = (mean, mean) if np.ptp(kept) == 0 else _interval((kept,), np.mean)
    return Figure(value=mean, low=low, high=high, n=len(kept))


def rank_figure(pairs: Sequence[tuple[float, float]]) -> Figure:
    """Spearman's rank correlation, with its 95 % percentile bootstrap interval over the pairs, one of each question.

    Of fewer than `FEWEST` there is no value.
    """
    from scipy.stats import spearmanr

    if len(pairs) < FEWEST or any(len(set(numbers)) < 2 for numbers in zip(*pairs, strict=True)):
        return Figure(n=len(pairs))

    def srcc(first: Any, second: Any) -> float:
        return float(cast("Any", spearmanr(first, second)).statistic)

    sides = [*zip(*pairs, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a resample whose numbers are all the same, which then does not count
        low, high = _interval(sides, srcc, paired=True, vectorized=False)
    return Figure(value=srcc(*sides), low=low, high=high, n=len(pairs))


def _interval(sides: Sequence[Any], statistic: Callable[..., Any], **options: Any) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of a statistic."""
    import numpy as np
    from scipy.stats import bootstrap

    drawn: Any = bootstrap(sides, statistic, n_resamples=RESAMPLES, method="percentile", rng=SEED, **options)
    low, high = np.nanquantile(drawn.bootstrap_distribution, (0.025, 0.975))
    return float(low), float(high)


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


def figures_of(asked: Sequence[EvaluatedAnswer]) -> dict[str, Figure]:
    """Means over questions, and how far numbers rise with those that people gave."""
    names = dict.fromkeys(name for each in asked for name in each.ranked)
    return means_of([each.numbers for each in asked]) | {
        f"srcc {name}": rank_figure(
            [(each.people, each.ranked[name]) for each in asked if each.people is not None and name in each.ranked]
        )
        for name in names
    }


def means_of(rows: Sequence[Mapping[str, float | None]]) -> dict[str, Figure]:
    """The mean of each of the numbers that some have."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: mean_figure(row.get(name) for row in rows) for name in names}


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

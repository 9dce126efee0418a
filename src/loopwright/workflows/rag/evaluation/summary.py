"""From what came of each question to the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from loopwright.workflows.figures import Figure, mean_figure
from loopwright.workflows.rag.evaluation.observing import CUTOFFS
from loopwright.workflows.rag.evaluation.schemas import Abstention, LoopGain, QuestionOutcome

_GOLD_AT = 5


def figures_of(outcomes: Sequence[QuestionOutcome]) -> dict[str, Figure]:
    """The means over questions, by name.

    Args:
        outcomes: What came of each question.
    """
    values: dict[str, list[float | None]] = {
        **{f"recall@{k}": [outcome.recall.get(k) for outcome in outcomes] for k in CUTOFFS},
        f"all_gold@{_GOLD_AT}": [
            float(outcome.recall[_GOLD_AT] == 1) if outcome.recall else None for outcome in outcomes
        ],
        "gathered_recall": [outcome.gathered for outcome in outcomes],
        "em": [outcome.em for outcome in outcomes],
        "f1": [outcome.f1 for outcome in outcomes],
        "citation_precision": [outcome.citation_precision for outcome in outcomes],
        "citation_recall": [outcome.citation_recall for outcome in outcomes],
        "faithfulness": [outcome.faithfulness for outcome in outcomes],
        "abstained": [float(outcome.status == "abstained") for outcome in outcomes],
    }
    return {name: mean_figure(column) for name, column in values.items()}


def grouped(
    outcomes: Sequence[QuestionOutcome], key: Callable[[QuestionOutcome], str | int | None]
) -> dict[str, dict[str, Figure]]:
    """The figures of each group of questions, in the order of its key.

    Args:
        outcomes: What came of each question.
        key: The group of a question; without one, None or an empty text, it is in none.
    """
    names = sorted({name for outcome in outcomes if (name := key(outcome))}, key=lambda name: (str(type(name)), name))
    return {str(name): figures_of([outcome for outcome in outcomes if key(outcome) == name]) for name in names}


def abstention_of(outcomes: Sequence[QuestionOutcome], unanswerable: frozenset[str]) -> Abstention:
    """How well it is told what cannot be answered.

    Args:
        outcomes: What came of each question.
        unanswerable: The ids of the questions that have no answer.
    """
    answered = [outcome for outcome in outcomes if outcome.predicted]
    abstained = [outcome for outcome in outcomes if outcome.status == "abstained"]
    return Abstention(
        coverage=mean_figure([float(bool(outcome.predicted)) for outcome in outcomes]),
        precision=mean_figure(
            [
                float(outcome.id in unanswerable or (outcome.gathered is not None and outcome.gathered < 1))
                for outcome in abstained
            ]
        ),
        risk=mean_figure([1 - outcome.em for outcome in answered]),
        risk_coverage_area=_area(outcomes, answered),
    )


def _area(outcomes: Sequence[QuestionOutcome], answered: Sequence[QuestionOutcome]) -> float | None:
    if len({outcome.confidence for outcome in answered}) < 2:
        return None
    surest = sorted(outcomes, key=lambda outcome: (not outcome.predicted, -outcome.confidence))
    losses = accumulate(1 - outcome.f1 for outcome in surest)
    return sum(loss / n for n, loss in enumerate(losses, 1)) / len(surest)


def retries_of_all(outcomes: Sequence[QuestionOutcome]) -> dict[str, int]:
    """Kind of failure -> how often it was tried again.

    Args:
        outcomes: What came of each question.
    """
    total: Counter[str] = Counter()
    for outcome in outcomes:
        total.update(outcome.retries)
    return dict(total)


def gain_of(loop: str, outcomes: Sequence[QuestionOutcome], without: Mapping[str, QuestionOutcome]) -> LoopGain:
    """What a loop costs and brings.

    Args:
        loop: The loop.
        outcomes: What came of each question.
        without: Question id -> what came of it without the loop, for the questions for which it went round.
    """
    pairs = [(outcome, without.get(outcome.id, outcome)) for outcome in outcomes]
    return LoopGain(
        passes=sum(outcome.passes.get(loop, 0) for outcome in outcomes),
        questions=len(without),
        seconds=sum(outcome.loop_seconds.get(loop, 0.0) for outcome in outcomes),
        model_calls=sum(own.model_calls - other.model_calls for own, other in pairs),
        recall=mean_figure(
            [
                None if own.gathered is None or other.gathered is None else own.gathered - other.gathered
                for own, other in pairs
            ]
        ),
        em=mean_figure([own.em - other.em for own, other in pairs]),
        f1=mean_figure([own.f1 - other.f1 for own, other in pairs]),
    )

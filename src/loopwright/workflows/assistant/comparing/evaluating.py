"""Asking questions whose relevant records are known, with and without what follows the first search."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from loopwright.workflows.assistant.comparing.labels import Label, judged_tables
from loopwright.workflows.assistant.comparing.metrics import difference
from loopwright.workflows.assistant.comparing.observing import answered, measured, prepare
from loopwright.workflows.assistant.comparing.schemas import PLACES, AssistantEvaluation, QuestionOutcome
from loopwright.workflows.assistant.conference.catalogue import current
from loopwright.workflows.assistant.schemas import RetryMode
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.figures import Figure, mean_figure

Listener = Callable[[int, int], None]
"""Told how many questions are done, and how many there are."""


def evaluate(
    labels: Sequence[Label], services: Services, mode: RetryMode, *, on_progress: Listener | None = None
) -> AssistantEvaluation:
    """Ask questions whose relevant records are known, and measure what the answers cite.

    The questions are asked one after another, so that the seconds of each are its own. Where the search was retried,
    the question is asked once more without a retry, which tells what the first search alone brings.

    Args:
        labels: The questions.
        services: The conference and the models; nothing is remembered of the questions.
        mode: What follows a poor search.
        on_progress: Told before the first question and after each.

    Returns:
        The figures, by kind of question too.

    Raises:
        StoreError: If there is no conference.
        RuntimeError: Inside of the services' own event loop; there, ``await aevaluate(...)``.
    """
    return services.background.call(aevaluate, labels, services, mode, on_progress=on_progress)


async def aevaluate(
    labels: Sequence[Label], services: Services, mode: RetryMode, *, on_progress: Listener | None = None
) -> AssistantEvaluation:
    """The same without blocking the event loop; see `evaluate`."""
    await prepare(services)
    tables = judged_tables(labels)
    outcomes: list[QuestionOutcome] = []
    for done, label in enumerate(labels):
        if on_progress:
            on_progress(done, len(labels))
        outcomes.append(await _outcome(label, services, mode, tables))
    if on_progress:
        on_progress(len(labels), len(labels))
    after = [outcome.after for outcome in outcomes]
    kinds = dict.fromkeys(outcome.kind for outcome in outcomes)
    return AssistantEvaluation(
        mode=mode,
        questions=len(outcomes),
        records=len(current(services.store).records),
        figures=figures_of(outcomes),
        by_kind={kind: figures_of([each for each in outcomes if each.kind == kind]) for kind in kinds},
        lost=tuple(each.id for each in outcomes if (_gained_recall(each) or 0) < 0),
        model_calls=sum(each.model_calls for each in after),
        tokens=sum(each.tokens for each in after),
        failed=sum(each.status == "failed" for each in after),
        outcomes=tuple(outcomes),
    )


def figures_of(outcomes: Sequence[QuestionOutcome]) -> dict[str, Figure]:
    """The means over questions, by name; see `AssistantEvaluation.figures`.

    Args:
        outcomes: What came of each question.
    """
    values: dict[str, list[float | None]] = {
        f"recall@{PLACES}": [each.after.recall for each in outcomes],
        f"ndcg@{PLACES}": [each.after.ndcg for each in outcomes],
        f"first_recall@{PLACES}": [each.first.recall for each in outcomes],
        f"first_ndcg@{PLACES}": [each.first.ndcg for each in outcomes],
        f"gained_recall@{PLACES}": [_gained_recall(each) for each in outcomes],
        f"gained_ndcg@{PLACES}": [difference(each.after.ndcg, each.first.ndcg) for each in outcomes],
        "answered": [float(each.after.status in ("answered", "partial")) for each in outcomes if each.answerable],
        "no_answer": [float(each.after.status == "nothing_found") for each in outcomes if not each.answerable],
        "passes": [float(each.after.passes) for each in outcomes],
        "queries": [float(each.after.queries) for each in outcomes],
        "seconds": [each.after.seconds for each in outcomes],
    }
    return {name: mean_figure(column) for name, column in values.items()}


async def _outcome(label: Label, services: Services, mode: RetryMode, tables: Collection[str]) -> QuestionOutcome:
    after = await answered(label.question, services, mode, label.now)
    first = await answered(label.question, services, "none", label.now) if after.passes > 1 else after
    return QuestionOutcome(
        id=label.id,
        kind=label.kind,
        answerable=bool(label.relevant),
        first=measured(first, label.relevant, tables),
        after=measured(after, label.relevant, tables),
    )


def _gained_recall(outcome: QuestionOutcome) -> float | None:
    return difference(outcome.after.recall, outcome.first.recall)

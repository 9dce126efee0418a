"""Labelled questions that are asked as a server would ask them, and what is kept of what came of them."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from loopwright.runs.plain import plain
from loopwright.runs.preparing import chosen_models, models_at_start, prompts_at_start, settings_of, within
from loopwright.runs.schemas import KeptEvaluation
from loopwright.runs.store.history import RunStore
from loopwright.workflows.api import RunChanges, Workflow
from loopwright.workflows.evaluation.results import EvaluatedAnswer, Evaluation


def kept(
    store: RunStore,
    workflow: Workflow[Any],
    ask: Callable[[], Evaluation],
    questions: str,
    version: str,
    prompts: Mapping[str, int | str],
) -> Evaluation:
    """Ask with the models and prompts that people chose on the page, and keep what came of it.

    Args:
        store: Where models and prompts are kept, and the outcomes.
        workflow: What is asked.
        ask: Asks.
        questions: Names the set of questions.
        version: Names what is measured.
        prompts: Prompt -> the version to use in the place of the newest.

    Raises:
        InputError: If there is no such prompt or version.
    """
    changes = RunChanges(models=chosen_models(store, workflow), prompts=dict(prompts))
    settings = settings_of(workflow, changes, store.prompt_versions(workflow.name))
    found = within(settings, ask)
    figures = {"scores", "passes", "ranked"}  # a score's name may sound like a secret's
    told = (plain(answer.model_dump()) | answer.model_dump(include=figures) for answer in found.outcomes)
    evaluation = KeptEvaluation(
        workflow=workflow.name, questions=questions, version=version, created_at=datetime.now(UTC),
        prompts=within(settings, prompts_at_start, workflow), models=within(settings, models_at_start, workflow),
        figures=found.figures,
        answers=tuple(map(EvaluatedAnswer.model_validate, told)),
    )  # fmt: skip
    store.keep_evaluation(evaluation)
    return found

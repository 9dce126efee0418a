"""What people chose, checked and made ready for a run, or for labelled questions, whose outcomes are kept."""

from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, copy_context
from datetime import UTC, datetime
from typing import Any

from loopwright.errors import ConfigError, InputError, UnknownNameError
from loopwright.models.prompts import Prompt, prompt_changes
from loopwright.models.registry import DEFAULT, model_changes
from loopwright.runs.plain import plain
from loopwright.runs.schemas import KeptEvaluation, PromptVersion
from loopwright.runs.store.history import RunStore
from loopwright.workflows.api import RunChanges, Workflow
from loopwright.workflows.evaluation.results import EvaluatedAnswer, Evaluation


def chosen_models(store: RunStore, hosted: Workflow) -> dict[str, str | None]:
    """Node -> the chat model that people chose for it; a node that the workflow has no more is left out. Blocks."""
    if hosted.models is None:
        return {}
    known = (*hosted.model_nodes, DEFAULT)
    return {node: model for node, model in store.assignments(hosted.name).items() if node in known}


def settings_of(hosted: Workflow, changes: RunChanges, written: Sequence[PromptVersion]) -> Context:
    """The context in which a run has its models and prompts; what is called in a copy of it leaves no trace.

    Args:
        hosted: The workflow.
        changes: What the run does otherwise.
        written: The versions of prompts that people wrote, the oldest of each first.

    Raises:
        InputError: If the workflow has no such node, prompt or version, or a draft has other places than the prompt.
    """
    settings = copy_context()
    if changes.models:
        known = {*hosted.model_nodes, DEFAULT} if hosted.models else set[str]()
        for node in changes.models:
            if node not in known:
                raise UnknownNameError("node with a model", node, known)
        settings.run(model_changes.set, dict(changes.models))
    if prompts := _prompts(hosted, changes, written):
        settings.run(prompt_changes.set, prompts)
    return settings


def _prompts(hosted: Workflow, changes: RunChanges, written: Sequence[PromptVersion]) -> dict[str, Prompt]:
    """Prompt -> what stands in for its newest version that ships with the workflow."""
    library = hosted.prompts
    known = library.ids() if library else []
    for prompt in changes.prompts:
        if prompt not in known:
            raise UnknownNameError("prompt", prompt, known)
    if library is None:
        return {}
    kept = {(each.prompt, each.version): Prompt(each.prompt, each.version, each.text) for each in written}
    newer = (own for own in kept.values() if own.id in known and own.version > library.versions(own.id)[-1])
    used = {own.id: own for own in newer}  # the newest of each is the last
    for prompt, wanted in changes.prompts.items():
        if isinstance(wanted, int):
            own = kept.get((prompt, wanted))
            try:
                used[prompt] = own or library.get(prompt, wanted)
            except ConfigError as error:
                raise InputError(str(error)) from error
        else:
            used[prompt] = draft_of(used.get(prompt) or library.get(prompt), wanted)
    return used


def draft_of(newest: Prompt, text: str) -> Prompt:
    """A text in the place of a prompt.

    Raises:
        InputError: If it misses or adds a ``{{name}}``: it must take the same values.
    """
    draft = Prompt(newest.id, 0, text)
    if draft.names != newest.names:
        missing, added = sorted(newest.names - draft.names), sorted(draft.names - newest.names)
        faults = [f"misses {', '.join(missing)}"] if missing else []
        faults += [f"adds {', '.join(added)}"] if added else []
        raise InputError(
            f"the text for prompt {newest.id!r} {' and '.join(faults)}: it needs exactly the places "
            f"{', '.join(f'{{{{{name}}}}}' for name in sorted(newest.names)) or 'none'}"
        )
    return draft


def models_at_start(hosted: Workflow) -> dict[str, str | None]:
    """Node -> the names of its chat models, within the run's context."""
    if hosted.models is None:
        return {}
    return {node: ", then ".join(hosted.models.models_of(node)) or None for node in hosted.model_nodes}


def prompts_at_start(hosted: Workflow) -> dict[str, int | None]:
    """Prompt -> its version, None for a draft, within the run's context."""
    library = hosted.prompts
    return {prompt: library.get(prompt).version or None for prompt in library.ids()} if library else {}


def kept_evaluation(
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
    found = settings.copy().run(ask)
    figures = {"scores", "passes", "ranked"}  # a score's name may sound like a secret's
    told = (plain(answer.model_dump()) | answer.model_dump(include=figures) for answer in found.outcomes)
    evaluation = KeptEvaluation(
        workflow=workflow.name, questions=questions, version=version, created_at=datetime.now(UTC),
        prompts=settings.copy().run(prompts_at_start, workflow), models=settings.copy().run(models_at_start, workflow),
        figures=found.figures,
        answers=tuple(map(EvaluatedAnswer.model_validate, told)),
    )  # fmt: skip
    store.keep_evaluation(evaluation)
    return found

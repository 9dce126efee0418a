"""What a plan says, in the words that options of planner questions use."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.workflows.iqa.distortions import in_words
from loopwright.workflows.iqa.schemas import AnswerMode, PlannerOutput, QueryType, ReferenceMode

NO_WORK = "nothing, because the question is not about image quality"

_FORMS = {
    AnswerMode.SCORING: "a quality score",
    AnswerMode.MCQ: "one of the listed options",
    AnswerMode.EXPLANATION: "an explanation in words",
}


def _form(plan: PlannerOutput) -> str:
    return _FORMS[plan.answer_mode]


def _scope(plan: PlannerOutput) -> str:
    return "the whole image" if isinstance(plan.query_scope, str) else ", ".join(plan.query_scope)


def _looked_for(plan: PlannerOutput) -> str:
    names = [name for names in (plan.distortions or {}).values() for name in names]
    if plan.plan.distortion_detection or not names:
        return "every distortion that there may be"
    return f"{' and '.join(in_words(name) for name in dict.fromkeys(names))} only"


def _reference(plan: PlannerOutput) -> str:
    full = plan.reference_mode is ReferenceMode.FULL
    return "compare the image with its reference" if full else "judge the image alone"


def _tools(plan: PlannerOutput) -> str:
    return f"run {' and '.join(plan.required_tools)}" if plan.required_tools else "choose the tools that suit"


ASPECTS: dict[str, Callable[[PlannerOutput], str]] = {
    "form": _form,
    "scope": _scope,
    "distortions": _looked_for,
    "reference": _reference,
    "tools": _tools,
}
"""What a planner question may be about -> how a plan is put into words in that respect."""


def what_the_plan_says(plan: PlannerOutput, aspect: str) -> str:
    """A plan in words, in one respect.

    Args:
        plan: The plan.
        aspect: One of `ASPECTS`.
    """
    return NO_WORK if plan.query_type is QueryType.OTHER else ASPECTS[aspect](plan)

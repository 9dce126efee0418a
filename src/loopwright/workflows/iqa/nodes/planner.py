"""The planner: reads the query and decides what shall be measured, by rules or with a chat model."""

import json
import logging
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, WithJsonSchema, create_model

from loopwright.errors import PlannerError
from loopwright.models import consult
from loopwright.models.validation import problem_lines
from loopwright.workflows.iqa.answer.facts import Facts, quality_score, reasoning
from loopwright.workflows.iqa.distortions import known_distortions
from loopwright.workflows.iqa.planning import enforce, make_plan, require_reference, without_iteration
from loopwright.workflows.iqa.question.asked import KNOWN, KnownName, MeantQuestion, Question, agreed
from loopwright.workflows.iqa.question.reading import read_query
from loopwright.workflows.iqa.schemas import (
    GLOBAL,
    Box,
    ExecutorOutput,
    NonEmpty,
    PlannerInput,
    PlannerOutput,
    ReferenceMode,
    SummarizerOutput,
)
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.state import AgenticIQAState
from loopwright.workflows.iqa.tools.registry import all_tools, get_tool
from loopwright.workflows.iqa.vision import Blocks, attachments

logger = logging.getLogger("loopwright.iqa")


def planner_node(state: AgenticIQAState, services: Services | None = None) -> dict[str, Any]:
    """Make the first plan, or a new one after a replan.

    Args:
        state: Needs ``query`` and ``image_path``; reads ``reference_path`` and ``region``, and on a replan
            ``replan_history``, ``plan``, ``executor_evidence`` and the ``replan_reason`` of ``summarizer_result``.
        services: The configuration and the chat model, if any; by default rules alone.

    Returns:
        ``plan`` and ``error`` (None); also ``region``, if the query gives one in numbers and the state has none, and
        ``questions``, if a chat model filled them.

    Raises:
        PlannerError: If the query or the image's path is missing, or no valid plan exists for it.
        UnknownNameError: If the query asks for a tool that nobody knows.
        ImageError: If there is a chat model, and the image, its reference or the region cannot be used: what cannot be
            measured later is no reason to ask a model.
        StructuredReplyError: If the chat model's reply still breaks the schema after the repairs. Rules do not step in:
            the caller asked for this model.
    """
    services = services or Services()
    task = _task(state)
    previous = state.get("plan") if task.feedback else None
    evidence = state.get("executor_evidence") if task.feedback else None
    region = task.region or read_query(task.query).region
    model = services.chat("planner")
    update: dict[str, Any] = {"error": None}
    if model is None:
        plan = make_plan(task, previous=previous, evidence=evidence)
        if state.get("questions"):
            update["questions"] = []  # another run of the thread had a model, and another query
    else:
        plan, update["questions"] = _by_model(
            model, task, services=services, region=region, previous=previous, evidence=evidence
        )
    update["plan"] = plan
    logger.info("plan: %s", plan.rationale)
    if region and not state.get("region"):
        update["region"] = region
    return update


def _by_model(
    model: BaseChatModel,
    task: PlannerInput,
    *,
    services: Services,
    region: Box | None,
    previous: PlannerOutput | None,
    evidence: ExecutorOutput | None,
) -> tuple[PlannerOutput, list[Question]]:
    """Let a chat model plan, and say in the same call what is asked.

    What it may not decide is decided by `loopwright.workflows.iqa.planning.enforce` and
    `loopwright.workflows.iqa.question.asked.agreed`. Where no valid plan exists, it is not asked.
    """
    reading, settings = read_query(task.query), services.config.iqa
    require_reference(reading.plan.required_tools or (), task.reference_path)
    usable = tuple(tool.name for tool in all_tools() if task.reference_path or tool.reference is ReferenceMode.NONE)
    shown = attachments(model, task.model_dump(), region=region, max_pixels=settings.tools.max_pixels)
    prompt = (
        Services.prompts().get("planner").render(tools=", ".join(usable), distortions=", ".join(known_distortions()))
    )
    facts: dict[str, Any] = {"query": task.query, "has_reference": bool(task.reference_path)}
    if task.region:
        facts["region"] = list(task.region)
    if task.feedback:
        known = Facts(previous, evidence, quality_score(evidence)) if previous and evidence else None
        facts["replan"] = {
            "reasons": task.feedback,
            "previous_plan": previous.model_dump(mode="json") if previous else None,
            "evidence": reasoning(known) if known else None,
        }
    asked: Blocks = [*shown, {"type": "text", "text": json.dumps(facts, ensure_ascii=False)}]
    messages = [SystemMessage(prompt), HumanMessage(content=[*asked])]
    schema, repairs = reply_schema(usable), settings.repairs
    answer = consult(model, messages, schema, repairs=repairs, node="planner")
    plan = PlannerOutput.model_validate(answer.reply.model_dump(exclude={"questions"}))
    plan.rationale = " ".join(filter(None, (plan.rationale, *(f"{note}." for note in answer.notes))))
    questions = agreed(answer.reply.questions, reading.questions)
    return enforce(plan, reading, reference_path=task.reference_path), questions


class PlannerReply(PlannerOutput):
    """What a chat model is asked for: the plan, and what it understood."""

    questions: list[MeantQuestion] = Field(default_factory=list[MeantQuestion])
    """What is asked, one after another."""


@cache
def reply_schema(tools: tuple[str, ...]) -> type[PlannerReply]:
    """`PlannerReply` with closed lists of names, so that a wrong one is repaired; ``PlannerOutput`` in messages."""
    named = Annotated[dict[str, list[KnownName]] | None, BeforeValidator(_by_scope), WithJsonSchema(_LISTED)]
    tool = Annotated[
        str, AfterValidator(lambda name: _known_tool(name, tools)), WithJsonSchema({"type": "string", "enum": [*tools]})
    ]
    scope = Annotated[list[NonEmpty] | Literal["Global"], BeforeValidator(_one_scope)]
    fields: dict[str, Any] = {
        "query_scope": (scope, GLOBAL),
        "distortions": (named, None),
        "required_tools": (list[tool] | None, None),
    }
    return create_model("PlannerOutput", __base__=PlannerReply, **fields)


_ENTRY: dict[str, Any] = {
    "type": "object",
    "properties": {"object": {"type": "string"}, "types": {"type": "array", "items": KNOWN}},
    "required": ["object", "types"],
    "additionalProperties": False,
}
_LISTED: dict[str, Any] = {"anyOf": [{"type": "array", "items": _ENTRY}, {"type": "null"}]}
"""The schema of the named distortions: a list, as Anthropic's API allows an object no names but those it lists."""


def _by_scope(value: Any) -> Any:
    """A list of objects with their distortions as a mapping, which is taken too; anything else as it is."""
    if not isinstance(value, list):
        return value
    found: dict[Any, list[Any]] = {}
    for entry in cast("list[Any]", value):
        match entry:
            case {"object": str(scope), "types": list(types)}:
                found.setdefault(scope, []).extend(cast("list[Any]", types))
            case _:
                raise ValueError('each entry should be {"object": "...", "types": ["..."]}')
    return found or None


def _known_tool(name: str, usable: tuple[str, ...]) -> str:
    tool = get_tool(name).name
    if tool not in usable:
        raise ValueError(f"{tool} needs a reference image, and there is none; tools that can run: {', '.join(usable)}")
    return tool


def _one_scope(value: Any) -> Any:
    """Accept the ways in which models write the whole image, or a single object."""
    if isinstance(value, str):
        return GLOBAL if value.strip().lower() == GLOBAL.lower() else [value]
    if isinstance(value, list):
        names = cast("list[Any]", value)
        whole = not names or any(isinstance(name, str) and name.strip().lower() == GLOBAL.lower() for name in names)
        return GLOBAL if whole else names
    return value


def _task(state: Mapping[str, Any]) -> PlannerInput:
    for key in ("query", "image_path"):
        value = state.get(key)
        if not isinstance(value, str) or not value.strip():
            raise PlannerError(f"there is no {key!r}: the planner needs a question and the path of an image")
    try:
        return PlannerInput(
            query=state["query"],
            image_path=state["image_path"],
            reference_path=state.get("reference_path") or None,
            region=state.get("region"),
            feedback=_feedback(state),
        )
    except ValidationError as error:
        raise PlannerError(f"the planner cannot use the state: {'; '.join(problem_lines(error))}") from error


def _feedback(state: Mapping[str, Any]) -> list[str]:
    """Why earlier plans were not enough, oldest first, without the numbers of the passes."""
    reasons = [*map(without_iteration, state.get("replan_history") or ())]
    result: SummarizerOutput | None = state.get("summarizer_result")
    if result is None or not result.need_replan or not result.replan_reason:
        return reasons
    if not reasons and state.get("iteration_count") == 0:
        return []  # A new question on an old thread: the answer in the state is that of the question before.
    return reasons if reasons[-1:] == [result.replan_reason] else [*reasons, result.replan_reason]

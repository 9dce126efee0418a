"""The planner without a chat model, and the rules that every plan keeps, whoever made it."""

from collections.abc import Sequence

from loopwright.errors import PlannerError
from loopwright.workflows.iqa.planning.replanning import revise
from loopwright.workflows.iqa.question.reading import QueryReading, read_query
from loopwright.workflows.iqa.schemas import (
    GLOBAL,
    AnswerMode,
    ExecutorOutput,
    PlanControlFlags,
    PlannerInput,
    PlannerOutput,
    QueryType,
    ReferenceMode,
)
from loopwright.workflows.iqa.tools.registry import all_tools, get_tool


def make_plan(
    task: PlannerInput, *, previous: PlannerOutput | None = None, evidence: ExecutorOutput | None = None
) -> PlannerOutput:
    """Plan by rules. The same arguments always give the same plan.

    Without feedback this is the first plan; with feedback, the previous plan is changed so that it can find what was
    missing (`loopwright.workflows.iqa.planning.replanning`). If there is nothing left to change, the plan is the
    previous one in every parameter, and its rationale says so.

    Raises:
        PlannerError: If no valid plan exists: an empty query, or a named tool that needs a reference where none is.
        UnknownNameError: If the query asks for a tool that nobody knows.
    """
    reading = read_query(task.query)
    plan = first_plan(reading, reference_path=task.reference_path)
    if task.feedback:
        plan = revise(previous or plan, evidence, task.feedback, reading)
    return enforce(plan, reading, reference_path=task.reference_path)


def first_plan(reading: QueryReading, *, reference_path: str | None) -> PlannerOutput:
    """The plan for a query that nothing has been measured for yet."""
    if reading.query_type is QueryType.OTHER:
        return PlannerOutput(query_type=QueryType.OTHER, rationale="The query is not about image quality.")
    # Where nothing is to be measured, the file itself tells what is asked.
    work = dict.fromkeys(PlanControlFlags.model_fields, reading.measures)
    return PlannerOutput(
        answer_mode=reading.answer_mode,
        query_scope=reading.scope,
        distortion_source="Explicit" if reading.distortions else "Inferred",
        distortions=reading.distortions or None,
        reference_mode=_mode(reference_path),
        required_tools=reading.tools or None,
        plan=PlanControlFlags(**work),
        rationale=_first_rationale(reading, reference_path),
    )


def enforce(plan: PlannerOutput, reading: QueryReading, *, reference_path: str | None) -> PlannerOutput:
    """Hold a plan, which is not changed, to the rules that no query and no chat model can switch off.

    Tools compare with a reference if and only if there is one; every tool is a registered one that can run; the tools
    that the query names are required, and the choice of others is off; a query with options is a choice, one without
    is none; where the options are distortions, all are looked for; a query that is not about quality gets no work.

    Raises:
        PlannerError: If a required tool needs a reference and there is none.
        UnknownNameError: If a required tool is not registered.
    """
    tools = list(dict.fromkeys(get_tool(name).name for name in (*reading.tools, *(plan.required_tools or ()))))
    if plan.query_type is QueryType.OTHER and not reading.tools:
        return PlannerOutput(
            query_type=QueryType.OTHER, answer_mode=_answer_mode(plan, reading), reference_mode=_mode(reference_path),
            rationale=plan.rationale,
        )  # fmt: skip
    require_reference(tools, reference_path)
    if set(plan.required_tools or ()) == set(tools):
        tools = plan.required_tools or []  # their order says which score is the answer
    flags = {"tool_selection": False, "tool_execution": True} if reading.tools else {}
    explicit = plan.distortion_source == "Explicit" and not reading.option_distortions
    if reading.option_distortions:
        flags["distortion_detection"] = True
    distortions = {scope: names for scope, names in (plan.distortions or {}).items() if names}
    return PlannerOutput(
        answer_mode=_answer_mode(plan, reading),
        query_scope=plan.query_scope or GLOBAL,
        distortion_source="Explicit" if explicit and distortions else "Inferred",
        distortions=distortions or None,
        reference_mode=_mode(reference_path),
        required_tools=list(tools) or None,
        plan=plan.plan.model_copy(update=flags),
        rationale=plan.rationale,
    )


def require_reference(tools: Sequence[str], reference_path: str | None) -> None:
    """Check that tools can run.

    Raises:
        PlannerError: If one of them needs a reference and there is none.
        UnknownNameError: If one of them is not registered.
    """
    needy = [get_tool(name).name for name in tools if get_tool(name).reference is ReferenceMode.FULL]
    if needy and not reference_path:
        free = ", ".join(tool.name for tool in all_tools() if tool.reference is ReferenceMode.NONE)
        raise PlannerError(
            f"{', '.join(dict.fromkeys(needy))} compares with a reference image, and there is none; "
            f"give one (reference_path, --reference), or name a tool that needs none: {free}"
        )


def _answer_mode(plan: PlannerOutput, reading: QueryReading) -> AnswerMode:
    if reading.options:
        return AnswerMode.MCQ
    return reading.answer_mode if plan.answer_mode is AnswerMode.MCQ else plan.answer_mode


def _mode(reference_path: str | None) -> ReferenceMode:
    return ReferenceMode.FULL if reference_path else ReferenceMode.NONE


def _first_rationale(reading: QueryReading, reference_path: str | None) -> str:
    asked = "the whole image" if reading.scope == GLOBAL else ", ".join(reading.scope)
    named = ", ".join(dict.fromkeys(name for names in reading.distortions.values() for name in names))
    sought = (named or "all distortions") if reading.measures else "what the file itself tells"
    tools = f", and it names {', '.join(reading.tools)}" if reading.tools else ""
    beside = "beside its reference" if reference_path else "without a reference"
    return f"The query asks about {asked}, {beside}: {sought} is looked for, to give {reading.answer_mode}{tools}."

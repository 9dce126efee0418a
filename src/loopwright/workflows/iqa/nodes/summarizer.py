"""The summarizer: answers the question from the evidence, by rules or with a chat model."""

import logging
from typing import Annotated, Any, Self

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from pydantic import AfterValidator, BaseModel, Field, create_model, model_validator

from loopwright.errors import ImageError
from loopwright.models import consult
from loopwright.workflows.iqa.answer.answers import UNABLE, answer, reasoning, score_in_words, used_evidence
from loopwright.workflows.iqa.answer.choosing import parse_choice
from loopwright.workflows.iqa.answer.facts import LEVEL_NAMES, Facts, quality_score, sentences
from loopwright.workflows.iqa.answer.files import tell
from loopwright.workflows.iqa.planning import missing_evidence, without_iteration
from loopwright.workflows.iqa.question.reading import read_query
from loopwright.workflows.iqa.schemas import (
    GLOBAL,
    AnswerMode,
    ExecutorOutput,
    NonEmpty,
    PlannerOutput,
    QueryType,
    SummarizerOutput,
)
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.state import AgenticIQAState
from loopwright.workflows.iqa.vision import Blocks, attachments

logger = logging.getLogger("loopwright.iqa")


def summarizer_node(state: AgenticIQAState, services: Services | None = None) -> dict[str, Any]:
    """Answer the question, and say whether another plan is needed.

    Without a chat model, by rules. With one, it gets the evidence in words and, if it sees images, the image (or the
    region), its reference, and located objects. The counter and the history of replans belong to the gate and are not
    touched.

    Args:
        state: Reads ``query``, ``plan``, ``executor_evidence``, ``replan_history``, and for a chat model
            ``image_path``, ``reference_path`` and ``region``; without a plan or evidence the answer is "Unable to
            determine".
        services: The configuration and the chat model.

    Returns:
        ``summarizer_result``, and ``error``: why the executor as a whole failed, or None.

    Raises:
        StructuredReplyError: If the chat model's reply still breaks the schema after the repairs, for example with a
            letter that is no option.
    """
    services = services or Services()
    plan, evidence = state.get("plan"), state.get("executor_evidence")
    if plan is None or evidence is None:
        missing = "There is no plan." if plan is None else "Nothing was measured: the executor has not run."
        error = state.get("error")
        said = f"{missing} {error}" if error else missing
        return {"summarizer_result": SummarizerOutput(final_answer=UNABLE, quality_reasoning=said), "error": error}
    chat = services.chat("summarizer")
    if chat is None or plan.query_type is QueryType.OTHER or evidence.error:
        result = _by_rules(state, plan, evidence, locates=services.chat("executor") is not None)
    else:
        result = _by_model(chat, state, plan, evidence, services)
    return {"summarizer_result": result, "error": evidence.error}


def _by_rules(
    state: AgenticIQAState, plan: PlannerOutput, evidence: ExecutorOutput, *, locates: bool
) -> SummarizerOutput:
    query, history = state["query"], state.get("replan_history") or []
    result = answer(query, plan, evidence, state.get("questions") or ())
    reason = missing_evidence(plan, evidence, query, history, locates=locates)
    # The plan that looks at the whole image instead no longer names the object.
    unlocated = [entry for entry in map(without_iteration, history) if "could not be located" in entry]
    said = " ".join([result.quality_reasoning, *(f"{entry}." for entry in unlocated)])
    changes = {"quality_reasoning": said, "need_replan": reason is not None, "replan_reason": reason}
    return result.model_copy(update=changes)


class LevelProbabilities(BaseModel):
    """How likely each quality level is; together 1."""

    bad: float = Field(ge=0, le=1)
    """Level 1."""
    poor: float = Field(ge=0, le=1)
    """Level 2."""
    fair: float = Field(ge=0, le=1)
    """Level 3."""
    good: float = Field(ge=0, le=1)
    """Level 4."""
    excellent: float = Field(ge=0, le=1)
    """Level 5."""

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        total = sum(self.by_level().values())
        if not 0.95 <= total <= 1.05:
            raise ValueError(f"the five probabilities sum to {total:g}; they should sum to 1")
        return self

    def by_level(self) -> dict[int, float]:
        """Level 1..5 -> probability."""
        return {level: getattr(self, name.lower()) for level, name in LEVEL_NAMES.items()}


class ModelAnswer(BaseModel):
    """What a chat model is asked for: the answer, its reasons, and its own uncertainty."""

    final_answer: NonEmpty
    """The answer in the form that the question wants."""
    quality_reasoning: NonEmpty
    """Why, from the evidence."""
    level_probabilities: LevelProbabilities | None = None
    """The model's probability of each quality level, if it has an opinion."""
    need_replan: bool = False
    """Whether another plan could measure what is missing."""
    replan_reason: str | None = None
    """What is missing."""


def _by_model(
    chat: BaseChatModel, state: AgenticIQAState, plan: PlannerOutput, evidence: ExecutorOutput, services: Services
) -> SummarizerOutput:
    settings, query = services.config.iqa, state["query"]
    reading = read_query(query)
    options = reading.options if plan.answer_mode is AnswerMode.MCQ else {}
    # The image is sent without what its file tells.
    of_file = [tell(each, evidence.file) for each in reading.questions if each.attributes and evidence.file]
    facts = Facts(plan, evidence, quality_score(evidence))
    prompt = Services.prompts().get("summarizer")
    text = prompt.render(
        answer_form=_answer_form(plan.answer_mode, options),
        question=query,
        plan=plan.model_dump_json(exclude={"rationale"}, exclude_none=True),
        history="; ".join(state.get("replan_history") or []) or "none",
        evidence=sentences([reasoning(facts), *of_file]),
    )
    scoring = plan.answer_mode is AnswerMode.SCORING
    shown = _shown(chat, state, plan, evidence, settings.tools.max_pixels)
    asked, schema = HumanMessage(content=[*shown, {"type": "text", "text": text}]), _schema(plan.answer_mode, options)
    answered = consult(chat, [asked], schema, repairs=settings.repairs, node="summarizer")
    reply = answered.reply
    declared = reply.level_probabilities if scoring else None
    opinion = declared.by_level() if declared else None
    scored = Facts(plan, evidence, quality_score(evidence, opinion))
    final, said, value = reply.final_answer, sentences([reply.quality_reasoning]), None
    # What the rules answer from the same evidence, for the reader to compare, where it is something else.
    measured = answer(query, plan, evidence, state.get("questions") or ()).final_answer
    same = measured == final or measured.startswith(UNABLE)
    measured = None if same else f"{measured} ({options[measured]})" if measured in options else measured
    if measured:
        said = sentences([said, f"The measurements say: {measured}"])
    if scoring and scored.score is not None:
        # The level and the number are one answer; how sure a model is of another level, its probabilities say.
        value = round(scored.score.value, 4)
        if final != scored.score.level:
            said = f"{said} The score of {value:.2f} makes it {scored.score.level}."
        final = score_in_words(query, value)
    return SummarizerOutput(
        final_answer=final,
        quality_reasoning=sentences([said, *answered.notes]),
        need_replan=reply.need_replan,
        replan_reason=reply.replan_reason if reply.need_replan else None,
        used_evidence={
            **used_evidence(scored),
            "opinion_source": "declared" if opinion and scored.score else None,
            "model_answer": reply.final_answer,
            "prompt": prompt.digest,
            "the measurements say": measured,
        },
        quality_score=value,
    )


def _shown(
    chat: BaseChatModel, state: AgenticIQAState, plan: PlannerOutput, evidence: ExecutorOutput, max_pixels: int
) -> Blocks:
    region = state.get("region") or None
    wanted = [] if region or plan.query_scope == GLOBAL else plan.query_scope
    objects = {name: evidence.regions[name] for name in wanted if name in evidence.regions}
    try:
        return attachments(chat, state, region=region, objects=objects, max_pixels=max_pixels)
    except ImageError as error:  # it was there when it was measured, and what was measured can still be answered from
        logger.warning("the summarizer's chat model is not shown the image: %s", error)
        return [{"type": "text", "text": f"(No image is attached: {error}.)"}]


def _answer_form(mode: AnswerMode, options: dict[str, str]) -> str:
    if mode is AnswerMode.MCQ and options:
        return f'one letter of {", ".join(options)}, or "{UNABLE}" if the evidence bears none of them out.'
    if mode is AnswerMode.SCORING:
        return f'one of {", ".join(reversed(LEVEL_NAMES.values()))}, or "{UNABLE}".'
    return "one or two sentences that answer the question."


def _schema(mode: AnswerMode, options: dict[str, str]) -> type[ModelAnswer]:
    """The reply's schema; its final answer must be an option's letter or a level's name where that is asked for."""
    known = {name: name for name in LEVEL_NAMES.values()} if mode is AnswerMode.SCORING else options
    if not known:
        return ModelAnswer
    checked = Annotated[NonEmpty, AfterValidator(lambda text: parse_choice(text, known))]
    return create_model("ModelAnswer", __base__=ModelAnswer, final_answer=(checked, ...))

"""What the three stages hand to each other, as pydantic models."""

from __future__ import annotations

import logging
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from loopwright.config import shipped
from loopwright.workflows.iqa.distortions import Severity, parse_distortion

logger = logging.getLogger(__name__)

NonEmpty = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Text of at least one character that is not white space; trimmed."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("Input should be a valid string")
    return value


FileName = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string"})]
"""Text that may hold lone surrogates, which is how Python writes file names that are not UTF-8."""

Box = tuple[int, int, int, int]
"""A region: left, top, width, height, in pixels of the upright image."""

NO_REASON = "No reason provided"

GLOBAL = "Global"
"""The whole image, as a query scope and as a key of what was found."""


class AnswerMode(StrEnum):
    """The form of the answer that the query wants."""

    SCORING = "scoring"
    MCQ = "mcq"
    EXPLANATION = "explanation"


class QueryType(StrEnum):
    """Whether the query is about image quality at all."""

    IQA = "IQA"
    OTHER = "Other"


class ReferenceMode(StrEnum):
    """Whether a pristine image is there to compare with."""

    FULL = "Full-Reference"
    NONE = "No-Reference"


class PlanControlFlags(BaseModel):
    """Which of the executor's four subtasks run."""

    model_config = ConfigDict(extra="forbid")

    distortion_detection: bool = True
    """Find out which distortions there are; off when the query names them."""
    distortion_analysis: bool = True
    """Say how severe each distortion is, with the numbers behind it."""
    tool_selection: bool = True
    """Choose quality tools; off when the query names them."""
    tool_execution: bool = True
    """Run the quality tools."""


class PlannerInput(BaseModel):
    """What the planner is given."""

    query: NonEmpty
    """The user's question."""
    image_path: FileName
    """The image in question."""
    reference_path: FileName | None = None
    """The pristine image, if there is one."""
    region: Box | None = None
    """The part of the image that the question is about."""
    feedback: list[str] = Field(default_factory=list)
    """Why earlier plans were not enough, oldest first; empty on the first pass."""


class PlannerOutput(BaseModel):
    """What shall be done, decided before anything is measured."""

    model_config = ConfigDict(extra="forbid")

    query_type: QueryType = QueryType.IQA
    """Whether the query is about image quality."""
    answer_mode: AnswerMode = AnswerMode.EXPLANATION
    """The form of the answer."""
    query_scope: list[NonEmpty] | Literal["Global"] = GLOBAL
    """The objects that the query asks about, or the whole image."""
    distortion_source: Literal["Explicit", "Inferred"] = "Inferred"
    """Explicit if the query names the distortions, Inferred if they must be found."""
    distortions: dict[str, list[str]] | None = None
    """Object (or "Global") -> the distortions that the query names for it, in canonical names."""
    reference_mode: ReferenceMode = ReferenceMode.NONE
    """Whether tools may compare with a reference."""
    required_tools: list[str] | None = None
    """Tools that must run, by registered name."""
    plan: PlanControlFlags = Field(default_factory=PlanControlFlags)
    """Which subtasks run."""
    rationale: str = ""
    """Why this plan, and what it changes after a replan; not compared when plans are."""

    @field_validator("distortions")
    @classmethod
    def _canonical_distortions(cls, value: dict[str, list[str]] | None) -> dict[str, list[str]] | None:
        if value is None:
            return None
        return {scope: list(dict.fromkeys(map(parse_distortion, names))) for scope, names in value.items()}

    @model_validator(mode="after")
    def _keep_the_rules(self) -> Self:
        """Distortion named -> detection off; a named tool runs; not about quality -> everything off."""
        if self.query_type is QueryType.OTHER:
            self.plan = PlanControlFlags(**dict.fromkeys(PlanControlFlags.model_fields, False))
            return self
        if self.distortions and self.distortion_source == "Explicit":
            self.plan = self.plan.model_copy(update={"distortion_detection": False})
        if self.required_tools:
            self.plan = self.plan.model_copy(update={"tool_execution": True})
        return self

    def same_work(self, other: PlannerOutput) -> bool:
        """Whether both plans ask for the same work, whatever reasons they give."""
        return self.model_dump(exclude={"rationale"}) == other.model_dump(exclude={"rationale"})


class DistortionFinding(BaseModel):
    """One distortion of one region, with the numbers that speak for it."""

    type: Annotated[str, AfterValidator(parse_distortion)]
    """Canonical name of the kind or sub-type."""
    severity: Severity
    """How strong it is."""
    confidence: float = Field(ge=0, le=1)
    """How sure the detector is that it is this type, 0..1."""
    explanation: NonEmpty
    """One sentence that names the measured numbers."""
    measured: dict[str, float] = Field(default_factory=dict)
    """Feature -> value, units in the feature's name or in `docs/tools.md`."""


class ToolLog(BaseModel):
    """One run of one tool."""

    tool: str
    """The tool's registered name."""
    region: str = GLOBAL
    """The scope that it ran on."""
    raw: float | None = None
    """The tool's own value, in its own unit and direction; None if it failed."""
    score: float | None = Field(default=None, ge=1, le=5)
    """The value on the common scale, 1 (bad) to 5 (excellent); None if it failed."""
    seconds: float = 0.0
    """Wall time of the run."""
    fallback_for: str | None = None
    """The tool that this one stands in for, if that one failed."""
    error: str | None = None
    """Why it failed, or None."""


class ExecutorOutput(BaseModel):
    """Everything that was measured."""

    distortion_set: dict[str, list[str]] = Field(default_factory=dict)
    """Scope -> the distortions found or named, strongest first."""
    distortion_analysis: dict[str, list[DistortionFinding]] = Field(default_factory=dict)
    """Scope -> the analysis of each distortion."""
    selected_tools: list[str] = Field(default_factory=list)
    """The tools that were chosen for any scope, primary first."""
    quality_scores: dict[str, float] = Field(default_factory=dict)
    """Tool -> its score on the scale 1..5 for the first scope that was asked about, for the tools that gave one; the
    scores of other scopes stand in `tool_logs`."""
    tool_logs: list[ToolLog] = Field(default_factory=list)
    """Every run, failed ones too."""
    notes: list[str] = Field(default_factory=list)
    """What the reader must know: an object that could not be located, a detector that abstained and why."""
    undecided: list[str] = Field(default_factory=list)
    """The kinds of distortion that detection could neither state nor rule out in some scope; if it is empty beside a
    note of an abstention, that is about all of them."""
    primary_tool: str | None = None
    """The tool whose score is the answer, for the first scope."""
    regions: dict[str, Box] = Field(default_factory=dict)
    """Scope -> the part of the image that was measured for it; the whole image has no entry."""
    file: dict[str, Any] | None = None
    """What the file tells besides its pixels, if the question asks for that."""
    identical: bool | None = None
    """Whether every pixel of the image is that of its reference; None without one."""
    apart: str | None = None
    """That the image does not lie on its reference, and how, if it does not: what differs then says nothing."""
    otherwise: str | None = None
    """How it differs from its reference, or what of it is blank, where that is none of the distortions."""
    parts: dict[str, ExecutorOutput] = Field(default_factory=dict)
    """Scope -> its own evidence, where several were measured."""
    error: str | None = None
    """Set when the executor as a whole failed; the rest is then empty or partial."""

    def on(self, scope: str) -> ExecutorOutput:
        """The evidence on one scope, as if nothing else had been measured."""
        return self.parts.get(scope, self)


class SummarizerOutput(BaseModel):
    """The answer, the reasons for it, and whether the evidence was enough."""

    model_config = ConfigDict(
        json_schema_extra={"examples": shipped("loopwright.workflows.iqa", "data/workflow.yaml")["answers"]}
    )

    final_answer: NonEmpty
    """An option's letter ("A"), a quality level ("Excellent"), or a sentence."""
    quality_reasoning: NonEmpty
    """Why, from the evidence."""
    need_replan: bool = False
    """Whether the evidence does not suffice and another plan could help."""
    replan_reason: str | None = None
    """What is missing; only with `need_replan`."""
    used_evidence: dict[str, Any] | None = None
    """The items of evidence that the answer rests on."""
    quality_score: float | None = Field(default=None, ge=1, le=5)
    """In scoring mode, the quality from 1 (bad) to 5 (excellent)."""

    @model_validator(mode="after")
    def _reason_for_replan(self) -> Self:
        if self.need_replan and not (self.replan_reason or "").strip():
            logger.warning("need_replan is set without a replan_reason")
            self.replan_reason = NO_REASON
        return self

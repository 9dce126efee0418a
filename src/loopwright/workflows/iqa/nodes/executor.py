"""The executor: measures what the plan asks for. It uses no chat model."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from loopwright.errors import InputError, LoopwrightError
from loopwright.workflows.iqa.answering.sufficiency import REGION_PREFIX
from loopwright.workflows.iqa.answering.verdicts import ABSTAINED, closeness, strength
from loopwright.workflows.iqa.images import LoadedImage, check_pair, load_image
from loopwright.workflows.iqa.measuring.analysis import analyse
from loopwright.workflows.iqa.measuring.detection import Detection, detect
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures, measure, measure_pair
from loopwright.workflows.iqa.schemas import (
    GLOBAL,
    Box,
    DistortionFinding,
    ExecutorOutput,
    PlannerOutput,
    ReferenceMode,
    ToolLog,
)
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.state import AgenticIQAState
from loopwright.workflows.iqa.tools.execution import run_tools
from loopwright.workflows.iqa.tools.registry import Tool, get_tool, select_tools

logger = logging.getLogger("loopwright.iqa")

T = TypeVar("T")


def executor_node(state: AgenticIQAState, services: Services | None = None) -> dict[str, Any]:
    """Carry out the plan: detection, analysis, tool selection, tool execution, each only if the plan says so.

    A subtask that fails leaves a note, and the others still run. Objects cannot be located, for want of a chat model
    that sees the image: without a region, the whole image is measured, and a note says so for each object.

    Args:
        state: Needs ``plan`` and ``image_path``; reads ``reference_path`` and ``region``.
        services: The configuration.

    Returns:
        ``executor_evidence``, and ``error``: None, or why the executor as a whole failed.

    Raises:
        InputError: If an image or the region cannot be used, or the plan wants a reference and there is none.
    """
    services = services or Services()
    plan = state.get("plan")
    if plan is None:
        return _failed("there is no plan; the planner did not run or failed")
    if not any(plan.plan.model_dump().values()):
        return {"executor_evidence": ExecutorOutput(), "error": None}
    try:
        evidence = _Execution(plan, _load(state, plan, services), services).run()
    except InputError:
        raise
    except Exception as error:
        logger.exception("the executor failed")
        return _failed(f"{type(error).__name__}: {error}")
    return {"executor_evidence": evidence, "error": None}


def _failed(message: str) -> dict[str, Any]:
    return {"executor_evidence": ExecutorOutput(error=message), "error": message}


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is measured: the image or a region of it, beside the same part of its reference."""

    scope: str
    image: LoadedImage
    reference: LoadedImage | None
    notes: list[str]


def scope_of(region: Box | None) -> str:
    """The name of the scope that a region gives, as a key of the evidence.

    Args:
        region: Left, top, width, height in pixels, or None for the whole image.

    Returns:
        ``"region 10,20,100,80"`` or ``"Global"``.
    """
    return GLOBAL if region is None else REGION_PREFIX + ",".join(map(str, region))


def _load(state: AgenticIQAState, plan: PlannerOutput, services: Services) -> _Subject:
    max_pixels = services.config.iqa.tools.max_pixels
    image = load_image(state["image_path"], max_pixels=max_pixels)
    notes = [f"The image: {note}" for note in image.notes]
    reference = None
    if plan.reference_mode is ReferenceMode.FULL:
        path = state.get("reference_path")
        if not path:
            raise InputError("the plan compares with a reference image, and there is none; give one or plan without")
        reference = load_image(path, max_pixels=max_pixels)
        notes += [f"The reference: {note}" for note in reference.notes]
        check_pair(image, reference)
    given = state.get("region")
    region: Box | None = None
    if given:
        left, top, width, height = given
        region = (left, top, width, height)
        image = image.crop(region)
        reference = reference.crop(region) if reference else None
    notes += _object_notes(plan, region)
    return _Subject(scope_of(region), image, reference, notes)


def _object_notes(plan: PlannerOutput, region: Box | None) -> list[str]:
    if plan.query_scope == GLOBAL:
        return []
    if region is not None:
        return [f"{name}: taken to be what the {scope_of(region)} shows" for name in plan.query_scope]
    return [f"{name}: could not be located, so the whole image was measured" for name in plan.query_scope]


@dataclass
class _Execution:
    """One pass over the four subtasks."""

    plan: PlannerOutput
    subject: _Subject
    services: Services
    notes: list[str] = field(default_factory=list[str])

    @cached_property
    def features(self) -> ImageFeatures:
        return measure(self.subject.image.rgb)

    @cached_property
    def pair(self) -> PairFeatures | None:
        reference = self.subject.reference
        return None if reference is None else measure_pair(self.subject.image.rgb, reference.rgb)

    @cached_property
    def detection(self) -> Detection:
        return detect(self.features, self.pair)

    def run(self) -> ExecutorOutput:
        """Run the subtasks that the plan wants."""
        scope, flags = self.subject.scope, self.plan.plan
        self.notes.extend(self.subject.notes)
        evidence = ExecutorOutput()
        found = self._attempt("detection", self._detect) if flags.distortion_detection else None
        if found is not None:
            evidence.undecided = [*dict.fromkeys(kind.value for doubt in self.detection.doubts for kind in doubt.kinds)]
        names = self._named() if found is None else list(dict.fromkeys([*self._named(), *found]))
        # Where detection failed, what the plan only names must not pass for what was detected.
        if found is not None or (names and not flags.distortion_detection):
            evidence.distortion_set = {scope: names}
        if flags.distortion_analysis:
            findings = self._attempt("analysis", lambda: self._analyse(names))
            if findings is not None:
                evidence.distortion_analysis = {scope: findings}
                evidence.distortion_set = {scope: self._strongest_first(names, findings)}
        tools = self._attempt("tool selection", lambda: self._select(names)) or []
        evidence.selected_tools = [tool.name for tool in tools]
        if flags.tool_execution:
            evidence.tool_logs = self._attempt("tool execution", lambda: self._execute(tools)) or []
        evidence.quality_scores = {log.tool: log.score for log in evidence.tool_logs if log.score is not None}
        evidence.primary_tool = self._primary(tools, evidence.tool_logs)
        evidence.notes = list(dict.fromkeys(self.notes))
        return evidence

    def _attempt(self, subtask: str, work: Callable[[], T]) -> T | None:
        """Run one subtask; where it fails, note why and let the others go on."""
        try:
            return work()
        except Exception as error:
            expected = isinstance(error, LoopwrightError)
            logger.warning("the executor's %s failed: %s", subtask, error, exc_info=not expected)
            self.notes.append(f"The {subtask} failed: {type(error).__name__}: {error}")
            return None

    def _named(self) -> list[str]:
        """The distortions that the plan names, for whichever object: all are looked for in the one scope there is."""
        return list(dict.fromkeys(name for names in (self.plan.distortions or {}).values() for name in names))

    def _detect(self) -> list[str]:
        if self.detection.abstained:
            self.notes.append(f"{ABSTAINED}{self.detection.abstained}")
        else:
            self.notes.extend(f"Not measured: {doubt.why}" for doubt in self.detection.doubts)
        return [finding.type for finding in self.detection.findings]

    def _analyse(self, names: list[str]) -> list[DistortionFinding]:
        findings, notes = analyse(names, self.detection, self.features, self.pair)
        self.notes.extend(notes)
        if self.detection.abstained:
            self.notes.append(f"{ABSTAINED}{self.detection.abstained}")
        return findings

    @staticmethod
    def _strongest_first(names: list[str], findings: list[DistortionFinding]) -> list[str]:
        """The names in the order of the findings that speak about them."""

        def rank(name: str) -> float:
            return max((closeness(name, item.type) * strength(item) for item in findings), default=0.0)

        return sorted(names, key=rank, reverse=True)

    def _select(self, names: list[str]) -> list[Tool]:
        """The required tools; beside them, where selection is on, those that suit, the primary one first."""
        required = [get_tool(name) for name in self.plan.required_tools or []]
        if not self.plan.plan.tool_selection:
            return list({tool.name: tool for tool in required}.values())
        settings, image = self.services.config.iqa.tools, self.subject.image
        chosen = select_tools(
            names,
            self.plan.reference_mode,
            budget_ms=settings.budget_ms,
            limit=settings.limit,
            pixels=image.width * image.height,
        )
        room = [tool for tool in chosen if tool not in required][: max(0, settings.limit - len(required))]
        return list({tool.name: tool for tool in [*required, *room]}.values())

    def _execute(self, tools: list[Tool]) -> list[ToolLog]:
        subject = self.subject
        if not tools:
            self.notes.append("No quality tool ran: none is named and none was chosen")
        return run_tools(
            tools,
            subject.image,
            subject.reference,
            region=subject.scope,
            timeout_s=self.services.config.iqa.tools.timeout,
        )

    def _primary(self, tools: list[Tool], logs: list[ToolLog]) -> str | None:
        """The tool whose score is the answer: the first required or primary one, or what stands in for it."""
        if not tools:
            return None
        first = tools[0] if self.plan.required_tools else next((tool for tool in tools if tool.primary), tools[0])
        scored = [log for log in logs if log.score is not None]
        order = sorted(scored, key=lambda log: (log.tool != first.name, log.fallback_for != first.name))
        if order and order[0].tool != first.name:
            self.notes.append(f"{first.name} gave no score, so {order[0].tool}'s is the answer")
        return order[0].tool if order else first.name

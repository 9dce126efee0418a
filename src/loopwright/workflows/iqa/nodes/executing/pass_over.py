"""The four subtasks on one part of the image: detection, analysis, tool selection, tool execution."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeVar

from langgraph.errors import GraphBubbleUp

from loopwright.errors import LoopwrightError
from loopwright.workflows.iqa.answer.soft_parts import soft_note
from loopwright.workflows.iqa.answer.verdicts import ABSTAINED
from loopwright.workflows.iqa.distortions import Distortion, Severity, kind_of
from loopwright.workflows.iqa.measuring.analysis import analyse
from loopwright.workflows.iqa.measuring.detection import Detection
from loopwright.workflows.iqa.measuring.detection_parts import detect_in_parts
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures, measure, measure_pair
from loopwright.workflows.iqa.measuring.likeness import closeness, strength
from loopwright.workflows.iqa.measuring.softness import soft_part
from loopwright.workflows.iqa.nodes.executing.opinions import settle
from loopwright.workflows.iqa.nodes.executing.subjects import Subject
from loopwright.workflows.iqa.schemas import GLOBAL, DistortionFinding, ExecutorOutput, PlannerOutput, ToolLog
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.tools.deep.finding import unscored
from loopwright.workflows.iqa.tools.execution import run_tools
from loopwright.workflows.iqa.tools.registry import Tool, get_tool, select_tools
from loopwright.workflows.iqa.vision.votes import Suspicion, suspect

logger = logging.getLogger("loopwright.iqa")

T = TypeVar("T")


@dataclass
class Pass:
    """One pass over the four subtasks; one that fails leaves a note, and the others still run."""

    plan: PlannerOutput
    """What is to be done."""
    subject: Subject
    """On what."""
    services: Services
    """The configuration and the chat model."""
    notes: list[str] = field(default_factory=list[str])
    """What the reader must know."""

    @cached_property
    def features(self) -> ImageFeatures:
        """What the part shows by itself."""
        return measure(self.subject.image.rgb)

    @cached_property
    def pair(self) -> PairFeatures | None:
        """What its comparison with the reference shows, if there is one."""
        reference = self.subject.reference
        return None if reference is None else measure_pair(self.subject.image.rgb, reference.rgb)

    @cached_property
    def detection(self) -> Detection:
        """What was measured, and what a chat model's opinion settled where detection is wanted."""
        image, reference = self.subject.image, self.subject.reference
        measured = detect_in_parts(image.rgb, None if reference is None else reference.rgb, self.features, self.pair)
        opinion = self._opinion() if self.plan.plan.distortion_detection else []
        settled, notes = settle(measured, opinion, self.features, self.pair)
        self.notes.extend(notes)
        return settled

    def run(self) -> ExecutorOutput:
        """Run the subtasks that the plan wants."""
        scope, flags = self.subject.scope, self.plan.plan
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
        except GraphBubbleUp:  # a spent budget or an interrupt concerns the whole run
            raise
        except Exception as error:
            expected = isinstance(error, LoopwrightError)
            logger.warning("the executor's %s failed: %s", subtask, error, exc_info=not expected)
            self.notes.append(f"The {subtask} failed: {type(error).__name__}: {error}")
            return None

    def _opinion(self) -> list[Suspicion]:
        """What the chat model believes to see; nothing without one, and nothing but a note if it fails."""
        chat = self.services.chat("executor")
        if chat is None:
            return []
        image, repairs, usage = self.subject.image, self.services.config.iqa.repairs, self.services.usage
        look = partial(suspect, chat, image, repairs=repairs, usage=usage)
        return self._attempt("chat model's look at the distortions", look) or []

    def _named(self) -> list[str]:
        """The distortions that the plan names for this scope; for another one, if it names none for this."""
        named = self.plan.distortions or {}
        own = [name for scope, names in named.items() if scope in (self.subject.scope, GLOBAL) for name in names]
        return list(dict.fromkeys(own or [name for names in named.values() for name in names]))

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
        self._note_softness(findings)
        return findings

    def _note_softness(self, findings: list[DistortionFinding]) -> None:
        """Where an image that is not blurred as a whole is soft; beside a reference, the comparison shows it."""
        sharpness = (Distortion.BLURS, Distortion.SHARPNESS)
        asked = self.plan.plan.distortion_detection or any(kind_of(name) in sharpness for name in self._named())
        blurred = any(
            kind_of(item.type) is Distortion.BLURS and item.severity is not Severity.NONE for item in findings
        )
        if self.pair is None and asked and not blurred:
            part = soft_part(self.subject.image.rgb, self.features)
            self.notes.extend([] if part is None else [soft_note(part)])

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
        logs = run_tools(
            tools,
            subject.image,
            subject.reference,
            region=subject.scope,
            timeout_s=self.services.config.iqa.tools.timeout,
        )
        self.notes.extend(unscored(log.tool, log.raw) for log in logs if log.score is None and log.raw is not None)
        return logs

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

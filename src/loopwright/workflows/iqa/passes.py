"""One pass of the executor over a part of an image, with a reference or without."""

import dataclasses
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from loopwright.errors import LoopwrightError
from loopwright.workflows.iqa.answer.facts import ABSTAINED, soft_note
from loopwright.workflows.iqa.config import ToolsSection
from loopwright.workflows.iqa.distortions import Distortion, Severity, kind_of
from loopwright.workflows.iqa.measuring.detection import Detection, analyse, of_a_part
from loopwright.workflows.iqa.measuring.detection_blind import SIGNS, Doubt
from loopwright.workflows.iqa.measuring.detection_paired import misplaced
from loopwright.workflows.iqa.measuring.detection_parts import detect_in_parts
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures, measure, measure_pair
from loopwright.workflows.iqa.measuring.severity import closeness, strength
from loopwright.workflows.iqa.measuring.softness import Softness, soft_part, softened
from loopwright.workflows.iqa.schemas import GLOBAL, Box, DistortionFinding, ExecutorOutput, PlannerOutput, ToolLog
from loopwright.workflows.iqa.sources.file_facts import coded_tightly, coder_quality
from loopwright.workflows.iqa.sources.images import LoadedImage
from loopwright.workflows.iqa.sources.pixels import LAID_ON_WHITE
from loopwright.workflows.iqa.tools.execution import run_tools
from loopwright.workflows.iqa.tools.registry import Tool, get_tool, select_tools

logger = logging.getLogger("loopwright.iqa")

T = TypeVar("T")
F = TypeVar("F", ImageFeatures, PairFeatures)


@dataclass
class Pass:
    """One pass over the four subtasks on one part of the image; one that fails leaves a note, and the others go on."""

    plan: PlannerOutput
    """What is to be done."""
    config: ToolsSection
    """What the tools are told."""
    image: LoadedImage
    """The part."""
    reference: LoadedImage | None
    """The same part of the reference, if there is one."""
    scope: str = GLOBAL
    """The part's name, as a key of the evidence."""
    box: Box | None = None
    """Where it lies in the image; None for all of it."""
    evidence: ExecutorOutput = field(default_factory=ExecutorOutput)
    """What is known so far."""

    @cached_property
    def features(self) -> ImageFeatures:
        """What the part shows by itself."""
        return self._as_coded(measure(self.image.rgb), SIGNS.visible_quality)

    @cached_property
    def pair(self) -> PairFeatures | None:
        """What its comparison with the reference shows, if there is one that lies on it."""
        found = self.reference and self._as_coded(measure_pair(self.image.rgb, self.reference.rgb), 95)
        self.evidence.apart = found and misplaced(found)
        return None if self.evidence.apart else found

    def _as_coded(self, found: F, most: float) -> F:
        """With the setting of a JPEG file, which clipping or smooth content may hide in the pixels, if it is low."""
        setting = coder_quality(self.image.path)
        if setting is None or setting >= min(most, found.jpeg_quality):
            return found
        return dataclasses.replace(found, jpeg_quality=float(setting), jpeg_evidence=1.0)

    @cached_property
    def detection(self) -> Detection:
        """Which distortions it has."""
        pristine = self.reference.rgb if self.reference is not None and self.pair is not None else None
        found = detect_in_parts(self.image.rgb, pristine, self.features, self.pair)
        self.evidence.otherwise = found.otherwise
        if self.box is not None and pristine is None:
            found = of_a_part(found)
        if self.pair is None and self.softness is not None and not found.softened:
            soft = softened(self.features, self.softness)
            found = found if soft is None else dataclasses.replace(found, findings=[*found.findings, soft])
        coded = any(kind_of(finding.type) is Distortion.COMPRESSION for finding in found.findings)
        why = "" if coded or self.reference is not None else coded_tightly(self.image.path)
        doubts = [Doubt((Distortion.COMPRESSION,), why)] if why else []
        if self.pair is None and any(LAID_ON_WHITE in note for note in self.image.notes):
            # White paper under a thing that was cut out is no light.
            over = "overexposure"
            found = dataclasses.replace(found, findings=[item for item in found.findings if item.type != over])
            doubts.append(Doubt((over,), "the white that was laid under transparent parts may hide overexposure"))
        return dataclasses.replace(found, doubts=[*found.doubts, *doubts])

    @cached_property
    def softness(self) -> Softness | None:
        """Where an image that is not blurred as a whole is soft."""
        return soft_part(self.image.rgb, self.features)

    def run(self) -> ExecutorOutput:
        """Run the subtasks that the plan wants."""
        scope, flags, evidence = self.scope, self.plan.plan, self.evidence
        evidence.regions = {} if self.box is None else {scope: self.box}
        if self.reference is not None:
            evidence.identical = np.array_equal(self.image.rgb, self.reference.rgb)
        found = self._attempt("detection", self._detect) if flags.distortion_detection else None
        if found is not None:
            open_ = (name for doubt in self.detection.doubts for name in doubt.about)
            evidence.undecided = [*dict.fromkeys(kind_of(name).value for name in open_)]
        names = self._named() if found is None else list(dict.fromkeys([*self._named(), *found]))
        # Where detection failed, what the plan only names must not pass for what was detected.
        if found is not None or (names and not flags.distortion_detection):
            evidence.distortion_set = {scope: names}
        if flags.distortion_analysis:
            findings = self._attempt("analysis", lambda: self._analyse(names))
            if findings is not None:
                evidence.distortion_analysis = {scope: findings}

                def near(name: str) -> float:
                    return max((closeness(name, each.type) * strength(each) for each in findings), default=0)

                evidence.distortion_set = {scope: sorted(names, key=near, reverse=True)}
        tools = self._attempt("tool selection", lambda: self._select(names)) or []
        evidence.selected_tools = [tool.name for tool in tools]
        if flags.tool_execution:
            evidence.tool_logs = self._attempt("tool execution", lambda: self._execute(tools)) or []
        evidence.quality_scores = {log.tool: log.score for log in evidence.tool_logs if log.score is not None}
        evidence.primary_tool = self._primary(tools, evidence.tool_logs)
        said = (each[:1].upper() + each[1:] for each in (evidence.apart, evidence.otherwise) if each)
        evidence.notes = list(dict.fromkeys([*evidence.notes, *said]))
        return evidence

    def _attempt(self, subtask: str, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except Exception as error:
            from langgraph.errors import GraphBubbleUp  # a comparison of two images does without LangGraph

            if isinstance(error, GraphBubbleUp):  # a spent budget or an interrupt concerns the whole run
                raise
            expected = isinstance(error, LoopwrightError)
            logger.warning("the executor's %s failed: %s", subtask, error, exc_info=not expected)
            self.evidence.notes.append(f"The {subtask} failed: {type(error).__name__}: {error}")
            return None

    def _named(self) -> list[str]:
        """The distortions that the plan names for this scope; for another one, if it names none for this."""
        named = self.plan.distortions or {}
        own = [name for scope, names in named.items() if scope in (self.scope, GLOBAL) for name in names]
        return list(dict.fromkeys(own or [name for names in named.values() for name in names]))

    def _detect(self) -> list[str]:
        if self.detection.abstained:
            self.evidence.notes.append(f"{ABSTAINED}{self.detection.abstained}")
        else:
            self.evidence.notes.extend(f"Not measured: {doubt.why}" for doubt in self.detection.doubts)
        return [finding.type for finding in self.detection.findings]

    def _analyse(self, names: list[str]) -> list[DistortionFinding]:
        findings, notes = analyse(names, self.detection, self.features, self.pair)
        self.evidence.notes.extend(notes)
        if self.detection.abstained:
            self.evidence.notes.append(f"{ABSTAINED}{self.detection.abstained}")
        sharpness = (Distortion.BLURS, Distortion.SHARPNESS)
        asked = self.plan.plan.distortion_detection or any(kind_of(name) in sharpness for name in self._named())
        present = [item.type for item in findings if item.severity is not Severity.NONE]
        blurred = any(kind_of(name) is Distortion.BLURS for name in present)
        # Where an image that is not blurred as a whole is soft; beside a reference, the comparison shows it.
        if self.pair is None and asked and not blurred and self.softness is not None:
            self.evidence.notes.append(soft_note(self.softness))
        return findings

    def _select(self, names: list[str]) -> list[Tool]:
        """The required tools; beside them, where selection is on, those that suit, the primary one first."""
        tools = [get_tool(name) for name in self.plan.required_tools or []]
        if self.plan.plan.tool_selection:
            limit = self.config.limit
            chosen = select_tools(names, self.plan.reference_mode, limit=limit)
            tools += [tool for tool in chosen if tool not in tools][: max(0, limit - len(tools))]
        return list(dict.fromkeys(tools))

    def _execute(self, tools: list[Tool]) -> list[ToolLog]:
        if not tools:
            self.evidence.notes.append("No quality tool ran: none is named and none was chosen")
        return run_tools(tools, self.image, self.reference, region=self.scope, timeout_s=self.config.timeout)

    def _primary(self, tools: list[Tool], logs: list[ToolLog]) -> str | None:
        """The tool whose score is the answer: the first required or primary one, or what stands in for it."""
        if not tools:
            return None
        first = tools[0] if self.plan.required_tools else next((tool for tool in tools if tool.primary), tools[0])
        scored = [log for log in logs if log.score is not None]
        order = sorted(scored, key=lambda log: (log.tool != first.name, log.fallback_for != first.name))
        if order and order[0].tool != first.name:
            self.evidence.notes.append(f"{first.name} gave no score, so {order[0].tool}'s is the answer")
        return order[0].tool if order else first.name

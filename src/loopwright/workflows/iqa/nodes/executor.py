"""The executor: measures what the plan asks for, on each part of the image that the question is about.

It needs no chat model. With one that sees the image, named objects are located.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from langgraph.errors import GraphBubbleUp

from loopwright.errors import InputError, LoopwrightError
from loopwright.workflows.iqa.answer.parts import in_scope, soft_note
from loopwright.workflows.iqa.answer.verdicts import ABSTAINED
from loopwright.workflows.iqa.distortions import Distortion, Severity, kind_of
from loopwright.workflows.iqa.measuring.detection import Detection, analyse, of_a_part
from loopwright.workflows.iqa.measuring.detection_parts import detect_in_parts
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures, measure, measure_pair
from loopwright.workflows.iqa.measuring.severity import closeness, strength
from loopwright.workflows.iqa.measuring.softness import Softness, soft_part, softened
from loopwright.workflows.iqa.question.places import REGION_PREFIX, box_of
from loopwright.workflows.iqa.question.reading import MAX_SCOPES, read_query
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
from loopwright.workflows.iqa.sources.file_facts import file_facts
from loopwright.workflows.iqa.sources.images import LoadedImage, check_pair, load_image
from loopwright.workflows.iqa.state import AgenticIQAState
from loopwright.workflows.iqa.tools.execution import run_tools
from loopwright.workflows.iqa.tools.registry import Tool, get_tool, select_tools
from loopwright.workflows.iqa.vision.locating import locate

logger = logging.getLogger("loopwright.iqa")

T = TypeVar("T")


def executor_node(state: AgenticIQAState, services: Services | None = None) -> dict[str, Any]:
    """Carry out the plan: detection, analysis, tool selection, tool execution, each only if the plan says so.

    A subtask that fails leaves a note, and the others still run. Each position or located object that the plan asks
    about is measured for itself; where an object cannot be located, the whole image is measured, and a note says so.

    Args:
        state: Needs ``plan`` and ``image_path``; reads ``reference_path`` and ``region``.
        services: The configuration, and the chat model of the executor, if any.

    Returns:
        ``executor_evidence``, and ``error``: None, or why the executor as a whole failed.

    Raises:
        InputError: If an image or the region cannot be used, or the plan wants a reference and there is none.
    """
    services = services or Services()
    plan = state.get("plan")
    if plan is None:
        return _failed("there is no plan; the planner did not run or failed")
    wanted = read_query(state["query"]).attributes if state.get("query") else ()
    measures = any(plan.plan.model_dump().values())
    if not measures and not wanted:
        return {"executor_evidence": ExecutorOutput(), "error": None}
    try:
        image = load_image(state["image_path"], max_pixels=services.config.iqa.tools.max_pixels)
        evidence = _measured(state, plan, image, services) if measures else ExecutorOutput()
        evidence.file = file_facts(image) if wanted else None
    except (InputError, GraphBubbleUp):  # the latter concerns the whole run, as a spent budget does
        raise
    except Exception as error:
        logger.exception("the executor failed")
        return _failed(f"{type(error).__name__}: {error}")
    return {"executor_evidence": evidence, "error": None}


def _failed(message: str) -> dict[str, Any]:
    return {"executor_evidence": ExecutorOutput(error=message), "error": message}


def _measured(state: AgenticIQAState, plan: PlannerOutput, image: LoadedImage, services: Services) -> ExecutorOutput:
    """The evidence on all scopes; the scores are those of the first one that was asked about."""
    passes, notes = _parts_of(state, plan, image, services)
    found = {each.scope: each.run() for each in passes}
    first, *others = parts = [*found.values()]
    own = [in_scope(note, scope) if others else note for scope, part in found.items() for note in part.notes]
    return first.model_copy(
        update={
            "distortion_set": {scope: names for part in parts for scope, names in part.distortion_set.items()},
            "distortion_analysis": {scope: each for part in parts for scope, each in part.distortion_analysis.items()},
            "selected_tools": list(dict.fromkeys(tool for part in parts for tool in part.selected_tools)),
            "tool_logs": [log for part in parts for log in part.tool_logs],
            "undecided": list(dict.fromkeys(kind for part in parts for kind in part.undecided)),
            "regions": {scope: box for part in parts for scope, box in part.regions.items()},
            "identical": None if first.identical is None else all(part.identical for part in parts),
            "notes": list(dict.fromkeys([*notes, *own])),
            "parts": found if others else {},
        }
    )


def scope_of(region: Box | None) -> str:
    """The name of the scope that a region gives, as a key of the evidence.

    Returns:
        ``"region 10,20,100,80"`` or ``"Global"``.
    """
    return GLOBAL if region is None else REGION_PREFIX + ",".join(map(str, region))


def _parts_of(
    state: AgenticIQAState, plan: PlannerOutput, image: LoadedImage, services: Services
) -> tuple[list[Pass], list[str]]:
    """Find what the plan asks about.

    A region in the state is all that is measured. Else each name of the plan's scope is a position in words or numbers,
    or an object that the executor's chat model is asked to locate. Where that fails, the whole image stands in.

    Returns:
        A pass over each part, at least one, the first that was asked about first; and what was done to the files, where
        objects were found, and which were not.
    """
    notes = [f"The image: {note}" for note in image.notes]
    reference = None
    if plan.reference_mode is ReferenceMode.FULL:
        path = state.get("reference_path")
        if not path:
            raise InputError("the plan compares with a reference image, and there is none; give one or plan without")
        reference = load_image(path, max_pixels=services.config.iqa.tools.max_pixels)
        notes += [f"The reference: {note}" for note in reference.notes]
        check_pair(image, reference)
    names = [] if isinstance(plan.query_scope, str) else list(dict.fromkeys(plan.query_scope))[:MAX_SCOPES]
    region = state.get("region")
    if region:
        left, top, width, height = region
        box = _inside((left, top, width, height), image, notes)
        notes += [f"{name}: taken to be what the {scope_of(box)} shows" for name in names]
        boxes: dict[str, Box | None] = {scope_of(box): box}
    elif names:
        boxes = _places(names, image, services, notes)
    else:
        boxes = {GLOBAL: None}
    passes: list[Pass] = []
    for scope, box in boxes.items():
        part, same = (image, reference) if box is None else (image.crop(box), reference and reference.crop(box))
        passes.append(Pass(plan, services, part, same, scope, box))
    return passes, notes


def _inside(box: Box, image: LoadedImage, notes: list[str]) -> Box:
    """The part of a box that lies in the image, with a note if that is not all of it."""
    inside = image.inside(box)
    if inside != box:
        notes.append(
            f"The {scope_of(box)} leaves the image of {image.width} x {image.height} pixels; "
            f"{scope_of(inside)} of it was measured"
        )
    return inside


def _places(names: Sequence[str], image: LoadedImage, services: Services, notes: list[str]) -> dict[str, Box | None]:
    """Scope -> its box, in the order in which they were asked about; objects without a place share the whole image."""
    given = {name: box_of(name, image.width, image.height) for name in names}
    boxes = {name: _inside(box, image, notes) for name, box in given.items() if box is not None}
    objects = [name for name in names if name not in boxes]
    located = _located(objects, image, services, notes) if objects else {}
    found: dict[str, Box | None] = {}
    for name in names:
        box = boxes.get(name) or located.get(name)
        if box is None:
            notes.append(f"{name}: could not be located, so the whole image was measured")
            found.setdefault(GLOBAL, None)
            continue
        if not name.startswith(REGION_PREFIX):
            by_whom = "located by the chat model at" if name in located else "measured at"
            notes.append(f"{name}: {by_whom} {','.join(map(str, box))} (left, top, width, height)")
        found[name] = box
    return found


def _located(objects: Sequence[str], image: LoadedImage, services: Services, notes: list[str]) -> dict[str, Box]:
    """Where the chat model sees objects; nothing without one, and nothing but a note if it fails."""
    chat = services.chat("executor")
    if chat is None:
        return {}
    try:
        return locate(chat, image, objects, repairs=services.config.iqa.repairs, usage=services.usage)
    except GraphBubbleUp:  # a spent budget or an interrupt concerns the whole run
        raise
    except Exception as error:
        logger.warning("the chat model could not locate %s: %s", ", ".join(objects), error)
        notes.append(f"The chat model was asked for {', '.join(objects)} and failed: {type(error).__name__}: {error}")
        return {}


@dataclass
class Pass:
    """One pass over the four subtasks on one part of the image; one that fails leaves a note, and the others go on."""

    plan: PlannerOutput
    """What is to be done."""
    services: Services
    """The configuration."""
    image: LoadedImage
    """The part."""
    reference: LoadedImage | None
    """The same part of the reference, if there is one."""
    scope: str = GLOBAL
    """The part's name, as a key of the evidence."""
    box: Box | None = None
    """Where it lies in the image; None for all of it."""
    notes: list[str] = field(default_factory=list[str])
    """What the reader must know."""

    @cached_property
    def features(self) -> ImageFeatures:
        """What the part shows by itself."""
        return measure(self.image.rgb)

    @cached_property
    def pair(self) -> PairFeatures | None:
        """What its comparison with the reference shows, if there is one."""
        return None if self.reference is None else measure_pair(self.image.rgb, self.reference.rgb)

    @cached_property
    def detection(self) -> Detection:
        """Which distortions it has."""
        pristine = None if self.reference is None else self.reference.rgb
        found = detect_in_parts(self.image.rgb, pristine, self.features, self.pair)
        if self.box is not None and pristine is None:
            found = of_a_part(found)
        if self.pair is None and self.softness is not None and not found.softened:
            soft = softened(self.features, self.softness)
            return found if soft is None else dataclasses.replace(found, findings=[*found.findings, soft])
        return found

    @cached_property
    def softness(self) -> Softness | None:
        """Where an image that is not blurred as a whole is soft."""
        return soft_part(self.image.rgb, self.features)

    def run(self) -> ExecutorOutput:
        """Run the subtasks that the plan wants."""
        scope, flags = self.scope, self.plan.plan
        evidence = ExecutorOutput(regions={} if self.box is None else {scope: self.box})
        if self.reference is not None:
            evidence.identical = np.array_equal(self.image.rgb, self.reference.rgb)
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
                near = {
                    name: max((closeness(name, each.type) * strength(each) for each in findings), default=0)
                    for name in names
                }
                evidence.distortion_set = {scope: sorted(names, key=lambda name: -near[name])}
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

    def _named(self) -> list[str]:
        """The distortions that the plan names for this scope; for another one, if it names none for this."""
        named = self.plan.distortions or {}
        own = [name for scope, names in named.items() if scope in (self.scope, GLOBAL) for name in names]
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
            self.notes.extend([] if self.softness is None else [soft_note(self.softness)])

    def _select(self, names: list[str]) -> list[Tool]:
        """The required tools; beside them, where selection is on, those that suit, the primary one first."""
        required = [get_tool(name) for name in self.plan.required_tools or []]
        if not self.plan.plan.tool_selection:
            return list({tool.name: tool for tool in required}.values())
        limit = self.services.config.iqa.tools.limit
        chosen = select_tools(names, self.plan.reference_mode, limit=limit)
        room = [tool for tool in chosen if tool not in required][: max(0, limit - len(required))]
        return list({tool.name: tool for tool in [*required, *room]}.values())

    def _execute(self, tools: list[Tool]) -> list[ToolLog]:
        if not tools:
            self.notes.append("No quality tool ran: none is named and none was chosen")
        timeout = self.services.config.iqa.tools.timeout
        return run_tools(tools, self.image, self.reference, region=self.scope, timeout_s=timeout)

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

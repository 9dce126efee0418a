"""The executor: measures what the plan asks for, on each part of the image that the question is about.

It needs no chat model. With one that sees the image, named objects are located.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from langgraph.errors import GraphBubbleUp

from loopwright.errors import InputError
from loopwright.workflows.iqa.answer.parts import in_scope
from loopwright.workflows.iqa.nodes.executing.pass_over import Pass, Subject, load_subjects, scope_of
from loopwright.workflows.iqa.question.reading import read_query
from loopwright.workflows.iqa.schemas import ExecutorOutput
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.sources.file_facts import file_facts
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.state import AgenticIQAState

__all__ = ["executor_node", "scope_of"]

logger = logging.getLogger("loopwright.iqa")


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
        if not measures:
            image = load_image(state["image_path"], max_pixels=services.config.iqa.tools.max_pixels)
            return {"executor_evidence": ExecutorOutput(file=file_facts(image)), "error": None}
        subjects = load_subjects(state, plan, services)
        several = len(subjects.parts) > 1
        found: list[ExecutorOutput] = []
        for subject in subjects.parts:
            part = Pass(plan, subject, services).run()
            part.regions = {} if subject.box is None else {subject.scope: subject.box}
            if several:
                part.notes = [in_scope(note, subject.scope) for note in part.notes]
            found.append(part)
        evidence = _together(found, subjects.notes)
        evidence.identical = _identical(subjects.parts)
        evidence.file = file_facts(subjects.image) if wanted else None
    except (InputError, GraphBubbleUp):  # the latter concerns the whole run, as a spent budget does
        raise
    except Exception as error:
        logger.exception("the executor failed")
        return _failed(f"{type(error).__name__}: {error}")
    return {"executor_evidence": evidence, "error": None}


def _identical(parts: list[Subject]) -> bool | None:
    """Whether every pixel is that of the reference; None without one."""
    pairs = [(part.image.rgb, part.reference.rgb) for part in parts if part.reference is not None]
    return all(np.array_equal(image, reference) for image, reference in pairs) if pairs else None


def _failed(message: str) -> dict[str, Any]:
    return {"executor_evidence": ExecutorOutput(error=message), "error": message}


def _together(found: list[ExecutorOutput], notes: list[str]) -> ExecutorOutput:
    """The evidence on all parts; the scores are those of the first one that was asked about."""
    first = found[0]
    return first.model_copy(
        update={
            "distortion_set": {scope: names for part in found for scope, names in part.distortion_set.items()},
            "distortion_analysis": {scope: each for part in found for scope, each in part.distortion_analysis.items()},
            "selected_tools": list(dict.fromkeys(tool for part in found for tool in part.selected_tools)),
            "tool_logs": [log for part in found for log in part.tool_logs],
            "undecided": list(dict.fromkeys(kind for part in found for kind in part.undecided)),
            "regions": {scope: box for part in found for scope, box in part.regions.items()},
            "notes": list(dict.fromkeys([*notes, *(note for part in found for note in part.notes)])),
        }
    )

"""The executor: measures what the plan asks for, on each part of the image that the question is about.

It needs no chat model. With one that sees the image, named objects are located.
"""

import logging
from collections.abc import Sequence
from typing import Any

from langgraph.errors import GraphBubbleUp

from loopwright.errors import InputError
from loopwright.workflows.iqa.answer.facts import scope_words
from loopwright.workflows.iqa.passes import Pass
from loopwright.workflows.iqa.question.places import REGION_PREFIX, box_of
from loopwright.workflows.iqa.question.reading import MAX_SCOPES, read_query
from loopwright.workflows.iqa.schemas import GLOBAL, Box, ExecutorOutput, PlannerOutput, ReferenceMode
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.sources.file_facts import file_facts
from loopwright.workflows.iqa.sources.images import LoadedImage, check_pair, load_image
from loopwright.workflows.iqa.state import AgenticIQAState
from loopwright.workflows.iqa.vision import locate

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
    asked = read_query(state["query"]).questions if state.get("query") else ()
    wanted = any(question.attributes for question in asked)
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
    notes_of = [(scope_words(scope), note) for scope, part in found.items() for note in part.notes]
    own = [f"{note.rstrip('.')} ({place})" if others else note for place, note in notes_of]
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


def scope_of(region: Box) -> str:
    """The name of the scope that a region gives, as a key of the evidence: ``"region 10,20,100,80"``."""
    return REGION_PREFIX + ",".join(map(str, region))


def _parts_of(
    state: AgenticIQAState, plan: PlannerOutput, image: LoadedImage, services: Services
) -> tuple[list[Pass], list[str]]:
    """A pass over each part that the plan asks about, at least one; and what was done to the files or not found.

    A region in the state is all that is measured. Else each name of the plan's scope is a position in words or numbers,
    or an object that the executor's chat model is asked to locate. Where that fails, the whole image stands in.
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
        passes.append(Pass(plan, services.config.iqa.tools, part, same, scope, box))
    return passes, notes


def _inside(box: Box, image: LoadedImage, notes: list[str]) -> Box:
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
        return locate(chat, image, objects, repairs=services.config.iqa.repairs)
    except GraphBubbleUp:  # a spent budget or an interrupt concerns the whole run
        raise
    except Exception as error:
        logger.warning("the chat model could not locate %s: %s", ", ".join(objects), error)
        notes.append(f"The chat model was asked for {', '.join(objects)} and failed: {type(error).__name__}: {error}")
        return {}

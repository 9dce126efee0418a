"""Questions about single stages: which plan a query needs, and which answer follows from evidence."""

from __future__ import annotations

import random
from collections.abc import Callable

from distort import LEVELS

from iqa_mcq.forms import PLANNER, SUMMARIZER, Question, question
from iqa_mcq.plans import NO_WORK
from loopwright.workflows.iqa.answer.facts import ABSTAINED, LEVEL_NAMES
from loopwright.workflows.iqa.distortions import Severity, in_words
from loopwright.workflows.iqa.schemas import (
    GLOBAL,
    AnswerMode,
    DistortionFinding,
    ExecutorOutput,
    PlannerOutput,
    ReferenceMode,
    ToolLog,
)
from loopwright.workflows.iqa.tools.registry import all_tools

_OBJECTS = ("car", "face", "sky", "building", "dog", "flower")
_ASKED_ABOUT = {"blur": "blur only", "noise": "noise only", "JPEG compression": "JPEG compression only"}
_WHOLE, _EVERYTHING, _SUITING = "the whole image", "every distortion that there may be", "choose the tools that suit"
_FORMS = ("a quality score", "one of the listed options", "an explanation in words", NO_WORK)
_SENSES = ("compare the image with its reference", "judge the image alone", NO_WORK)


def _form(chance: random.Random, _referenced: bool) -> tuple[str, str, str, tuple[str, ...]]:
    asked, right = chance.choice((
        ("Rate the quality of this image from 1 to 5.", 0),
        ("What score would you give this photo's quality?", 0),
        ("Is this photo A. sharp B. blurry C. noisy?", 1),
        ("Which is the worst fault? A) noise B) banding C) blur", 1),
        ("Why does this photo look so bad?", 2),
        ("Describe what is wrong with this picture.", 2),
        ("What is the capital of France?", 3),
        ("Write a poem about autumn.", 3),
    ))  # fmt: skip
    return asked, "What should the answer to this question be?", _FORMS[right], _FORMS


def _scope(chance: random.Random, _referenced: bool) -> tuple[str, str, str, tuple[str, ...]]:
    thing = chance.choice(_OBJECTS)
    asked, right = chance.choice((
        (f"Is the {thing} sharp?", thing),
        (f"How noisy is the {thing}?", thing),
        ("How good is this image overall?", _WHOLE),
        ("Is this photo blurry?", _WHOLE),
    ))  # fmt: skip
    return asked, "Which part of the image should be judged for this question?", right, (*_OBJECTS, _WHOLE)


def _distortions(chance: random.Random, _referenced: bool) -> tuple[str, str, str, tuple[str, ...]]:
    words = chance.choice(list(_ASKED_ABOUT))
    asked, right = chance.choice((
        (f"How severe is the {words} in this image?", _ASKED_ABOUT[words]),
        (f"Does this picture show {words}?", _ASKED_ABOUT[words]),
        ("What is wrong with this picture?", _EVERYTHING),
        ("Which distortions does this image have?", _EVERYTHING),
    ))  # fmt: skip
    return asked, "What should be looked for to answer this question?", right, (*_ASKED_ABOUT.values(), _EVERYTHING)


def _reference(chance: random.Random, referenced: bool) -> tuple[str, str, str, tuple[str, ...]]:
    asked = chance.choice(("How good is this image?", "Which distortions does this image have?", "Tell me a joke."))
    right = _SENSES[2] if "joke" in asked else _SENSES[0 if referenced else 1]
    there = "A reference image is given." if referenced else "No reference image is given."
    return asked, f"{there} How should this question be worked on?", right, _SENSES


def _tools(chance: random.Random, referenced: bool) -> tuple[str, str, str, tuple[str, ...]]:
    able = [tool.name for tool in all_tools() if (tool.reference is ReferenceMode.FULL) is referenced]
    tool = chance.choice(able)
    asked, right = chance.choice((
        (f"What is the {tool} of this image?", f"run {tool}"),
        (f"Rate the quality with {tool}.", f"run {tool}"),
        ("Rate the quality of this image.", _SUITING),
    ))  # fmt: skip
    return asked, "Which tools does this question need?", right, (*(f"run {name}" for name in able), _SUITING)


_ASPECTS: dict[str, Callable[[random.Random, bool], tuple[str, str, str, tuple[str, ...]]]] = {
    "form": _form,
    "scope": _scope,
    "distortions": _distortions,
    "reference": _reference,
    "tools": _tools,
}


def planner_question(number: int, chance: random.Random, *, referenced: bool) -> Question:
    """Which plan a user's question needs, in one respect.

    Args:
        number: Goes round through the respects.
        chance: Chooses the question and its options.
        referenced: Whether there is a reference.
    """
    aspect = list(_ASPECTS)[number % len(_ASPECTS)]
    asked, stem, right, known = _ASPECTS[aspect](chance, referenced)
    wrong = [words for words in known if words != right]
    shown = f'A user asks: "{asked}" {stem}'
    return question(PLANNER, shown, right, wrong, chance, given={"query": asked, "aspect": aspect})


def summarizer_question(number: int, chance: random.Random) -> Question:
    """Which answer follows from evidence that is written down beside the question.

    Args:
        number: Goes round through the forms of question.
        chance: Chooses the evidence and the options.
    """
    stem, right, wrong, evidence = _EVIDENCE[number % len(_EVIDENCE)](chance)
    plan = PlannerOutput(answer_mode=AnswerMode.MCQ, reference_mode=ReferenceMode.FULL)
    given = {"plan": plan.model_dump(mode="json"), "evidence": evidence.model_dump(mode="json")}
    return question(SUMMARIZER, stem, right, wrong, chance, given=given)


_Case = tuple[str, str, list[str], ExecutorOutput]


def _level(chance: random.Random) -> _Case:
    level = chance.choice(list(LEVEL_NAMES))
    # Levels meet in the middle between two whole numbers; this stays a fifth of a level away from there.
    score = min(5.0, max(1.0, round(level + chance.uniform(-0.3, 0.3), 2)))
    tool = next(tool.name for tool in all_tools() if tool.primary and tool.reference is ReferenceMode.FULL)
    evidence = ExecutorOutput(
        selected_tools=[tool],
        quality_scores={tool: score},
        tool_logs=[ToolLog(tool=tool, score=score)],
        primary_tool=tool,
    )
    wrong = [name for name in LEVEL_NAMES.values() if name != LEVEL_NAMES[level]]
    return "What is the overall quality of this image?", LEVEL_NAMES[level], wrong, evidence


def _finding(name: str, severity: Severity) -> DistortionFinding:
    said = f"{severity.value.capitalize()} {in_words(name)} was measured."
    return DistortionFinding(type=name, severity=severity, confidence=0.9, explanation=said)


def _found(*findings: DistortionFinding) -> ExecutorOutput:
    return ExecutorOutput(
        distortion_set={GLOBAL: [item.type for item in findings]}, distortion_analysis={GLOBAL: list(findings)}
    )


def _strongest(chance: random.Random) -> _Case:
    names = chance.sample(list(LEVELS), 5)
    strong = _finding(names[0], chance.choice((Severity.SEVERE, Severity.EXTREME)))
    weak = [_finding(name, Severity.SLIGHT) for name in names[1:3]]
    findings = [strong, *weak]
    chance.shuffle(findings)
    return (
        "Which distortion of this image is the strongest?",
        in_words(names[0]),
        [in_words(name) for name in names[1:]],
        _found(*findings),
    )


def _strength(chance: random.Random) -> _Case:
    name, severity = chance.choice(list(LEVELS)), chance.choice(list(Severity)[1:])
    wrong = [other.value for other in Severity if other is not severity]
    return f"How severe is the {in_words(name)}?", severity.value, wrong, _found(_finding(name, severity))


def _nothing(chance: random.Random) -> _Case:
    evidence = ExecutorOutput(notes=[f"{ABSTAINED}without a reference it cannot be told"])
    wrong = [in_words(name) for name in chance.sample(list(LEVELS), 4)]
    return "Which distortion does this image have?", "Cannot tell", wrong, evidence


_EVIDENCE: tuple[Callable[[random.Random], _Case], ...] = (_level, _strongest, _strength, _nothing)

"""From evidence to an answer by rules: no model, every sentence from the measured numbers."""

from __future__ import annotations

import re

from loopwright.workflows.iqa.answering.choices import UNABLE, choose
from loopwright.workflows.iqa.answering.claims import (
    Claim,
    DistortionClaim,
    LevelClaim,
    asks_comparison,
    asks_yes_no,
    read_question,
)
from loopwright.workflows.iqa.answering.comparing_parts import asks_about_parts, choose_part, compare_parts
from loopwright.workflows.iqa.answering.fusion import quality_score
from loopwright.workflows.iqa.answering.numbers import held_against, values
from loopwright.workflows.iqa.answering.parts import clause_about, evidence_on, scope_words, scopes_of
from loopwright.workflows.iqa.answering.reasons import reasoning, used_evidence
from loopwright.workflows.iqa.answering.softness import said_soft
from loopwright.workflows.iqa.answering.verdicts import Facts, compare, judge
from loopwright.workflows.iqa.distortions import Distortion, Severity, in_words, kind_of
from loopwright.workflows.iqa.measuring.detection_parts import place_of
from loopwright.workflows.iqa.measuring.severity import gauge_of
from loopwright.workflows.iqa.query.options import split_options
from loopwright.workflows.iqa.query.reading import asks_value, is_understood
from loopwright.workflows.iqa.query.terms import named_distortions, named_tools
from loopwright.workflows.iqa.query.thresholds import Threshold, read_threshold
from loopwright.workflows.iqa.schemas import (
    GLOBAL,
    AnswerMode,
    DistortionFinding,
    ExecutorOutput,
    PlannerOutput,
    QueryType,
    ReferenceMode,
    SummarizerOutput,
)

NOT_UNDERSTOOD = (
    'No word of the question is known here, so it is taken for "what is wrong with it?"; without a chat model, '
    "questions are read in English."
)
"""What the reasoning of an answer begins with where the question was not understood."""

OTHER_ANSWER = "I answer questions about image quality only."
"""The answer to a question about anything else."""

_HOW_STRONG = re.compile(
    r"\bhow (severe|strong|bad|much|visible|noticeable|heavy|heavily|noisy|grainy|blurry|blurred|sharp|soft|dark|bright"
    r"|compressed|pixelated|blocky|(over|under)exposed)\b", re.IGNORECASE
)  # fmt: skip
_HOW_GOOD = re.compile(r"\b(how good|overall|rate|rating|score|quality)\b", re.IGNORECASE)
_REFERENCE = re.compile(r"\b(reference|original|pristine)\b", re.IGNORECASE)
_WHAT = re.compile(r"\b(wrong|distort|problem|issue|artifact|artefact|degrad|defect|flaw|why)", re.IGNORECASE)


def answer(query: str, plan: PlannerOutput, evidence: ExecutorOutput) -> SummarizerOutput:
    """Answer a question from what was measured.

    Args:
        query: The user's question.
        plan: What was to be done.
        evidence: What was measured.

    Returns:
        The answer; whether a replan is needed is not decided here (see `sufficiency`).

    Raises:
        PlannerError: If a multiple-choice question gives one letter to two options.
    """
    if plan.query_type is QueryType.OTHER:
        return SummarizerOutput(final_answer=OTHER_ANSWER, quality_reasoning="The question is not about image quality.")
    facts = Facts(plan, evidence, quality_score(evidence))
    if len(scopes_of(evidence)) > 1:
        return _on_parts(query, facts)
    if plan.answer_mode is AnswerMode.SCORING:
        return _scoring(query, facts)
    if plan.answer_mode is AnswerMode.MCQ:
        return _multiple_choice(query, facts)
    return _result(_explanation(query, facts), facts, *([] if is_understood(query) else [NOT_UNDERSTOOD]))


def _result(final: str, facts: Facts, *first: str) -> SummarizerOutput:
    return SummarizerOutput(
        final_answer=final, quality_reasoning=reasoning(facts, *first), used_evidence=used_evidence(facts)
    )


def _on_parts(query: str, facts: Facts) -> SummarizerOutput:
    """A comparison of the parts where the question asks for one, else an answer for each of them."""
    split, mode = split_options(query), facts.plan.answer_mode
    if mode is AnswerMode.MCQ:
        chosen = choose_part(split.stem, split.options, facts) if asks_about_parts(split.stem) else None
        return _result(chosen[0] or UNABLE, facts, chosen[1]) if chosen else _multiple_choice(query, facts)
    if asks_about_parts(split.stem) and not _REFERENCE.search(split.stem):
        result = _result(compare_parts(split.stem, facts), facts)
    else:
        said = [_on_part(query, scope, facts) for scope in scopes_of(facts.evidence)]
        result = _result(" ".join(said), facts)
    score = facts.score if mode is AnswerMode.SCORING else None
    return result.model_copy(update={"quality_score": round(score.value, 4)}) if score else result


def _on_part(query: str, scope: str, facts: Facts) -> str:
    evidence = evidence_on(facts.evidence, scope)
    part = Facts(facts.plan, evidence, quality_score(evidence))
    if facts.plan.answer_mode is not AnswerMode.SCORING:
        return f"{_capital(scope_words(scope))}: {_explanation(clause_about(query, scope), part)}"
    said = f"{part.score.level} ({part.score.value:.1f} of 5)" if part.score else UNABLE
    return f"{_capital(scope_words(scope))}: {said}."


def _scoring(query: str, facts: Facts) -> SummarizerOutput:
    wanted = [name for name in facts.plan.required_tools or [] if name in named_tools(query)]
    said = values(wanted, facts) if wanted and asks_value(query) else ""
    if facts.score is None:
        measured = [name for name in facts.plan.required_tools or [] if facts.value(name) is not None]
        own = f"{values(measured, facts)} {_where(facts)}; there is no score of 1 to 5."
        return _result(own if measured else UNABLE, facts)
    level = facts.score.level
    result = _result(f"{said} {_where(facts)}: {level} ({facts.score.value:.1f} of 5)." if said else level, facts)
    return result.model_copy(update={"quality_score": round(facts.score.value, 4)})


def _multiple_choice(query: str, facts: Facts) -> SummarizerOutput:
    split = split_options(query)
    if not split.options:
        return _result(UNABLE, facts, "The question lists no options, such as A. and B.")
    choice = choose(split.stem, split.options, facts)
    return _result(choice.letter or UNABLE, facts, choice.why)


def _explanation(query: str, facts: Facts) -> str:
    """The answer as one or two sentences."""
    topic = tuple(named_distortions(query))
    if threshold := read_threshold(query):
        return _yes_no(threshold, facts)
    if asks_comparison(query):
        return _comparison(query, facts)
    if _HOW_STRONG.search(query) and topic:
        severity = facts.severity(topic)
        where = _where(facts)
        if severity is None:
            return f"{UNABLE}: nothing was measured about it."
        if severity is Severity.NONE:
            return _not_blurred(facts) or f"No {_spoken(topic)} {where}."
        return _capital(f"{_shown_there(facts, topic)}.")
    claim = read_question(query) if asks_yes_no(query) else None
    if claim is not None:
        return _yes_no(claim, facts)
    # "What JPEG quality was used?" is no question about the quality.
    if not topic and _HOW_GOOD.search(query) and not _WHAT.search(query) and facts.score is not None:
        return f"{facts.score.level} ({facts.score.value:.1f} of 5). {_what_is_wrong(facts)}"
    if asks_yes_no(query) and not topic:
        return f"{UNABLE} by measurement. {_what_is_wrong(facts)}"
    return _what_is_wrong(facts)


def _what_is_wrong(facts: Facts) -> str:
    where = _where(facts)
    if facts.present:
        found = "Found" if all(place_of(item) for _, item in facts.present) else f"Found {where}"
        listed = "; ".join(f"{_strength_of(item)}{_details(item, facts, number=True)}" for _, item in facts.present)
        return f"{found}, strongest first: {listed}.{_beside(facts)}"
    if facts.unanalysed:
        listed = "; ".join(in_words(name) for name in facts.unanalysed)
        return f"Found {where}, strongest first: {listed}. How strong was not analysed."
    if facts.covers(()):
        return f"No distortion found {where}.{_beside(facts)}"
    absent = [kind.value for kind in Distortion if facts.evidence.undecided and facts.covers((kind.value,))]
    if absent:
        doubtful = _spoken(tuple(facts.evidence.undecided))
        said = f"No {_spoken(tuple(absent))} found {where}; it cannot be told whether there is any {doubtful}."
        return said + _beside(facts)
    named = {item.type for _, item in facts.analysed}
    if named:
        return f"No {_spoken(tuple(sorted(named)))} found {where}; nothing else was looked for."
    return f"{UNABLE}: no distortion was looked for, or none could be told apart."


def _yes_no(claim: Claim, facts: Facts) -> str:
    truth = judge(claim, facts)
    where = _where(facts)
    if truth is None:
        return f"{UNABLE}: nothing was measured that the question is about."
    word = "Yes" if truth > 0 else "No"
    if isinstance(claim, Threshold):
        return f"{word}: {held_against(claim, facts)} {where}."
    if isinstance(claim, LevelClaim) and facts.score is not None:
        found = f" Found: {_shown(facts, places=True)}." if facts.present else ""
        return f"{word}: the quality is {facts.score.level.lower()} ({facts.score.value:.1f} of 5) {where}.{found}"
    if isinstance(claim, DistortionClaim):
        found = facts.matching(claim.names)
        if found:
            return f"{word}: {_shown_there(facts, claim.names)}."
        if facts.unanalysed:
            return f"{word}: {', '.join(facts.unanalysed)} {where}."
        if Distortion.BLURS in map(kind_of, claim.names) and (said := _not_blurred(facts)):
            return f"{word}: {said[0].lower()}{said[1:]}"
        return f"{word}: no {_spoken(claim.names)} found {where}."
    return f"{word}."


def _comparison(query: str, facts: Facts) -> str:
    relation = compare(facts)
    if facts.plan.reference_mode is not ReferenceMode.FULL:
        return f"{UNABLE}: there is no reference image to compare with."
    if relation is None:
        return f"{UNABLE}: nothing was measured that compares the two images."
    claim = read_question(query) if asks_yes_no(query) else None
    if isinstance(claim, DistortionClaim) and claim.names:
        return _yes_no(claim, facts)
    word = "" if claim is None else ("Yes: " if (judge(claim, facts) or 0) > 0 else "No: ")
    if relation == "same":
        return _capital(f"{word}the image and its reference look the same; no difference that the tools would see.")
    because = f" It has {_shown(facts, places=True)}." if facts.present else ""
    return _capital(f"{word}the reference is better, taken as pristine; the image is worse than it.{because}")


def _spoken(names: tuple[str, ...]) -> str:
    if Distortion.BLURS in names:  # a question about sharpness names both
        names = tuple(name for name in names if name != Distortion.SHARPNESS)
    return " or ".join(in_words(name) for name in names) or "distortion"


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _shown(facts: Facts, names: tuple[str, ...] = (), *, places: bool = False) -> str:
    return ", ".join(
        f"{_strength_of(item)}{_place(item) if places else ''}{_details(item, facts, place=not places)}"
        for _, item in facts.matching(names)[:3]
    )


def _shown_there(facts: Facts, names: tuple[str, ...]) -> str:
    """The findings and where they are: each by its own place, where only a part of the image is concerned."""
    items = [item for _, item in facts.matching(names)[:3]]
    if not all(map(place_of, items)):
        return f"{_shown(facts, names)} {_where(facts)}"
    scopes = scopes_of(facts.evidence)
    within = "" if scopes == [GLOBAL] else f" of {' and '.join(map(scope_words, scopes))}"
    return _shown(facts, names, places=True) + within


def _place(item: DistortionFinding) -> str:
    place = place_of(item)
    return f" {place[0]}, {place[1]:.0%} of the area" if place else ""


def _not_blurred(facts: Facts) -> str:
    """What is to be said of an image that is not blurred as a whole but soft in part; empty of any other."""
    soft = said_soft(facts.evidence.notes)
    return f"Not blurred as a whole: {soft}." if soft else ""


def _beside(facts: Facts) -> str:
    """The same as a further sentence of an answer about everything."""
    said = _not_blurred(facts)
    return f" {said}" if said else ""


def _strength_of(item: DistortionFinding) -> str:
    return f"{item.severity.value} {in_words(item.type)}"


def _details(item: DistortionFinding, facts: Facts, *, number: bool = False, place: bool = True) -> str:
    """The number behind a severity, where it is, and how likely the type is; a reference shows the type."""
    value, gauge = item.measured.get("value"), gauge_of(item)
    parts = [f"measured {gauge.said(value) if gauge else f'{value:.3g}'}"] if number and value is not None else []
    parts += [_place(item).strip()] if place and place_of(item) else []
    if facts.plan.reference_mode is ReferenceMode.NONE:
        parts.append(f"{item.confidence:.0%} sure")
    return f" ({', '.join(parts)})" if parts else ""


def _where(facts: Facts) -> str:
    return "in " + (" and ".join(map(scope_words, scopes_of(facts.evidence))) or "the image")

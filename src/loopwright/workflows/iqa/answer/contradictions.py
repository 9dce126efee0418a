"""Where a chat model's answer and the measurements say different things. The answer stays; the reader is told."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from loopwright.workflows.iqa.answer.claims import (
    Claim,
    ComparisonClaim,
    DistortionClaim,
    LevelClaim,
    SeverityClaim,
    YesNoClaim,
    claim_of,
    read_option,
    read_statement,
)
from loopwright.workflows.iqa.answer.fusion import LEVEL_NAMES, level_of
from loopwright.workflows.iqa.answer.verdicts import Facts, judge
from loopwright.workflows.iqa.distortions import Severity, in_words
from loopwright.workflows.iqa.measuring.detection import SURE
from loopwright.workflows.iqa.question.options import split_options
from loopwright.workflows.iqa.question.question import Question, read_questions
from loopwright.workflows.iqa.question.scales import Threshold
from loopwright.workflows.iqa.question.vocabulary import named_distortions
from loopwright.workflows.iqa.schemas import DistortionFinding

APART = 2
"""Steps of severity, or quality levels, from which two statements contradict each other."""

_CLAUSE = re.compile(r"[.,;:!?\n]|\b(?:but|and|while|although|though|however|yet|whereas|except)\b")
_HEDGED = re.compile(
    r"\b(?:if|could|should|would|may|might|lack\w*|lost|lose\w*|loss|hardly|barely|instead of|rather than|reduc\w+)\b"
)
_LEVEL = re.compile(
    r"\b(?:(?P<before>bad|poor|fair|good|excellent) (?:overall |image |visual )*quality"
    r"|quality (?:of [\w ]+ )?(?:is|as|looks|seems) (?:very |rather |quite )?(?P<after>bad|poor|fair|good|excellent))\b"
)


def contradictions(final: str, query: str, facts: Facts, questions: Sequence[Question] = ()) -> list[str]:
    """What the measurements say against an answer.

    Prose is read clause by clause; what is hedged, negated in a way that is not understood, or about nothing that was
    measured counts as no contradiction.

    Args:
        final: The answer: a letter, a level or a few sentences.
        query: The question.
        facts: What was measured.
        questions: What it asks, where a chat model filled it; by default as the rules read it.

    Returns:
        Different short phrases, such as "severe gaussian blur (90% sure)"; empty if nothing contradicts it.
    """
    split = split_options(query)
    topic = tuple(named_distortions(split.stem))
    questions = questions or read_questions(split.stem)
    claims = _choice(final, split.stem, split.options) if split.options else _prose(final, questions)
    said = [phrase for claim in claims if (phrase := _against(claim, facts, topic))]
    return list(dict.fromkeys(said))


def _choice(letter: str, stem: str, options: dict[str, str]) -> list[Claim]:
    claim = read_option(options[letter], stem) if letter in options else None
    if isinstance(claim, YesNoClaim):
        return _answered(claim.yes, read_questions(stem))
    return [claim] if claim else []


def _prose(text: str, questions: Sequence[Question]) -> list[Claim]:
    words = text.strip().lower()
    level = next((number for number, name in LEVEL_NAMES.items() if words.strip(" .!") == name.lower()), None)
    if level is not None:
        return [LevelClaim(frozenset({level}))]
    yes_no = re.match(r"(yes|no)\s*(?:[,.;:!–—-]|$)", words)
    claims = _answered(yes_no[1] == "yes", questions) if yes_no else []
    for match in _LEVEL.finditer(words):
        name = (match["before"] or match["after"]).capitalize()
        claims.append(LevelClaim(frozenset(number for number, known in LEVEL_NAMES.items() if known == name)))
    for clause in _CLAUSE.split(words[yes_no.end() :] if yes_no else words):
        claim = None if _HEDGED.search(clause) else read_statement(clause)
        claims += [claim] if claim else []
    return claims


def _answered(yes: bool, questions: Sequence[Question]) -> list[Claim]:
    """What yes or no to a question states."""
    claim = claim_of(questions)
    if isinstance(claim, DistortionClaim):
        return [claim if yes else dataclasses.replace(claim, present=not claim.present)]
    if isinstance(claim, LevelClaim):
        return [claim if yes else LevelClaim(frozenset(LEVEL_NAMES) - claim.levels)]
    return [claim] if yes and claim else []


def _against(claim: Claim, facts: Facts, topic: tuple[str, ...]) -> str | None:
    match claim:
        case DistortionClaim():
            return _distortion(claim, facts)
        case SeverityClaim():
            return _distortion(DistortionClaim(topic, severity=claim.severity), facts) if topic else None
        case LevelClaim():
            return _level(claim, facts)
        case ComparisonClaim() | Threshold():
            return _score(facts) if judge(claim, facts) == 0 else None
        case _:
            return None


def _distortion(claim: DistortionClaim, facts: Facts) -> str | None:
    """The strongest sure finding, or the absence of any, that is `APART` from what is claimed."""
    found = [item for near, item in facts.matching(claim.names) if near > 0 and item.confidence >= SURE]
    worst = max(found, key=lambda item: item.severity.rank, default=None)
    if not claim.present or claim.severity is Severity.NONE:
        allowed = claim.tolerated.rank
        return _shown(worst) if worst and worst.severity.rank - allowed >= APART else None
    if claim.severity is None:
        return None
    if worst is not None:
        return _shown(worst) if abs(worst.severity.rank - claim.severity.rank) >= APART else None
    absent = facts.severity(claim.names) is Severity.NONE and claim.severity.rank >= APART
    return f"no {' or '.join(map(in_words, claim.names)) or 'distortion'}" if absent else None


def _level(claim: LevelClaim, facts: Facts) -> str | None:
    if facts.score is None or not claim.levels:
        return None
    level = level_of(facts.score.tool_score)
    return _score(facts) if min(abs(level - other) for other in claim.levels) >= APART else None


def _score(facts: Facts) -> str | None:
    score = facts.score
    if score is None:
        return None
    return f"{score.tool} gives {score.tool_score:.2f} of 5, {LEVEL_NAMES[level_of(score.tool_score)]}"


def _shown(item: DistortionFinding) -> str:
    return f"{item.severity.value} {in_words(item.type)} ({item.confidence:.0%} sure)"

"""Where a chat model's answer and the measurements say different things. The answer stays; the reader is told."""

from __future__ import annotations

import re

from loopwright.workflows.iqa.answer.choosing import Stated, read_statement
from loopwright.workflows.iqa.answer.fusion import LEVEL_NAMES, level_of
from loopwright.workflows.iqa.answer.verdicts import UNABLE, Facts
from loopwright.workflows.iqa.distortions import Severity, in_words
from loopwright.workflows.iqa.measuring.detection import SURE
from loopwright.workflows.iqa.question.options import parse_options
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
_YES_NO = re.compile(r"(yes|no)\b\s*(?:[,.;:!–—-]|$)")


def contradictions(final: str, query: str, facts: Facts, own: str) -> list[str]:
    """What the measurements say against an answer.

    A choice, and a yes or no, are held against what the rules answer from the same evidence. Prose is read clause by
    clause; what is hedged, negated in a way that is not understood, or about nothing that was measured counts as no
    contradiction.

    Args:
        final: The answer: a letter, a level or a few sentences.
        query: The question.
        facts: What was measured.
        own: What the rules answer, in the same form.

    Returns:
        Different short phrases, such as "severe gaussian blur (90% sure)"; empty if nothing contradicts it.
    """
    if options := parse_options(query):
        differs = final in options and own in options and final != own
        return [f"{own} ({options[own]})"] if differs else []
    words = final.strip().lower()
    level = next((number for number, name in LEVEL_NAMES.items() if words.strip(" .!") == name.lower()), None)
    if level is not None:
        return [*filter(None, [_level(level, facts)])]
    said: list[str | None] = []
    given, ours = _YES_NO.match(words), _YES_NO.match(own.lower())
    if given and ours and given[1] != ours[1] and not own.startswith(UNABLE):
        said.append(own[ours.end() :].partition(". ")[0].strip(" ."))
    for match in _LEVEL.finditer(words):
        name = (match["before"] or match["after"]).capitalize()
        said += [_level(number, facts) for number, known in LEVEL_NAMES.items() if known == name]
    for clause in _CLAUSE.split(words[given.end() :] if given else words):
        stated = None if _HEDGED.search(clause) else read_statement(clause)
        said.append(None if stated is None else _distortion(stated, facts))
    return list(dict.fromkeys(filter(None, said)))


def _distortion(stated: Stated, facts: Facts) -> str | None:
    """The strongest sure finding, or the absence of any, that is `APART` from what is stated."""
    found = [item for near, item in facts.matching(stated.names) if near > 0 and item.confidence >= SURE]
    worst = max(found, key=lambda item: item.severity.rank, default=None)
    if not stated.present or stated.severity is Severity.NONE:
        return _shown(worst) if worst and worst.severity.rank >= APART else None
    if stated.severity is None:
        return None
    if worst is not None:
        return _shown(worst) if abs(worst.severity.rank - stated.severity.rank) >= APART else None
    absent = facts.severity(stated.names) is Severity.NONE and stated.severity.rank >= APART
    return f"no {' or '.join(map(in_words, stated.names)) or 'distortion'}" if absent else None


def _level(level: int, facts: Facts) -> str | None:
    score = facts.score
    if score is None or abs(level_of(score.tool_score) - level) < APART:
        return None
    return f"{score.tool} gives {score.tool_score:.2f} of 5, {LEVEL_NAMES[level_of(score.tool_score)]}"


def _shown(item: DistortionFinding) -> str:
    return f"{item.severity.value} {in_words(item.type)} ({item.confidence:.0%} sure)"

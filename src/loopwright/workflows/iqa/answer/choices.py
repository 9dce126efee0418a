"""Multiple choice: which option the evidence bears out, and what counts as an answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.answer.claims import (
    Claim,
    DistortionClaim,
    YesNoClaim,
    claim_of,
    read_option,
    says_cannot_tell,
)
from loopwright.workflows.iqa.answer.verdicts import Facts, judge
from loopwright.workflows.iqa.question.question import read_questions
from loopwright.workflows.iqa.question.vocabulary import named_distortions

UNABLE = "Unable to determine"
"""The answer where the evidence bears nothing out."""

_ABSENT_ONE = re.compile(r"\b(not|n't|except|absent|isn't|aren't|doesn't|free (of|from))\b", re.IGNORECASE)
_WEAKEST = re.compile(r"\b(least|weakest|lowest|mildest)\b", re.IGNORECASE)
_LETTER = re.compile(r"^\W*(?:(?:option|answer|choice)\s*:?\s*)?\(?\s*([A-Za-z])\s*(?:[).:,]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, and why."""

    letter: str | None
    """The option's letter; None if the evidence bears none out and none says that it cannot be told."""
    why: str
    """One sentence."""


def choose(stem: str, options: dict[str, str], facts: Facts) -> Choice:
    """Choose the option that the evidence bears out best.

    Where no option is borne out, or two are borne out alike, nothing is guessed: the option that says "cannot tell" is
    chosen if there is one, else none.

    Args:
        stem: The question without its options.
        options: Letter -> text.
        facts: What was measured.

    Returns:
        The choice.
    """
    claims = {letter: read_option(text, stem) for letter, text in options.items()}
    topic = tuple(named_distortions(stem))
    support = {letter: _support(claim, stem, facts, topic) for letter, claim in claims.items() if claim}
    known = {letter: value for letter, value in support.items() if value is not None}
    letter = _pick(stem, claims, known)
    if letter is not None:
        return Choice(letter, f"The evidence bears out {letter} ({options[letter]}).")
    why = "The evidence bears out none of the options." if known else "Nothing was measured that the options are about."
    if len([value for value in known.values() if value > 0]) > 1:
        why = "The evidence does not tell the options apart."
    way_out = next((letter for letter, text in options.items() if says_cannot_tell(text)), None)
    if way_out is not None:
        return Choice(way_out, f"{why} {way_out} ({options[way_out]}) says so.")
    return Choice(None, why)


def _support(claim: Claim, stem: str, facts: Facts, topic: tuple[str, ...]) -> float | None:
    if not isinstance(claim, YesNoClaim):
        return judge(claim, facts, topic, nearest=True)
    asked = claim_of(read_questions(stem))
    truth = None if asked is None else judge(asked, facts, topic if isinstance(asked, DistortionClaim) else ())
    return None if truth is None else float((truth > 0) is claim.yes)


def _pick(stem: str, claims: dict[str, Claim | None], known: dict[str, float]) -> str | None:
    """The letter with the best support, if it is alone there; turned round for "which is not", "which is least"."""
    about_distortions = all(isinstance(claims[letter], DistortionClaim) for letter in known)
    if known and about_distortions and _ABSENT_ONE.search(stem):
        absent = [letter for letter, value in known.items() if value == 0]
        return absent[0] if len(absent) == 1 and len(known) > 1 else None
    borne_out = {letter: value for letter, value in known.items() if value > 0}
    if not borne_out:
        return None
    weakest = about_distortions and bool(_WEAKEST.search(stem))
    best = min(borne_out.values()) if weakest else max(borne_out.values())
    letters = [letter for letter, value in borne_out.items() if abs(value - best) < 1e-9]
    return letters[0] if len(letters) == 1 else None


def parse_choice(reply: str, options: dict[str, str]) -> str:
    """The option that a reply names.

    Args:
        reply: A letter in any of the forms "B", "b.", "(B) blur", "Option B", or an option's whole text.
        options: Letter -> text.

    Returns:
        The letter, or `UNABLE` if the reply says that.

    Raises:
        UnknownNameError: If it names no option: a letter outside of them is an error, not a guess.
    """
    words = reply.strip()
    if words.rstrip(".").casefold() == UNABLE.casefold():
        return UNABLE
    for letter, text in options.items():
        if words.rstrip(".").casefold() == text.casefold():
            return letter
    match = _LETTER.match(words)
    if match and match[1].upper() in options:
        return match[1].upper()
    raise UnknownNameError("option", reply, [f"{letter} ({text})" for letter, text in options.items()])

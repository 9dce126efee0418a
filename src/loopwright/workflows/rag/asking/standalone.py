"""Making a question of a chat readable on its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from loopwright.workflows.rag.asking.words import fold, has_unspaced, name_spans, names, without_particles

_MARKS = re.compile(r"\s*\[\d+(?:, ?\d+)*\]")
_LEAD = re.compile(
    r"^(?:and|but|so|also|then|what about|how about|und|et|y)\b[ ,]*(?:and )?(?:what about |how about )?", re.IGNORECASE
)
_POSSESSIVE = re.compile(r"\b(his|its|their)\b(?= \w)|\bher\b(?= (?!in\b|at\b|on\b|to\b|and\b|or\b)\w)", re.IGNORECASE)
_PERSONAL = re.compile(r"\b(?:he|she|him|her)\b", re.IGNORECASE)
_NEUTRAL = re.compile(
    r"\b(?:it|they|them|(?:this|that) (?:one|person|place|company|film|movie|book|city|country|band|team))\b",
    re.IGNORECASE,
)
_DUMMY_IT = re.compile(
    r"\b(?:is|was|does|did) it (?:true|possible|that|take|cost|rain|snow|mean|matter)\b|\bit is\b", re.IGNORECASE
)
_THERE = re.compile(r"(?<!is )(?<!are )(?<!was )(?<!were )\bthere\b", re.IGNORECASE)
_QUESTION_START = re.compile(
    r"^(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does|did|can|has|have)\b", re.IGNORECASE
)
_WHO = re.compile(r"(?:by |to |with )?who(?:m|se)?\b", re.IGNORECASE)
_UNSPACED_LEAD = re.compile(r"^(?:แล้ว|และ|那么|那|还有)\s*")
_UNSPACED_PRONOUN = re.compile(r"เขา|เธอ|ท่าน|มัน(?!คง|ส|ฝ)|ที่นั่น|他们|她们|它们|他(?!国)|她|它|那里|那裡|这个人")
_UNSPACED_COPULA = re.compile(r"\s*(?:คือ|เป็น|เกิด|อยู่|ตั้งอยู่|มี|是|在|出生|生于|位于|的)")


def standalone_question(question: str, history: Sequence[str]) -> str:
    """Put what a question refers to in its place.

    "And when was she born?" after a turn about Marie Curie becomes "When was Marie Curie born?"; "And Pierre Curie?"
    asks the last question again about Pierre Curie.

    Args:
        question: The user's question.
        history: Earlier questions and answers, oldest first.

    Returns:
        The question as it stands alone; unchanged where it already does, or where the history names nothing.
    """
    text = " ".join(question.split())
    turns = [" ".join(_MARKS.sub("", turn).split()) for turn in history if turn.strip()]
    if not turns or not text:
        return question
    if has_unspaced(text):
        return _unspaced(text, turns)
    bare = _LEAD.sub("", text)
    if not bare:
        return question
    fragment = bare != text and not _QUESTION_START.match(bare)
    if fragment and (swapped := _same_question_about(bare, turns)):
        return swapped
    resolved = _resolved(bare, turns)
    if resolved == bare:
        return question if not fragment else bare[:1].upper() + bare[1:]
    return resolved[:1].upper() + resolved[1:]


def _resolved(text: str, turns: list[str]) -> str:
    person, thing, place = (_referent(turns, kind) for kind in ("person", "thing", "place"))
    own = {fold(name) for name in names(text)}
    if person and fold(person) not in own:
        text = _POSSESSIVE.sub(lambda match: _genitive(person if fold(match[0]) in ("his", "her") else thing), text)
        text = _PERSONAL.sub(lambda _: person, text)
    if thing and fold(thing) not in own and not _DUMMY_IT.search(text):
        text = _NEUTRAL.sub(lambda _: thing, text)
    return _THERE.sub(lambda _: f"in {place}", text) if place else text


def _genitive(name: str) -> str:
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _referent(turns: list[str], kind: Literal["person", "thing", "place"]) -> str:
    """What a pronoun stands for: the first name that fits, of the latest turn that has one.

    A question counts before its answer, but for a person who was asked for. A name after "in" or "at" is a place, and
    no person.
    """
    known = {fold(name) for turn in turns if _is_question(turn) and _WHO.match(turn) for name in names(turn)}
    for turn in _latest_first(turns, answer_first=_WHO if kind == "person" else None):
        spans = [(turn[start:end], _is_place(turn, start)) for start, end in name_spans(turn)]
        found = [name for name, place in spans if kind == "thing" or place == (kind == "place")]
        quoted = [name for name in names(turn) if kind == "thing" and f'"{name}"' in turn]
        # Who was asked for is not who the question names.
        several = [name for name in found if kind == "person" and " " in name and fold(name) not in known]
        if best := [*quoted, *several, *found]:
            return best[0]
    return ""


def _latest_first(turns: list[str], answer_first: re.Pattern[str] | None = None) -> list[str]:
    """The turns from the last to the first, a question before its answer, unless it matches a pattern."""
    ordered: list[str] = []
    held: list[str] = []
    for turn in reversed(turns):
        if _is_question(turn):
            ordered += [*held, turn] if answer_first and answer_first.match(turn) else [turn, *held]
            held = []
        else:
            held.append(turn)
    return [*ordered, *held]


def _is_question(turn: str) -> bool:
    return turn.rstrip().endswith(("?", "？")) or bool(_QUESTION_START.match(turn))


def _is_place(turn: str, start: int) -> bool:
    return bool(re.search(r"\b(?:in|at|from|near|to)(?: the)? $", turn[:start], re.IGNORECASE))


def _same_question_about(fragment: str, turns: list[str]) -> str:
    """The last question with its name replaced, if the fragment is little more than a name."""
    named = names(fragment)
    last = next((turn for turn in reversed(turns) if _is_question(turn)), "")
    before = names(last)
    if not named or not before or len(fragment.strip(" ?.!")) > len(named[0]) + len("the 's"):
        return ""
    return last.replace(before[0], named[0])


def _unspaced(text: str, turns: list[str]) -> str:
    bare = _UNSPACED_LEAD.sub("", text)
    subject = _unspaced_subject(turns)
    if not subject or subject in bare:
        return text
    if _UNSPACED_PRONOUN.search(bare):
        return _UNSPACED_PRONOUN.sub(subject, bare, count=1)
    # Both languages leave the subject out where it is clear, so a bare "born when?" means the last one.
    return subject + bare if bare != text else text


def _unspaced_subject(turns: list[str]) -> str:
    for turn in _latest_first(turns):
        quoted = re.search(r"《[^》]{1,40}》", turn)
        subject = quoted[0] if quoted else _UNSPACED_COPULA.split(turn.strip(), maxsplit=1)[0]
        subject = " ".join(without_particles(subject).split()).strip(" ?？。,，")
        if subject and subject != turn.strip() and len(subject) <= 60:
            return subject
    return ""

"""Questions that lean on the conversation before them, made to stand alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from loopwright.workflows.assistant.conference.catalogue import Catalogue
from loopwright.workflows.assistant.schemas import Record, Table, Turn
from loopwright.workflows.assistant.understanding.frames import SESSION_NOUNS
from loopwright.workflows.assistant.understanding.reading import Reading
from loopwright.workflows.assistant.understanding.smalltalk import smalltalk_of, without_greeting
from loopwright.workflows.assistant.understanding.topics import TITLE
from loopwright.workflows.assistant.understanding.words import FREE

_MARKER = re.compile(
    r"^\s*(?:(?:and|or|but|also|ok(?:ay)?|so|then|now)\b[,\s]*)*(?:(?:what|how)\s+about\b|what\s+of\b|same\s+(?:for|but|on|in|at)?\b"
    r"|only\b|just\b|which\s+(?:of\s+(?:them|these|those)|ones)\s+(?:are|is|take\s+place)\b)?\s*",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"\s*\b(?:instead|as\s+well|too|then)\s*(?=[?.!]*\s*$)", re.IGNORECASE)
_ORDINALS = {
    "first": 0,
    "1st": 0,
    "second": 1,
    "2nd": 1,
    "third": 2,
    "3rd": 2,
    "fourth": 3,
    "4th": 3,
    "fifth": 4,
    "5th": 4,
}
_NTH = re.compile(
    rf"\b(?:the\s+)?(?P<nth>{'|'.join(_ORDINALS)}|last)\s+(?:one|talk|session|stand|speaker|person|result|of\s+(?:these|those|them))\b"
    rf"|\bthe\s+(?P<bare>{'|'.join(_ORDINALS)})\b(?=\s*[?.!]*$)|\b(?:number|no\.?|talk|result|#)\s*(?P<number>[1-9])\b",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"(?<!of\s)\b(?:he|she|him|her|his|they|them|their|(?:this|that|the\s+same)\s+(?:speaker|person))\b", re.IGNORECASE
)
_THING = re.compile(
    r"\b(?:it|its|this(?:\s+(?:one|talk|session|stand))?|that(?:\s+(?:one|talk|session|stand))?"
    r"|the\s+(?:talk|session|stand|same\s+(?:talk|one)))\b",
    re.IGNORECASE,
)
_GIVES = re.compile(
    r"^\s*(?:and\s+)?(?:who|when|where|what\s+time|which\s+room|how\s+long)\b[^?]{0,25}\??\s*$", re.IGNORECASE
)
Reader = Callable[[str], Reading]
"""Reads a question that stands alone."""


def standalone_of(question: str, history: Sequence[Turn], catalogue: Catalogue, read: Reader) -> str:
    """A question as it stands without the conversation before it.

    Args:
        question: The question.
        history: Earlier turns, oldest first.
        catalogue: The conference, for the records that answers cite.
        read: Reads a question that stands alone.
    """
    previous, cited = "", list[Record]()
    for turn in history:
        if turn.role == "assistant":
            cited = [catalogue.records[id] for id in turn.referenced_ids if id in catalogue.records] or cited
        elif not smalltalk_of(turn.text):
            previous = _resolved(without_greeting(turn.text), previous, cited, read)
    return _resolved(question, previous, cited, read)


def _resolved(question: str, previous: str, cited: Sequence[Record], read: Reader) -> str:
    if cited:
        referred = _referred(question, previous, cited, read)
        if referred:
            return referred
    if previous and (marker := _MARKER.match(question)):
        new = _INSTEAD.sub("", question[marker.end() :])
        if marker[0].strip() or _is_fragment(new, read):
            return _merged(previous, new, read) or question
    return question


def _referred(question: str, previous: str, cited: Sequence[Record], read: Reader) -> str:
    """The question with "the second one", "it" or "she" replaced by what the last answer cites; empty without any."""
    nth = _NTH.search(question)
    if nth:
        said = (nth["nth"] or nth["bare"] or "").lower()
        place = len(cited) - 1 if said == "last" else _ORDINALS[said] if said else int(nth["number"]) - 1
        alone = not _asks_more(question[: nth.start()] + question[nth.end() :], read)
        if place < len(cited) and alone:
            return _with(question, nth, cited[place].title, quoted=True)
    person = _PERSON.search(question)
    if person and not read(question[: person.start()] + question[person.end() :]).topic:
        name = next(iter(read(previous).filters.speakers), "") or _speaker_of(cited)
        return _with(question, person, name, quoted=False) if name else ""
    thing = _THING.search(question)
    if thing and not _asks_more(question[: thing.start()] + question[thing.end() :], read):
        return _with(question, thing, cited[0].title, quoted=True)
    if _GIVES.match(question) and not _asks_more(question, read):
        return f'{question.strip().rstrip("?. ")} "{cited[0].title}"?'
    return ""


def _asks_more(rest: str, read: Reader) -> bool:
    """Whether the rest of a question has a topic or filters of its own."""
    reading = read(rest)
    return bool(reading.topic) or not reading.filters.empty


def _with(question: str, match: re.Match[str], name: str, *, quoted: bool) -> str:
    shown = f'"{name}"' if quoted else name
    if match[0].lower() in ("his", "her", "their", "its"):
        shown += "'s"
    marker = _MARKER.match(question)
    start = marker.end() if marker and marker.end() <= match.start() else 0
    text = question[start : match.start()] + shown + question[match.end() :]
    return text.strip()


def _speaker_of(cited: Sequence[Record]) -> str:
    """The person that an answer is about: the first speaker that it cites, else the first who gives a cited talk."""
    for record in cited:
        if record.table == Table.SPEAKERS:
            return record.title
    return next((record.values("speaker")[0] for record in cited if record.values("speaker")), "")


def _is_fragment(question: str, read: Reader) -> bool:
    """Whether a text only filters: a few words without a verb that asks, as "on Sunday?"."""
    reading = read(question)
    return len(reading.words) <= 5 and not reading.topic and not reading.words.runs() and bool(len(reading.words))


def _merged(previous: str, new: str, read: Reader) -> str:
    """The question before with what the new one changes in it."""
    old, change = read(previous), read(new)
    kinds = {kind for kind in change.words.kinds if kind not in (FREE, TITLE)}
    if not kinds and not change.topic:
        return ""
    replaced = set(kinds)
    if "person" in kinds or (change.topic and not old.topic and "person" in old.words.kinds):
        replaced |= {"person"}
    if "clock" in kinds and "day" not in kinds and old.filters.at is None:
        replaced.discard("day")
    # "what about her?" is another question, "and by her?" a narrower one.
    other = "person" in kinds and not _begins_with_link(new)
    kept = _without(old, replaced, topic=bool(change.topic) or other)
    joint = " about " if change.topic and not kinds and not _begins_with_link(new) else " "
    return f"{kept}{joint}{new.strip().rstrip('?.! ')}".strip() + "?"


def _begins_with_link(text: str) -> bool:
    return bool(re.match(r"\s*(?:about|on|for|by|in|at|with|from)\b", text, re.IGNORECASE))


def _without(old: Reading, kinds: set[str], *, topic: bool) -> str:
    """A question without the words of some kinds, and without its topic if that changes."""
    words = old.words
    gone = [
        kind in kinds
        or (topic and kind in (FREE, TITLE) and words[i].text in old.topic)
        or ("table" in kinds and words.key(i) in SESSION_NOUNS)
        for i, kind in enumerate(words.kinds)
    ]
    text = words.text
    for i in reversed(range(len(words))):
        if gone[i]:
            # Up to the next word if that goes too, so that nothing is left of "14:00".
            end = words[i + 1].start if i + 1 < len(words) and gone[i + 1] else words[i].end
            text = text[: words[i].start] + text[end:]
    text = re.sub(r"[\"“”„«»]\s*[\"“”„«»]", " ", text)
    text = re.sub(r"\s+(?:about|on|regarding)\s*(?=[?.!]*\s*$)", "", text) if topic else text
    return re.sub(r"\s+", " ", text).strip().rstrip("?.!, ")

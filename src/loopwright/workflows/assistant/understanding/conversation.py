"""Questions that lean on the conversation before them, made to stand alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from loopwright.workflows.assistant.conference.catalogue import Catalogue
from loopwright.workflows.assistant.schemas import Record, Table, Turn
from loopwright.workflows.assistant.understanding.anchors import RELATION
from loopwright.workflows.assistant.understanding.clock import CLOCK
from loopwright.workflows.assistant.understanding.days import DAY
from loopwright.workflows.assistant.understanding.frames import BARE, SESSION_NOUNS
from loopwright.workflows.assistant.understanding.kinds import LANGUAGE, TYPE
from loopwright.workflows.assistant.understanding.personal import is_about_the_person
from loopwright.workflows.assistant.understanding.persons import PERSON
from loopwright.workflows.assistant.understanding.planning import ONE_ALONE
from loopwright.workflows.assistant.understanding.reading import Reading
from loopwright.workflows.assistant.understanding.smalltalk import smalltalk_of, without_greeting
from loopwright.workflows.assistant.understanding.tables import TABLE
from loopwright.workflows.assistant.understanding.topics import TITLE
from loopwright.workflows.assistant.understanding.tracks import TRACK
from loopwright.workflows.assistant.understanding.words import FREE, REFUSED

_MARKER = re.compile(
    r"^\s*(?P<link>(?:(?:and|or|but|also|ok(?:ay)?|so|then|now)\b[,\s]*)*)(?P<plain>(?:what|how)\s+about\b|what\s+of\b"
    r"|(?:the\s+)?same(?:\s+(?:thing|again|question))?\b(?:\s+(?:for|but|on|in|at)\b)?|only\b|just\b"
    r"|which\s+(?:of\s+(?:them|these|those)|ones)\s+(?:are|is|take\s+place)\b)?\s*",
    re.IGNORECASE,
)
_ASKS_ANEW = re.compile(
    r"\s*(?:what|which|who|whom|where|when|how|why|is|are|do|does|did|can|could|will|any|anything|something|show|tell|list"
    r"|find|give|i|we|please)\b",
    re.IGNORECASE,
)
_GIVER = re.compile(
    r"\bwho(?:\s+is|['’]s)?\s+(?:giv(?:es?|ing)|speak(?:s|ing)|present(?:s|ing)|hold(?:s|ing)|talk(?:s|ing)|the\s+speaker)\b",
    re.IGNORECASE,
)
_ONLY_TITLE = re.compile(r'"[^"]+"[?.! ]*')
_NARROWING = frozenset({DAY, CLOCK, LANGUAGE, REFUSED})
"""What a few words that name nothing else can only mean within the question before: "on Sunday?", "not in German"."""
_MOST_ELLIPTIC = 6
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
    earlier, cited = list[str](), list[Record]()
    for turn in history:
        if turn.role == "assistant":
            cited = [catalogue.records[id] for id in turn.referenced_ids if id in catalogue.records] or cited
        elif not (smalltalk_of(turn.text) or is_about_the_person(without_greeting(turn.text))):
            earlier.append(_resolved(without_greeting(turn.text), earlier, cited, read))
    return _resolved(question, earlier, cited, read)


def _resolved(question: str, earlier: Sequence[str], cited: Sequence[Record], read: Reader) -> str:
    previous = earlier[-1] if earlier else ""
    if cited:
        referred = _referred(question, earlier, cited, read)
        if referred:
            return referred
    if previous and (marker := _MARKER.match(question)):
        new = _INSTEAD.sub("", question[marker.end() :])
        if marker["plain"] or _is_elliptic(new, read, linked=bool(marker["link"].strip())):
            return _merged(previous, new, read) or question
    return question


def _referred(question: str, earlier: Sequence[str], cited: Sequence[Record], read: Reader) -> str:
    """The question with "the second one", "it" or "she" replaced by what the last answer cites; empty without any."""
    nth = _NTH.search(question)
    if nth:
        said = (nth["nth"] or nth["bare"] or "").lower()
        place = len(cited) - 1 if said == "last" else _ORDINALS[said] if said else int(nth["number"]) - 1
        alone = not _asks_more(question[: nth.start()] + question[nth.end() :], read)
        if place < len(cited) and alone:
            asked = _with(question, nth, cited[place].title, quoted=True)
            return _giver_of(question, cited[place]) or (
                f"{ONE_ALONE}{asked}" if _ONLY_TITLE.fullmatch(asked) else asked
            )
    person = _PERSON.search(question)
    if person and not read(question[: person.start()] + question[person.end() :]).topic:
        if cited[0].table == Table.EXHIBITORS:
            return _with(question, person, cited[0].title, quoted=True)
        name = next((name for text in earlier[-1:] for name in read(text).filters.speakers), "") or _speaker_of(cited)
        return _with(question, person, name, quoted=False) if name else ""
    giver = _giver_of(question, cited[0])
    if giver and not _asks_more(_THING.sub("", _GIVER.sub("", question)), read):
        return giver
    thing = _THING.search(question)
    if thing and (subject := _subject_elsewhere(question, thing, earlier, cited, read)):
        return subject
    if thing and not _asks_more(RELATION.sub(" ", question[: thing.start()]) + question[thing.end() :], read):
        return _with(question, thing, cited[0].title, quoted=True)
    if _GIVES.match(question) and not _asks_more(question, read):
        return f'{question.strip().rstrip("?. ")} "{cited[0].title}"?'
    return ""


def _giver_of(question: str, record: Record) -> str:
    """The question for the persons who give a session, where they are asked for."""
    persons = record.values("speaker") if _GIVER.search(question) else ()
    return f"Which speaker is {' and '.join(persons)}?" if persons else ""


def _subject_elsewhere(
    question: str, thing: re.Match[str], earlier: Sequence[str], cited: Sequence[Record], read: Reader
) -> str:
    """The question about the latest topic, where "it" is asked of another kind of record than the last answer has."""
    rest = read(question[: thing.start()] + question[thing.end() :])
    if TABLE not in rest.words.kinds or rest.topic or cited[0].table in rest.tables.tables:
        return ""
    topics = (reading.topic for text in reversed(earlier) if TITLE not in (reading := read(text)).words.kinds)
    topic = next(filter(None, topics), "")
    return _INSTEAD.sub("", question[: thing.start()] + topic + question[thing.end() :]) if topic else ""


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


def _is_elliptic(question: str, read: Reader, *, linked: bool) -> bool:
    """Whether a text only makes sense after the question before it.

    One that names its own track, type, room or topic starts anew, unless a word such as "and" links it.
    """
    reading = read(question)
    if not len(reading.words) or len(reading.words) > _MOST_ELLIPTIC:
        return False
    if linked:
        return not _ASKS_ANEW.match(question)
    said = set(reading.words.kinds) - {FREE}
    free = any(
        word.key not in BARE for word, kind in zip(reading.words.words, reading.words.kinds, strict=True) if not kind
    )
    return (
        not reading.topic and not free and bool(said) and _NARROWING.issuperset(said) and not _ASKS_ANEW.match(question)
    )


def _merged(previous: str, new: str, read: Reader) -> str:
    """The question before with what the new one changes in it."""
    old, change = read(previous), read(new)
    kinds = {kind for kind in change.words.kinds if kind not in (FREE, TITLE)}
    if not kinds and not change.topic:
        return ""
    replaced, linked = kinds - {REFUSED}, _begins_with_link(new)
    if change.topic:
        # A new topic is not meant within the old one's track.
        replaced |= {TRACK} if old.topic else {TRACK, PERSON}
    # "what about her?" or "the Go devroom?" is another question, and "by her?" a narrower one.
    other = not kinds.isdisjoint({PERSON, TRACK}) and not linked
    kept = _without(old, replaced, topic=bool(change.topic) or other)
    joint = " about " if change.topic and not kinds and not linked else " "
    if not linked and CLOCK in old.words.kinds and not kinds.isdisjoint({TRACK, TYPE, TABLE}):
        # "between 10 and 12 keynotes" would be no time any more.
        joint = " for "
    if REFUSED in kinds:
        joint = ", "
    return f"{kept}{joint}{new.strip().rstrip('?.! ')}".strip() + "?"


def _begins_with_link(text: str) -> bool:
    return bool(re.match(r"\s*(?:about|on|for|by|in|at|with|from)\b", text, re.IGNORECASE))


def _without(old: Reading, kinds: set[str], *, topic: bool) -> str:
    """A question without the words of some kinds, and without its topic if that changes."""
    words = old.words
    gone = [
        kind in kinds
        or (topic and kind in (FREE, TITLE) and words[i].text in old.topic)
        or (TABLE in kinds and words.key(i) in SESSION_NOUNS)
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

"""What a clause says of the times in it: that they are asked for, or not wanted, or when somebody comes or leaves.

Told from labelled examples (``data/times.yaml``), whatever the words: "Sunday is no good", "before ten is too early".
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import inf

from loopwright.workflows.assistant.question.moments import PARTS, clock_said
from loopwright.workflows.assistant.question.nearest import MARKS, model_of
from loopwright.workflows.assistant.question.negation import JOINING, OPENING, TIMES, cue_at, is_verbal, object_at
from loopwright.workflows.assistant.question.tokens import Sentence, Span
from loopwright.workflows.assistant.schemas import Condition
from loopwright.workflows.assistant.searching.lexicon import words

_SURE = 3.0
"""The log-odds from which a clause says something else of a time than that it is asked for."""
_DENIED = 4.0
"""What a denial of a time says by itself, whatever stands between."""
_SUBJECT = 0.7
"""What a word must weigh to be what a cue denies, rather than the time behind it."""
_AT_ONCE = 0.05
"""The same of a word right behind the cue."""
_FAR = 6
"""So many words at most lie between a verb that is denied and its time."""


def read_presence(sentence: Sentence, weight: Callable[[int], float]) -> None:
    """Mark the times that are not wanted as such, and make limits of those at which somebody comes or leaves."""
    if not sentence.asks(*TIMES):
        return
    weight, model = cache(weight), model_of("times")
    things, idle = words("things", "sessions any"), MARKS | JOINING
    pointing = words("turns", "it", "en") | words("grammar", "opening")  # "but not the ones on Sunday"
    before = "asked"
    days = {span.condition.values for span in sentence.spans if span.condition.slot == "day"}
    for first, last in _parts(sentence, weight):
        spans = [span for span in sentence.spans if first <= span.first < last and span.condition.slot in TIMES]
        if not spans:
            before = "asked"
            continue
        said, denying = _said(sentence, first, last, spans, weight)
        direct = said[0] == "NOT" and next((word for word in said[1:] if word not in things | pointing), "") in MARKS
        so = sentence.word(first) in JOINING and sentence.says(first + 1, "likewise")
        if direct:
            before = "unwanted"
        elif not so and any(word == "NOT" or word not in idle for word in said):  # else as the part before
            odds = model.likeness(said)
            odds[model.labels.index("unwanted")] += _DENIED * (said[0] == "NOT")
            if "NOT" not in said and sentence.begins(last) and sentence.asks_at(first):
                odds[model.labels.index("unwanted")] = -inf  # who asks for a time wants it
            best = int(odds.argmax())
            before = model.labels[best] if odds[best] >= _SURE else "asked"
            # "When can I leave on Sunday?" asks; a time in it may still be the one until which somebody stays.
            inverted = sentence.asks_at(first) or sentence.says(first + 1, "wonders")
            asks = sentence.says(first, "wonders") and inverted and "NOT" not in said
            if asks and all(span.condition.slot == "day" for span in spans):
                before = "asked"
        if before == "asked":
            told = denying
        else:
            subjects = {place for place in sentence.rest() if weight(place) >= _SUBJECT}
            # What people tell of their coming and going with, as "train", is no subject beside it.
            own = {each for each in subjects if first <= each < last and not model.knows(sentence.word(each))}
            _change(sentence, spans, before, first, keep_day=bool(own) or len(days) == 1, busy="NOT" not in said)
            # What somebody tells of their day is no subject where another clause has one.
            timed = any(_timed(sentence, object_at(sentence, place + 1)) for place in denying)
            kept = own if (subjects == own or direct) and not timed else set[int]()
            told = {*range(first, last)} - kept | denying
        for place in told:
            sentence.take(place, place + 1, "told")


def _parts(sentence: Sentence, weight: Callable[[int], float]) -> Iterator[tuple[int, int]]:
    """The parts of clauses that each say one thing: apart at "and" and "or", and where a denial of a time begins."""
    times = sorted(span.first for span in sentence.spans if span.condition.slot in TIMES)
    for first, last in sentence.clauses():
        began, free = first, first + max(1, _denial(sentence, first))
        for place in range(first + 1, last):
            time = next((at for at in times if place < at < last), 0)
            if not time or place < free or sentence.tokens[place].taken:
                continue
            joins = sentence.word(place) in JOINING and any(began <= at < place for at in times)
            if joins or (_denial(sentence, place) and _denies_time(sentence, place, time, weight)):
                yield began, place
                began, free = place, place + _denial(sentence, place)
        yield began, last


def _denial(sentence: Sentence, place: int) -> int:
    """How many words those that deny something have at a place; 0 where none stand there."""
    if sentence.says(place - 1, "why"):
        return 0
    return cue_at(sentence, place) or int(sentence.word(place).endswith("n't"))


def _denies_time(sentence: Sentence, place: int, time: int, weight: Callable[[int], float]) -> bool:
    """Whether what is denied is the time that follows, and no subject before it."""
    length = _denial(sentence, place)
    helps = sentence.word(place).endswith("n't") or sentence.is_any(place, words("negation", "weak"))
    if not helps and any(place < span.first < time for span in sentence.spans if span.condition.slot not in TIMES):
        return False  # "no workshops on Sunday"
    if helps or is_verbal(sentence, place, length):
        return time - place <= _FAR
    behind = object_at(sentence, place + length)
    free = (other for other in range(behind, time) if not sentence.tokens[other].taken)
    return _timed(sentence, behind) or not any(weight(n) > (_SUBJECT if n > behind else _AT_ONCE) for n in free)


def _timed(sentence: Sentence, behind: int) -> bool:
    """Whether a clause says by its verb when something is on: "whatever starts after six"."""
    relates = sentence.says(behind - 2, "whoever relative")
    return relates and sentence.is_any(behind - 1, words("grammar", "starts") | words("time", "ends"))


def _denies_else(sentence: Sentence, first: int, last: int, weight: Callable[[int], float]) -> bool:
    """Whether what is denied behind a time is a place, kind, person or subject: "Sunday at three without Janson"."""
    others = {span.first for span in sentence.spans if span.condition.slot not in TIMES}
    known = model_of("times").knows
    return any(at in others or (weight(at) > _SUBJECT and not known(sentence.word(at))) for at in range(first, last))


def _said(
    sentence: Sentence, first: int, last: int, spans: Sequence[Span], weight: Callable[[int], float]
) -> tuple[list[str], set[int]]:
    """The words of a part, times and what denies them as marks; and the places of the latter."""
    starts = {span.first: span for span in spans}
    said: list[str] = []
    denying: set[int] = set()
    place = first
    while place < last:
        length = 0 if sentence.tokens[place].taken else _denial(sentence, place)
        if place in starts:
            said += [_mark(span.condition) for span in spans if span.first == place]
            length = starts[place].last - place
        elif length and (
            _denies_time(sentence, place, min(starts), weight)
            if place < max(starts)
            else not _denies_else(sentence, place + length, last, weight)
        ):
            said.append("NOT")
            denying |= {*range(place, place + length)}
        elif length:
            said.append("X")  # denies something else
        elif sentence.word(place) not in OPENING:
            word = sentence.word(place).partition("'")[0]  # of "I'm" the person
            said.append("X" if sentence.tokens[place].taken == "title" else word)
        place += max(1, length)
    return said, denying


def _mark(asked: Condition) -> str:
    if asked.slot == "day":
        return "DAY"
    if (asked.least or 0, asked.most) in PARTS.values():
        return "PART"
    if asked.slot == "on" or (asked.most or 0) - (asked.least or 0) == 1:
        return "AT"
    return "BEFORE" if asked.least is None else "AFTER" if asked.most is None else "BETWEEN"


def _change(sentence: Sentence, spans: Sequence[Span], said: str, first: int, *, keep_day: bool, busy: bool) -> None:
    """Make of the times of a part what it says of them."""
    days = [span for span in spans if span.condition.slot == "day"]
    timed = [span for span in spans if span.condition.slot != "day"]
    changed: list[Span] = []
    if said == "unwanted":
        # "Nothing before 11 on Sunday" still asks for Sunday, "not on Sunday morning" for both days.
        open_ended = all(_mark(span.condition) in ("BEFORE", "AFTER") for span in timed)
        asked = [span for span in days if timed and keep_day and open_ended]
        on = tuple(value for span in days if not asked for value in span.condition.values)
        for span in timed or days:
            told = [each.condition.said for each in (span, *(days if timed and not asked else ()))]
            update = {"values": on if timed else span.condition.values, "said": " ".join(filter(None, told))}
            # While somebody is busy, nothing that goes on then.
            late = busy and (_mark(span.condition), span.condition.slot) == ("AFTER", "start")
            begins = any(sentence.says(place, "starts") for place in range(first, span.first))
            slot = "end" if late else span.condition.slot if begins or _mark(span.condition) != "BETWEEN" else "on"
            denied = span.condition.model_copy(update={**update, "slot": slot})
            changed.append(Span(span.first, span.last, denied, barred=True))
        changed += asked
    else:
        changed += days if timed or said == "come" else []
        # Who is free between two times can come from the first on.
        changed += [span for span in timed if _mark(span.condition) == "BETWEEN"]
        # Who leaves then misses what those hear who come then.
        missed = any(sentence.says(place, "misses") for place in range(spans[0].first))
        said = ("leave" if said == "come" else "come") if missed else said
        changed += [Span(span.first, span.last, _limit(span.condition, said)) for span in timed]
    sentence.spans = [each for each in sentence.spans if each not in spans] + changed


def _limit(asked: Condition, said: str) -> Condition:
    """When something may be on, of somebody who comes or leaves then."""
    asked = asked.model_copy(update={"least": asked.most}) if (asked.slot, _mark(asked)) == ("end", "AT") else asked
    first = asked.least if asked.least is not None or asked.slot == "end" else asked.most
    if said == "come":
        return Condition(slot="start", least=first, said=f"from {clock_said(first or 0)}")
    at = asked.least if asked.most is None or _mark(asked) == "AT" else asked.most
    return Condition(slot="end", most=at, said=f"ending before {clock_said(at or 0)}")

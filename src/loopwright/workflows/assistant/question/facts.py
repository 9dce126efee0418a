"""What is to be listed or counted instead of sessions, and the conference's own data as the answer."""

from datetime import date

from loopwright.config import shipped
from loopwright.retrieval.text import STOP_WORDS, fold, terms
from loopwright.workflows.assistant.question.moments import clock_said
from loopwright.workflows.assistant.question.nearest import asked_with
from loopwright.workflows.assistant.question.tokens import Sentence
from loopwright.workflows.assistant.schemas import Operation, Question, Table
from loopwright.workflows.assistant.searching.lexicon import spoken, table, words
from loopwright.workflows.assistant.sources.catalogue import Catalogue, span_of
from loopwright.workflows.assistant.sources.info import CODES, code_of

_COLUMNS = ("speakers", "rooms", "tracks", "day", "types", "languages")
"""The columns of a schedule whose names are what people call that which is counted or listed."""
_COUNTED: dict[str, str] = {
    fold(word).removesuffix("s"): Table.SPEAKERS if column == Table.SPEAKERS else column.removesuffix("s")
    for column, names in shipped("loopwright.workflows.assistant", "data/columns.yaml")["sessions"].items()
    for word in (names if column in _COLUMNS else ())
    if word not in STOP_WORDS
} | table("things")["counted"]
"""Word, in the singular -> what is counted or listed by it."""
_TELLING = frozenset({"both", "each", "no", "not", "same", "than", "most", "only"})
"""Small words that ask for something else than all there is."""


def counts(word: str) -> str:
    """What is counted or listed by a word, as "rooms"; empty for nothing."""
    return _COUNTED.get(word.removesuffix("s"), "")


def unlisted(sentence: Sentence) -> list[int]:
    """The words that say more than that all there is, or all of a day, is asked for: "go home", "both"."""
    plain = STOP_WORDS - _TELLING | words("turns", "filler opens") | words("things", "sessions thing any some")
    plain |= spoken(sentence.language) if sentence.language != "en" else set()
    told = (n for n, each in enumerate(sentence.tokens) if each.taken == "told" and not sentence.spans)
    said = ((n, sentence.word(n).partition("'")[0]) for n in sentence.rest() or told)  # "I leave on Sunday." alone
    asking = asked_with("find", "recommend")
    # "Good morning", and "all talks, both days", but not "who speaks on both days?".
    lists = len(sentence) < 4 or any(sentence.is_any(n, words("things", "sessions")) for n in range(3))
    ends = (n for n in range(1, len(sentence)) if lists and sentence.is_any(n, ("day", "days")))
    whole = {n - step for n in ends if sentence.is_any(n - 1, ("all", "both", "each", "every")) for step in (0, 1)}
    said = ((n, word) for n, word in said if n not in whole and word not in plain and sentence.word(n - 1) != "good")
    return [n for n, word in said if word in _TELLING or asking.isdisjoint(terms(word))]


def listed(sentence: Sentence) -> str:
    """What is to be listed instead of sessions, as "which rooms", "all speakers"."""
    asking = words("things", "any free", "en") | {"which", "what", "list", "the", "your"}
    said = (n for n in range(len(sentence)) if sentence.is_any(n - 1, asking) and sentence.word(n).endswith("s"))
    # "What is on at ten on all stages?" only says where.
    said = (n for n in said if not (sentence.word(n - 2) == "on" and sentence.word(n - 1) == "all"))
    found = {counts(sentence.word(n)): n for n in said}
    if Table.SPEAKERS in found and not words("things", "sessions") & {each.word for each in sentence.tokens}:
        sentence.take(found[Table.SPEAKERS], found[Table.SPEAKERS] + 1, "kind")
        return Table.SPEAKERS
    return next((each for each in found if each not in ("", *Table)), "")


def counted_by(sentence: Sentence, operation: Operation) -> str:
    """What is counted, if not records."""
    if operation == "until" and any(sentence.is_any(place, words("things", "last")) for place in sentence.rest()):
        return "last"
    if operation not in ("most", "count", "about"):
        return ""
    for place, token in enumerate(sentence.tokens):
        if operation == "count" and token.word in words("things", "sessions"):
            return ""
        counted = "" if sentence.says(place - 1, "staged") else counts(token.word)  # "take place", "more places"
        if counted and (operation != "about" or token.word.endswith("s")):
            return counted
    days = {day for span in sentence.spans if span.condition.slot == "day" for day in span.condition.values}
    return "day" if operation == "most" and len(days) > 1 else ""


def asks_free(sentence: Sentence) -> bool:
    """Whether rooms are asked for that are free, which stands beside them or is said of them; no "free software"."""
    timed = sentence.asks("start", "on", "end") or any(token.word in words("time", "now") for token in sentence.tokens)
    said = [place for place in range(len(sentence)) if sentence.is_any(place, words("things", "free"))]
    beside = {n for n in said if any(sentence.is_any(m, words("things", "room")) for m in (n - 1, n + 1))}
    beside |= {n for n in said if sentence.says(n - 1, "be") or sentence.says(n - 2, "be")}
    return any(timed or sentence.word(place) != "available" for place in beside)


_MOST = 40
_FIELDS = {"room": "rooms", "track": "tracks", "day": "days", "language": "languages", "type": "kinds of sessions"}


def facts_of(question: Question, catalogue: Catalogue) -> tuple[str, ...]:
    """The answer as sentences; empty if the conference's own data say nothing of it."""
    if question.filters.without or question.filters.values("person"):
        return ()
    counted = question.operation == "count"
    if question.by.removeprefix("free ") in _FIELDS:
        return _listed(question, catalogue, counted=counted)
    if question.by in tuple(Table):
        kind = Table(question.by)
        if not catalogue.of_table(kind):
            return (f"There is no list of {kind.value}.",)
        if question.filters.empty and counted:
            return (f"There are {len(catalogue.of_table(kind))} {kind.value}.",)
        return ()
    other = any(each.slot != "day" for each in question.filters.include)
    return () if counted or question.topic or other else _itself(question, catalogue)


def _listed(question: Question, catalogue: Catalogue, *, counted: bool) -> tuple[str, ...]:
    field, filters = question.by.removeprefix("free "), question.filters
    free = field != question.by
    asked = f" ({', '.join(each.said for each in filters.include if each.said)})" if filters.include else ""
    found = catalogue.filtered(Table.SESSIONS, filters.but("start", "on", "end", "day") if free else filters)
    values = dict.fromkeys(value for record in found for value in record.values(field))
    if free:  # what is on at a time takes a room, whenever it began
        on = tuple(each.model_copy(update={"slot": "on"}) if each.slot == "start" else each for each in filters.include)
        taken = catalogue.filtered(Table.SESSIONS, filters.model_copy(update={"include": on}))
        values = {each: None for each in values if not any(each in record.values(field) for record in taken)}
        asked = f" without a session{asked}"
    if not values:
        return (f"The schedule names no {_FIELDS[field]}{asked}.",) if filters.empty or free else ()
    if field == "day":
        named = [_day(date.fromisoformat(day)) for day in sorted(values)]
    elif field == "language":
        named = [*dict.fromkeys(CODES.get(code_of(each), each) for each in values)]
    else:
        named = sorted(values)
    more = f" and {len(named) - _MOST} more" if len(named) > _MOST else ""
    listed = f"The {_FIELDS[field]}{asked} are: {', '.join(named[:_MOST])}{more}."
    return (f"There are {len(named)} {_FIELDS[field]}{asked}.", listed) if counted else (listed,)


def _itself(question: Question, catalogue: Catalogue) -> tuple[str, ...]:
    info = catalogue.info
    if info is None:
        return ()
    span = _day(info.start) if info.start == info.end else f"{_day(info.start)} to {_day(info.end)}"
    place = ", ".join(part for part in (info.venue, info.city) if part)
    where = f"{info.title} is {'at' if info.venue else 'in'} {place}." if place else ""
    if words("grammar", "where") & set(question.text.lower().strip("?!. ").split()):
        rooms = len(catalogue.values("room"))
        more = f"; it has {rooms} room{'s' * (rooms != 1)}" if rooms else ""
        return (where or f"The schedule does not say where {info.title} is{more}.",)
    told = [f"{info.title} is on {span}.", where] if not question.filters.values("day") else []
    for day in question.filters.values("day") or sorted(catalogue.values("day")):
        own = (each for each in catalogue.of_table(Table.SESSIONS) if each.start and each.values("day") == (day,))
        if held := [span_of(each) for each in own]:
            first, last = min(held)[0], max(ends for _, ends in held)
            told.append(f"On {_day(date.fromisoformat(day))} it goes from {clock_said(first)} to {clock_said(last)}.")
    sessions = sum(not each.values("status") for each in catalogue.of_table(Table.SESSIONS))
    told.append(f"It has {sessions} sessions and {len(catalogue.of_table(Table.SPEAKERS))} speakers.")
    return tuple(filter(None, told))


def _day(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B %Y}"

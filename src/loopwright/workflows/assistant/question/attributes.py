"""Questions about the conference itself, answered from its own data: when, where, how many, which tracks and rooms."""

from datetime import date

from loopwright.workflows.assistant.question.moments import clock_said
from loopwright.workflows.assistant.schemas import Question, Table
from loopwright.workflows.assistant.searching.lexicon import words
from loopwright.workflows.assistant.sources.catalogue import Catalogue, span_of
from loopwright.workflows.assistant.sources.languages import CODES, code_of

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
        table = Table(question.by)
        if not catalogue.of_table(table):
            return (f"There is no list of {table.value}.",)
        if question.filters.empty and counted:
            return (f"There are {len(catalogue.of_table(table))} {table.value}.",)
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
        return (where or f"The schedule does not say where {info.title} is; it has {rooms} rooms.",)
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

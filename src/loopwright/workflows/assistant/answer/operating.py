"""What is computed from records instead of ranked: counts, clashes, comparisons, and how long until something."""

from collections.abc import Sequence
from datetime import date, datetime
from itertools import combinations, product
from operator import itemgetter

from loopwright.workflows.assistant.answer.lines import titled
from loopwright.workflows.assistant.answer.wording import NOUNS, day_named, joined, minutes_of, plain, when
from loopwright.workflows.assistant.schemas import Found, Question, Record, SearchOutcome, Table

_MOST_COMPARED = 4


def counted(question: Question, outcomes: Sequence[SearchOutcome], asked: str) -> str:
    """How many there are."""
    if question.by and question.by != Table.EXHIBITORS and outcomes:
        field, values = _by_field(question, outcomes)
        return f"There {_are(len(values))} {len(values)} {field}{'s' * (len(values) != 1)}{asked}."
    parts = [f"{each.total} {NOUNS[each.query.table][each.total != 1]}" for each in outcomes]
    return f"There {_are(outcomes[0].total if outcomes else 0)} {joined(parts)}{asked}."


def most(question: Question, outcomes: Sequence[SearchOutcome], asked: str) -> str:
    """Which day, person, room or track has the most."""
    field, values = _by_field(question, outcomes)
    if not values:
        return f"Nothing can be counted{asked}."
    best = max(values.values())
    named = [_value(field, value) for value, count in values.items() if count == best]
    rest = [f"{_value(field, value)} {count}" for value, count in values.items() if count < best][:3]
    others = f"; {joined(rest)}" if rest else ""
    verb = "has" if len(named) == 1 else "have"
    return f"{joined(named)} {verb} the most{asked}: {best} session{'s' * (best != 1)}{others}."


def leading(question: Question, outcomes: Sequence[SearchOutcome], found: Sequence[Found]) -> list[Found]:
    """Those of what was found that are of what has the most; of one side that may clash with itself, those that do."""
    if question.operation == "clash":
        timed = [each for each in sessions_in(found) if each.start and len(question.parts) == 1]
        at_once = {each.id for pair in combinations(timed, 2) if _overlap(*pair) for each in pair}
        return [each for each in found if each.record.id in at_once] or [*found]
    field, values = _by_field(question, outcomes)
    best = max(values.values(), default=0)
    return [each for each in found if any(values.get(value) == best for value in each.record.values(field))]


def _by_field(question: Question, outcomes: Sequence[SearchOutcome]) -> tuple[str, dict[str, int]]:
    """What is counted by, and how many each of its values has."""
    field = {"speakers": "speaker", "": "day"}.get(question.by, question.by)
    return field, dict(outcomes[0].counts.get(field, {})) if outcomes else {}


def clashing(sides: Sequence[Sequence[Record]]) -> str:
    """Whether sessions of different sides are on at the same time; of one side, any two."""
    timed = [own for side in sides if (own := [each for each in side if each.start])]
    across = (pair for one, other in combinations(timed, 2) for pair in product(one, other))
    pairs = [*(combinations(timed[0], 2) if len(timed) == 1 else across)]
    at_once = [pair for pair in pairs if _overlap(*pair)]
    if not at_once and (not pairs or any(_overlap(*pair) is None for pair in pairs)):
        several = sum(map(len, sides)) > 1
        why = "The programme does not say how long they take" if several else "I found only one of them"
        return f"{why}, so I cannot tell whether they clash."
    shown = {each.id: each for pair in at_once or pairs for each in pair}
    times = "; ".join(f"{titled(each)} is on {when(each)}" for each in [*shown.values()][:_MOST_COMPARED])
    more = f"; and {len(shown) - _MOST_COMPARED} more" if len(shown) > _MOST_COMPARED else ""
    if at_once:
        return f"{'They' if len(pairs) == 1 else 'Some of them'} overlap: {times}{more}."
    apart = all({*one.values("day")}.isdisjoint(other.values("day")) for one, other in pairs)
    return f"They do not clash{', they are on different days' if apart else ''}: {times}{more}."


def _overlap(*pair: Record) -> bool | None:
    """Whether two are on at once, or are the same; None where the earlier of them may take any time."""
    (start, end), (later, _) = sorted(((each.start, each.end) for each in pair if each.start), key=itemgetter(0))
    if end or later == start:
        return end is None or later < end
    return False if {*pair[0].values("day")}.isdisjoint(pair[1].values("day")) else None


def compared(sessions: Sequence[Record]) -> str:
    """What tells sessions apart: when, where, how long, and who."""
    timed = [each for each in sessions if each.start][:_MOST_COMPARED]
    if len(timed) < 2:
        return "I found only one of them, so I cannot compare."
    longest = max(timed, key=minutes_of)
    same, minutes = len({minutes_of(each) for each in timed}) == 1, minutes_of(longest)
    lengths = f"Both take {minutes} minutes. " if same else f"{titled(longest)} is longer, with {minutes} minutes. "
    lengths = lengths if all(each.end for each in timed) else ""
    first, second, *_ = sorted(timed, key=lambda each: each.start or datetime.max)
    order = f"{titled(first)} is earlier. " if first.start != second.start else ""
    return f"{order}{lengths}{clashing([[each] for each in timed])}"


def until(record: Record, now: datetime | None) -> str:
    """How long it is until a session."""
    if now is None or record.start is None:
        return f"{titled(record)} is on {when(record)}."
    left = int((record.start - (now if now.tzinfo else now.replace(tzinfo=record.start.tzinfo))).total_seconds() // 60)
    if left < 0:
        return f"{titled(record)} has begun: {when(record)}."
    hours, minutes = divmod(left, 60)
    told = [f"{hours} hour{'s' * (hours != 1)}"] if hours else []
    told += [f"{minutes} minutes"] if minutes or not hours else []
    return f"{titled(record)} begins in {joined(told)}."


def sessions_in(found: Sequence[Found]) -> list[Record]:
    """The sessions among some hits."""
    return [each.record for each in found if each.record.table is Table.SESSIONS]


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _value(field: str, value: str) -> str:
    return day_named(date.fromisoformat(value)) if field == "day" else plain(value)

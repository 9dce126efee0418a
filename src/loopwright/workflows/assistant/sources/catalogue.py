"""All records of a conference in memory, for what is asked with every question."""

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from math import inf
from typing import Self
from weakref import WeakKeyDictionary

from loopwright.retrieval.records import Filter
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.workflows.assistant.schemas import Condition, Filters, Record, Table
from loopwright.workflows.assistant.sources.info import NIGHT_ENDS, ConferenceInfo
from loopwright.workflows.assistant.sources.storing import CONFERENCE_TAG, INFO_ID

_NEVER = datetime.max.replace(tzinfo=UTC)
_MOST_REMEMBERED = 256
_A_QUESTION = 0.1
"""Seconds: a question asks for the catalogue dozens of times."""
_DAY, _USUAL = 1_440, 60
"""Minutes: of a day, and how long something is on whose end is not known."""


class Catalogue:
    """The records of one revision of a store; never changes, and may be used by several threads."""

    def __init__(self, info: ConferenceInfo | None, records: Iterable[Record], *, revision: int = 0) -> None:
        self.info = info
        """The conference, or None if the store holds none."""
        self.revision = revision
        """The revision of the store that this was made from."""
        ordered = sorted(records, key=lambda each: (each.table, each.start or _NEVER, each.title.casefold(), each.id))
        self.records: dict[str, Record] = {record.id: record for record in ordered}
        """Id -> record: those with a time in its order, the others after them by title."""
        self._tables = {table: tuple(record for record in ordered if record.table == table) for table in Table}
        self._passing = lru_cache(maxsize=_MOST_REMEMBERED)(self._passed)

    @classmethod
    def of(cls, store: KnowledgeStore) -> Self:
        """Read all records of a store; documents that are no records of a conference are left out.

        Raises:
            StoreError: If the store fails.
        """
        # Asked first: what is written while reading makes the next catalogue, and not a wrong one that stays.
        revision = store.revision()
        tags = (CONFERENCE_TAG, *(table.value for table in Table))
        kept = {each.id: each.kept for each in store.documents(Filter(tags=tags)) if each.kept}
        info = kept.pop(INFO_ID, None)
        records = map(Record.model_validate_json, kept.values())
        return cls(ConferenceInfo.model_validate_json(info) if info else None, records, revision=revision)

    def of_table(self, table: Table) -> Sequence[Record]:
        """The records of a table: sessions in order of time, others by title."""
        return self._tables[table]

    def values(self, field: str, table: Table = Table.SESSIONS) -> dict[str, int]:
        """The values of a field, and how many records have each; the most frequent first, then by value."""
        counts = Counter(value for record in self._tables[table] for value in record.values(field))
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def filtered(self, table: Table, filters: Filters) -> list[Record]:
        """The records of a table that pass, in the order of `of_table`.

        A speaker passes if one of their sessions passes all the filters at once; where names are asked for, it is the
        speaker's own name that counts. Topics that are not wanted are for the search, which knows what a record is
        about. See `passes`.
        """
        return list(self._passing(table, filters))  # pyright: ignore[reportArgumentType] - what is frozen has a hash

    def _passed(self, table: Table, filters: Filters) -> tuple[Record, ...]:
        if table is not Table.SPEAKERS:
            return tuple(record for record in self._tables[table] if passes(record, filters))
        named, rest = (
            Filters(
                include=tuple(each for each in filters.include if (each.slot in ("person", "record")) is own),
                exclude=tuple(each for each in filters.exclude if (each.slot in ("person", "record")) is own),
            )
            for own in (True, False)
        )
        people = tuple(person for person in self._tables[Table.SPEAKERS] if passes(person, named))
        if rest.empty:
            return people
        ids = {session.id for session in self.filtered(Table.SESSIONS, rest)}
        return tuple(person for person in people if not ids.isdisjoint(person.related))


def current(store: KnowledgeStore) -> Catalogue:
    """The catalogue of a store as it is now, made anew only when the store has changed; safe in threads.

    Raises:
        StoreError: If the store fails.
    """
    revision = store.revision(_A_QUESTION)
    with _lock:
        catalogue = _made.get(store)
        if catalogue is None or catalogue.revision < revision:
            catalogue = _made[store] = Catalogue.of(store)
        return catalogue


_made: WeakKeyDictionary[KnowledgeStore, Catalogue] = WeakKeyDictionary()
_lock = threading.Lock()


def clock_of(moment: datetime) -> int:
    """The minutes of a moment's own clock, from midnight; the small hours count on from 24:00."""
    minutes = moment.hour * 60 + moment.minute
    return minutes + _DAY if moment.hour < NIGHT_ENDS else minutes


def span_of(record: Record) -> tuple[int, int]:
    """When a record begins and ends by the clock of its first day; both the same without an end."""
    if record.start is None:
        return 0, _DAY
    # By the clock, also in a night in which that is changed.
    begins, shown = clock_of(record.start), (record.end or record.start).replace(tzinfo=None)
    return begins, begins + int((shown - record.start.replace(tzinfo=None)).total_seconds()) // 60


def holds(record: Record, asked: Condition, days: Sequence[str] = ()) -> bool | None:
    """Whether a record is what a condition says; None if it has nothing of the kind, as a stand has no beginning.

    A time is meant of the days that the condition says, else of those that are given, else of any.
    """
    if asked.slot == "record":
        return record.id in asked.values
    if asked.slot in ("day", "room", "track", "type", "language", "person"):
        field = "speaker" if asked.slot == "person" else asked.slot
        is_person = field == "speaker" and record.table is Table.SPEAKERS
        own = (record.title,) if is_person else record.values(field)
        return any(value in asked.values for value in own) if own else None
    if record.start is None:  # what has a day and no time is not over before that is
        return True if asked.slot == "end" and asked.most is None and record.values("day") else None
    begins, ends = span_of(record)
    least, most = -inf if asked.least is None else asked.least, inf if asked.most is None else asked.most
    if asked.slot == "minutes":
        return record.end is not None and least <= (record.end - record.start).total_seconds() // 60 <= most
    own = record.values("day")
    if asked.values and not set(asked.values) & set(own):
        return False
    until = ends if record.end else begins + _USUAL
    later = [_DAY * place for place, day in enumerate(own) if day in (asked.values or days or own)] or [0]
    if asked.slot == "start":
        return 0 in later and least <= begins < most
    if asked.slot == "end":
        return any(least < until - each and ends - each <= most for each in later)
    return any(begins - each < most and until - each > least for each in later)


def unmet(record: Record, filters: Filters) -> tuple[Condition, ...]:
    """The conditions that a record does not meet; what it has nothing of is not judged."""
    return tuple(asked for asked in filters.include if holds(record, asked, filters.values("day")) is False)


def passes(record: Record, filters: Filters) -> bool:
    """Whether a record is all that filters ask, and nothing that they exclude; topics are not looked at.

    What a record has nothing of excludes it where it is asked, but for stands and people: they are there all the time,
    so that a day restricts only those who name one, and a time nobody.
    """
    days = filters.values("day")
    for asked in filters.include:
        held = holds(record, asked, days)
        if held is None:
            held = record.table is not Table.SESSIONS and asked.slot in ("day", "start", "end", "on", "minutes")
        if not held:
            return False
    return not any(holds(record, asked, days) for asked in filters.exclude)

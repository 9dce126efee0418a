"""All records of a conference in memory, for what is asked with every question."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from math import inf
from typing import NamedTuple, Self
from weakref import WeakKeyDictionary

from loopwright.retrieval.records import Filter
from loopwright.retrieval.stores.protocol import KnowledgeStore
from loopwright.workflows.assistant.conference.info import ConferenceInfo
from loopwright.workflows.assistant.conference.keeping import (
    CONFERENCE_TAG,
    INFO_ID,
    info_of,
    passage_ids,
    record_of,
)
from loopwright.workflows.assistant.schemas import Filters, Record, Table

_NEVER = datetime.max.replace(tzinfo=UTC)
_MOST_REMEMBERED = 256
_A_MOMENT = 1e-3
_HOUR, _DAY = 3_600.0, 86_400.0
NIGHT_ENDS = time(5)
"""What begins earlier in the morning is at night: by the time of day it comes after the evening before."""


class Catalogue:
    """The records of one revision of a store; never changes, and may be used by several threads."""

    def __init__(self, info: ConferenceInfo | None, records: Iterable[Record], *, revision: int = 0) -> None:
        """Index records.

        Args:
            info: The conference, or None if nothing is known of it.
            records: Its records.
            revision: The revision of the store that they come from.
        """
        self.info = info
        """The conference, or None if the store holds none."""
        self.revision = revision
        """The revision of the store that this was made from."""
        ordered = sorted(records, key=_order)
        self.records: dict[str, Record] = {record.id: record for record in ordered}
        """Id -> record: those with a time in its order, the others after them by title."""
        self._tables: dict[Table, tuple[Record, ...]] = {
            table: tuple(record for record in ordered if record.table == table) for table in Table
        }
        self._ordered = ordered
        self._places = {record.id: place for place, record in enumerate(ordered)}
        self._holders: dict[tuple[Table, str, str], set[str]] = defaultdict(set)
        for record in ordered:
            for field, values in record.fields.items():
                for value in values:
                    self._holders[record.table, field, value].add(record.id)
        # Comparing numbers is a hundred times as fast as comparing times of different zones.
        self._spans = {record.id: span_of(record) for record in ordered}
        self._values: dict[tuple[Table, str], dict[str, int]] = {}
        self._filtered: dict[tuple[Table, Filters], tuple[Record, ...]] = {}

    @classmethod
    def of(cls, store: KnowledgeStore) -> Self:
        """Read all records of a store.

        Args:
            store: The store; documents that are no records of a conference are left out.

        Raises:
            StoreError: If the store fails.
        """
        # Asked first: what is written while reading makes the next catalogue, and not a wrong one that stays.
        revision = store.revision()
        tags = (CONFERENCE_TAG, *(table.value for table in Table))
        documents = store.documents(Filter(tags=tags))
        ids = {document.id: passage_ids(document) for document in documents}
        passages = {passage.id: passage for passage in store.passages([id for each in ids.values() for id in each])}
        info = next((info_of(document) for document in documents if document.id == INFO_ID), None)
        records = [
            record_of(document, [passages[id] for id in ids[document.id] if id in passages])
            for document in documents
            if document.id != INFO_ID
        ]
        return cls(info, records, revision=revision)

    def of_table(self, table: Table) -> Sequence[Record]:
        """The records of a table: sessions in order of time, others by title.

        Args:
            table: The table.
        """
        return self._tables[table]

    def values(self, field: str, table: Table = Table.SESSIONS) -> dict[str, int]:
        """The values of a field, and how many records have each; the most frequent first, then by value.

        Args:
            field: The field, for example ``room``.
            table: Whose records count.
        """
        known = self._values.get((table, field))
        if known is None:
            counts = Counter(value for record in self._tables[table] for value in record.values(field))
            known = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
            self._values[table, field] = known
        return known

    def filtered(self, table: Table, filters: Filters) -> list[Record]:
        """The records of a table that pass, in the order of `of_table`.

        A speaker passes if one of their sessions passes all the filters at once; where names are asked for, it is the
        speaker's own name that counts. Exhibitors and attendees are there all the time: a day restricts only those who
        name one, a time nobody. Every other filter lets only those pass that have one of its values.

        Args:
            table: The table.
            filters: What a record must be.
        """
        if filters.empty:
            return list(self._tables[table])
        known = self._filtered.get((table, filters))
        if known is None:
            known = self._speakers(filters) if table == Table.SPEAKERS else self._passing(table, filters)
            # Another dictionary rather than a lock: other threads may be reading the old one.
            rest = self._filtered if len(self._filtered) < _MOST_REMEMBERED else {}
            self._filtered = {**rest, (table, filters): known}
        return list(known)

    def _passing(self, table: Table, filters: Filters) -> tuple[Record, ...]:
        fields = {
            "room": filters.rooms,
            "track": filters.tracks,
            "type": filters.types,
            "language": filters.languages,
            "speaker": filters.speakers,
        }
        if table == Table.SESSIONS:
            fields["day"] = filters.days
        wanted = [self._with(table, field, values) for field, values in fields.items() if values]
        if filters.any_of:
            wanted.append({record.id for each in filters.any_of for record in self.filtered(table, each)})
        records: Iterable[Record] = self._tables[table]
        if wanted:
            places = sorted(map(self._places.__getitem__, set.intersection(*wanted)))
            records = map(self._ordered.__getitem__, places)
        if filters.without:
            records = (record for record in records if record.id not in filters.without)
        if table != Table.SESSIONS:
            days = set(filters.days)
            return tuple(
                record
                for record in records
                if not (days and (named := record.values("day"))) or not days.isdisjoint(named)
            )
        if not filters.timed:
            return tuple(records)
        window = Window.of(filters)
        return tuple(record for record in records if (span := self._spans[record.id]) and window.holds(span))

    def _with(self, table: Table, field: str, values: Sequence[str]) -> set[str]:
        return set[str]().union(*(self._holders.get((table, field, value), ()) for value in values))

    def _speakers(self, filters: Filters) -> tuple[Record, ...]:
        named = set(filters.speakers)
        rest = filters.model_copy(update={"speakers": ()})
        people = [person for person in self._tables[Table.SPEAKERS] if not named or person.title in named]
        if rest.empty:
            return tuple(people)
        ids = {session.id for session in self.filtered(Table.SESSIONS, rest)}
        return tuple(person for person in people if not ids.isdisjoint(person.related))


def current(store: KnowledgeStore) -> Catalogue:
    """The catalogue of a store as it is now, made anew only when the store has changed; safe in threads.

    Args:
        store: The store.

    Raises:
        StoreError: If the store fails.
    """
    with _slots_lock:
        slot = _slots.setdefault(store, _Slot())
    revision = store.revision()
    catalogue = slot.catalogue
    if catalogue is not None and catalogue.revision >= revision:
        return catalogue
    with slot.lock:
        if slot.catalogue is None or slot.catalogue.revision < revision:
            slot.catalogue = Catalogue.of(store)
        return slot.catalogue


class _Slot:
    """Where the catalogue of one store is kept."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.catalogue: Catalogue | None = None


_slots: WeakKeyDictionary[KnowledgeStore, _Slot] = WeakKeyDictionary()
_slots_lock = threading.Lock()


def _order(record: Record) -> tuple[Table, datetime, str, str]:
    return record.table, record.start or _NEVER, record.title.casefold(), record.id


class Span(NamedTuple):
    """When a record is on, in numbers."""

    start: float
    """When it begins, in seconds since 1970."""
    end: float
    """When it ends, in seconds since 1970; one without an end is on only when it begins."""
    clock: float
    """At what time of day it begins, in seconds after `NIGHT_ENDS` by its own clock."""


def span_of(record: Record) -> Span | None:
    """When a record is on, or None if it has no time.

    Args:
        record: The record.
    """
    if record.start is None:
        return None
    start = record.start.timestamp()
    end = record.end.timestamp() if record.end else start + _A_MOMENT
    return Span(start, end, _clock(record.start.time()))


@dataclass(frozen=True, slots=True)
class Window:
    """What filters ask of time, in numbers."""

    after: float
    """Begins then or later, in seconds since 1970."""
    before: float
    """Begins earlier."""
    at: float | None
    """Is on then, in seconds since 1970."""
    ends_after: float
    """Ends later, in seconds since 1970."""
    from_clock: float
    """Begins at this time of day or later, in seconds after `NIGHT_ENDS`."""
    until_clock: float
    """Begins earlier in the day."""
    at_clock: float | None
    """Is on at this time of day."""

    @classmethod
    def of(cls, filters: Filters) -> Self:
        """The window of some filters.

        Args:
            filters: The filters.
        """
        return cls(
            after=filters.after.timestamp() if filters.after else -inf,
            before=filters.before.timestamp() if filters.before else inf,
            at=filters.at.timestamp() if filters.at else None,
            ends_after=filters.ends_after.timestamp() if filters.ends_after else -inf,
            from_clock=-inf if filters.from_time is None else _clock(filters.from_time),
            until_clock=inf if filters.until_time is None else _clock(filters.until_time),
            at_clock=None if filters.at_time is None else _clock(filters.at_time),
        )

    def holds(self, span: Span) -> bool:
        """Whether what is on then fits.

        Args:
            span: When it is on.
        """
        start, end, clock = span
        return (
            self.after <= start < self.before
            and end > self.ends_after
            and (self.at is None or start <= self.at < end)
            and self.from_clock <= clock < self.until_clock
            # Modulo a day: what is on over night has begun by the clock's numbers after it ends.
            and (self.at_clock is None or (self.at_clock - clock) % _DAY < end - start)
        )


def _clock(said: time) -> float:
    return ((said.hour - NIGHT_ENDS.hour) * _HOUR + said.minute * 60 + said.second) % _DAY

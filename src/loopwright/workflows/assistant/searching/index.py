"""Which words stand in which facet of which record: an inverted index in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.lexicon import TITLE_WEIGHT, B
from loopwright.workflows.assistant.conference.facets import facet_of
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.searching.words import plain_words, terms_of

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

NEAR = 4
"""Words that are so many places apart, or fewer, stand together."""

_TITLE = "title"
_PERSONS = "speaker"


class RecordIndex:
    """The words of all records; never changed once made, safe in threads.

    A cell is one facet of one record; the cells of a record follow each other.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        """Read all records.

        Args:
            records: The records; their order is kept.
        """
        self.records = tuple(records)
        """The records; everything else names them by place."""
        self.place = {record.id: place for place, record in enumerate(self.records)}
        """Record id -> its place."""
        self.of_table: Mapping[Table, Ints] = {
            table: np.array([n for n, record in enumerate(self.records) if record.table == table], np.int32)
            for table in Table
        }
        """Table -> the places of its records."""
        self.surfaces: Counter[str] = Counter()
        """Word as written, folded -> in how many records."""
        self.names = frozenset(word for record in self.records for word in plain_words(" ".join(_persons(record))))
        """The words that are names of persons."""
        cells = _Cells()
        held = [self._read(place, record, cells) for place, record in enumerate(self.records)]
        self.cell_facet = tuple(cells.facets)
        """The facet of each cell."""
        self.cell_record: Ints = np.array(cells.records, np.int32)
        """The record of each cell."""
        self.cell_weight: Floats = np.array(cells.weights, np.float32)
        """How much a likeness in each cell says, from 0 to 1; see ``data/facets.yaml``."""
        self.cell_depth: Floats = np.where(cells.prose, 1.0, self.cell_weight).astype(np.float32)
        """How much a likeness in meaning with each cell says of the whole record: all where it is told in prose."""
        self.cell_emphasis: Floats = np.where(cells.names, TITLE_WEIGHT, self.cell_weight).astype(np.float32)
        """How much a word in each cell counts: those of titles and names several times."""
        self.first_cell: Ints = np.searchsorted(self.cell_record, np.arange(len(self.records) + 1)).astype(np.int32)
        """The first cell of each record, and at the end how many cells there are."""
        self._cell = {
            (facet, place): n for n, (facet, place) in enumerate(zip(cells.facets, cells.records, strict=True))
        }
        facet_cells: dict[tuple[Table, str], list[int]] = {}
        for n, (facet, place) in enumerate(zip(cells.facets, cells.records, strict=True)):
            facet_cells.setdefault((self.records[place].table, facet), []).append(n)
        self._facet_cells = {key: np.array(found, np.int32) for key, found in facet_cells.items()}
        self._number = {term: number for number, term in enumerate(cells.postings)}
        self._terms = tuple(cells.postings)
        self._postings = _normalised(cells, [record.table for record in self.records])
        self._positions = {term: np.array(found, np.int32) for term, found in cells.positions.items()}
        self._cell_begin = np.array(cells.begins, np.int32)
        self._held = [np.array([self._number[term] for term in terms], np.int32) for terms in held]
        self._frequency = np.bincount(np.concatenate([np.empty(0, np.int32), *self._held]), minlength=len(self._terms))

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.records)

    def cell_of(self, record_id: str, facet: str) -> int | None:
        """The cell of a record's facet, or None if there is none.

        Args:
            record_id: The record.
            facet: The facet.
        """
        place = self.place.get(record_id)
        return None if place is None else self._cell.get((facet, place))

    def cells_in(self, table: Table, facet: str) -> Ints:
        """The cells of one facet of a table.

        Args:
            table: The table.
            facet: The facet.
        """
        return self._facet_cells.get((table, facet), np.empty(0, np.int32))

    def frequency(self, term: str, table: Table | None = None) -> int:
        """In how many records a term stands.

        Args:
            term: The term.
            table: Whose records count; None for all.
        """
        number = self._number.get(term)
        if number is None:
            return 0
        if table is None:
            return int(self._frequency[number])
        return sum(self.records[place].table == table for place in self.records_with(term))

    def idf(self, term: str) -> float:
        """How much a term says: ``ln(1 + (N - n + 0.5) / (n + 0.5))``, for one that stands nowhere too.

        Source: S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, with the
        1 that keeps it from falling below zero.

        Args:
            term: The term.
        """
        n, size = self.frequency(term), len(self.records)
        return float(np.log1p((size - n + 0.5) / (n + 0.5)))

    def cells_with(self, term: str) -> tuple[Ints, Floats]:
        """The cells that hold a term, and how often each does, relative to its length.

        Args:
            term: The term.

        Returns:
            Places of cells, int32 [found], and ``count / (1 - b + b * length / mean length)``, float32 [found], the
            mean over the cells of the same facet and table.
        """
        number = self._number.get(term)
        if number is None:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        return self._postings[number]

    def records_with(self, term: str) -> Ints:
        """The places of the records that hold a term, each once, in order.

        Args:
            term: The term.
        """
        return np.unique(self.cell_record[self.cells_with(term)[0]])

    def records_near(self, first: Iterable[str], second: Iterable[str]) -> Ints:
        """The places of the records in which terms stand at most `NEAR` places apart, in either order, in one facet.

        Args:
            first: Terms, any of them.
            second: Other terms, any of them.
        """
        one, other = self._places_of(first), self._places_of(second)
        if not len(one) or not len(other):
            return np.empty(0, np.int32)
        after = np.searchsorted(other, one)
        gap = np.minimum(
            np.abs(other[np.minimum(after, len(other) - 1)] - one), np.abs(one - other[np.maximum(after - 1, 0)])
        )
        cells = np.searchsorted(self._cell_begin, one[gap <= NEAR], side="right") - 1
        return np.unique(self.cell_record[cells])

    def terms_in(self, places: Iterable[int]) -> Counter[str]:
        """Term -> in how many of some records it stands.

        Args:
            places: The records.
        """
        held = [self._held[place] for place in places]
        if not held:
            return Counter()
        numbers, counts = np.unique(np.concatenate(held), return_counts=True)
        return Counter({self._terms[n]: int(count) for n, count in zip(numbers, counts, strict=True)})

    def _places_of(self, terms: Iterable[str]) -> Ints:
        found = [self._positions[term] for term in terms if term in self._positions]
        return np.sort(np.concatenate(found)) if found else np.empty(0, np.int32)

    def _read(self, place: int, record: Record, cells: _Cells) -> list[str]:
        """Add a record's cells, and give back its terms."""
        surfaces: set[str] = set()
        held: dict[str, None] = {}
        for facet, text in facet_texts(record):
            words = plain_words(text)
            sequence = [term for word in words for term in terms_of(word)]
            # The title is first, and a cell even without words, so that every record has one.
            if sequence or not held:
                cells.add(place, record, facet, text, sequence)
                surfaces.update(words)
                held |= dict.fromkeys(sequence)
        self.surfaces.update(surfaces)
        return list(held)


class _Cells:
    """Cells while they are read, column by column."""

    def __init__(self) -> None:
        self.records: list[int] = []
        self.facets: list[str] = []
        self.lengths: list[int] = []
        self.weights: list[float] = []
        self.prose: list[bool] = []
        self.names: list[bool] = []
        self.postings: dict[str, tuple[list[int], list[int]]] = {}
        self.positions: dict[str, list[int]] = {}
        self.begins: list[int] = []
        self._end = 0

    def add(self, place: int, record: Record, facet: str, text: str, sequence: Sequence[str]) -> None:
        declared = facet_of(record.table, facet)
        counts = Counter(sequence)
        self.begins.append(self._end)
        for position, term in enumerate(sequence, self._end):
            self.positions.setdefault(term, []).append(position)
        # What ends one facet does not stand near what begins the next.
        self._end += len(sequence) + NEAR
        for term, count in counts.items():
            cells, often = self.postings.setdefault(term, ([], []))
            cells.append(len(self.records))
            often.append(count)
        self.records.append(place)
        self.facets.append(facet)
        # Who gives a session together with many does not give it less.
        alone = _only_names(text, record)
        self.lengths.append(0 if alone else counts.total())
        self.weights.append(1.0 if declared is None else declared.weight)
        self.prose.append(declared is not None and declared.with_title)
        self.names.append(alone or text == record.title)


def facet_texts(record: Record) -> Iterator[tuple[str, str]]:
    """The facets of a record with their texts, its title among them even if no facet has it.

    Args:
        record: The record.
    """
    if record.title not in record.texts.values():
        yield _TITLE, record.title
    yield from record.texts.items()


def _only_names(text: str, record: Record) -> bool:
    """Whether a text only lists the persons of a record."""
    persons = _persons(record)
    return bool(persons) and set(plain_words(text)) <= set(plain_words(" ".join(persons)))


def _persons(record: Record) -> Sequence[str]:
    return (record.title,) if record.table in (Table.SPEAKERS, Table.ATTENDEES) else record.values(_PERSONS)


def _normalised(cells: _Cells, tables: Sequence[Table]) -> list[tuple[Ints, Floats]]:
    """Counts divided by the length of their cell, since a word says less of a long text; a length of 0 divides by 1."""
    lengths = np.array(cells.lengths, np.float32)
    kinds: dict[tuple[Table, str], int] = {}
    kind = np.array(
        [
            kinds.setdefault((tables[place], facet), len(kinds))
            for place, facet in zip(cells.records, cells.facets, strict=True)
        ],
        np.int32,
    )
    mean = np.bincount(kind, lengths) / np.bincount(kind) if len(kind) else lengths
    relative = np.divide(lengths, mean[kind], out=np.ones_like(lengths), where=lengths > 0)
    norm = (1 - B + B * relative).astype(np.float32)
    return [
        ((places := np.array(found, np.int32)), np.array(often, np.float32) / norm[places])
        for found, often in cells.postings.values()
    ]

"""How well every record of a table fits a text: as a whole, facet by facet, and for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from loopwright.workflows.assistant.conference.facets import Facet, facets_of
from loopwright.workflows.assistant.schemas import Profile, Record, SearchMode, Table
from loopwright.workflows.assistant.searching.asking import QuestionReader
from loopwright.workflows.assistant.searching.dense import DenseSearch
from loopwright.workflows.assistant.searching.index import Floats, RecordIndex
from loopwright.workflows.assistant.searching.lexical import Coverage, coverage
from loopwright.workflows.assistant.searching.likeness import combined, company, covered, scored

NARROW = 0.85
"""What a faceted score keeps of the best facet where nothing else in the record fits."""
SUITS = 0.25
"""The share that a record's score gains where it suits the person perfectly."""
ITEMS = 5
"""How many of a person's interests are compared, the newest."""
_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Fit:
    """How well all records fit one text."""

    records: Floats
    """From 0 to 1 for each record, float32 [records]."""
    cells: Floats
    """From 0 to 1 for each facet of each record on its own, float32 [cells]."""
    words: tuple[str, ...] = ()
    """The words of the text that count."""
    held: Floats | None = None
    """How well each record holds each word, from 0 to 1, float32 [words, records]; None where no words were asked."""


class Scorer:
    """Fits records to texts; safe in threads."""

    def __init__(self, index: RecordIndex, reader: QuestionReader, dense: DenseSearch | None) -> None:
        """Prepare.

        Args:
            index: The records.
            reader: Reads questions.
            dense: Likeness in meaning; None does without.
        """
        self._index = index
        self._reader = reader
        self._dense = dense
        self._coverage = lru_cache(maxsize=_REMEMBERED)(self._covered)

    def fit(self, text: str, table: Table, mode: SearchMode, among: Sequence[Record] | None = None) -> Fit:
        """Fit the records of a table to a text.

        As a whole, a record is as near in meaning as its best facet, times the facet's weight unless that is prose (see
        `RecordIndex.cell_depth`). Facet by facet, it is worth its best facet times its breadth::

            score = max(weight * s) * (0.85 + 0.15 * sum(weight * s / max(s)) / sum(weight))

        with ``s`` each facet's own score on the scale of whole records, so that a faceted score is one that such a
        search could give.

        Args:
            text: What to look for.
            table: The table.
            mode: ``master`` or ``faceted``.
            among: The records that matter, where they are few.
        """
        found, words = self._coverage(text)
        of_records, of_cells = self._scores(text, table, found, among)
        if mode == "faceted":
            of_records = self._faceted(of_cells)
        return Fit(of_records, of_cells, words, found.held)

    def suited(self, table: Table, profile: Profile) -> Fit | None:
        """Fit the records of a table to a person: what one side seeks to what the other offers, interests to topics.

        Args:
            table: The table.
            profile: The person.

        Returns:
            The best pair of each record, facets of little weight too; None if nothing can be paired.
        """
        cells = np.zeros(len(self._index.cell_record), np.float32)
        pairs = [(facet, item) for facet in facets_of(table) for item in _items(profile, facet)]
        for facet, item in pairs:
            found = self._scores(item, table, self._coverage(item)[0], None)[1]
            inside = self._index.cells_in(table, facet.key)
            cells[inside] = np.maximum(cells[inside], found[inside])
        return Fit(self._best(cells), cells) if pairs else None

    def _covered(self, text: str) -> tuple[Coverage, tuple[str, ...]]:
        words = self._reader.read(text)
        return coverage(self._index, words), tuple(word.word for word in words)

    def _scores(
        self, text: str, table: Table, found: Coverage, among: Sequence[Record] | None
    ) -> tuple[Floats, Floats]:
        """The scores of records and cells; those of other tables mean nothing."""
        inside = self._index.of_table[table]
        if self._dense is None or not self._dense.ready:
            best = float(found.records[inside].max(initial=0.0))
            return covered(found.records, best), covered(found.cells, best)
        meaning = self._dense.similarities(text, table, among)
        # A facet of little weight may not come closer by it where it does not fit at all.
        weighed = np.where(meaning > 0, meaning * self._index.cell_depth, meaning)
        of_records = combined(found.records, self._best(weighed), found.missing)
        gain = np.float32(company(float(of_records[inside].max(initial=0.0))))
        return scored(of_records + gain), scored(combined(found.cells, meaning, found.missing) + gain)

    def _best(self, cells: Floats) -> Floats:
        """The highest value among each record's cells."""
        # Each record has a cell; without any record, there is nothing to reduce.
        return np.maximum.reduceat(cells, self._index.first_cell[:-1]) if len(cells) else cells

    def _faceted(self, cells: Floats) -> Floats:
        index = self._index
        weighed = cells * index.cell_weight
        total = np.bincount(index.cell_record, weighed, len(index))
        weights = np.bincount(index.cell_record, index.cell_weight, len(index))
        strongest = np.maximum(self._best(cells), np.float32(1e-9))
        breadth = NARROW + (1 - NARROW) * total / strongest / np.maximum(weights, 1e-9)
        return (self._best(weighed) * breadth).astype(np.float32)


def with_person(asked: Fit, suited: Fit) -> Fit:
    """What fits a question, with what suits the person first: ``score * (1 + 0.25 * suits)``, at most 1.

    Args:
        asked: The fit to the question.
        suited: The fit to the person.
    """
    return replace(asked, records=np.minimum(asked.records * (1 + np.float32(SUITS) * suited.records), 1.0))


def _items(profile: Profile, facet: Facet) -> Sequence[str]:
    return () if facet.pair_with is None else [item for item in getattr(profile, facet.pair_with) if item][-ITEMS:]

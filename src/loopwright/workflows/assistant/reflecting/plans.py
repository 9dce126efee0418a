"""A plan that refuses what was searched before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.schemas import PlannedQuery

MAX_QUERIES = 4
"""Queries of one new plan; a person waits for each."""


class Plan:
    """Queries to search next, each of them new and none too many."""

    def __init__(self, attempts: Sequence[Sequence[PlannedQuery]], most: int = MAX_QUERIES) -> None:
        """Begin with what was searched.

        Args:
            attempts: Every plan so far.
            most: How many queries it may have.
        """
        self._tried = {_form(query) for query in chain.from_iterable(attempts)}
        self._most = most
        self.queries: list[PlannedQuery] = []
        """The queries so far, in order."""
        self.why_refused = ""
        """Why `add` refused last."""

    @property
    def full(self) -> bool:
        """Whether it has as many queries as it may."""
        return len(self.queries) >= self._most

    def add(self, query: PlannedQuery) -> bool:
        """Add a query unless it equals one that was searched or planned in every parameter, or the plan is full.

        Args:
            query: The query; its text is compared without case, accents and repeated spaces.

        Returns:
            Whether it was added.
        """
        form = _form(query)
        if self.full:
            self.why_refused = f"a plan has at most {self._most} queries"
        elif form in self._tried:
            self.why_refused = "searched before"
        else:
            self._tried.add(form)
            self.queries.append(query)
            return True
        return False

    def add_all(self, queries: Iterable[PlannedQuery]) -> bool:
        """Add those of several queries that `add` takes.

        Args:
            queries: The queries, the most promising first.

        Returns:
            Whether one of them was added.
        """
        return any([self.add(query) for query in queries])


def _form(query: PlannedQuery) -> str:
    """What two queries are compared by."""
    return query.model_copy(update={"query_text": " ".join(fold(query.query_text).split())}).model_dump_json()

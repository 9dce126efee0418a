"""What is known after a poor search: the same for every idea of what to search next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.reflecting.feedback import Shared, shared_words
from loopwright.workflows.assistant.reflecting.wishes import SURE_MARGIN, bar
from loopwright.workflows.assistant.reflecting.words import Word, weighed
from loopwright.workflows.assistant.schemas import (
    Filters,
    Found,
    PlannedQuery,
    SearchOutcome,
    Strategy,
    Table,
    Understanding,
)
from loopwright.workflows.assistant.searching import Search


@dataclass(frozen=True, slots=True)
class Step:
    """One idea of what to search next."""

    strategy: Strategy
    """How it differs from what was searched."""
    queries: tuple[PlannedQuery, ...]
    """The searches, the most promising first."""
    evidence: str
    """What speaks for it, for developers."""
    told: str
    """What is done, for people, as it follows "I"."""


@dataclass(frozen=True)
class Situation:
    """A poor search and the conference that was searched."""

    understanding: Understanding
    """What the question asks for."""
    outcomes: tuple[SearchOutcome, ...]
    """What each query of the last plan brought."""
    attempts: tuple[tuple[PlannedQuery, ...], ...]
    """Every plan so far."""
    search: Search
    """The conference and its words."""
    config: AssistantSection
    """The usual threshold and limit, and how many results are enough."""

    @cached_property
    def poor(self) -> list[SearchOutcome]:
        """The outcomes that were too few or too weak, one for each table and filters; the first of all if none was."""
        enough, sure = self.config.search.enough, bar(SURE_MARGIN, self.config.search.score_threshold)
        kept: dict[tuple[Table, Filters], SearchOutcome] = {}
        for outcome in self.outcomes:
            best = max((found.score for found in outcome.hits), default=0.0)
            if len(outcome.hits) < enough or best < sure:
                kept.setdefault((outcome.query.table, outcome.query.filters), outcome)
        return list(kept.values()) or list(self.outcomes[:1])

    @cached_property
    def let_through(self) -> bool:
        """Whether the filters let anything through in any table that brought too little."""
        queries = [outcome.query for outcome in self.poor]
        return any(self.search.catalogue.filtered(query.table, query.filters) for query in queries)

    @cached_property
    def topic(self) -> str:
        """What the question is about: the text of the first query that has one."""
        texts = (query.query_text for plan in self.attempts for query in plan if query.query_text)
        return self.understanding.topic or next(texts, "")

    @cached_property
    def seen(self) -> list[Found]:
        """Hits and near misses of the last plan, each once, the best first."""
        best: dict[str, Found] = {}
        for outcome in self.outcomes:
            for found in (*outcome.hits, *outcome.near_misses):
                known = best.get(found.record.id)
                if known is None or known.score < found.score:
                    best[found.record.id] = found
        return sorted(best.values(), key=lambda found: (-found.score, found.record.id))

    @cached_property
    def best(self) -> float:
        """The best score of what was seen."""
        return max((found.score for found in self.seen), default=0.0)

    @property
    def found(self) -> bool:
        """Whether anything reaches the usual threshold."""
        return self.best >= self.config.search.score_threshold

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """The words of the topic with what each of them says."""
        return weighed(self.topic, self.search)

    @cached_property
    def shared(self) -> list[Shared]:
        """What the best of what was seen have in common, beyond what was searched already."""
        searched = " ".join(query.query_text for plan in self.attempts for query in plan)
        return shared_words(self.seen, searched, self.search)

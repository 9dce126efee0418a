"""Reflection by rules: from what a poor search brought to what is searched next, and what a model is shown for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopwright.retrieval.web import untrusted_line
from loopwright.workflows.assistant.answer.wording import described, excluded, shortened, subject
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.reflecting.plans import untried
from loopwright.workflows.assistant.reflecting.steps import steps
from loopwright.workflows.assistant.schemas import PlannedQuery, Question, Reflection, SearchOutcome, Table
from loopwright.workflows.assistant.searching.search import Search

_LONGEST_TOPIC = 80
_NEAR = 6
_WORDS = 8
_LENGTH = 150


def reflect(
    question: Question,
    outcomes: Sequence[SearchOutcome],
    attempts: Sequence[Sequence[PlannedQuery]],
    search: Search,
    config: AssistantSection,
) -> Reflection:
    """Look at what was searched and found, and plan what to search next; nothing is searched here.

    Each pass widens by one named step that was not taken yet: see `steps`. What was excluded stays excluded.

    Args:
        question: What is asked for.
        outcomes: What each query of the last plan brought.
        attempts: Every plan so far, the last one included.
        search: The conference and its words.
        config: The usual threshold and limit, and how many results are enough.

    Returns:
        The plan, without any query that equals an earlier one in every parameter; without queries if nothing is left.
    """
    seen = _seen(outcomes)
    for step in steps(question, outcomes, search, config):
        if queries := untried(step.queries, attempts):
            shown = shortened(subject(question.topic), _LONGEST_TOPIC)
            about = f" on “{shown}”" if shown else " at that time and place"
            found = any(outcome.hits for outcome in outcomes)
            begin = f"There is little{about} so far" if found else f"I found nothing{about} yet"
            return Reflection(
                reasoning=f"{seen} Next: {step.name}.",
                strategy=step.strategy,
                message=f"{begin}, so I {step.told}.",
                queries=queries,
            )
    return Reflection(
        reasoning=f"{seen} Nothing is left that was not searched.",
        strategy="",
        message="There is no other way to look for this, so here is what I have.",
        queries=(),
    )


def shown_search(
    question: Question,
    outcomes: Sequence[SearchOutcome],
    attempts: Sequence[Sequence[PlannedQuery]],
    search: Search,
) -> dict[str, str]:
    """The values of the prompt ``reflect_and_replan`` beside the question, each safe to put into it.

    Returns:
        ``topic``, ``filters``, ``tables``, ``vocabulary``, ``tried`` and ``near``.
    """
    counts = {outcome.query: len(outcome.hits) for outcome in outcomes}
    tried = [_shown_query(query, counts.get(query)) for plan in attempts for query in plan]
    seen = {found.record.id: found for outcome in outcomes for found in (*outcome.hits, *outcome.near_misses)}
    near = sorted(seen.values(), key=lambda found: -found.score)[:_NEAR]
    words = [(word, [each.text for each in search.vocabulary.others(word)]) for word in question.topic.split()[:_WORDS]]
    asked = described(question.filters)
    without = excluded(question.filters)
    return {
        "topic": _line(question.topic) or "no topic",
        "filters": untrusted_line("; ".join(filter(None, (asked, f"not {without}" if without else "")))) or "nothing",
        "tables": ", ".join(table.value for table in Table if search.catalogue.of_table(table)) or "none",
        "vocabulary": untrusted_line("; ".join(f"{word}: {', '.join(others)}" for word, others in words if others))
        or "none",
        "tried": _listed(tried),
        "near": _listed(f"{each.score:.2f} {each.record.table.value}: {each.record.title}" for each in near),
    }


def _shown_query(query: PlannedQuery, results: int | None) -> str:
    # Only the last plan's counts are known; that an earlier one led to another search says enough.
    found = "too little" if results is None else f"{results} results"
    asked = described(query.filters)
    shown = f'{query.table.value} "{query.query_text[:_LENGTH]}"{f", {asked}" if asked else ""}'
    return f"{shown}, threshold {query.score_threshold:.2f}: {found}"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_line(line)}" for line in lines) or "none"


def _line(text: str) -> str:
    return untrusted_line(text[: 2 * _LENGTH])


def _seen(outcomes: Sequence[SearchOutcome]) -> str:
    brought = [
        f"{outcome.query.table.value} {outcome.query.query_text!r}: {len(outcome.hits)} hits, best "
        f"{max((found.score for found in (*outcome.hits, *outcome.near_misses)), default=0.0):.2f}"
        for outcome in outcomes
    ]
    return f"{'; '.join(brought) or 'Nothing was searched'}."

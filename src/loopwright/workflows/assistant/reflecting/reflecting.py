"""Reflection by rules: from what a poor search brought to what is searched next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.reflecting.elsewhere import at_other_times, in_other_tables
from loopwright.workflows.assistant.reflecting.plans import Plan
from loopwright.workflows.assistant.reflecting.rewriting import in_full, in_parts, in_shared_words
from loopwright.workflows.assistant.reflecting.situation import Situation, Step
from loopwright.workflows.assistant.schemas import PlannedQuery, Reflection, SearchOutcome, Understanding
from loopwright.workflows.assistant.searching import Search

_LONGEST_TOPIC = 80


def reflect(
    understanding: Understanding,
    planned: Sequence[PlannedQuery],
    outcomes: Sequence[SearchOutcome],
    attempts: Sequence[Sequence[PlannedQuery]],
    search: Search,
    config: AssistantSection,
) -> Reflection:
    """Look at what was searched and found, and plan what to search next; nothing is searched here.

    The ideas come in the order of what speaks for them, one at a time: where nothing is at that time and place, these
    give way; then the whole question is searched, down to what comes near; then other times and places, the words that
    what came near has in common, the parts of the topic, other tables. No telling word of the question is dropped,
    parts and other tables only count for words that the conference knows, and what was found still reaches the usual
    threshold: an answer that does not exist is not made up from ever wider searches.

    Args:
        understanding: What the question asks for.
        planned: The last plan.
        outcomes: What each of its queries brought.
        attempts: Every plan so far, the last one included.
        search: The conference and its words.
        config: The usual threshold and limit, and how many results are enough.

    Returns:
        The plan, without any query that equals an earlier one in every parameter; without queries if nothing is left.
    """
    tried = [*attempts, planned]
    situation = Situation(understanding, tuple(outcomes), tuple(tuple(each) for each in tried), search, config)
    plan = Plan(tried)
    taken = next((step for step in _steps(situation) if plan.add_all(step.queries)), None)
    seen = _seen(situation)
    if taken is None:
        return Reflection(
            reasoning=f"{seen} Nothing is left that was not searched.",
            strategy="",
            message="There is no other way to look for this, so here is what I have.",
            queries=(),
        )
    return Reflection(
        reasoning=f"{seen} {taken.strategy}: {taken.evidence}.",
        strategy=taken.strategy,
        message=_message(situation, taken),
        queries=tuple(plan.queries),
    )


def _steps(situation: Situation) -> Iterator[Step]:
    """All ideas, what the evidence speaks for most first."""
    if not situation.topic:
        yield from at_other_times(situation)
        return
    if not situation.let_through:
        yield from at_other_times(situation)
    yield from in_full(situation)
    yield from at_other_times(situation)
    yield from in_shared_words(situation)
    yield from in_parts(situation)
    yield from in_other_tables(situation)


def _seen(situation: Situation) -> str:
    brought = [
        f"{outcome.query.table.value} {outcome.query.query_text!r}: {len(outcome.hits)} hits, best "
        f"{max((found.score for found in (*outcome.hits, *outcome.near_misses)), default=0.0):.2f}"
        for outcome in situation.outcomes
    ]
    words = ", ".join(f"{word.text} in {word.records}" for word in situation.words)
    return f"{'; '.join(brought) or 'Nothing was searched'}. Words of the topic and their records: {words or 'none'}."


def _message(situation: Situation, taken: Step) -> str:
    topic = situation.topic
    shown = topic if len(topic) <= _LONGEST_TOPIC else f"{topic[:_LONGEST_TOPIC].rsplit(' ', 1)[0]}…"
    about = f" on “{shown}”" if shown else " at that time and place"
    begin = f"There is little{about} so far" if situation.found else f"I found nothing{about} yet"
    return f"{begin}, so I {taken.told}."

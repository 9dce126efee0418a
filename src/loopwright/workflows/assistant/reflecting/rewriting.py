"""The same question in other words: its own in full, and those that the programme puts beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from loopwright.workflows.assistant.reflecting.feedback import Shared
from loopwright.workflows.assistant.reflecting.situation import Situation, Step
from loopwright.workflows.assistant.reflecting.words import weighed
from loopwright.workflows.assistant.schemas import PlannedQuery, SearchMode, SearchOutcome, Table

NEAR = 0.05
"""What scores more is shown as near, best first, within the limit. It is no result for that: what an answer calls found
still reaches the usual threshold. On questions to two years of one conference, 0.1 lost answers, and 0.02 won none."""
ADDED = 3
"""Words that one rewriting adds."""
MOST_ADDED = 0.5
"""Share of what the topic's words say that added words may say together: the question stays the larger part."""
FIRST_FEW = 3
"""Results of a search for words that nobody asked for: what is sure, and not enough to crowd out the rest."""
_MODES: tuple[SearchMode, ...] = ("master", "faceted")
_BETWEEN = re.compile(r"\s*[,;]\s*(?:(?:and|or)\s+)?|\s+(?:and|or|und|oder|et|ou|as well as|versus|vs\.?)\s+")


def in_full(situation: Situation) -> Iterator[Step]:
    """The whole question in place of its topic, in both search modes, down to what comes near.

    Which words are the topic is decided before anything is searched, and the words around it can matter for the
    meaning. Only of sessions: a question for stands or people names them, which says nothing there.

    Args:
        situation: The poor search.

    Yields:
        One step.
    """
    whole, topic = situation.understanding.standalone or situation.topic, situation.topic
    texts = [whole if outcome.query.table is Table.SESSIONS else topic for outcome in situation.poor]
    same = all(text.casefold() == topic.casefold() for text in texts)
    yield Step(
        "relax" if same else "rewrite",
        tuple(
            _wider(outcome, text, situation, search_mode=mode)
            for outcome, text in zip(situation.poor, texts, strict=True)
            for mode in _MODES
        ),
        f"only the topic {topic!r} was searched, and the best that came has {situation.best:.2f}",
        "look at what comes near as well" if same else "look for your whole question, and at what comes near",
    )


def in_shared_words(situation: Situation) -> Iterator[Step]:
    """The question with what the best of the hits and near misses have in common.

    Args:
        situation: The poor search.

    Yields:
        One step; none if they have nothing telling in common, or that would outweigh the question.
    """
    added = _at_most(MOST_ADDED * sum(word.weight for word in situation.words), situation.shared[:ADDED])
    if added:
        words = " ".join(each.text for each in added)
        yield Step(
            "rewrite",
            tuple(
                _wider(outcome, f"{outcome.query.query_text} {words}", situation, limit=FIRST_FEW)
                for outcome in situation.poor
            ),
            "; ".join(f"{each.text!r} is shared by {', '.join(map(repr, each.records))}" for each in added),
            _told(added),
        )


def in_parts(situation: Situation) -> Iterator[Step]:
    """The parts of a topic that names several, each on its own.

    Args:
        situation: The poor search.

    Yields:
        One step; none if there are no parts, or one of them is too common or unknown to be searched alone.
    """
    parts = [part for part in _BETWEEN.split(situation.topic) if part.strip()]
    if len(parts) < 2 or not all(_can_stand_alone(part, situation) for part in parts):
        return
    yield Step(
        "rewrite",
        tuple(
            outcome.query.model_copy(
                update={
                    "query_text": part,
                    "limit": FIRST_FEW,
                    "score_threshold": situation.config.search.score_threshold,
                }
            )
            for outcome in situation.poor
            for part in parts
        ),
        f"the topic has {len(parts)} parts: {', '.join(map(repr, parts))}",
        f"look for {_quoted(parts)} one by one",
    )


def _can_stand_alone(part: str, situation: Situation) -> bool:
    """Whether a part says something of its own, and nothing that the conference does not know."""
    telling = [word for word in weighed(part, situation.search) if word.telling]
    return bool(telling) and all(word.records for word in telling)


def _at_most(weight: float, shared: Sequence[Shared]) -> list[Shared]:
    """The first words that say no more together than a weight."""
    totals = accumulate(each.weight for each in shared)
    return [each for each, total in zip(shared, totals, strict=True) if total <= weight]


def _wider(outcome: SearchOutcome, text: str, situation: Situation, **changes: object) -> PlannedQuery:
    usual = situation.config.search
    shown = {"query_text": text, "score_threshold": min(usual.score_threshold, NEAR), "limit": usual.limit}
    return outcome.query.model_copy(update={**shown, **changes})


def _told(added: Sequence[Shared]) -> str:
    """What words are looked for; those that only happen to be shared say nothing to a person."""
    named = [each.text for each in added if each.naming]
    return f"look for {_quoted(named)} as well" if named else "look for what is like the nearest that I found"


def _quoted(words: Iterable[str]) -> str:
    *first, last = [f"“{word}”" for word in words]
    return f"{', '.join(first)} and {last}" if first else last

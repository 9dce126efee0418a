"""Which of the hits an answer shows: what fits, and in fewer words what only comes near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loopwright.workflows.assistant.answering.fitting import HALF, topic_held, unmet
from loopwright.workflows.assistant.schemas import Found, Status, Understanding

NEAREST = 3
"""Where nothing fits, at most so many records that only come near are told at length."""
RELATED = 0.08
"""What scores less is not related to the question at all. The scores cannot tell these two apart for sure: on questions
to one year of a conference, many talks that say the same in other words had 0.08 to 0.3, and so had the best of those
that were about something else. A higher value loses more of the first, a lower one names more of the second."""
_BESIDE = 0.6
"""Beside a record that holds the whole topic, one that holds none of it must have this share of its score."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What an answer cites."""

    told: tuple[Found, ...] = ()
    """What is told at length."""
    further: tuple[Found, ...] = ()
    """What is only named: it may be about something else."""


def chosen_of(understanding: Understanding, hits: Sequence[Found], fit: Status, threshold: float) -> Choice:
    """The hits that help the person who asked, what meets the filters first, else in the order given.

    What fits is told. Where nothing does, the nearest are; what else is near is named, since the score of a record that
    says the same in other words may be low, and nobody reads ten descriptions to find it.

    Args:
        understanding: What was asked; without a topic, everything was asked for by time and place alone.
        hits: What may be cited, the best first.
        fit: What `fit_of` says of them.
        threshold: The score below which a hit only comes near.
    """
    topic = understanding.topic
    if not topic:
        most = NEAREST if fit == "nothing_found" else len(hits)
        return Choice(tuple(hits[:most]), tuple(hits[most:]))
    held = {found.record.id: topic_held(found.record, topic) for found in hits}
    sure = max((found.score for found in hits if held[found.record.id] == 1), default=0.0)
    good: list[Found] = []
    near: list[Found] = []
    for found in sorted(hits, key=lambda found: len(unmet(found.record, understanding.filters))):
        share = held[found.record.id]
        fits = fit != "nothing_found" and (found.score >= threshold or share > HALF)
        if fits and (share or found.score >= _BESIDE * sure):
            good.append(found)
        elif found.score >= RELATED and not sure >= threshold:
            near.append(found)
    told = good or near[:NEAREST]
    return Choice(tuple(told), tuple(near if good else near[NEAREST:]))

"""What goes into a run history and comes out of it, besides runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from loopwright.runs.schemas import Channel


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """An event as it is kept and sent."""

    seq: int
    """Its number in its channel of the run, from 1."""
    name: str
    """Its tag."""
    data: str
    """The event as JSON in one line."""


@dataclass(frozen=True, slots=True)
class NewEvents:
    """Events to add to a run."""

    run_id: str
    """The run."""
    channel: Channel
    """Which of its channels."""
    events: Sequence[KeptEvent]
    """The events, with the numbers that follow those kept."""
    epoch: int = 0
    """The attempt of the run that made them."""


def within(events: Iterable[KeptEvent], size: int | None) -> Iterator[KeptEvent]:
    """The first of some events.

    Args:
        events: The events in order.
        size: Characters of JSON that they have together at most, None for any number; the first is given whatever it
            has.
    """
    taken = 0
    for number, event in enumerate(events):
        taken += len(event.data)
        if number and size is not None and taken > size:
            return
        yield event


@dataclass(frozen=True, slots=True)
class Charge:
    """What is to be added to what was spent under a key; negative amounts give back."""

    key: str
    """What it is counted under."""
    amounts: Mapping[str, int]
    """``model_calls``, ``tokens`` and ``usd`` -> how much; ``usd`` in units of 1e-12."""
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of these, what must not be exceeded."""

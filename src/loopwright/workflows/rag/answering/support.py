"""How well each sentence of the evidence bears on a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loopwright.retrieval.names import plain_title
from loopwright.retrieval.text import fold, terms
from loopwright.workflows.rag.answering.sentences import prose_spans
from loopwright.workflows.rag.asking.weights import coverage
from loopwright.workflows.rag.schemas import Evidence

_TITLE_SHARE = 0.7
_LINKED_SHARE = 0.6
_PASSAGE_SHARE = 0.35


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """A sentence of the evidence."""

    passage: int
    """The place of its passage in the evidence, from 0."""
    place: int
    """Its place in the passage, from 0."""
    start: int
    """Where it begins in the passage's text, in characters."""
    end: int
    """Where it ends there."""
    text: str
    """Its words."""
    own: float
    """The share of the question's weight that it covers by its own words, from 0 to 1."""
    support: float
    """The share that it covers with its title, what leads to it, and the rest of its passage, each at a discount."""


def supported_sentences(
    weights: Mapping[str, float], evidence: Sequence[Evidence], *, chain: bool = False
) -> list[Supported]:
    """Weigh every sentence of the evidence.

    Args:
        weights: The question's terms and how much each says, as `term_weights` gives them.
        evidence: The passages.
        chain: Whether a sentence also counts what another passage says where it names this one, or is named here.

    Returns:
        The sentences, in order.
    """
    titled = [set(terms(f"{passage.title} {passage.heading}")) for passage in evidence]
    whole = [set(terms(passage.text)) for passage in evidence]
    spans = [prose_spans(passage.text) for passage in evidence]
    leads = _leads(evidence, spans) if chain else [set[str]() for _ in evidence]
    found: list[Supported] = []
    for index, passage in enumerate(evidence):
        for place, (start, end) in enumerate(spans[index]):
            text = passage.text[start:end]
            own = set(terms(text))
            linked = leads[index] | (_named_here(text, index, evidence, titled, whole) if chain else set[str]())
            support = 0.0
            for held, share in (
                (own, 1.0),
                (titled[index], _TITLE_SHARE),
                (linked, _LINKED_SHARE),
                (whole[index], _PASSAGE_SHARE),
            ):
                support = max(support, 0.0) + share * coverage(weights, held - own if held is not own else own)
                own = own | held
            found.append(
                Supported(
                    passage=index,
                    place=place,
                    start=start,
                    end=end,
                    text=text,
                    own=coverage(weights, set(terms(text))),
                    support=support,
                )
            )
    return found


def names_title(text: str, title: str) -> bool:
    """Whether a text names the thing that a title is about."""
    name = fold(plain_title(title))
    return len(name) > 3 and name in fold(text)


def _leads(evidence: Sequence[Evidence], spans: Sequence[list[tuple[int, int]]]) -> list[set[str]]:
    """For each passage the terms of the sentences in other passages that name it, with their titles."""
    found: list[set[str]] = []
    for index, passage in enumerate(evidence):
        leading = [
            f"{other.title} {other.text[start:end]}"
            for place, other in enumerate(evidence)
            if place != index and names_title(other.text, passage.title)
            for start, end in spans[place]
            if names_title(other.text[start:end], passage.title)
        ]
        found.append(set(terms(" ".join(leading))))
    return found


def _named_here(
    text: str, index: int, evidence: Sequence[Evidence], titled: Sequence[set[str]], whole: Sequence[set[str]]
) -> set[str]:
    """The terms of the passages about what a sentence names."""
    found: set[str] = set()
    for place, other in enumerate(evidence):
        if place != index and names_title(text, other.title):
            found |= titled[place] | whole[place]
    return found

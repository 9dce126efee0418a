"""What a document brings to the knowledge store: its passages, the entities that they name, and the facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from loopwright.retrieval.mentions import aliases_in, entity_key, find_mentions, mentions_in
from loopwright.retrieval.records import Contribution, Fact, Mention, Passage
from loopwright.workflows.rag.sources.facts import Extract, fact_id
from loopwright.workflows.rag.sources.reading import ReadDocument, passages_of
from loopwright.workflows.rag.sources.reading.documents import Triple

IMPORTED = "import"
"""The extractor of facts that the source states outright."""


def contribution_of(document: ReadDocument, extract: Extract, *, tags: Sequence[str], size: int) -> Contribution:
    """Make what a document brings.

    Where it is a triple, that is its fact, and nothing else is extracted from the sentence.

    Args:
        document: The document as it was read.
        extract: Finds the facts of passages.
        tags: Labels besides its own.
        size: Words of a passage, about.
    """
    record = document.as_record()
    record = replace(record, tags=tuple(dict.fromkeys((*record.tags, *tags))))
    passages = passages_of(document, size=size)
    if document.triple:
        mentions, facts = _imported(document.triple, passages[0])
    else:
        mentions = [mention for passage in passages for mention in mentions_in(passage)]
        facts = extract(passages)
    return Contribution(
        document=record,
        passages=tuple(passages),
        mentions=tuple(mentions),
        aliases=tuple(aliases_in(record.id, passages)),
        facts=tuple(facts),
    )


def _imported(triple: Triple, passage: Passage) -> tuple[list[Mention], list[Fact]]:
    """A triple as a fact of its sentence, and its two sides as mentions, whether or not they look like names."""
    fact = Fact(
        id=fact_id(triple.subject, triple.relation, triple.object, passage.id, 0),
        subject=triple.subject,
        relation=triple.relation,
        object=triple.object,
        passage_id=passage.id,
        start=0,
        end=len(passage.text),
        confidence=triple.confidence,
        extractor=IMPORTED,
    )
    sides = {entity_key(triple.subject), entity_key(triple.object)}
    mentions = [
        Mention(entity=found.entity, name=found.name, passage_id=passage.id, start=found.start, end=found.end)
        for found in find_mentions(passage.text, known=sides)
    ]
    return mentions, [fact]

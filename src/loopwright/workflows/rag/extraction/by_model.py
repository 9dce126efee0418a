"""Facts by a chat model; every fact must quote the passage that it was read in."""

from __future__ import annotations

import logging
from collections import Counter
from functools import cache

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import Field

from loopwright.models import PromptLibrary, UsageRecorder, aask, model_name
from loopwright.retrieval.records import Fact, Passage
from loopwright.retrieval.web.quoting import quote_untrusted
from loopwright.workflows.rag.answering.quotes import verify_quote
from loopwright.workflows.rag.extraction.rules import fact_id
from loopwright.workflows.rag.schemas import Frozen

logger = logging.getLogger("loopwright.rag")

MOST_FACTS = 40
"""So many facts of one passage are asked for."""


class ExtractedFact(Frozen):
    """One fact, as a chat model writes it."""

    subject: str = Field(min_length=1, max_length=300)
    """What it is about, by its full name."""
    relation: str = Field(min_length=1, max_length=200)
    """What holds between the two, in the passage's words."""
    object: str = Field(min_length=1, max_length=300)
    """The other entity, or a value."""
    quote: str = Field(min_length=1)
    """The words of the passage that state it."""
    confidence: float = Field(default=0.8, ge=0, le=1)
    """How plainly it is stated."""


class ExtractedFacts(Frozen):
    """A chat model's reply to one passage."""

    facts: list[ExtractedFact]
    """The facts that the passage states; none is an answer too."""


async def facts_by_model(
    chat: BaseChatModel,
    passage: Passage,
    *,
    repairs: int = 2,
    usage: UsageRecorder | None = None,
    node: str = "extraction",
    dropped: Counter[str] | None = None,
) -> list[Fact]:
    """Let a chat model find the facts of a passage, and keep those whose quote occurs in it.

    Args:
        chat: The chat model.
        passage: The passage; its text reaches the model as quoted, untrusted data.
        repairs: How often the model may correct a reply that breaks the schema.
        usage: Where the calls are counted.
        node: The name that the calls are counted and reported under.
        dropped: Where facts that were not kept are counted, by reason.

    Returns:
        The facts in the order of the reply, none twice; each one's source is its quote.

    Raises:
        StructuredReplyError: If the reply still breaks the schema after the repairs.
    """
    heading = f" > {passage.heading}" if passage.heading else ""
    messages = [
        SystemMessage(_prompts().get("extraction").render(most=MOST_FACTS)),
        HumanMessage(quote_untrusted(passage.text, source=f"{passage.title}{heading}")),
    ]
    reply = await aask(chat, messages, ExtractedFacts, repairs=repairs, node=node, usage=usage)
    name = model_name(chat)
    facts: dict[str, Fact] = {}
    for found in reply.facts:
        place = verify_quote(found.quote, passage.text)
        if place is None:
            logger.info("passage %s: fact dropped, its quote is not in the passage: %r", passage.id, found.quote[:200])
            if dropped is not None:
                dropped["quote not in the passage"] += 1
            continue
        fact = _fact(found, passage.id, place, name)
        facts.setdefault(fact.id, fact)
    return list(facts.values())


def _fact(found: ExtractedFact, passage_id: str, place: tuple[int, int], extractor: str) -> Fact:
    subject, relation, object = (" ".join(part.split()) for part in (found.subject, found.relation, found.object))
    return Fact(
        id=fact_id(subject, relation, object, passage_id, place[0]),
        subject=subject,
        relation=relation,
        object=object,
        passage_id=passage_id,
        start=place[0],
        end=place[1],
        confidence=found.confidence,
        extractor=extractor,
    )


@cache
def _prompts() -> PromptLibrary:
    return PromptLibrary.of_package("loopwright.workflows.rag")

"""Facts: their identity, and those that a chat model reads; each must quote the passage that it was read in."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import Field

from loopwright.models import PromptLibrary, UsageRecorder, aask, model_name
from loopwright.retrieval.records import Fact, Passage
from loopwright.retrieval.web.quoting import quote_untrusted
from loopwright.workflows.rag.answer.quotes import verify_quote
from loopwright.workflows.rag.schemas import Frozen

logger = logging.getLogger("loopwright.rag")

MOST_FACTS = 40
"""So many facts of one passage are asked for."""


Extract = Callable[[Sequence[Passage]], list[Fact]]
"""The facts of a document: takes its passages."""


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


def fact_id(subject: str, relation: str, object: str, passage_id: str, start: int) -> str:
    """The id of a fact: the same fact in the same place has the same, whoever finds it.

    Args:
        subject: The fact's subject.
        relation: Its relation.
        object: Its object.
        passage_id: Its passage.
        start: Where its source begins in the passage's text, in characters.

    Returns:
        The first 20 hexadecimal digits of a SHA-256.
    """
    return hashlib.sha256(f"{subject}|{relation}|{object}|{passage_id}|{start}".encode()).hexdigest()[:20]


@contextmanager
def extracting(
    chat: BaseChatModel | None,
    *,
    repairs: int,
    concurrency: int,
    usage: UsageRecorder | None,
    dropped: Counter[str],
) -> Generator[Extract]:
    """Get ready to extract facts.

    Args:
        chat: The chat model that reads every passage; None finds none.
        repairs: How often it may correct a reply that breaks the schema.
        concurrency: Passages that it reads at the same time.
        usage: Where its calls are counted.
        dropped: Where its facts that are not kept are counted, by reason.

    Yields:
        The function.

    Raises:
        RuntimeError: If a chat model is to be asked, and an event loop runs in this thread already.
    """
    if chat is None:
        yield lambda passages: []
        return

    async def all_of(passages: Sequence[Passage]) -> list[Fact]:
        places = asyncio.Semaphore(concurrency)

        async def one(passage: Passage) -> list[Fact]:
            async with places:
                return await facts_by_model(chat, passage, repairs=repairs, usage=usage, dropped=dropped)

        tasks = [asyncio.ensure_future(one(passage)) for passage in passages]
        try:
            return [fact for facts in await asyncio.gather(*tasks) for fact in facts]
        finally:
            for task in tasks:
                task.cancel()

    # One event loop for all passages: a model's client keeps its connections in the loop that it was first used in.
    with asyncio.Runner() as runner:
        yield lambda passages: runner.run(all_of(passages))


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
    facts: dict[str, Fact] = {}
    for found in reply.facts:
        place = verify_quote(found.quote, passage.text)
        if place is None:
            logger.info("passage %s: fact dropped, its quote is not in the passage: %r", passage.id, found.quote[:200])
            if dropped is not None:
                dropped["quote not in the passage"] += 1
            continue
        subject, relation, object = (" ".join(part.split()) for part in (found.subject, found.relation, found.object))
        fact = Fact(
            id=fact_id(subject, relation, object, passage.id, place[0]),
            subject=subject,
            relation=relation,
            object=object,
            passage_id=passage.id,
            start=place[0],
            end=place[1],
            confidence=found.confidence,
            extractor=model_name(chat),
        )
        facts.setdefault(fact.id, fact)
    return list(facts.values())


@cache
def _prompts() -> PromptLibrary:
    return PromptLibrary.of_package("loopwright.workflows.rag")

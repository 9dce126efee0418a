"""The facts of a document's passages, by rules or by a chat model."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Literal

from langchain_core.language_models import BaseChatModel

from loopwright.models import UsageRecorder
from loopwright.retrieval.records import Fact, Mention, Passage
from loopwright.workflows.rag.extraction.by_model import facts_by_model
from loopwright.workflows.rag.extraction.rules import facts_in

Extractor = Literal["rules"] | BaseChatModel
"""``"rules"``, the embedded extractor, or the chat model that reads every passage."""

Extract = Callable[[Sequence[Passage], Sequence[Mention]], list[Fact]]
"""The facts of a document: takes its passages and all their mentions."""


@contextmanager
def extracting(
    extractor: Extractor,
    *,
    repairs: int,
    concurrency: int,
    usage: UsageRecorder | None,
    dropped: Counter[str],
) -> Generator[Extract]:
    """Get ready to extract facts.

    Args:
        extractor: By what.
        repairs: How often a chat model may correct a reply that breaks the schema.
        concurrency: Passages that a chat model reads at the same time.
        usage: Where the calls of a chat model are counted.
        dropped: Where the facts of a chat model that are not kept are counted, by reason.

    Yields:
        The function.

    Raises:
        RuntimeError: If a chat model is to be asked, and an event loop runs in this thread already.
    """
    if isinstance(extractor, BaseChatModel):
        # One event loop for all passages: a model's client keeps its connections in the loop that it was first used in.
        with asyncio.Runner() as runner:

            def by_model(passages: Sequence[Passage], mentions: Sequence[Mention]) -> list[Fact]:
                return runner.run(
                    _all_by_model(
                        extractor, passages, repairs=repairs, concurrency=concurrency, usage=usage, dropped=dropped
                    )
                )

            yield by_model
    else:
        yield by_rules


def by_rules(passages: Sequence[Passage], mentions: Sequence[Mention]) -> list[Fact]:
    """The facts that rules find.

    Args:
        passages: A document's passages.
        mentions: The entities that they name.
    """
    inside: dict[str, list[Mention]] = {passage.id: [] for passage in passages}
    for mention in mentions:
        inside[mention.passage_id].append(mention)
    return [fact for passage in passages for fact in facts_in(passage, inside[passage.id])]


async def _all_by_model(
    chat: BaseChatModel,
    passages: Sequence[Passage],
    *,
    repairs: int,
    concurrency: int,
    usage: UsageRecorder | None,
    dropped: Counter[str],
) -> list[Fact]:
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

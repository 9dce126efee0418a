"""The same question answered in every way: does it help to think again, and what does it cost?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from loopwright.workflows.assistant.comparing.observing import answered, answered_widely, measured, prepare
from loopwright.workflows.assistant.comparing.ways import Comparison, Variant, Way
from loopwright.workflows.assistant.schemas import Table
from loopwright.workflows.assistant.services import Services

STAND = "stand:"
"""What stands before an exhibitor's title."""


def record_id(name: str) -> str:
    """The record's id for what people call it.

    Args:
        name: A session's own id, ``stand:TITLE``, or a record's id already, for example ``speakers:12``.
    """
    if name.startswith(STAND):
        return f"{Table.EXHIBITORS}:{name.removeprefix(STAND)}"
    return name if name.partition(":")[0] in tuple(Table) else f"{Table.SESSIONS}:{name}"


def compare(
    question: str,
    services: Services,
    *,
    relevant: Sequence[str] | None = None,
    tables: Collection[str] | None = None,
    now: datetime | None = None,
) -> Comparison:
    """Answer a question without any retry, with the mechanical one, with the reflection, and by one wide search.

    The wide search has as many queries as the reflection took, all planned before anything is searched. Nothing is
    remembered of the question.

    Args:
        question: The question.
        services: The conference and the models.
        relevant: The ids of the records that answer it, none where there is no answer; None takes those that the answer
            after the reflection cites.
        tables: The tables in which records were judged; what is cited of others takes no place. None takes those of
            `relevant`.
        now: The moment of asking, if it matters.

    Returns:
        What each way brings and costs.

    Raises:
        InputError: If the question is empty or no text.
        StoreError: If there is no conference.
        RuntimeError: Inside of the services' own event loop; there, ``await acompare(...)``.
    """
    return services.background.call(acompare, question, services, relevant=relevant, tables=tables, now=now)


async def acompare(
    question: str,
    services: Services,
    *,
    relevant: Sequence[str] | None = None,
    tables: Collection[str] | None = None,
    now: datetime | None = None,
) -> Comparison:
    """The same without blocking the event loop; see `compare`."""
    await prepare(services)
    none = await answered(question, services, "none", now)
    mechanical = await answered(question, services, "mechanical", now)
    reflection = await answered(question, services, "reflection", now)
    wide = await answered_widely(question, services, reflection.queries, now)
    against = reflection.cited if relevant is None else tuple(relevant)
    judged = frozenset(record.partition(":")[0] for record in against) if tables is None else tables
    variants: dict[Way, Variant] = {
        variant.way: measured(variant, against, judged) for variant in (none, mechanical, reflection, wide)
    }
    return Comparison(
        question=question,
        relevant=against,
        against="citations" if relevant is None else "labels",
        variants=variants,
    )

"""What a comparison finds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from loopwright.workflows.assistant.schemas import Frozen, Status

Way = Literal["none", "mechanical", "reflection", "wide"]
"""How a question is answered: in one of the retry modes, or by one wide search with as many queries as the reflection
took, all planned before anything is searched."""


class Variant(Frozen):
    """One way of answering a question, and what it brings and costs."""

    way: Way
    """How it was answered."""
    status: Status
    """How honest an end it came to."""
    text: str = ""
    """The answer as Markdown."""
    cited: tuple[str, ...] = ()
    """The ids that it cites, in order."""
    recall: float | None = None
    """recall@10; None if nothing is relevant."""
    ndcg: float | None = None
    """nDCG@10; None if nothing is relevant."""
    passes: int = Field(default=0, ge=0)
    """Searches of a plan: 1, and one more for each retry."""
    queries: int = Field(default=0, ge=0)
    """Queries of all plans together."""
    seconds: float = 0.0
    """Wall time."""
    model_calls: int = 0
    """Calls of chat models."""
    tokens: int = 0
    """Tokens of these calls, in and out."""
    cost: float | None = None
    """Their price in US dollars; None if it is not known."""
    error: str | None = None
    """What failed on the way, or None."""


class Comparison(Frozen):
    """The same question answered in every way."""

    question: str
    """The question."""
    relevant: tuple[str, ...]
    """The ids that the ways are measured against."""
    against: Literal["labels", "citations"]
    """Where these come from: known beforehand, or cited by the answer after a reflection, which then has 1 by
    definition."""
    variants: dict[Way, Variant]
    """Way -> what it brings and costs."""

    def table(self) -> str:
        """The comparison as text for people."""
        from loopwright.workflows.assistant.comparing.table import comparison_table

        return comparison_table(self)

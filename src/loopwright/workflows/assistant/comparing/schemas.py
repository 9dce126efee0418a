"""What an evaluation and a comparison find."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import Field

from loopwright.workflows.assistant.schemas import Frozen, RetryMode, Status
from loopwright.workflows.figures import Figure

PLACES = 10
"""How many cited records count: recall@10 and nDCG@10."""

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


class QuestionOutcome(Frozen):
    """What came of one question."""

    id: str
    """The question's id."""
    kind: str
    """What kind of question it is."""
    answerable: bool
    """Whether the conference has an answer."""
    first: Variant
    """What the first search alone brings."""
    after: Variant
    """What the answer brings after all retries; the same where there was none."""


class AssistantEvaluation(Frozen):
    """What came of a set of questions on a conference."""

    mode: RetryMode
    """What followed a poor search."""
    questions: int
    """Questions that were asked."""
    records: int
    """Records that were searched."""
    figures: dict[str, Figure]
    """Name -> mean over all questions: ``recall@10`` and ``ndcg@10`` of what the answers cite, ``first_recall@10`` and
    ``first_ndcg@10`` after the first pass alone, ``gained_recall@10`` and ``gained_ndcg@10`` by what followed it,
    ``answered`` (of the questions with an answer, the share that got one, in part or whole), ``no_answer`` (of those
    without, the share of which the answer says so), ``passes``, ``queries``, and ``seconds`` of wall time."""
    by_kind: dict[str, dict[str, Figure]]
    """Kind -> the same of its questions."""
    lost: tuple[str, ...]
    """Ids of the questions whose answer holds less of what is relevant than after the first pass."""
    model_calls: int
    """Calls of chat models, without those of runs in which the first pass is measured."""
    tokens: int
    """Tokens of these calls, in and out."""
    failed: int
    """Questions whose run failed; they count as not answered."""
    outcomes: tuple[QuestionOutcome, ...]
    """What came of each question, in order."""

    def as_json(self) -> str:
        """The evaluation as the text of one JSON object, without what came of each question.

        Returns:
            The figures' means by name, and their intervals and numbers of questions under ``intervals``; the rest by
            the names of the fields.
        """
        means = {name: figure.value for name, figure in self.figures.items()}
        intervals = {name: figure.model_dump(exclude={"value"}) for name, figure in self.figures.items()}
        rest = self.model_dump(mode="json", exclude={"figures", "outcomes"})
        return json.dumps({**means, **rest, "intervals": intervals}, indent=2, ensure_ascii=False)

    def table(self) -> str:
        """The evaluation as text for people."""
        from loopwright.workflows.assistant.comparing.table import evaluation_table

        return evaluation_table(self)


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

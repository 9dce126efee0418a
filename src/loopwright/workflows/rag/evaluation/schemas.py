"""What an evaluation finds."""

from __future__ import annotations

import json
from typing import Literal

from loopwright.workflows.figures import Figure
from loopwright.workflows.rag.schemas import Frozen, Status


class QuestionOutcome(Frozen):
    """What came of one question; shares are from 0 to 1, and None where there is nothing to share."""

    id: str
    """The question's id."""
    type: str
    """What kind of question it is."""
    hops: int | None
    """How many passages its answer leads through."""
    status: Status | Literal["failed"]
    """How honest an end it came to; ``failed`` if a node failed for good, which counts as no answer."""
    predicted: str
    """The answer that was scored; empty if there is none."""
    recall: dict[int, float]
    """k -> share of the gold passages among the first k passages that the retriever finds for the question itself;
    empty if the question has no gold passage."""
    em: float
    """1 if the answer is one of those that are accepted, else 0."""
    f1: float
    """The words that it shares with the nearest accepted answer."""
    citation_precision: float | None
    """The share of its citations that quote a gold passage."""
    citation_recall: float | None
    """The share of the gold passages that it cites; None if it abstains."""
    faithfulness: float | None
    """The share of its sentences whose citations are verified quotes that hold, with their titles, all their words that
    say something; None if it abstains."""
    gathered: float | None
    """The share of the gold passages that any search of the run found."""
    confidence: float
    """How sure the writer is, where it says so."""
    retries: dict[str, int]
    """Kind of failure -> how often it was tried again."""
    passes: dict[str, int]
    """Loop -> passes that were granted."""
    loop_seconds: dict[str, float]
    """Loop -> wall time of its passes, each until the loop's next decision or the end."""
    model_calls: int
    """Calls of chat models."""
    seconds: float
    """Wall time of its run, beside that of the other questions at the same time."""
    error: str | None
    """What failed, or None."""


class LoopGain(Frozen):
    """What one loop costs and brings, against runs in which it is allowed no pass."""

    passes: int
    """Passes that were granted, over all questions."""
    questions: int
    """Questions that it went round for; only these were asked again without it, the others would run the same."""
    seconds: float
    """The wall time of its passes, over all questions; several questions are asked at a time."""
    model_calls: int
    """The calls of chat models that it adds, over all questions."""
    recall: Figure
    """What it adds to the share of the gold passages that a run finds."""
    em: Figure
    """What it adds to exact match."""
    f1: Figure
    """What it adds to F1."""


class Abstention(Frozen):
    """How well it is told what cannot be answered."""

    coverage: Figure
    """The share of the questions that were answered."""
    precision: Figure
    """Of the abstentions, the share that was right: the question has no answer, or the run did not find all its gold
    passages, so that an answer would have been a guess."""
    risk: Figure
    """Of the answers, the share that is wrong by exact match."""
    risk_coverage_area: float | None
    """The mean of 1 - F1 over the first 1, 2, ... of the questions, the surest answers first and abstentions last;
    lower is better, None if the answers are all equally sure. Source: Y. Geifman, G. Uziel, R. El-Yaniv, "Bias-reduced
    uncertainty estimation for deep neural classifiers", ICLR 2019."""


class Evaluation(Frozen):
    """What came of a set of questions on a corpus."""

    questions: int
    """Questions that were asked."""
    passages: int
    """Passages that were searched."""
    figures: dict[str, Figure]
    """Name -> mean over all questions: ``recall@k`` and ``all_gold@5`` of the retriever for the question itself,
    ``gathered_recall`` of all searches of a run, ``em``, ``f1``, ``citation_precision``, ``citation_recall``,
    ``faithfulness``, and the share ``abstained``; all from 0 to 1."""
    by_hops: dict[str, dict[str, Figure]]
    """Number of hops -> the same of its questions."""
    by_type: dict[str, dict[str, Figure]]
    """Type -> the same of its questions."""
    abstention: Abstention
    """How well it is told what cannot be answered."""
    retries: dict[str, int]
    """Kind of failure -> how often it was tried again, over all questions."""
    loops: dict[str, LoopGain]
    """Loop -> what it costs and brings; empty if that was not asked for."""
    model_calls: int
    """Calls of chat models, without those of runs without a loop."""
    failed: int
    """Questions whose run failed; they count as not answered."""
    ingest_seconds: float
    """Wall time of reading the corpus into the store, with vectors."""
    seconds: float
    """Wall time of asking all questions once, several at a time."""
    outcomes: tuple[QuestionOutcome, ...]
    """What came of each question, in order."""

    def as_json(self) -> str:
        """The evaluation as the text of one JSON object, without what came of each question.

        Returns:
            The figures' means by name, and their intervals and numbers of questions under ``intervals``; groups, loops
            and the rest by the names of the fields.
        """
        means = {name: figure.value for name, figure in self.figures.items()}
        intervals = {name: figure.model_dump(exclude={"value"}) for name, figure in self.figures.items()}
        rest = self.model_dump(mode="json", exclude={"figures", "outcomes"})
        return json.dumps({**means, **rest, "intervals": intervals}, indent=2)

    def table(self) -> str:
        """The evaluation as text for people."""
        from loopwright.workflows.rag.evaluation.table import table_of

        return table_of(self)

"""Asking one question and comparing what came of it with what is known."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from loopwright.engine.events import NodeFinished
from loopwright.errors import NodeFailed
from loopwright.retrieval.text import terms
from loopwright.workflows.rag.answering.quotes import verify_quote
from loopwright.workflows.rag.asking.words import informative_terms
from loopwright.workflows.rag.evaluation.questions import Question
from loopwright.workflows.rag.evaluation.schemas import QuestionOutcome
from loopwright.workflows.rag.evaluation.scoring import exact_match, f1_score
from loopwright.workflows.rag.pipeline import astream_ask
from loopwright.workflows.rag.results import RagResult
from loopwright.workflows.rag.schemas import Answer, Citation, Evidence
from loopwright.workflows.rag.services import Services

CUTOFFS = (2, 5, 10)
"""The k of recall@k."""


@dataclass
class _Run:
    """What one run of the workflow left."""

    result: RagResult | None = None
    """Its outcome; None if it failed."""
    found: dict[str, Evidence] = field(default_factory=dict[str, Evidence])
    """Everything that its searches found, by id."""
    error: str | None = None
    """What failed, or None."""


async def observe(
    question: Question, services: Services, keys: Mapping[str, str], *, recall: Mapping[int, float] | None = None
) -> QuestionOutcome:
    """Ask a question and compare.

    Args:
        question: The question.
        services: The configuration, the models and the store.
        keys: Document id -> the id that gold passages have in the corpus.
        recall: What the retriever finds for the question itself, if that is known; else it is asked.

    Returns:
        What came of it.

    Raises:
        StoreError: If the retriever cannot read the store.
    """
    run = await _run(question.question, services)
    if recall is None:
        recall = await asyncio.to_thread(_recall, question, services, keys)
    result, gold = run.result, set(question.gold)
    answer = result.answer if result else Answer(text="", abstained=True)
    predicted = _predicted(answer)
    cited = [keys.get(citation.document_id, "") for citation in answer.citations]
    gathered = {keys.get(evidence.document_id, "") for evidence in run.found.values()}
    return QuestionOutcome(
        id=question.id,
        type=question.type,
        hops=question.hops,
        status=result.status if result else "failed",
        predicted=predicted,
        recall=dict(recall),
        em=exact_match(predicted, question.answers) if result else 0.0,
        f1=f1_score(predicted, question.answers) if result else 0.0,
        citation_precision=sum(key in gold for key in cited) / len(cited) if cited and gold else None,
        citation_recall=None if answer.abstained else _share(gold, cited),
        faithfulness=None if answer.abstained else faithfulness(answer, run.found),
        gathered=_share(gold, gathered),
        confidence=answer.confidence,
        retries=result.retries.model_dump(exclude={"loops"}) if result else {},
        passes={name: loop.passes for name, loop in result.retries.loops.items()} if result else {},
        loop_seconds={name: loop.seconds for name, loop in result.retries.loops.items()} if result else {},
        model_calls=result.model_calls if result else 0,
        seconds=result.seconds if result else 0.0,
        error=run.error or (result.error if result else None),
    )


def faithfulness(answer: Answer, found: Mapping[str, Evidence]) -> float | None:
    """The share of an answer's sentences that their sources bear out word for word.

    A sentence is borne out if it has citations, every one of them is a quote that stands in its source, and the quotes
    hold, with the titles and headings above them, all its words that say something.

    Args:
        answer: The answer.
        found: What was found, by id.

    Returns:
        From 0 to 1; None if it has no sentence.
    """
    by_number = {citation.number: citation for citation in answer.citations}
    held = [
        _is_borne_out(sentence.text, [by_number.get(number) for number in sentence.citations], found)
        for sentence in answer.sentences
    ]
    return sum(held) / len(held) if held else None


def _is_borne_out(text: str, cited: Sequence[Citation | None], found: Mapping[str, Evidence]) -> bool:
    known: set[str] = set()
    for citation in cited:
        source = found.get(citation.evidence_id) if citation else None
        if citation is None or source is None or verify_quote(citation.quote, source.text) is None:
            return False
        known.update(terms(f"{source.title} {source.heading} {citation.quote}"))
    return bool(cited) and known.issuperset(informative_terms(text))


async def _run(question: str, services: Services) -> _Run:
    run = _Run()
    try:
        async for event in astream_ask(question, services=services):
            if isinstance(event, RagResult):
                run.result = event
            elif isinstance(event, NodeFinished):
                evidence: list[Evidence] = event.update.get("retrieved") or []
                run.found.update((each.id, each) for each in evidence)
    except NodeFailed as error:
        run.error = str(error)
    return run


def _recall(question: Question, services: Services, keys: Mapping[str, str]) -> dict[int, float]:
    if not question.gold:
        return {}
    found = services.retriever.retrieve(question.question, max(CUTOFFS))
    ranked = [keys.get(each.passage.document_id, "") for each in found]
    return {k: _share(set(question.gold), ranked[:k]) or 0.0 for k in CUTOFFS}


def _predicted(answer: Answer) -> str:
    if answer.abstained:
        return ""
    return answer.short or " ".join(sentence.text for sentence in answer.sentences)


def _share(gold: set[str], found: Collection[str]) -> float | None:
    return len(gold.intersection(found)) / len(gold) if gold else None

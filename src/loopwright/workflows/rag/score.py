"""How right an answer and its quotes are, where that is known."""

from collections.abc import Collection
from pathlib import PurePath

from loopwright.workflows.api import Outcome
from loopwright.workflows.evaluation.questions import Expected
from loopwright.workflows.evaluation.scores import answer_scores, citation_scores
from loopwright.workflows.files.source import file_and_key
from loopwright.workflows.rag.schemas import Answer


def score(expected: Expected, outcome: Outcome) -> dict[str, float | None]:
    """What can be said of an answer from documents, which `names_of` says how to name.

    Returns:
        ``em``, ``f1`` and ``contains`` of the short answer; of what is cited also ``citation_recall``, None if it
        abstains; ``gathered_recall``, the share of the documents to cite that any search found; ``abstained``.
    """
    if not outcome.details:
        return {"abstained": 0.0}
    answer = Answer.model_validate(outcome.details["answer"])
    scores: dict[str, float | None] = {"abstained": float(outcome.status == "abstained")}
    if expected.answers is not None:
        said = " ".join(sentence.text for sentence in answer.sentences)
        short = "" if answer.abstained else answer.short or said
        whole = "" if answer.abstained else f"{answer.short}. {said}"
        scores |= answer_scores(short, expected.answers)
        scores["contains"] = answer_scores(whole, expected.answers)["contains"]
    if expected.citations is not None:
        gold = expected.citations
        cited = [_named(citation.document_id or citation.evidence_id, gold) for citation in answer.citations]
        scores |= citation_scores(cited, gold)
        scores["citation_recall"] = None if answer.abstained else _share(gold, cited)
        scores["gathered_recall"] = _share(gold, [_named(document, gold) for document in outcome.details["found"]])
    return scores


def names_of(document: str) -> tuple[str, ...]:
    """What a document may be called: its id, its own id in a file of many, the file, and the file's name."""
    path, key = file_and_key(document)
    return document, key, path, PurePath(path).name


def _named(document: str, gold: Collection[str]) -> str:
    """The name of a document that is expected, or else its id."""
    return next((name for name in names_of(document) if name in gold), document)


def _share(gold: Collection[str], found: Collection[str]) -> float | None:
    return len(set(gold).intersection(found)) / len(set(gold)) if gold else None

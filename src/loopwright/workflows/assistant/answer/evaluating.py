"""Judging an answer, by rules or by a chat model: what was asked, how sure the search was, what is borne out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from loopwright.workflows.assistant.answer.claims import borne_out, statements
from loopwright.workflows.assistant.answer.listing import SURE
from loopwright.workflows.assistant.answer.references import marks_in
from loopwright.workflows.assistant.answer.wording import NOUNS, plain, shortened
from loopwright.workflows.assistant.schemas import Draft, Evaluation, Found, Question
from loopwright.workflows.assistant.sources.catalogue import holds


class EvaluationReply(BaseModel):
    """A chat model's judgement: lists that can be counted, since small models are bad at scores."""

    met: list[str] = []
    """The parts of the question that the answer meets, each in a few words."""
    missing: list[str] = []
    """The parts that it does not meet."""
    supported: list[str] = []
    """The statements of the answer that the cited records say, each in a few words."""
    unsupported: list[str] = []
    """The statements that they do not say."""
    advice: str = ""
    """What another attempt should mend, in one sentence; empty if nothing."""


def evaluation_of(reply: EvaluationReply, own: Evaluation) -> Evaluation:
    """Make an evaluation of a chat model's judgement.

    Quality is the share of the parts that are met, faithfulness the share of the statements that are supported. Where
    the model lists nothing to count, the rules' score stands. Confidence is about the search, which a model cannot see,
    and always the rules'.

    Args:
        reply: The judgement.
        own: What the rules say of the same answer.
    """
    missing, unsupported = _said(reply.missing), _said(reply.unsupported)
    return Evaluation(
        quality_score=_share(_said(reply.met), missing, own.quality_score),
        confidence_score=own.confidence_score,
        faithfulness_score=_share(_said(reply.supported), unsupported, own.faithfulness_score),
        feedback=" ".join(reply.advice.split()) if missing or unsupported else "",
        issues=(*(f"does not meet: {part}" for part in missing), *(f"unsupported: {part}" for part in unsupported)),
    )


def _said(parts: list[str]) -> list[str]:
    return [flat for part in parts if (flat := " ".join(part.split()))]


def _share(good: list[str], bad: list[str], otherwise: float) -> float:
    counted = len(good) + len(bad)
    return len(good) / counted if counted else otherwise


_SHOWN = 80


def evaluate_answer(
    question: Question,
    draft: Draft,
    query_results: Mapping[str, Sequence[Found]],
) -> Evaluation:
    """Judge an answer.

    The parts of a question are its topic, each condition, the first table that was asked, and each thing that it names
    and the conference does not have. The topic is met as far as the evidence of the best cited record goes, a condition
    as far as the cited records meet it, on average, the table if one of its records is cited, the last if the answer
    says so. Without any of these parts a question is met by any citation.

    Args:
        question: What was asked.
        draft: The answer.
        query_results: Table -> the hits that were put before its writer.

    Returns:
        The scores. ``feedback`` is empty where another attempt from the same records could mend nothing, for example
        where nothing was found, or nothing was asked for.
    """
    if not question.searches:
        return Evaluation(quality_score=1.0, confidence_score=1.0, faithfulness_score=1.0)
    records = {found.record.id: found for hits in query_results.values() for found in hits}
    cited = [records[each] for each in draft.referenced_ids if each in records]
    parts = _parts(question, draft, cited)
    marks = marks_in(draft.text, tuple(records))
    said = statements(draft.text, marks)
    known = {key: found.record for key, found in records.items()}
    doubted = [each for each in said if not borne_out(each, known)]
    foreign = sum(each.strangers for each in marks) + sum(each not in records for each in draft.referenced_ids)
    counted = len(said) + foreign
    issues = [f"does not meet {part}" for part, share in parts.items() if share < 1]
    mendable = [f"not borne out: {shortened(each.text, _SHOWN)}" for each in doubted]
    if foreign:
        mendable.append(f"{foreign} citations of records that were not found")
    return Evaluation(
        quality_score=sum(parts.values()) / len(parts) if parts else float(bool(cited)),
        confidence_score=sum(found.score for found in cited) / len(cited) if cited else 0.0,
        faithfulness_score=1 - (len(doubted) + foreign) / counted if counted else 1.0,
        feedback=_feedback(question.text, mendable),
        issues=(*issues, *mendable),
    )


def _parts(question: Question, draft: Draft, cited: Sequence[Found]) -> dict[str, float]:
    """Part of the question -> how far the citations meet it, from 0 to 1."""
    parts: dict[str, float] = {}
    if question.topic:
        parts[f"the topic {question.topic!r}"] = min(1.0, max((found.score for found in cited), default=0.0) / SURE)
    for asked in question.filters.include if not question.parts else ():
        held = [holds(found.record, asked) for found in cited]
        judged = [each for each in held if each is not None]
        parts[f"the {asked.slot} asked"] = sum(judged) / len(judged) if judged else 0.0
    if question.tables:
        table = question.tables[0]
        parts[f"the wish for {NOUNS[table][1]}"] = float(any(found.record.table is table for found in cited))
    for note in question.notes:
        parts[f"what is to be said: {note}"] = float(note in draft.text or plain(note) in draft.text)
    return parts


def _feedback(question: str, mendable: Sequence[str]) -> str:
    if not mendable:
        return ""
    return f"Answer {shortened(question, _SHOWN)!r} anew and mend this: {'; '.join(mendable)}."

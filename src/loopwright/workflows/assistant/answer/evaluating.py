"""Judging an answer, by rules or by a chat model: what was asked, how sure the search was, what is borne out."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from loopwright.retrieval.web.cleaning import collapse
from loopwright.workflows.assistant.answer.wording import NOUNS, plain
from loopwright.workflows.assistant.constants import SURE
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


def evaluation_of(reply: EvaluationReply, own: Evaluation) -> Evaluation:
    """Make an evaluation of a chat model's judgement.

    Quality is the share of the parts that are met, faithfulness the share of the statements that are supported. Where
    the model lists nothing to count, the rules' quality stands. Confidence is about the search, which no model sees,
    and always the rules'.
    """
    listed = (reply.met, reply.missing, reply.supported, reply.unsupported)
    met, missing, supported, unsupported = ([*filter(None, map(collapse, parts))] for parts in listed)
    quality = _share(met, missing)
    return Evaluation(
        quality_score=own.quality_score if quality is None else quality,
        confidence_score=own.confidence_score,
        faithfulness_score=_share(supported, unsupported),
        issues=(*(f"does not meet: {part}" for part in missing), *(f"unsupported: {part}" for part in unsupported)),
    )


def _share(good: list[str], bad: list[str]) -> float | None:
    counted = len(good) + len(bad)
    return len(good) / counted if counted else None


def evaluate_answer(question: Question, draft: Draft, query_results: Mapping[str, Sequence[Found]]) -> Evaluation:
    """Judge an answer by what it cites; whether its own words are borne out, only a chat model can tell.

    The parts of a question are its topic, each condition, the first table that was asked, and each thing that it names
    and the conference does not have. The topic is met as far as the evidence of the best cited record goes, a condition
    as far as the cited records meet it, on average, the table if one of its records is cited, the last if the answer
    says so. Without any of these parts a question is met by any citation.
    """
    if not question.searches:
        return Evaluation(quality_score=1.0, confidence_score=1.0)
    records = {found.record.id: found for hits in query_results.values() for found in hits}
    cited = [records[each] for each in draft.referenced_ids if each in records]
    parts = _parts(question, draft, cited)
    return Evaluation(
        quality_score=sum(parts.values()) / len(parts) if parts else float(bool(cited)),
        confidence_score=sum(found.score for found in cited) / len(cited) if cited else 0.0,
        issues=tuple(f"does not meet {part}" for part, share in parts.items() if share < 1),
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
    table = question.tables[0]
    parts[f"the wish for {NOUNS[table][1]}"] = float(any(found.record.table is table for found in cited))
    for note in question.notes:
        parts[f"what is to be said: {note}"] = float(note in draft.text or plain(note) in draft.text)
    return parts

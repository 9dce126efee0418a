"""Judging an answer, by rules or by a chat model: what was asked, how sure the search was, what is borne out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from loopwright.retrieval.text import query_terms
from loopwright.workflows.assistant.answer.claims import Witness, statements
from loopwright.workflows.assistant.answer.fitting import folded_words, terms_of, words_of
from loopwright.workflows.assistant.answer.listing import SURE
from loopwright.workflows.assistant.answer.references import marks_in
from loopwright.workflows.assistant.answer.wording import NOUNS, day_named, plain, shortened, when
from loopwright.workflows.assistant.constants import DEFAULT_THRESHOLD
from loopwright.workflows.assistant.schemas import Draft, Evaluation, Found, Question, Record
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


def evaluation_of(reply: EvaluationReply, own: Evaluation, cited: Sequence[Record] = ()) -> Evaluation:
    """Make an evaluation of a chat model's judgement.

    Quality is the share of the parts that are met, faithfulness the share of the statements that are supported. Where
    the model lists nothing to count, the rules' score stands. An objection to a statement all of whose words and
    numbers are the cited records' own counts as support: small models object to what is so. Confidence is about the
    search, which a model cannot see, and always the rules'.

    Args:
        reply: The judgement.
        own: What the rules say of the same answer.
        cited: The records that the answer cites.
    """
    words = terms_of("".join(map(_words_of, cited)))
    missing, doubted = _said(reply.missing), _said(reply.unsupported)
    unsupported = [each for each in doubted if not _holds_all(words, each)]
    supported = [*_said(reply.supported), *(each for each in doubted if each not in unsupported)]
    return Evaluation(
        quality_score=_share(_said(reply.met), missing, own.quality_score),
        confidence_score=own.confidence_score,
        faithfulness_score=_share(supported, unsupported, own.faithfulness_score),
        feedback=" ".join(reply.advice.split()) if missing or unsupported else "",
        issues=(*(f"does not meet: {part}" for part in missing), *(f"unsupported: {part}" for part in unsupported)),
    )


def _words_of(record: Record) -> str:
    dated = f"{when(record)} {day_named(record.start.date())}" if record.start else ""
    return words_of(record) + folded_words(dated)


def _holds_all(words: frozenset[str], statement: str) -> bool:
    wanted = query_terms(statement)
    return bool(wanted) and words.issuperset(wanted)


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
    *,
    threshold: float = DEFAULT_THRESHOLD,
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
        threshold: The score below which a hit only comes near.

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
    witness = Witness({key: found.record for key, found in records.items()})
    doubted = [each for each in said if not witness.bears_out(each)]
    foreign = sum(each.strangers for each in marks) + sum(each not in records for each in draft.referenced_ids)
    counted = len(said) + foreign
    issues = [f"does not meet {part}" for part, share in parts.items() if share < 1]
    mendable = [f"not borne out: {shortened(each.text, _SHOWN)}" for each in doubted]
    if foreign:
        mendable.append(f"{foreign} citations of records that were not found")
    if passed_over := _passed_over(question, cited, records, threshold):
        mendable.append(f"does not cite {passed_over}, which fits better than what it cites")
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


def _passed_over(question: Question, cited: Sequence[Found], records: Mapping[str, Found], threshold: float) -> str:
    """The best hit of the main table, where it is good, and all that the answer cites is worse."""
    main = question.tables[:1]
    rivals = [found for found in records.values() if not main or found.record.table in main]
    best = max(rivals, key=lambda found: found.score, default=None)
    if best is None or best.score < threshold or any(found.score >= best.score for found in cited):
        return ""
    return best.record.id


def _feedback(question: str, mendable: Sequence[str]) -> str:
    if not mendable:
        return ""
    return f"Answer {shortened(question, _SHOWN)!r} anew and mend this: {'; '.join(mendable)}."

"""Judging an answer by rules: what was asked, how sure the search was, and whether the records say what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopwright.workflows.assistant.answering.fitting import asked_parts, met, topic_held
from loopwright.workflows.assistant.answering.references import marks_in
from loopwright.workflows.assistant.answering.statements import Witness, statements
from loopwright.workflows.assistant.answering.wording import NOUNS, plain, shortened, topics_of
from loopwright.workflows.assistant.constants import DEFAULT_THRESHOLD
from loopwright.workflows.assistant.schemas import Draft, Evaluation, Found, Understanding
from loopwright.workflows.assistant.understanding.about import ABOUT

_SHOWN = 80


def evaluate_answer(
    question: str,
    understanding: Understanding,
    draft: Draft,
    query_results: Mapping[str, Sequence[Found]],
    *,
    threshold: float = DEFAULT_THRESHOLD,
) -> Evaluation:
    """Judge an answer.

    The parts of a question are its topics, each kind of filter, the first table that was asked, and each thing that it
    names and the conference does not have. A topic is met as far as the best cited record reaches the threshold, or
    holds the topic's words (of several topics, the words alone count); a filter as far as the cited records do, on
    average; the table if one of its records is cited; the last if the answer says so. Without any of these parts a
    question is met by any citation.

    Args:
        question: The question as asked.
        understanding: What was understood of it.
        draft: The answer.
        query_results: Table -> the hits that were put before its writer.
        threshold: The score below which a hit only comes near.

    Returns:
        The scores. ``feedback`` is empty where another attempt from the same records could mend nothing, for example
        where nothing was found, or nothing was asked for.
    """
    if understanding.smalltalk or (understanding.intent == ABOUT and draft.status == "answered"):
        return Evaluation(quality_score=1.0, confidence_score=1.0, faithfulness_score=1.0)
    records = {found.record.id: found for hits in query_results.values() for found in hits}
    cited = [records[each] for each in draft.referenced_ids if each in records]
    parts = _parts(understanding, draft, cited, threshold)
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
    if passed_over := _passed_over(understanding, cited, records, threshold):
        mendable.append(f"does not cite {passed_over}, which fits better than what it cites")
    return Evaluation(
        quality_score=sum(parts.values()) / len(parts) if parts else float(bool(cited)),
        confidence_score=sum(found.score for found in cited) / len(cited) if cited else 0.0,
        faithfulness_score=1 - (len(doubted) + foreign) / counted if counted else 1.0,
        feedback=_feedback(question, mendable),
        issues=(*issues, *mendable),
    )


def _parts(understanding: Understanding, draft: Draft, cited: Sequence[Found], threshold: float) -> dict[str, float]:
    """Part of the question -> how far the citations meet it, from 0 to 1."""
    parts: dict[str, float] = {}
    topics = topics_of(understanding.topic)
    for topic in topics:
        # The score is that of the whole question, which of several topics proves none.
        parts[f"the topic {topic!r}"] = max(
            (
                _on_topic(found, topic, threshold) if len(topics) == 1 else topic_held(found.record, topic)
                for found in cited
            ),
            default=0.0,
        )
    judged = [met(found.record, understanding.filters) for found in cited]
    for part in asked_parts(understanding.filters):
        shares = [held[part] for held in judged if part in held]
        parts[f"the {part} asked"] = sum(shares) / len(shares) if shares else 0.0
    if understanding.tables:
        table = understanding.tables[0]
        parts[f"the wish for {NOUNS[table][1]}"] = float(any(found.record.table is table for found in cited))
    for note in understanding.notes:
        parts[f"what is to be said: {note}"] = float(note in draft.text or plain(note) in draft.text)
    return parts


def _on_topic(found: Found, topic: str, threshold: float) -> float:
    near = min(1.0, found.score / threshold) if threshold else 1.0
    return near if near == 1 else max(near, topic_held(found.record, topic))


def _passed_over(
    understanding: Understanding, cited: Sequence[Found], records: Mapping[str, Found], threshold: float
) -> str:
    """The best hit of the main table, where it is good, and all that the answer cites is worse."""
    main = understanding.tables[:1]
    rivals = [found for found in records.values() if not main or found.record.table in main]
    best = max(rivals, key=lambda found: found.score, default=None)
    if best is None or best.score < threshold or any(found.score >= best.score for found in cited):
        return ""
    return best.record.id


def _feedback(question: str, mendable: Sequence[str]) -> str:
    if not mendable:
        return ""
    return f"Answer {shortened(question, _SHOWN)!r} anew and mend this: {'; '.join(mendable)}."

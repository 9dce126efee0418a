"""What a chat model's judgement of an answer says, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from loopwright.retrieval.text import query_terms
from loopwright.workflows.assistant.answer.fitting import folded_words, terms_of, words_of
from loopwright.workflows.assistant.answer.wording import day_named, when
from loopwright.workflows.assistant.schemas import Evaluation, Record


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

"""The embedded extractor: facts by rules, without a model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from loopwright.retrieval.names import plain_title
from loopwright.retrieval.records import Fact, Mention, Passage
from loopwright.workflows.rag.extraction.clauses import statements_in
from loopwright.workflows.rag.extraction.lifetimes import lifetimes_in
from loopwright.workflows.rag.extraction.statements import Statement
from loopwright.workflows.rag.extraction.tokens import tokens_in
from loopwright.workflows.rag.extraction.unspaced import chinese_statements, thai_statements
from loopwright.workflows.rag.reading.spans import sentences

NAME = "rules"
"""The name of this extractor in `Fact.extractor`."""

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_THAI = re.compile("[\u0e00-\u0e7f]")


def facts_in(passage: Passage, mentions: Sequence[Mention]) -> list[Fact]:
    """Find the facts that a passage states in plain words.

    English: "X is a Y of Z", "X was born in Y", "X, the capital of Y,", "X (born D)", "X's mother, Y", and short verb
    phrases between names, dates and numbers; a pronoun or "the film" at the head of a sentence means the document's
    title. Chinese and Thai: what something is, and where and when it is or began. Negations stay in the relation; what
    is asked, conditional or denied is no fact.

    Args:
        passage: The passage.
        mentions: The entities that it names, in any order.

    Returns:
        The facts in the order of the text, none twice.
    """
    title = plain_title(passage.title)
    places = sorted(mentions, key=lambda mention: mention.start)
    facts: dict[str, Fact] = {}
    for start, end in sentences(passage.text, 0, len(passage.text)):
        inside = [mention for mention in places if start <= mention.start and mention.end <= end]
        for statement in _statements(passage.text, start, end, inside, title):
            fact = _fact(statement, passage.id)
            facts.setdefault(fact.id, fact)
    return list(facts.values())


def fact_id(subject: str, relation: str, object: str, passage_id: str, start: int) -> str:
    """The id of a fact: the same fact in the same place has the same, whoever finds it.

    Args:
        subject: The fact's subject.
        relation: Its relation.
        object: Its object.
        passage_id: Its passage.
        start: Where its source begins in the passage's text, in characters.

    Returns:
        The first 20 hexadecimal digits of a SHA-256.
    """
    return hashlib.sha256(f"{subject}|{relation}|{object}|{passage_id}|{start}".encode()).hexdigest()[:20]


def _statements(text: str, start: int, end: int, mentions: Sequence[Mention], title: str) -> Iterator[Statement]:
    sentence = text[start:end]
    if _THAI.search(sentence):
        yield from thai_statements(sentence, start, title)
    elif _HAN.search(sentence):
        yield from chinese_statements(sentence, start, title)
    else:
        yield from lifetimes_in(sentence, start, mentions)
        yield from statements_in(tokens_in(sentence, start, mentions), title)


def _fact(statement: Statement, passage_id: str) -> Fact:
    subject, relation, object, start, end, confidence = statement
    return Fact(
        id=fact_id(subject, relation, object, passage_id, start),
        subject=subject,
        relation=relation,
        object=object,
        passage_id=passage_id,
        start=start,
        end=end,
        confidence=confidence,
        extractor=NAME,
    )

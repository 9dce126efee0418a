"""The embedded reader: quotes the sentences that answer a question best, and cites them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from loopwright.retrieval.names import plain_title
from loopwright.retrieval.text import terms
from loopwright.workflows.rag.answering.candidates import Candidate, ranked_candidates
from loopwright.workflows.rag.answering.citations import CitationList, marks_of, with_sentences
from loopwright.workflows.rag.answering.comparison import compare, yes_or_no
from loopwright.workflows.rag.answering.residue import residue
from loopwright.workflows.rag.answering.support import Supported, names_title, supported_sentences
from loopwright.workflows.rag.asking.asked import AnswerType, read_asked
from loopwright.workflows.rag.asking.complexity import complexity_of
from loopwright.workflows.rag.asking.weights import term_weights
from loopwright.workflows.rag.asking.words import has_unspaced, informative_terms, keywords
from loopwright.workflows.rag.schemas import Answer, Complexity, Evidence, Sentence

_MOST_SENTENCES = 3
_WORTH_QUOTING = 0.2
_SCORE_MIDDLE = 4.5
_SUPPORT_MIDDLE = 0.45
_LEAST_CONFIDENCE = 0.3
_NUMERAL = re.compile(r"\d|[一二三四五六七八九十百千万亿萬億两兩]{2,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What was found: the short answer, the sentences that show it, and how sure that is."""

    short: str
    """The answer in few words."""
    sentences: tuple[Supported, ...]
    """What shows it."""
    confidence: float
    """How sure that is, from 0 to 1."""


def extract_answer(question: str, evidence: Sequence[Evidence], *, complexity: Complexity | None = None) -> Answer:
    """Answer a question with one to three quotes from the evidence, and as few words of them as possible.

    Nothing is written that no passage says: what a passage tells its reader to do is at most quoted.

    Args:
        question: The question, readable on its own.
        evidence: The passages, best first.
        complexity: How many steps it needs, where that is known; for several, passages that name each other count
            together.

    Returns:
        The answer, or one that abstains and says what was looked for.
    """
    weights = term_weights(question, [f"{passage.title} {passage.heading} {passage.text}" for passage in evidence])
    several = (complexity or complexity_of(question)) is not Complexity.ONE_HOP
    found = supported_sentences(weights, evidence, chain=several)
    reading = _read(question, evidence, found) if found and weights else None
    if reading is None or reading.confidence < _LEAST_CONFIDENCE:
        return _abstaining(question, reading.confidence if reading else 0.0)
    listed = CitationList()
    sentences = tuple(
        Sentence(text=each.text, citations=(listed.add(evidence[each.passage], each.start, each.end),))
        for each in _quoted(reading.sentences, evidence, found, several=several)
    )
    return Answer(
        text=" ".join(f"{sentence.text}{marks_of(sentence.citations)}" for sentence in sentences),
        short=reading.short,
        sentences=sentences,
        citations=tuple(listed.citations),
        confidence=round(reading.confidence, 4),
    )


def without_sentences(answer: Answer, unsupported: Collection[str]) -> Answer:
    """An answer without some of its sentences, its citations numbered anew.

    Args:
        answer: The answer.
        unsupported: The sentences to leave out, by their text; of two with the same text, both go.

    Returns:
        The rest, with the short answer only if what is left bears it out; unchanged if nothing is to be left out; one
        that abstains if nothing is left.
    """
    kept = [sentence for sentence in answer.sentences if sentence.text not in unsupported]
    if len(kept) == len(answer.sentences):
        return answer
    if not kept:
        return Answer(text="The documents do not bear out an answer to this.", abstained=True)
    return with_sentences(answer, kept)


def _read(question: str, evidence: Sequence[Evidence], found: Sequence[Supported]) -> _Reading | None:
    asked = read_asked(question)
    if asked.type in (AnswerType.YES_NO, AnswerType.CHOICE):
        compared = compare(asked, question, evidence, found) or (
            yes_or_no(question, found) if asked.type is AnswerType.YES_NO else None
        )
        if compared is None:
            return None
        best = max(sentence.support for sentence in compared.sentences)
        return _Reading(short=compared.short, sentences=compared.sentences, confidence=_sure(_SCORE_MIDDLE, best))
    if has_unspaced(question) and has_unspaced(evidence[0].text):
        return _unspaced(question, evidence, found)
    ranked = ranked_candidates(question, asked, evidence, found)
    best = max(found, key=lambda each: each.support)
    if asked.type in (AnswerType.EXPLANATION, AnswerType.DEFINITION) or not ranked:
        return _Reading(short=best.text, sentences=(best,), confidence=_sure(_SCORE_MIDDLE, best.support))
    return _chosen(ranked[0])


def _chosen(candidate: Candidate) -> _Reading:
    return _Reading(
        short=candidate.text,
        sentences=(candidate.sentence,),
        confidence=_sure(candidate.score, candidate.sentence.support),
    )


def _unspaced(question: str, evidence: Sequence[Evidence], found: Sequence[Supported]) -> _Reading:
    # What is asked stands last in Thai and Chinese noun phrases, before the question word.
    last = set(informative_terms(question)[-1:])
    counted = read_asked(question).type in (AnswerType.NUMBER, AnswerType.DATE)

    def fits(each: Supported) -> tuple[float, bool, bool, int]:
        number = counted and bool(_NUMERAL.search(each.text))
        return round(each.support, 2), number, bool(last & set(terms(each.text))), -each.place

    best = max(found, key=fits)
    title = plain_title(evidence[best.passage].title)
    short = residue(question, read_asked(question), best.text, title) or best.text
    # Half of a question's pieces reach over the border of two words, and so occur in no other sentence.
    return _Reading(short=short, sentences=(best,), confidence=_sure(_SCORE_MIDDLE, 2 * best.support))


def _sure(score: float, support: float) -> float:
    """How sure an answer is, from 0 to 1: a logistic curve over the candidate's score and its sentence's support."""
    return 1 / (1 + math.exp(-(0.7 * (score - _SCORE_MIDDLE) + 6 * (support - _SUPPORT_MIDDLE))))


def _quoted(
    shown: Iterable[Supported], evidence: Sequence[Evidence], found: Sequence[Supported], *, several: bool
) -> list[Supported]:
    """The sentences to quote: those that show the answer, and for several steps what leads to them."""
    quoted = list(dict.fromkeys(shown))
    if not several:
        return quoted[:_MOST_SENTENCES]
    passages = {each.passage for each in quoted}
    for sentence in sorted(found, key=lambda each: (-each.own, each.passage, each.place)):
        if len(quoted) >= min(_MOST_SENTENCES, 2 + (len(passages) > 2)) or sentence.own < _WORTH_QUOTING:
            break
        if sentence.passage not in passages and _linked(sentence, quoted[0], evidence):
            quoted.append(sentence)
            passages.add(sentence.passage)
    return quoted


def _linked(sentence: Supported, shown: Supported, evidence: Sequence[Evidence]) -> bool:
    """Whether a sentence names the passage of another, or the other way round."""
    return names_title(sentence.text, evidence[shown.passage].title) or names_title(
        evidence[shown.passage].text, evidence[sentence.passage].title
    )


def _abstaining(question: str, confidence: float) -> Answer:
    """Say that the documents do not answer, and what was sought; in Thai or Chinese if the question is."""
    sought = ", ".join(keywords(question)[:12])
    if re.search("[\u0e00-\u0e7f]", question):
        text = f"เอกสารไม่มีคำตอบสำหรับคำถามนี้ สิ่งที่ค้นหา: {sought}"
    elif re.search("[\u4e00-\u9fff]", question):
        text = f"文档没有回答这个问题。查找的内容：{sought}。"
    else:
        text = f"The documents do not answer this question. I looked for: {sought or question.strip()}."
    return Answer(text=text, abstained=True, confidence=round(confidence, 4))

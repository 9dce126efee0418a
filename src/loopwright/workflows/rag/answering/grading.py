"""Verdicts by rules: does a passage help, and does an answer stand on its sources?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from loopwright.retrieval.names import plain_title
from loopwright.retrieval.text import terms
from loopwright.workflows.rag.answering.citations import numbers_in
from loopwright.workflows.rag.answering.polarity import denies
from loopwright.workflows.rag.asking.asked import AnswerType, read_asked
from loopwright.workflows.rag.asking.weights import coverage, term_weights
from loopwright.workflows.rag.asking.words import ASKING_WORDS, has_unspaced, informative_terms, keywords, names
from loopwright.workflows.rag.schemas import Answer, AnswerGrade, Evidence, Grade, Sentence

_RELEVANT = 0.5
_IRRELEVANT = 0.4
_RELEVANT_LOGIT = -10.0
_BORNE_OUT = 0.6


def grade_passage(
    question: str, evidence: Evidence, *, query: str | None = None, background: Sequence[Evidence] = ()
) -> Grade:
    """Say whether a passage helps to answer a question, by the terms and names that it shares with it.

    What a passage tells its reader to do changes nothing: only the words of the question count.

    Args:
        question: The user's question.
        evidence: The passage.
        query: What was searched, where that is more than the question: a passage that fits it helps too.
        background: Other passages of the search; what is common among them says less.

    Returns:
        Relevant from a score of 0.5, irrelevant below 0.4, between them a tie.
    """
    texts = [f"{passage.title} {passage.heading} {passage.text}" for passage in background]
    found = set(terms(f"{evidence.title} {evidence.heading} {evidence.text}"))
    asked = [question] if query is None else [question, query]
    score = max(_shared(text, found, evidence, texts) for text in asked)
    verdict = "relevant" if score >= _RELEVANT else "irrelevant" if score < _IRRELEVANT else "tie"
    missed = [f'"{term}"' for term in informative_terms(question) if term not in found]
    reason = f"covers {score:.0%} of what is asked" + (f"; does not mention {', '.join(missed[:6])}" if missed else "")
    return Grade(id=evidence.id, verdict=verdict, score=round(score, 4), reason=reason)


def relevance_from_logit(logit: float, evidence_id: str) -> Grade:
    """Turn a reranker's logit into a verdict.

    Args:
        logit: The reranker's output for the question and the passage; above -10 the passage is relevant.
        evidence_id: The passage's id.

    Returns:
        The verdict; the score is the logistic function of the logit. A logit that is no number is a failure.
    """
    if math.isnan(logit):
        return Grade(id=evidence_id, verdict="failed", reason="the reranker's logit is not a number")
    # Beyond this the score is 0 or 1 to the last digit, and exp would overflow.
    score = 1 / (1 + math.exp(-max(-500.0, min(500.0, logit))))
    verdict = "relevant" if logit > _RELEVANT_LOGIT else "irrelevant"
    return Grade(id=evidence_id, verdict=verdict, score=score, reason=f"the reranker's logit is {logit:.2f}")


def grade_answer(question: str, answer: Answer, evidence: Sequence[Evidence]) -> AnswerGrade:
    """Judge an answer by rules.

    A sentence is borne out if its citations' quotes stand in their passages, hold all its numbers and names (or their
    titles do), and most of its other words, and do not deny what it says. An answer is useful if it says something that
    the question does not, of the kind that is asked for.

    Args:
        question: The user's question.
        answer: The answer.
        evidence: The passages that it was written from.
    """
    if answer.abstained:
        return AnswerGrade(supported=False, useful=False, reason=_why_abstained(question, evidence))
    by_id = {passage.id: passage for passage in evidence}
    unsupported = tuple(sentence.text for sentence in answer.sentences if not _is_borne_out(sentence, answer, by_id))
    supported = bool(answer.sentences) and not unsupported
    problem = _not_useful_because(question, answer)
    reasons = [] if supported else ["the sources do not bear out all that it says"]
    return AnswerGrade(
        supported=supported,
        useful=not problem,
        unsupported=unsupported,
        reason="; ".join([*reasons, *([problem] if problem else [])]),
    )


def _shared(question: str, found: set[str], evidence: Evidence, texts: Sequence[str]) -> float:
    """How well a passage fits a question, from 0 to 1.

    Half is the share of the question's weight that it covers; the other half is whether the question names what the
    passage is about. A title may say nothing ("notes.md"), so a passage that covers nearly everything fits without it.
    """
    covered = coverage(term_weights(question, texts), found)
    asked = set(terms(question))
    title = set(terms(plain_title(evidence.title))) - ASKING_WORDS
    of_title = _part(title, asked)
    titled = set(terms(evidence.title))
    of_names = max((_part(set(terms(name)), titled) for name in names(question)), default=of_title)
    # Overlapping pieces of unspaced scripts match less often than words do.
    alone = covered if has_unspaced(question) else covered**2
    return max(0.5 * covered + 0.25 * of_title + 0.25 * of_names, alone)


def _part(wanted: set[str], found: set[str]) -> float:
    return len(wanted & found) / len(wanted) if wanted else 0.0


def _is_borne_out(sentence: Sentence, answer: Answer, by_id: dict[str, Evidence]) -> bool:
    cited = [citation for citation in answer.citations if citation.number in sentence.citations]
    held: list[str] = []
    for citation in cited:
        passage = by_id.get(citation.evidence_id)
        if passage is None or passage.text[citation.start : citation.end] != citation.quote or not citation.quote:
            return False
        held.append(f"{citation.quote} {passage.title} {passage.heading}")
    if not held:
        return False
    said = " ".join(held)
    found = set(terms(said))
    named = {term for name in names(sentence.text) for term in terms(name)} & set(informative_terms(sentence.text))
    return (
        numbers_in(sentence.text) <= numbers_in(said)
        and named <= found
        and coverage(term_weights(sentence.text), found) >= _BORNE_OUT
        and not denies(sentence.text, [citation.quote for citation in cited])
    )


def _why_abstained(question: str, evidence: Sequence[Evidence]) -> str:
    """Names what no passage mentions, in double quotes, so that it can be searched on its own."""
    found = {term for passage in evidence for term in terms(f"{passage.title} {passage.heading} {passage.text}")}
    missed = [f'"{word}"' for word in keywords(question) if not set(terms(word)) & found]
    said = "it says that the sources do not answer the question"
    return f"{said}; no passage mentions {', '.join(missed[:6])}" if missed else said


def _not_useful_because(question: str, answer: Answer) -> str:
    """Why an answer is not useful; empty if it is."""
    asked = read_asked(question)
    text = answer.short or answer.text
    if not informative_terms(text) and not numbers_in(text) and not text.strip():
        return "it says nothing"
    if asked.type in (AnswerType.YES_NO, AnswerType.CHOICE):
        return ""
    known = set(terms(question))
    if not set(informative_terms(text)) - known:
        return "it only repeats the question"
    whole = f"{answer.short} {answer.text}"
    if asked.type in (AnswerType.DATE, AnswerType.NUMBER) and not _has_number(whole):
        return f"it gives no {asked.type}"
    return ""


def _has_number(text: str) -> bool:
    named = (
        "one two three four five six seven eight nine ten eleven twelve dozen hundred million century season".split()
    )
    months = (
        "spring summer autumn winter morning evening monday sunday january march april may june july august".split()
    )
    folded = set(terms(text))
    return any(character.isnumeric() for character in text) or any(
        set(terms(word)) <= folded for word in named + months
    )

"""Verdicts by rules: does a passage help, and does an answer stand on its sources?"""

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.lexicon import Lexicon
from loopwright.retrieval.records import Evidence
from loopwright.retrieval.vectors import embedded_text
from loopwright.workflows.rag.answer.reader import ANSWERED, held_of, share_of
from loopwright.workflows.rag.question.forms import asked_words, corrected, lexicon_of
from loopwright.workflows.rag.question.words import terms_of
from loopwright.workflows.rag.schemas import Answer, AnswerGrade, Grade

_RELEVANT = 0.2
_IRRELEVANT = 0.05
_RELEVANT_LOGIT = -10.0


class Reranker(Protocol):
    """Reads a query and a text together and says how well the one answers the other."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """A logit for each text, float32 [texts], higher is better."""
        ...


def grade_passage(
    question: str, evidence: Evidence, *, query: str | None = None, lexicon: Lexicon | None = None
) -> Grade:
    """Say whether a passage has enough of what is asked to be worth reading.

    It does not say whether the passage answers: that is for the reader. What a passage tells its reader to do changes
    nothing: only the words of the question, and of what was searched for it, count.

    Returns:
        Relevant with a fifth of the weight of what is asked, irrelevant with less than a twentieth, between them a tie.
    """
    found = {*terms_of(f"{evidence.title} {evidence.heading} {evidence.text}")}
    lexicon = lexicon or lexicon_of([evidence])
    asked = [asked_words(text, lexicon) for text in ([question] if query is None else [question, query])]
    score = max(share_of(words, held_of(words, found)) for words in asked)
    verdict = "relevant" if score >= _RELEVANT else "irrelevant" if score < _IRRELEVANT else "tie"
    missed = [f'"{term}"' for term, word in asked[0].items() if found.isdisjoint(word.forms)]
    reason = f"covers {score:.0%} of what is asked" + (f"; does not mention {', '.join(missed[:6])}" if missed else "")
    return Grade(id=evidence.id, verdict=verdict, score=round(score, 4), reason=reason)


def relevance(reranker: Reranker, question: str, found: Sequence[Evidence], lexicon: Lexicon) -> list[float]:
    """What a reranker gives each passage, for the question as it stands or as the documents spell it: the higher."""
    texts = [embedded_text(each) for each in found]
    asked = dict.fromkeys([question, corrected(question, lexicon)])
    logits = [[float(logit) for logit in reranker.score(form, texts)] for form in asked]
    return [max(each) for each in zip(*logits, strict=True)]


def relevance_from_logit(logit: float, evidence_id: str) -> Grade:
    """Turn a reranker's logit into a verdict."""
    if math.isnan(logit):
        return Grade(id=evidence_id, verdict="failed", reason="the reranker's logit is not a number")
    # Beyond this the score is 0 or 1 to the last digit, and exp would overflow.
    score = 1 / (1 + math.exp(-max(-500.0, min(500.0, logit))))
    verdict = "relevant" if logit > _RELEVANT_LOGIT else "irrelevant"
    return Grade(id=evidence_id, verdict=verdict, score=score, reason=f"the reranker's logit is {logit:.2f}")


def grade_answer(answer: Answer) -> AnswerGrade:
    """Judge an answer by rules; that its quotes stand in their passages was seen to when it was made.

    It is supported if it says something and nothing had to be left out, and useful where a chat model wrote it, or if
    its quotes are sure to answer.
    """
    if answer.abstained:
        # It says nothing that needs support, and another attempt from the same passages would say the same.
        return AnswerGrade(supported=True, useful=False, reason="the passages do not answer the question")
    supported = bool(answer.sentences) and not answer.left_out
    unsure = 0 < answer.confidence < ANSWERED
    problem = "the passages fit, but it is not sure that they answer" if unsure else ""
    reasons = ["" if supported else "the sources do not bear out all that it says", problem]
    return AnswerGrade(
        supported=supported, useful=not problem, unsupported=answer.left_out, reason="; ".join(filter(None, reasons))
    )

"""How right an answer is, by the words that it shares with the answers that are accepted."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_CLOSED = frozenset({"yes", "no", "noanswer"})
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised_answer(text: str) -> str:
    """An answer without differences of case, punctuation, English articles and white space.

    Source: the official evaluation of SQuAD, P. Rajpurkar et al., "SQuAD: 100,000+ questions for machine comprehension
    of text", EMNLP 2016; HotpotQA and MuSiQue use the same. Unlike there, an answer of articles alone keeps them, so
    that "The The" is not the same as no answer.

    Args:
        text: The answer.
    """
    plain = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split() or plain.split())


def exact_match(predicted: str, accepted: Sequence[str]) -> float:
    """1 if the answer is one of those that are accepted, else 0.

    Args:
        predicted: The answer; empty if there is none.
        accepted: What is accepted; nothing where the question has no answer, and then having none is right, as in
            P. Rajpurkar et al., "Know what you don't know: unanswerable questions for SQuAD", ACL 2018.
    """
    return float(any(normalised_answer(predicted) == normalised_answer(answer) for answer in accepted or [""]))


def f1_score(predicted: str, accepted: Sequence[str]) -> float:
    """The harmonic mean of precision and recall of an answer's words, from 0 to 1: of the accepted ones, the nearest.

    As in the official evaluation of HotpotQA, it is 0 where one of the two is "yes", "no" or "noanswer" and the other
    is something else.

    Args:
        predicted: The answer; empty if there is none.
        accepted: What is accepted; see `exact_match`.
    """
    return max(
        _f1(normalised_answer(predicted).split(), normalised_answer(answer).split()) for answer in accepted or [""]
    )


def _f1(predicted: Sequence[str], accepted: Sequence[str]) -> float:
    if not predicted or not accepted or any(" ".join(words) in _CLOSED for words in (predicted, accepted)):
        return float(predicted == accepted)
    shared = (Counter(predicted) & Counter(accepted)).total()
    return 2 * shared / (len(predicted) + len(accepted))

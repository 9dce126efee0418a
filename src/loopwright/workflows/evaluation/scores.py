"""How right an outcome is: its answer's words, its citations, its status."""

import math
import re
import string
from collections import Counter
from collections.abc import Collection, Sequence

from loopwright.workflows.api import Outcome
from loopwright.workflows.evaluation.questions import Expected

PLACES = 10
"""How many cited sources count."""

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_CLOSED = frozenset({"yes", "no", "noanswer"})
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def scores_of(expected: Expected, outcome: Outcome) -> dict[str, float | None]:
    """What can be said of an outcome without knowing its workflow; what is not expected is left out.

    Returns:
        ``em``, ``f1`` and ``contains`` (the answer holds one that is accepted) of the answer; ``citation_precision``,
        ``recall@10`` and ``ndcg@10`` of what it cites, in its order; ``status``. None where it says nothing.
    """
    found: dict[str, float | None] = {}
    if expected.status is not None:
        found["status"] = float(outcome.status in expected.status)
    if expected.answers is not None:
        scores = answer_scores(outcome.answer, expected.answers)
        # A run that failed did not find out that there is no answer.
        found |= dict.fromkeys(scores, 0.0) if outcome.status == "failed" else scores
    if expected.citations is not None:
        each = ((citation.mark, citation.title, citation.url or "") for citation in outcome.citations)
        found |= citation_scores([expected_name(names, expected.citations) for names in each], expected.citations)
    return found


def answer_scores(answer: str, accepted: Sequence[str]) -> dict[str, float | None]:
    """``em``, ``f1`` and ``contains`` of an answer.

    ``em`` is 1 if the answer is one of those that are accepted, else 0. ``f1`` is the harmonic mean of precision and
    recall of the answer's words, from 0 to 1: of the accepted ones, the nearest. As in the official evaluation of
    HotpotQA, it is 0 where one of the two is "yes", "no" or "noanswer" and the other is something else.

    Args:
        answer: The answer; empty if there is none.
        accepted: What is accepted; nothing where the question has no answer, and then having none is right, as in
            P. Rajpurkar et al., "Know what you don't know: unanswerable questions for SQuAD", ACL 2018.
    """
    given, right = normalised_answer(answer), [normalised_answer(each) for each in accepted or [""]]
    held = any(f" {each} " in f" {given} " for each in right) if accepted else not answer
    nearest = max(_f1(given.split(), each.split()) for each in right)
    return {"em": float(given in right), "f1": nearest, "contains": float(held)}


def citation_scores(cited: Sequence[str], relevant: Collection[str]) -> dict[str, float | None]:
    """``citation_precision``, ``recall@10`` and ``ndcg@10`` of the ids that are cited, in the answer's order.

    A perfect answer cites those that are relevant.
    """
    right = sum(name in relevant for name in cited)
    return {
        "citation_precision": right / len(cited) if cited and relevant else None,
        f"recall@{PLACES}": recall_at(cited, relevant, PLACES),
        f"ndcg@{PLACES}": ndcg_at(cited, relevant, PLACES),
    }


def expected_name(names: Sequence[str], relevant: Collection[str]) -> str:
    """That of the names of what is cited which is expected, or else the first."""
    return next((name for name in names if name in relevant), names[0])


def normalised_answer(text: str) -> str:
    """An answer without differences of case, punctuation, English articles and white space.

    Source: the official evaluation of SQuAD, P. Rajpurkar et al., "SQuAD: 100,000+ questions for machine comprehension
    of text", EMNLP 2016; HotpotQA and MuSiQue use the same. Unlike there, an answer of articles alone keeps them, so
    that "The The" is not the same as no answer.
    """
    plain = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split() or plain.split())


def _f1(predicted: Sequence[str], accepted: Sequence[str]) -> float:
    if not predicted or not accepted or any(" ".join(words) in _CLOSED for words in (predicted, accepted)):
        return float(predicted == accepted)
    shared = (Counter(predicted) & Counter(accepted)).total()
    return 2 * shared / (len(predicted) + len(accepted))


def recall_at(ranked: Sequence[str], relevant: Collection[str], k: int | None = None) -> float | None:
    """The share of what k places, or all, could hold of the relevant records that they do hold.

    ``hits / min(k, relevant)``, from 0 to 1: a question with more relevant records than places can still reach 1. None
    if nothing is relevant. The ids are ranked, the best first; of one that is there twice, the first place counts.
    """
    wanted = frozenset(relevant)
    if not wanted:
        return None
    return len(wanted.intersection([*dict.fromkeys(ranked)][:k])) / min(k or len(wanted), len(wanted))


def ndcg_at(ranked: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """Normalised discounted cumulative gain of the first k places, with a gain of 1 for each relevant record.

    ``sum over relevant places of 1 / log2(1 + place)``, places from 1, over the same of a perfect ranking.
    Source: K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20(4), 2002.

    Arguments and result are as for `recall_at`.
    """
    wanted = frozenset(relevant)
    if not wanted:
        return None
    places = enumerate([*dict.fromkeys(ranked)][:k], 1)
    gained = sum(1 / math.log2(1 + place) for place, found in places if found in wanted)
    return gained / sum(1 / math.log2(1 + place) for place in range(1, min(k, len(wanted)) + 1))

"""How right what an answer cites is, where that is known."""

from __future__ import annotations

from loopwright.workflows.api import Outcome
from loopwright.workflows.evaluation.questions import Expected
from loopwright.workflows.evaluation.scores import citation_scores

EXPECTED = ("tables",)
"""What a question's ``expected`` may hold for the assistant: the tables in which records were judged."""


def score(expected: Expected, outcome: Outcome) -> dict[str, float | None]:
    """What can be said of the records that an answer cites.

    Args:
        expected: What is expected; citations are records, as ``sessions:12``. What is cited of a table in which nobody
            judged records takes no place: ``tables``, by default those of the citations.
        outcome: What came.
    """
    if expected.citations is None:
        return {}
    judged = expected.own.get("tables") or [name.partition(":")[0] for name in expected.citations]
    cited = [citation.mark for citation in outcome.citations]
    return citation_scores([mark for mark in cited if mark.partition(":")[0] in judged], expected.citations)

"""Short answers in scripts without spaces: what a sentence says beyond the question."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loopwright.workflows.rag.answering.spans import SpanKind, spans_in
from loopwright.workflows.rag.asking.asked import AnswerType, Asked
from loopwright.workflows.rag.asking.synonyms import synonyms_of
from loopwright.workflows.rag.asking.words import without_particles

_KINDS: dict[AnswerType, tuple[SpanKind, ...]] = {AnswerType.DATE: ("date", "year"), AnswerType.NUMBER: ("number",)}
_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
# Words that link a subject to what is said of it; they end an answer, and are no part of it.
_COPULA = re.compile("คือ|เป็น|是|为")
_CLAUSES = re.compile(r"[\s,，。；：！？;:!?]+")
_LINKS = re.compile(
    r"[\s,，。、；：！？.;:!?()（）\"“”]+|ได้แก่|คือ|เป็น(?!ต้น)|ชื่อว่า|ตั้งอยู่|โดย|ซึ่ง|และ|ที่เมือง|ที่|ของ|ใน|เมื่อ|จาก"
    r"|就是|是|位于|的|了|于|由|所|在|为|這|这|也"
)


def residue(question: str, asked: Asked, sentence: str, title: str = "") -> str:
    """The short answer in a Thai or Chinese sentence.

    A date or a number where one is asked for; else, in the clause that says most of what is asked, the part nearest to
    that which the question does not have.

    Args:
        question: The question.
        asked: What kind of answer it wants.
        sentence: The sentence that answers it.
        title: What the sentence's passage is about: a clause gains nothing by naming it.

    Returns:
        The words as they stand in the sentence; empty if it says nothing new.
    """
    spans = sorted((span.start, -span.end, span.kind, span.text) for span in spans_in(sentence))
    wanted = _KINDS.get(asked.type)
    if wanted is not None:
        return next((text for _, _, kind, text in spans if kind in wanted and text not in question), "")
    bare = without_particles(question)
    known = _covered(bare, sentence)
    relation = bare.replace(title, " ") if title else bare
    said = _covered(" ".join([re.sub("《[^》]*》", " ", relation), *synonyms_of(relation).values()]), sentence)
    for start, negative_end, kind, _ in spans:
        if kind in ("date", "year", "number"):
            known[start:-negative_end] = [True] * (-negative_end - start)
    parts = [
        (
            -sum(said[left:right]),
            _on_the_side_of_what_is_asked(sentence, said, start, left, right),
            _distance(said, start, end),
            start - end,
            start,
            end,
        )
        for left, right in _stretches(_CLAUSES, sentence, 0, len(sentence))
        for start, end in _new_parts(sentence, known, left, right)
    ]
    if not parts:
        return ""
    *_, start, end = min(parts)
    return sentence[start:end].removeprefix("มี")


def _covered(question: str, sentence: str) -> list[bool]:
    """For each character of the sentence, whether it belongs to a stretch that the question has too."""
    size = 2 if _IDEOGRAPH.search(sentence) else 4
    covered = [False] * len(sentence)
    for start in range(len(sentence) - size + 1):
        if sentence[start : start + size] in question:
            covered[start : start + size] = [True] * size
    return covered


def _on_the_side_of_what_is_asked(sentence: str, said: list[bool], start: int, left: int, right: int) -> bool:
    """Whether a part stands on the same side of "is" as what is asked; "A is the B of C" answers on the other side."""
    link = _COPULA.search(sentence, left, right)
    if link is None or any(said[left : link.start()]) == any(said[link.end() : right]):
        return False
    return (start < link.start()) == any(said[left : link.start()])


def _distance(said: list[bool], start: int, end: int) -> int:
    """How far a part stands from what is asked; what comes before counts as farther than what comes after."""
    before = next((step for step in range(start) if said[start - 1 - step]), len(said))
    after = next((step for step in range(len(said) - end) if said[end + step]), len(said))
    return min(before, after + 2)


def _stretches(separators: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """What stands between separators."""
    for match in separators.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def _new_parts(sentence: str, known: list[bool], left: int, right: int) -> Iterator[tuple[int, int]]:
    """The stretches of a clause between linking words that the question does not have."""
    for start, end in _stretches(_LINKS, sentence, left, right):
        begun = start
        for place in range(start, end + 1):
            if place == end or known[place]:
                if place > begun:
                    yield begun, place
                begun = place + 1

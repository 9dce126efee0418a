"""Questions with known answers, read from JSONL."""

from __future__ import annotations

import json
from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from loopwright.errors import InputError

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Question(BaseModel):
    """A question, the answers that are accepted, and the passages that give them."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: _Text
    """Names it; no two questions have the same."""
    question: _Text
    """The question."""
    answers: tuple[_Text, ...]
    """What is accepted as its answer; nothing where the corpus does not answer it."""
    gold: tuple[_Text, ...]
    """The ids of the passages that are needed to answer it."""
    type: str = ""
    """What kind of question it is, for example ``"comparison"``."""
    hops: int | None = Field(default=None, ge=1)
    """How many passages its answer leads through."""


def read_questions(path: Path, *, known: Collection[str], corpus: str, limit: int | None = None) -> list[Question]:
    """Read questions, one JSON object a line; empty lines are nothing.

    Args:
        path: The file.
        known: The ids that the corpus has.
        corpus: What the corpus is called in messages.
        limit: At most so many, from the first; None reads all.

    Returns:
        The questions, in order.

    Raises:
        InputError: If the file cannot be read or has no question, a line is no question, an id is there twice, or a
            gold passage is not in the corpus; it names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the questions cannot be read: {error}") from error
    # JSON may hold other line separators inside its strings, which splitlines would split at.
    lines = ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())
    questions: dict[str, Question] = {}
    for number, line in islice(lines, limit):
        where = f"{path}, line {number}"
        question = _question(line, where)
        if question.id in questions:
            raise InputError(f"{where}: an earlier question has the id {question.id!r} too; give each its own")
        for gold in question.gold:
            if gold not in known:
                raise InputError(
                    f"{where}: question {question.id!r} needs the passage {gold!r}, and none of the {len(known)} "
                    f"passages of {corpus} has this id; mend 'gold', or give the corpus that belongs to the questions"
                )
        questions[question.id] = question
    if not questions:
        raise InputError(f"{path}: there are no questions; give one JSON object a line with {_FIELDS}")
    return list(questions.values())


_FIELDS = "'id', 'question', 'answers' and 'gold'"


def _question(line: str, where: str) -> Question:
    try:
        return Question.model_validate(json.loads(line))
    except (ValueError, RecursionError) as error:
        problem = _told(error) if isinstance(error, ValidationError) else str(error)
        raise InputError(f"{where} is no question: {problem}; give one JSON object a line with {_FIELDS}") from error


def _told(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'the line'}: {problem['msg']}" for problem in error.errors()
    )

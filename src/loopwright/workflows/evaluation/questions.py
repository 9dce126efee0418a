"""Labelled questions, read from JSONL: a workflow's input, and what is expected of the outcome."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from loopwright.errors import InputError, unknown_name_message
from loopwright.models.validation import problem_lines

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(lambda one: [one] if isinstance(one, str | int | float) else one)]
"""Several texts; one alone may be given without brackets."""


class Expected(BaseModel):
    """What is expected of an outcome. What is not given is not measured."""

    model_config = ConfigDict(extra="allow", frozen=True, coerce_numbers_to_str=True)

    answers: Texts | None = None
    """What is accepted as the answer; nothing where there is none, and then having none is right."""
    citations: Texts | None = None
    """What a perfect answer cites: marks, titles or addresses of citations, or the ids that the workflow documents."""
    status: Texts | None = None
    """The statuses that are right."""

    @property
    def own(self) -> dict[str, Any]:
        """What the workflow itself scores by."""
        return self.__pydantic_extra__ or {}


class Question(BaseModel):
    """A question, and what is expected of its outcome."""

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)

    id: Text
    """Names it; no two questions have the same."""
    kind: str = ""
    """What kind of question it is; figures are given for each kind too."""
    input: dict[str, Any]
    """The workflow's input."""
    expected: Expected = Field(default_factory=Expected)
    """What is expected."""


def read_questions(
    path: Path, fields: Collection[str], own: Collection[str] = (), *, limit: int | None = None
) -> list[Question]:
    """Read questions, one JSON object a line; empty lines are nothing.

    A line has an ``id``, perhaps a ``kind``, the workflow's own input fields, and ``expected``. The input may also
    stand by itself under ``input``, where a field of it is called as one of these; not if one is called ``input``.

    Args:
        path: The file.
        fields: The names of the workflow's input fields.
        own: What ``expected`` may hold beside the fields of `Expected`.
        limit: At most so many, from the first; None reads all.

    Raises:
        InputError: If the file cannot be read or has no question, a line is no question or has an unknown key, or an
            id is there twice; it names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the questions cannot be read: {getattr(error, 'strerror', 'no UTF-8')}") from error
    questions: dict[str, Question] = {}
    # JSON may hold other line separators inside its strings, which splitlines would split at.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or len(questions) == limit:
            continue
        where = f"{path}, line {number}"
        question = _question(line, where, fields, own)
        if question.id in questions:
            raise InputError(f"{where}: an earlier question has the id {question.id!r} too; give each its own")
        questions[question.id] = question
    if not questions:
        raise InputError(f"{path}: there are no questions; give one JSON object a line with 'id', {_listed(fields)}")
    return list(questions.values())


def _question(line: str, where: str, fields: Collection[str], own: Collection[str]) -> Question:
    try:
        given = json.loads(line)
        if not isinstance(given, dict):
            raise ValueError("it is no JSON object")
        about = {key: given.pop(key) for key in ("id", "kind", "expected") if key in given}
        alone = given.keys() == {"input"} and "input" not in fields
        if (both := [key for key in about if key in fields]) and not alone and "input" not in fields:
            raise ValueError(f"{both[0]!r} is a field of the input too, which therefore stands under 'input'")
        question = Question.model_validate({**about, "input": given["input"] if alone else given})
        _refuse_unknown("key", question.input, fields, () if alone else ("id", "kind", "expected"))
        _refuse_unknown("key of expected", question.expected.own, Expected.model_fields, own)
    except (ValueError, RecursionError) as error:
        problem = "; ".join(problem_lines(error)) if isinstance(error, ValidationError) else str(error)
        if isinstance(error, json.JSONDecodeError):  # which names a line of its own
            problem = f"it is no JSON: {error.msg}: character {error.colno}"
        apart = {"id", "kind", "expected"}.intersection(fields)
        need = f"give one JSON object a line with 'id', {_listed(['input'] if apart else fields)} and 'expected'"
        raise InputError(f"{where} is no question: {problem}; {need}") from error
    return question


def _refuse_unknown(kind: str, given: Mapping[str, Any], *known: Collection[str]) -> None:
    names = [name for group in known for name in group]
    for key in given:
        if key not in names:
            raise ValueError(unknown_name_message(kind, key, names))


def _listed(fields: Collection[str]) -> str:
    return ", ".join(map(repr, fields))

"""Questions whose relevant records are known, read from JSONL."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, field_validator

from loopwright.errors import InputError
from loopwright.workflows.assistant.schemas import Table

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

STAND = "stand:"
"""What the labels put before an exhibitor's title."""
_FIELDS = "'id', 'question', 'relevant' and 'kind'"


class Label(BaseModel):
    """A question and the records that answer it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: _Text
    """Names it; no two questions have the same."""
    question: _Text
    """The question."""
    relevant: tuple[_Text, ...]
    """Ids of the records that answer it; nothing where the conference has no answer. In the file, a session's own id
    stands for ``sessions:ID`` and ``stand:TITLE`` for ``exhibitors:TITLE``."""
    kind: _Text
    """What kind of question it is, for example ``"topical"``."""
    now: datetime | None = None
    """The moment of asking; None if the question does not depend on it."""

    @field_validator("relevant")
    @classmethod
    def _as_record_ids(cls, relevant: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(record_id, relevant)))


def record_id(name: str) -> str:
    """The record's id for what the labels call it.

    Args:
        name: A session's own id, ``stand:TITLE``, or a record's id already, for example ``speakers:12``.
    """
    if name.startswith(STAND):
        return f"{Table.EXHIBITORS}:{name.removeprefix(STAND)}"
    return name if name.partition(":")[0] in tuple(Table) else f"{Table.SESSIONS}:{name}"


def read_labels(path: Path, known: Collection[str]) -> list[Label]:
    """Read questions, one JSON object a line; empty lines are nothing.

    Args:
        path: The file.
        known: The ids of all records of the conference.

    Returns:
        The questions, in order.

    Raises:
        InputError: If the file cannot be read or has no question, a line is no question, an id is there twice, or a
            relevant record is not part of the conference; it names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the questions cannot be read: {error}") from error
    labels: dict[str, Label] = {}
    # JSON may hold other line separators inside its strings, which splitlines would split at.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        label = _label(line, where)
        if label.id in labels:
            raise InputError(f"{where}: an earlier question has the id {label.id!r} too; give each its own")
        for relevant in label.relevant:
            if relevant not in known:
                raise InputError(
                    f"{where}: question {label.id!r} names the record {relevant!r}, and none of the {len(known)} "
                    "records of the conference has this id; mend 'relevant', or give the schedule and the stands that "
                    "belong to the questions"
                )
        labels[label.id] = label
    if not labels:
        raise InputError(f"{path}: there are no questions; give one JSON object a line with {_FIELDS}")
    return list(labels.values())


def _label(line: str, where: str) -> Label:
    try:
        return Label.model_validate(json.loads(line))
    except (ValueError, RecursionError) as error:
        problem = _told(error) if isinstance(error, ValidationError) else str(error)
        raise InputError(f"{where} is no question: {problem}; give one JSON object a line with {_FIELDS}") from error


def _told(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'the line'}: {problem['msg']}" for problem in error.errors()
    )


def judged_tables(labels: Iterable[Label]) -> frozenset[str]:
    """The tables in which labels judge records; what an answer cites of others is neither right nor wrong.

    Args:
        labels: The questions.
    """
    return frozenset(table_of(relevant) for label in labels for relevant in label.relevant)


def table_of(record: str) -> str:
    """The table of a record.

    Args:
        record: Its id.
    """
    return record.partition(":")[0]

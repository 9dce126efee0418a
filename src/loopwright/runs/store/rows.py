"""Runs as rows: columns for what is filtered and ordered, JSON for the rest."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from loopwright.database.values import microseconds
from loopwright.errors import StoreError
from loopwright.runs.schemas import RunRecord, RunSummary

_Kept = TypeVar("_Kept", bound=BaseModel)
_SUMMARY = frozenset(RunSummary.model_fields)


def searchable(text: str) -> str:
    """A text as it is searched: letter case, full-width forms and ways to write an accent mean nothing."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def row_of(run: RunRecord) -> dict[str, Any]:
    """A run's columns, but its key and its graph.

    Args:
        run: The run; its children and tags are kept apart.
    """
    told = run.model_dump(mode="json", exclude={"children", "tags"})
    texts = (run.title, *_texts(told["input"]), run.outcome.answer if run.outcome else "")
    return {
        "id": run.id,
        "workflow": run.workflow,
        "status": run.status,
        "stop_reason": run.stop_reason,
        "source": run.source,
        "parent": run.parent.run_id if run.parent else None,
        "started_at": microseconds(run.started_at),
        "epoch": run.epoch,
        "summary": as_json({name: value for name, value in told.items() if name in _SUMMARY}),
        "searched": searchable("\n".join(texts)),
        "document": as_json({name: value for name, value in told.items() if name not in _SUMMARY}),
    }


def as_json(value: Any) -> str:
    """A value as it is kept; unlike pydantic, with infinite and undefined figures."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read(model: type[_Kept], what: str, *documents: str, **further: Any) -> _Kept:
    """A value from what was kept.

    Args:
        model: Its class.
        what: What it is, for the message.
        documents: Its parts in JSON.
        further: Further fields.

    Raises:
        StoreError: If it is not what this version writes.
    """
    try:
        fields = {name: value for document in documents for name, value in json.loads(document).items()}
        return model.model_validate({**fields, **further})
    except (ValueError, ValidationError) as error:
        raise StoreError(f"the run history's entry of {what} is damaged, or of another version: {error}") from error


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _texts(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)

"""The tables of a run history, for SQLite and PostgreSQL alike, and how runs become rows."""

import json
import unicodedata
from collections.abc import Iterator
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError
from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, Table

from loopwright.database.values import KEY, microseconds, text_column
from loopwright.errors import StoreError
from loopwright.runs.schemas import RunRecord, RunSummary

FORMAT = 4
"""Changes with everything that an older version would misread: tables, columns, or the JSON in them."""

METADATA = MetaData()
"""All tables."""

HISTORY = Table("run_history", METADATA, Column("format", Integer, primary_key=True))
"""One row, by which a run history is recognised."""

GRAPHS = Table("run_graphs", METADATA, text_column("digest", primary_key=True), text_column("document"))
"""The graphs that runs ran on, each once: SHA-256 of its JSON -> the JSON. There are as many as workflows ever had."""

RUNS = Table(
    "runs",
    METADATA,
    Column("key", KEY, primary_key=True),
    text_column("id", unique=True),
    text_column("workflow"),
    text_column("status"),
    text_column("stop_reason", nullable=True),
    text_column("parent", nullable=True),
    Column("started_at", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    text_column("graph"),
    # SQLite reads a row only as far as it is asked for: what lists need stands before what only one run needs.
    text_column("summary"),
    text_column("searched"),
    text_column("document"),
    Index("runs_by_start", "started_at", "id"),
    Index("runs_by_workflow", "workflow", "started_at", "id"),
    Index("runs_by_status", "status", "started_at", "id"),
    Index("runs_by_stop_reason", "stop_reason", "started_at", "id"),
    Index("runs_by_parent", "parent", "started_at", "id"),
)
"""Runs: what is filtered and ordered by (``started_at`` in microseconds since 1970, ``parent`` a run's id that need
not be kept), ``searched`` as `searchable` has it, and the record as JSON in two parts."""

EVENTS = Table(
    "run_events",
    METADATA,
    Column("run", KEY, ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    text_column("channel", primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    text_column("name"),
    text_column("data"),
)
"""Events of runs."""

TAGS = Table(
    "run_tags",
    METADATA,
    Column("run", KEY, ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    text_column("tag", primary_key=True),
    Index("run_tags_by_tag", "tag", "run"),
)
"""What people call runs: apart from them, as a run that goes on is written over and over."""

PROMPTS = Table(
    "prompt_versions",
    METADATA,
    text_column("workflow", primary_key=True),
    text_column("prompt", primary_key=True),
    Column("version", BigInteger, primary_key=True),
    text_column("document"),
)
"""Versions of prompts that people wrote, as JSON."""

ASSIGNMENTS = Table(
    "model_assignments",
    METADATA,
    text_column("workflow", primary_key=True),
    text_column("node", primary_key=True),
    text_column("model", nullable=True),
)
"""Chat models that people chose; no row means that the configuration's holds, NULL that there is to be none."""

EVALUATIONS = Table(
    "evaluations",
    METADATA,
    text_column("workflow", primary_key=True),
    text_column("questions", primary_key=True),
    text_column("version", primary_key=True),
    Column("created_at", BigInteger, nullable=False),
    text_column("document"),
)
"""What came of labelled questions, as JSON; ``created_at`` in microseconds since 1970."""

ALLOWANCES = Table(
    "run_allowances",
    METADATA,
    text_column("key", primary_key=True),
    Column("model_calls", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("usd", BigInteger, nullable=False),
)
"""What was spent of allowances, calls under way included; ``usd`` in units of 1e-12: whole numbers add up."""


_Kept = TypeVar("_Kept", bound=BaseModel)
_SUMMARY = frozenset(RunSummary.model_fields)


def searchable(text: str) -> str:
    """A text as it is searched: letter case, full-width forms and ways to write an accent mean nothing."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def row_of(run: RunRecord, *, goes_on: bool = False) -> dict[str, Any]:
    """A run's columns, but its key and its graph, and while it `goes_on` what is searched, which stays as it was."""
    told = run.model_dump(mode="json", exclude={"children", "tags"})
    texts = () if goes_on else (run.title, *_texts(told["input"]), run.outcome.answer if run.outcome else "")
    return {
        **{name: told[name] for name in ("id", "workflow", "status", "stop_reason", "epoch")},
        "parent": run.parent.run_id if run.parent else None,
        "started_at": microseconds(run.started_at),
        "summary": as_json({name: value for name, value in told.items() if name in _SUMMARY}),
        **({"searched": searchable("\n".join(texts))} if texts else {}),
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
    if isinstance(value, dict | list):
        parts = cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
        for inner in parts:
            yield from _texts(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)

"""The labelled sets at hand as questions of ``loopwright evaluate``.

    python benchmarks/labelled.py rag|assistant FILE > questions.jsonl

The files are those of ``../shared/data``: question, answers and gold passages, or question and relevant records.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from loopwright.workflows.evaluation import Question


def record_id(name: str) -> str:
    """The record's id for a label: a session's own id, ``stand:TITLE``, or a record's id already."""
    if name.startswith("stand:"):
        return f"exhibitors:{name.removeprefix('stand:')}"
    return name if name.partition(":")[0] in ("sessions", "speakers", "exhibitors", "attendees") else f"sessions:{name}"


def rows_of(path: Path, limit: int | None = None) -> list[dict]:
    """The objects of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()][:limit]


def rag_questions(rows: Iterable[dict]) -> list[Question]:
    """Questions about a corpus: ``id``, ``question``, ``answers``, ``gold``, ``type`` and ``hops``."""
    return [
        Question(
            id=row["id"],
            kind=" ".join(filter(None, [row.get("type"), f"{row['hops']} hops" if row.get("hops") else ""])),
            input={"question": row["question"]},
            expected={"answers": row["answers"], "citations": row["gold"]},
        )
        for row in rows
    ]


def judged_tables(rows: Iterable[dict]) -> list[str]:
    """The tables in which labels judge records; what an answer cites of others is neither right nor wrong."""
    return sorted({record_id(name).partition(":")[0] for row in rows for name in row["relevant"]})


def assistant_questions(rows: list[dict]) -> list[Question]:
    """Questions about a conference: ``id``, ``question``, ``relevant``, ``kind`` and ``now``."""
    tables = judged_tables(rows)
    return [
        Question(
            id=row["id"],
            kind=row["kind"],
            input={"message": row["question"], "user_context": {"now": row["now"]} if row.get("now") else {}},
            expected={
                "citations": list(dict.fromkeys(map(record_id, row["relevant"]))),
                "status": ["answered", "partial"] if row["relevant"] else ["nothing_found"],
                "tables": tables,
            },
        )
        for row in rows
    ]


if __name__ == "__main__":
    convert = {"rag": rag_questions, "assistant": assistant_questions}[sys.argv[1]]
    for question in convert(rows_of(Path(sys.argv[2]))):
        written = question.model_dump(mode="json", exclude_none=True)
        print(json.dumps({**written.pop("input"), **written}, ensure_ascii=False))

"""Which hits are put before the writer of an answer, and how they go into its prompt: as data, each under its id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopwright.retrieval.web import quote_untrusted, untrusted_line
from loopwright.workflows.assistant.answer.references import mark
from loopwright.workflows.assistant.answer.wording import BRACKETS, joined, shortened, when
from loopwright.workflows.assistant.schemas import Found, Record, Table

_MOST_SHOWN = 5000
"""Characters of all records together; a small model reads 4,096 tokens, and slowly."""
_MOST_RECORD = 900
"""Characters of one record where there are few."""


def shown_hits(shown: Sequence[Found]) -> str:
    """Records for a prompt: one on each line, its mark first, all within one fence.

    Brackets within the records become round ones and their line breaks blanks, so that no text of a record can pass
    for another record's line or mark. The more records there are, the less is shown of each.
    """
    if not shown:
        return "none"
    most = min(_MOST_RECORD, _MOST_SHOWN // len(shown))
    lines = "\n".join(f"{mark(found.record.id)} {_told(found.record, most)}" for found in shown)
    return quote_untrusted(lines, source="the conference's programme")


def _told(record: Record, most: int) -> str:
    people = joined(record.values("speaker")) if record.table is Table.SESSIONS else ""
    told = {record.title, *(", ".join(values) for values in record.fields.values())}
    parts = [
        record.title,
        when(record),
        joined(record.values("room"), "or"),
        f"with {people}" if people else "",
        f"track {joined(record.values('track'))}" if record.values("track") else "",
        *(
            f"{facet.replace('_', ' ')}: {shortened(text, most // 2)}"
            for facet, text in record.texts.items()
            if text not in told
        ),
    ]
    return untrusted_line(shortened(" | ".join(part for part in parts if part), most)).translate(BRACKETS)


def offered(query_results: Mapping[str, Sequence[Found]], limit: int) -> list[Found]:
    """The hits that an answer may cite, the best first: the scores of all tables are on one scale.

    Equal scores stay in the order in which they are given, for example that of time.
    """
    return sorted((found for hits in query_results.values() for found in hits), key=lambda found: -found.score)[:limit]

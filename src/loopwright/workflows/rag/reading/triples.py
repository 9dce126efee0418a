"""Files of triples: rows of subject, relation and object become sentences of one document for each source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from loopwright.retrieval.stores.storable import storable
from loopwright.workflows.rag.reading.documents import ReadDocument, Section, Triple
from loopwright.workflows.rag.reading.source import Source
from loopwright.workflows.rag.reading.values import as_text, shown

_PARTS = ("subject", "relation", "object")


def is_triple(fields: Mapping[str, Any]) -> bool:
    """Whether a record is a triple: it has all three parts and no text."""
    return fields.get("text") is None and all(part in fields for part in _PARTS)


class TripleGroups:
    """Collects a file's triples by what their ``source`` says."""

    def __init__(self, source: Source, media_type: str) -> None:
        self._source = source
        self._media_type = media_type
        self._groups: dict[str, list[tuple[str, str, str, float]]] = {}
        self._count = 0

    def add(self, fields: Mapping[str, Any], number: int) -> None:
        """Add a record.

        Args:
            fields: The record's fields by name.
            number: Its line or place, for messages.

        Raises:
            DocumentError: If a part is empty, or the confidence is no number from 0 to 1.
        """
        subject, relation, object_ = (storable(as_text(fields[part])) for part in _PARTS)
        if not (subject and relation and object_):
            raise self._source.error("a triple needs a subject, a relation and an object", key=str(number))
        confidence = self._confidence(fields.get("confidence"), number)
        self._count += 1
        rows = self._groups.setdefault(as_text(fields.get("source")), [])
        rows.append((subject, relation, object_, confidence))

    def check_size(self) -> None:
        """Refuse the file if it has too many triples.

        Raises:
            DocumentError: If there are more than `ReadingLimits.triples`.
        """
        most = self._source.limits.triples
        if self._count > most:
            raise self._source.error(f"has more than {most} triples, the limit triples; split the file")

    def documents(self) -> Iterator[ReadDocument]:
        """The documents: one for each source, in order of first appearance; rows without source are the file's own."""
        self.check_size()
        for key, rows in self._groups.items():
            text, triples = _sentences(rows)
            yield self._source.document(
                text,
                (Section(start=0, end=len(text)),),
                title=key or self._source.path.stem,
                media_type=self._media_type,
                raw=json.dumps(rows).encode("ascii"),
                key=key,
                triples=triples,
            )

    def _confidence(self, value: object, number: int) -> float:
        text = as_text(value)
        try:
            confidence = float(text) if text else 1.0
        except ValueError:
            confidence = -1.0
        if not 0 <= confidence <= 1:
            raise self._source.error(f"its confidence {shown(value)} is no number from 0 to 1", key=str(number))
        return confidence


def _sentences(rows: list[tuple[str, str, str, float]]) -> tuple[str, tuple[Triple, ...]]:
    """One sentence a line, and the triples with the spans of their sentences."""
    lines: list[str] = []
    triples: list[Triple] = []
    start = 0
    for subject, relation, object_, confidence in rows:
        line = f"{subject} {relation} {object_}"
        line += "" if line.endswith((".", "!", "?", "。")) else "."
        end = start + len(line)
        triples.append(
            Triple(subject=subject, relation=relation, object=object_, confidence=confidence, start=start, end=end)
        )
        lines.append(line)
        start = end + 1
    return "\n".join(lines), tuple(triples)

"""Which short names stand for which long ones, as the conference's own texts explain them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from loopwright.retrieval.mentions import aliases_in
from loopwright.retrieval.records import Passage
from loopwright.workflows.assistant.schemas import Record
from loopwright.workflows.assistant.searching.index import facet_texts
from loopwright.workflows.assistant.searching.words import asked_words, plain_words


@dataclass(frozen=True, slots=True)
class Acronyms:
    """Short and long names; never changed once made, safe in threads."""

    long: Mapping[str, tuple[str, ...]]
    """Acronym -> the long names that it stands for, folded words joined by single spaces."""
    short: Mapping[str, tuple[str, ...]]
    """Long name -> its acronyms."""

    @classmethod
    def of(cls, records: Iterable[Record]) -> Self:
        """Learn them from explanations such as "Software Bill of Materials (SBOM)".

        Args:
            records: The records.
        """
        long: dict[str, dict[str, None]] = {}
        short: dict[str, dict[str, None]] = {}
        for record in records:
            passages = [
                Passage(id=record.id, document_id=record.id, title=record.title, text=text)
                for _, text in facet_texts(record)
                if "(" in text or "（" in text
            ]
            for alias in aliases_in(record.id, passages):
                acronym, name = " ".join(plain_words(alias.alias)), " ".join(plain_words(alias.entity))
                long.setdefault(acronym, {})[name] = None
                short.setdefault(name, {})[acronym] = None
        return cls(_frozen(long), _frozen(short))

    def named_in(self, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Which long names a question spells out.

        Args:
            words: The question's words without stop words, folded.

        Returns:
            Word of a long name that the question has whole -> the acronyms of that name.
        """
        asked = set(words)
        found: dict[str, tuple[str, ...]] = {}
        for name, acronyms in self.short.items():
            parts = asked_words(name) if name.partition(" ")[0] in asked else []
            if len(parts) > 1 and asked.issuperset(parts):
                found |= dict.fromkeys(parts, acronyms)
        return found


def _frozen(names: dict[str, dict[str, None]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(others) for name, others in names.items()}

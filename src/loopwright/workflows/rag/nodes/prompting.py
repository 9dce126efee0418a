"""What others wrote, as it goes into a prompt."""

from collections.abc import Iterable, Sequence

from loopwright.retrieval.records import Evidence
from loopwright.retrieval.web import quote_untrusted, untrusted_line
from loopwright.workflows.rag.question.words import unique


def numbered(evidence: Sequence[Evidence]) -> str:
    """Passages for a prompt, numbered from 1, each on one line, all fenced as data that is never an instruction."""
    lines = [
        f"[{number}] {untrusted_line(place_of(found))}: {untrusted_line(found.text)}"
        for number, found in enumerate(evidence, 1)
    ]
    return quote_untrusted("\n".join(lines), source="the passages found") if lines else "none"


def place_of(found: Evidence) -> str:
    """Title and headings: what a price is of, and the header of a row, may stand nowhere else."""
    return " > ".join(unique(filter(None, [found.title, *found.heading.split(" > ")])))


def listed(lines: Iterable[str], *, numbers: bool = False) -> str:
    """Lines that came from documents, people or models for a prompt: each on one line, and no more than data."""
    marked = (f"{f'{place}.' if numbers else '-'} {untrusted_line(line)}" for place, line in enumerate(lines, 1))
    return "\n".join(marked) or "none"

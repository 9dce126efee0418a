"""What two answers cite, and what only one of them does."""

from __future__ import annotations

from collections.abc import Iterable

from loopwright.runs.comparing.schemas import CitationSides
from loopwright.workflows.hosting import Citation


def compared_citations(a: Iterable[Citation], b: Iterable[Citation]) -> CitationSides:
    """Compare what two answers cite.

    A mark that names a record (``sessions:6196``) names it in every answer; one that only counts (``1``) does not, so
    that such a citation is the same where title, address and quote are.

    Args:
        a: What one answer cites.
        b: What the other cites.

    Returns:
        What both cite, and what each cites alone, each source once and in the order of the answers.
    """
    in_a, in_b = _by_source(a), _by_source(b)
    return CitationSides(
        both=tuple(citation for source, citation in in_a.items() if source in in_b),
        only_a=tuple(citation for source, citation in in_a.items() if source not in in_b),
        only_b=tuple(citation for source, citation in in_b.items() if source not in in_a),
    )


def _by_source(citations: Iterable[Citation]) -> dict[tuple[str | None, ...], Citation]:
    sources: dict[tuple[str | None, ...], Citation] = {}
    for citation in citations:
        counted = not citation.mark or citation.mark.isdigit()
        source = (citation.title, citation.url, citation.quote) if counted else (citation.mark,)
        sources.setdefault(source, citation)
    return sources

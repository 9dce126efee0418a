"""What reading a file gives: documents with their text and its structure."""

from dataclasses import dataclass

from loopwright.retrieval.records import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A stretch of a document's text under one heading, on one page."""

    headings: tuple[str, ...] = ()
    """The headings above it, from the outermost."""
    page: int | None = None
    """The page, from 1, where there are pages."""
    start: int
    """Where it begins in the document's text, in characters; its own heading line belongs to it."""
    end: int
    """Where it ends there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument(Document):
    """A document as it was read, before it is cut into passages."""

    text: str
    """The whole plain text; every span of sections and passages counts its characters."""
    sections: tuple[Section, ...] = ()
    """Its structure, in order and without overlap; together they hold every character that is not white space."""
    names: tuple[str, ...] = ()
    """What is an entity wherever the text has it, whether or not it looks like a name: the two sides of a triple."""

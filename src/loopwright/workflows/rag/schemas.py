"""What the nodes hand to each other."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from loopwright.config import Frozen


class Complexity(StrEnum):
    """How many steps a question needs."""

    ONE_HOP = "one_hop"
    """One fact answers it."""
    MULTI_HOP = "multi_hop"
    """The answer to one part is needed to find the next."""
    COMPARISON = "comparison"
    """Two or more things are looked up on their own and compared."""


Route = Literal["knowledge_graph_retrieval", "web_search", "direct_answer"]
"""Where a question goes first."""


class Grade(Frozen):
    """Whether one passage helps to answer the question."""

    id: str
    """The passage's id."""
    verdict: Literal["relevant", "irrelevant", "tie", "failed"]
    """``tie``: the grader could not decide; ``failed``: it raised. Neither is a verdict, nor drops the passage."""
    score: float | None = None
    """How relevant it is, from 0 to 1, where the grader says."""
    reason: str = ""
    """Why, or what was raised."""


class Citation(Frozen):
    """A quote that bears out a sentence, verified to stand in its source."""

    number: int = Field(ge=1)
    """The ``[n]`` in the answer."""
    evidence_id: str
    """The passage or the address that is quoted."""
    quote: str
    """The words, exactly as they stand in the source."""
    start: int
    """Where the quote begins in the passage's text, in characters."""
    end: int
    """Where it ends there."""
    title: str
    """The title of the document or page."""
    document_id: str = ""
    """The document; empty for the web."""
    heading: str = ""
    """The headings above it."""
    page: int | None = None
    """The page, where there are pages."""
    origin: Literal["graph", "web"] = "graph"
    """Whether the source is in the knowledge graph or on the web."""


class Sentence(Frozen):
    """One sentence of an answer and what bears it out."""

    text: str
    """The sentence, without its marks."""
    citations: tuple[int, ...] = ()
    """The numbers of its citations; none if nothing bears it out."""


class Answer(Frozen):
    """An answer with its sources."""

    text: str
    """The whole answer, with ``[n]`` after what citation n bears out."""
    short: str = ""
    """The answer in as few words as possible, for example a name or "yes"; empty if it abstains, or quotes only what
    comes nearest."""
    sentences: tuple[Sentence, ...] = ()
    """The answer's sentences."""
    citations: tuple[Citation, ...] = ()
    """What is cited, by number; behind that, of the quotes of rules, what stands around them in the same files."""
    abstained: bool = False
    """Whether it says that the sources do not answer the question."""
    removed_citations: int = Field(default=0, ge=0)
    """Quotes that do not stand in their source, and were taken out."""
    left_out: tuple[str, ...] = ()
    """Sentences of a chat model that nothing bears out; the text is without them."""
    confidence: float = Field(default=0.0, ge=0, le=1)
    """How sure the writer is, where it says so."""


class AnswerGrade(Frozen):
    """The verdicts on an answer."""

    supported: bool
    """Whether its sources bear out everything that it says."""
    useful: bool
    """Whether it answers the question."""
    unsupported: tuple[str, ...] = ()
    """The sentences that nothing bears out."""
    reason: str = ""
    """Why it is not useful or not supported."""


Status = Literal["answered", "best_effort", "abstained", "failed"]
"""``answered``: supported and useful; ``best_effort``: a bound was reached first; ``abstained``: the sources do not
answer the question, and the answer says so; ``failed``: the run ended at an error, which it was told to survive."""

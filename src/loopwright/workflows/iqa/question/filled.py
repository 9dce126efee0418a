"""A chat model's reading of the same `Question`: the rules read what is closed and precise, the model what is meant."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from loopwright.workflows.iqa.distortions import kind_of, known_distortions, parse_distortion
from loopwright.workflows.iqa.question.asked import Operation, Question, Term

_CLOSED = frozenset({Operation.READ, Operation.MEASURE, Operation.CURATE, Operation.COMPARE, Operation.RECOMMEND})
"""What the rules tell by closed names: of the file, of tools, of parts of the image; or by the question's own words."""

KNOWN: dict[str, Any] = {"type": "string", "enum": list(known_distortions())}
"""The JSON schema of a distortion's name."""

KnownName = Annotated[str, AfterValidator(parse_distortion), WithJsonSchema(KNOWN)]


class MeantQuestion(BaseModel):
    """One thing that is asked, as a chat model understands it."""

    model_config = ConfigDict(extra="forbid")

    operation: Operation
    """What is wanted."""
    yes_no: bool = False
    """Whether the answer begins with yes or no."""
    distortions: list[KnownName] = Field(default_factory=list[str])
    """What it is about; nothing for all."""
    absent: bool = False
    """Whether it asks for their absence, as "sharp" does of blur."""
    excluded: list[KnownName] = Field(default_factory=list[str])
    """What it is not about."""


def agreed(meant: Sequence[MeantQuestion], read: Sequence[Question]) -> list[Question]:
    """One value from what a chat model understood and what the rules read.

    Numbers, scales, places, tools and what a file tells are the rules' alone, and what the rules read as set aside
    stays set aside. What is wanted, and of which distortions, is the model's, as far as that needs nothing closed that
    the rules did not find.

    Args:
        meant: The model's questions; nothing leaves the rules' own.
        read: The rules' questions.

    Returns:
        As many questions as the model found; where it found none, those of the rules.
    """
    if not meant:
        return [*read]
    # Several questions belong to each other only if both found as many; else what is closed is said of all of them.
    rules = read if len(read) == len(meant) else [read[0]] * len(meant)
    return [_agreed(*both) for both in zip(meant, rules, strict=True)]


def _agreed(meant: MeantQuestion, read: Question) -> Question:
    closed = read.operation in _CLOSED or read.threshold is not None or read.scale is not None
    if closed or meant.operation in _CLOSED or meant.operation is Operation.DECLINE:
        return read
    excluded = tuple(dict.fromkeys((*read.excluded, *meant.excluded)))
    kinds = {kind_of(name) for name in excluded}
    named = [name for name in dict.fromkeys(meant.distortions) if name not in excluded and kind_of(name) not in kinds]
    # The rules' own term knows the question's word, and whether none at all is meant.
    own = {term.name: term for term in read.terms}
    terms = tuple(own.get(name, Term(name=name, absent=meant.absent, word=name)) for name in named)
    if not terms and meant.operation in (Operation.DEGREE, Operation.CHOOSE):
        return read
    told = {"operation": meant.operation, "yes_no": read.yes_no or meant.yes_no, "terms": terms, "excluded": excluded}
    return read.model_copy(update=told)

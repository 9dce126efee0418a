"""What is asked: the operation, the form of the answer, its scale, what it is about and what it is not.

The rules read what is closed and precise, and a chat model, where there is one, what is meant.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from loopwright.workflows.iqa.distortions import Severity, kind_of, known_distortions, parse_distortion
from loopwright.workflows.iqa.question.scales import Scale, Threshold


class Operation(StrEnum):
    """What a question wants done."""

    DECIDE = "yes or no"
    RATE = "rate"
    DEGREE = "say how strong"
    CHOOSE = "choose"
    FIND = "find what is wrong"
    COMPARE = "compare parts"
    RELATE = "compare with the reference"
    ADVISE = "advise"
    READ = "read the file"
    MEASURE = "give a tool's value"
    RECOMMEND = "name a tool"
    CURATE = "keep or drop"
    DECLINE = "decline"


class Term(BaseModel):
    """A distortion that a question speaks of."""

    model_config = ConfigDict(frozen=True)

    name: str
    """Its canonical name."""
    absent: bool = False
    """Whether the word speaks of its absence, as "sharp" does of blur."""
    word: str = ""
    """The word of the question."""
    free: bool = False
    """Whether none at all is meant: "free of noise"."""

    @property
    def lacks(self) -> bool:
        """Whether the word says that there is too little of something: of light, of contrast, of colour."""
        little = self.name in ("underexposure", "low contrast")
        return little or self.word.startswith(("pal", "dull", "mut", "desat", "fad", "blass"))


class Question(BaseModel):
    """One thing that is asked."""

    model_config = ConfigDict(frozen=True)

    text: str
    """The clause, in small letters."""
    operation: Operation
    """What is wanted."""
    yes_no: bool = False
    """Whether the answer begins with yes or no."""
    terms: tuple[Term, ...] = ()
    """The distortions that it is about; none for all."""
    excluded: tuple[str, ...] = ()
    """The distortions that it is not about."""
    joined: Literal["and", "or"] = "and"
    """Whether all terms are asked for, or any."""
    good: bool | None = None
    """Whether it speaks of the quality as good or as bad, without naming a distortion; None if it does not."""
    free: bool = False
    """Whether what it calls bad is to be absent: "free of artefacts"."""
    tolerant: bool = False
    """Whether what can hardly be seen is to count as absent: "noticeable", "acceptable", "good enough"."""
    scale: Scale | None = None
    """The scale of the answer, if it asks for one."""
    severities: tuple[Severity, ...] = ()
    """Degrees that it offers or asks about."""
    places: tuple[str, ...] = ()
    """The parts of the image that it is about."""
    unmeasured: tuple[str, ...] = ()
    """What it wants to know that nothing here measures, though it is known by name."""
    objects: tuple[str, ...] = ()
    """The things in the picture that it is about."""
    sought: Literal["more", "less", "equal"] | None = None
    """Of parts: whether the one with more or with less of the distortion is sought, or whether they are alike."""
    tools: tuple[str, ...] = ()
    """The tools whose values it wants."""
    attributes: tuple[str, ...] = ()
    """What it wants to know of the file."""
    told: bool = False
    """Whether it wants sentences, not a grade alone: "describe", "explain", "list"."""
    remedies: tuple[str, ...] = ()
    """What it thinks of doing: the distortion against which it helps, or crop, reshoot, upscale."""
    rescue: bool = False
    """Whether it asks to bring back what is lost."""
    keep: tuple[str, str] = ("keep", "drop")
    """The question's own words for in and out."""
    threshold: Threshold | None = None
    """A number that a value is held against."""

    @property
    def names(self) -> tuple[str, ...]:
        """The distortions that it is about, once each."""
        return tuple(dict.fromkeys(term.name for term in self.terms))

    @property
    def at_least(self) -> bool:
        """Whether as much will do: "at least as sharp as", "no less sharp than", "no worse than"."""
        found = AT_LEAST.search(self.text)
        return self.no_more or bool(found and not _COMPARATIVE.match(self.text, found.end()))

    @property
    def no_more(self) -> bool:
        """Whether the opposite of a comparative is asked for: "no worse than"."""
        return bool(NO_MORE.search(self.text))

    @property
    def became(self) -> bool:
        """Whether it speaks of what became of the image: "did it get darker?", "was it brightened?"."""
        return bool(BECAME.search(self.text))

    @property
    def open(self) -> bool:
        """Whether everything has to be looked for to answer it."""
        every = (Operation.FIND, Operation.RELATE, Operation.ADVISE, Operation.CHOOSE, Operation.RECOMMEND)
        return self.operation in every or (not self.terms and self.operation in (Operation.DECIDE, Operation.CURATE))

    @property
    def measures(self) -> bool:
        """Whether pixels have to be measured for it."""
        return self.operation not in (Operation.READ, Operation.DECLINE)


AT_LEAST = re.compile(r"\b(?:at least|no (?:less|fewer|lower)|mindestens|au moins|al menos|almeno)\b")
NO_MORE = re.compile(r"\b(?:no|at least not) (?!(?:other|longer|fewer|lower)\b)(?:worse|more|\w+er)\b(?=.* than\b)")
BECAME = re.compile(
    r"\b(?:gets?|got(?:ten)?|becomes?|became) (?:much |any |even |a (?:bit|lot|little) )?(?:\w+er|more|less)\b"
    r"|er geworden\b|\bdevenue? plus\b|\bvuelto más\b|\bdiventat[oa] più\b|\b(?:dark|bright|light)ened\b"
)
_COMPARATIVE = re.compile(r" (?:(?!(?:as|\w*so)\b)\w+ ){0,2}(?:worse|more|less|\w+er)\b")


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

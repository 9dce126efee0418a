"""What is asked: the operation, the form of the answer, its scale, what it is about and what it is not."""

import re
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from loopwright.workflows.iqa.distortions import Severity
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

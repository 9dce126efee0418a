"""One value for what is asked: the operation, the form of the answer, its scale, what it is about and what it is not.

Rules read what is closed: options, scales, numbers, places, tools, what a file can tell, words that are excluded. What
is left is decided by which kinds of words a clause has (`vocabulary`), not by how a sentence is built. A query may ask
several things; each is a `Question` of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from loopwright.workflows.iqa.distortions import Distortion, Severity, kind_of, severity_named
from loopwright.workflows.iqa.question.places import named_places
from loopwright.workflows.iqa.question.scales import Scale, Threshold, read_scale, read_threshold
from loopwright.workflows.iqa.question.tool_names import known_tools, named_tools
from loopwright.workflows.iqa.question.vocabulary import CONTENT, Span, canonical, corrected, is_format, spans
from loopwright.workflows.iqa.tools.registry import plain


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
        return little or self.word.startswith(("pal", "dull", "mut", "desat", "blass"))


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
        found = _AT_LEAST.search(self.text)
        return self.no_more or bool(found and not _COMPARATIVE.match(self.text, found.end()))

    @property
    def no_more(self) -> bool:
        """Whether the opposite of a comparative is asked for: "no worse than"."""
        return bool(_NO_MORE.search(self.text))

    @property
    def open(self) -> bool:
        """Whether everything has to be looked for to answer it."""
        every = (Operation.FIND, Operation.RELATE, Operation.ADVISE, Operation.CHOOSE, Operation.RECOMMEND)
        return self.operation in every or (not self.terms and self.operation in (Operation.DECIDE, Operation.CURATE))

    @property
    def measures(self) -> bool:
        """Whether pixels have to be measured for it."""
        return self.operation not in (Operation.READ, Operation.DECLINE)


_SENTENCE = re.compile(r"(?<!\bvs\.)(?<=[.!?;:…])\s+|\n+|\s[–—]\s")
_AT_LEAST = re.compile(r"\b(?:at least|no (?:less|fewer|lower)|mindestens|au moins|al menos|almeno)\b")
_NO_MORE = re.compile(r"\b(?:no|at least not) (?!(?:other|longer|fewer|lower)\b)(?:worse|more|\w+er)\b(?=.* than\b)")
_COMPARATIVE = re.compile(r" (?:(?!(?:as|\w*so)\b)\w+ ){0,2}(?:worse|more|less|\w+er)\b")
_NOT_AS = re.compile(r"\b(?:not|nicht) (?:quite |nearly |ganz )?(?:as|so) ")
_AS = re.compile(r"(?:as|so) (?:(?:much|many|viele?|the|its|my|our|\w+ly) )?")
_MORE = r"(?:and|but|und|aber|et|mais|y|pero)"
_TAG = re.compile(
    r",\s*(?!\s|wh|how|was\b|wie\b|qu)[^,?]{1,16}\?\s*$"
    r"|(?<!top )(?<!bottom )\b(?:right|rite|no|oder|non|verdad|hein|eh|ne|gell)\s*\?*\s*$"
)
_EXISTS = re.compile(r"\bany\b|\bthere\b|\bgibt es\b|\by a\b|\bhay\b|\bhas\b|\bhave\b|\bhat\b|\ba-t\b")


def read_questions(stem: str) -> tuple[Question, ...]:
    """What a query without lettered options and regions in numbers asks: at least one question, if only to decline."""
    text = corrected(_spoken(stem))
    sentences: list[str] = []
    for sentence in filter(str.strip, _SENTENCE.split(text)):
        # "Compare the halves: which is sharper?", "which is it: poor, fair or good?" ask once.
        led = sentences and sentences[-1].endswith(":")
        sentences[-1:] = [f"{sentences[-1]} {sentence}"] if led else [*sentences[-1:], sentence]
    clauses = [clause for sentence in sentences for clause in _clauses(sentence)]
    asked = [clause for clause in clauses if _asks(clause) and _content(clause)]
    if not asked:
        # "He says it is blurred. Is it?", "It has specks. What is that?": the sentence before says what is asked.
        # "It is too soft, they say. I find it fine. Who is right?": the last one that tells of a fault.
        last = max((at for at, clause in enumerate(clauses) if _asks(clause)), default=0)
        about = ("faults", "praise", "topics", "bad")
        told = [each for each in clauses[:last] if any(_of(name, each) for name in about)]
        pairs = [f"{each} {clauses[last]}" for each in (told or clauses[:last])[-1:]]
        asked = [pair for pair in pairs if _content(pair) or _explains(pair)]
    if not asked:
        # "Noise?", and what is told and not asked: all of it is the question.
        asked = [text] if _content(text) else [clause for clause in clauses if _asks(clause) and _about_image(clause)]
    context = text
    for clause in asked:
        context = context.replace(clause, " ; ", 1)
    # Acronyms tell tools from words, so the text as it was written is read.
    tools = named_tools(stem)
    read = [_Reader(clause, context, text, tools).question() for clause in asked]
    kept = [question for question in read if question.operation is not Operation.DECLINE]
    return tuple(_merged(kept)) or (Question(text=text, operation=Operation.DECLINE),)


def _spoken(text: str) -> str:
    """Small letters, no hyphens within words; sentence marks and lines stay."""
    lines = (
        re.sub(r"(?<=[^\W\d])[-_/‐‑](?=\w)|(?<=\w)[-_/‐‑](?=[^\W\d])", " ", line)
        for line in text.lower().replace("’", "'").splitlines()
    )
    return "\n".join(" ".join(line.split()) for line in lines).strip()


def _of(section: str, text: str) -> list[Span]:
    return [span for span in spans(text) if span.section == section]


def _all_known(text: str) -> bool:
    known = {position for span in spans(text) for position in range(span.start, span.end)}
    return all(match.start() in known for match in re.finditer(r"(?<!')[^\W\d_]+", text))


def _content(text: str) -> bool:
    about = ("faults", "praise", "topics", "bad", "good", "scales", "rate", "remedies", "advice", "facts", "metrics")
    if _of("reference", text) or any(span.section in about and not is_format(span, text) for span in spans(text)):
        return True
    sorts = _of("drop", text) or _of("keep", text)
    sorts = sorts and (_of("image", text) or re.search(r"\b(?:or|oder|ou|o|u)\b", text))
    return bool(sorts or known_tools(text) or len(named_places(text)) > 1 or read_scale(text) is not None)


_WHY = r"(?:why|y|how come|warum|wieso|weshalb|pourquoi|por qué|perché)"
_EXPLAIN = re.compile(
    rf"(?:^|[.,!?;:])\W*(?:{_WHY}\b|(?:what|was|que|qué|cosa)(?:'?s| is| are| ist| sind| es) (?:that|this|up|das)\b)"
)
_SO = re.compile(rf"^\W*{_WHY} (?:so [^\W\d]+\W*$|.*\b(?:looks?|appears?|come out|came out|sieht|parece|sembra)\b)")


def _explains(text: str) -> bool:
    """Whether a text asks why the image is as it is, or what is the matter with it."""
    return bool((_of("image", text) and _EXPLAIN.search(text)) or _SO.match(text))


_IMAGES = re.compile(r" (?:ones?|images?|pictures?|photos?|pics?|shots?|frames?|files?|scans?)\b")
_SERVES = re.compile(
    r"\b(?:(?:can|could|may) (?:i|we) (?:\w+ )?(?:print|use|post|publish|send|submit|upload|show|sell|frame|hang)"
    r"|(?:would|will|does) (?:it|this|that) (?:do|work|pass|serve)"
    r"|(?:kann|darf) (?:ich|man)\b.*\b(?:drucken|verwenden|benutzen|nehmen|hochladen|einreichen)|reicht (?:das|es))\b"
)
"""What asks whether the image will do for something: "can I print it?"."""


def _about_image(text: str) -> bool:
    """Whether a text asks for the reason or the use of what is seen, or is about it without a word strange here."""
    known = _all_known(text)
    about = _of("image", text) and (known or _SERVES.search(text))
    return bool(about or (known and named_places(text))) or _explains(text)


def _clauses(sentence: str) -> list[str]:
    """The questions of a sentence: a new one begins with a word that asks, after a comma or "and"."""
    starts = {span.start for span in _of("ask", sentence)}
    named = [span.start for span in spans(sentence) if span.section in ("faults", "praise")]
    cuts = [
        match.end()
        for match in re.finditer(rf",\s*(?:{_MORE}\s)?|\s{_MORE}\s|\s(?=(?:whether|ob)\s)", sentence)
        # What is joined stands near by; all of a long text, or all of its commas, would take minutes.
        if match.end() in starts
        or (
            any(0 <= start - match.end() < 200 for start in named)
            and _is_pair(sentence[: match.start()][-200:], sentence[match.end() :][:200])
        )
    ]
    pieces: list[str] = []
    for cut, end in zip([0, *cuts], [*cuts, len(sentence)], strict=True):
        piece = sentence[cut:end]
        # "On a scale of 1 to 5, how sharp is it?" asks once.
        first = spans(pieces[0]) if len(pieces) == 1 else ()
        own = any(span.section in CONTENT - {"scales", "rate", "good", "bad"} for span in first)
        scale_alone = len(pieces) == 1 and not own and not any(start < len(pieces[0]) for start in starts)
        if pieces and (scale_alone or not (_content(piece) and _content(pieces[-1]))):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def _is_pair(before: str, after: str) -> bool:
    """Whether both name a part of the picture and what of it: "is the left half sharp and the right half noisy?"."""

    def whole(text: str) -> bool:
        places, things = named_places(text), _objects(re.sub(r"^\W*(?=the\b)", "of ", text))
        about = len(places) == 1 or (not places and len(things) == 1)
        return about and any(_of(section, text) for section in ("faults", "praise"))

    return whole(before) and whole(after)


_BEGINS = re.compile(
    r"\W*(?:[^:?]*:\s)?(?:(?:and|but|or|und|et|y|hey|so|please|bitte)\s)?(?:(?:in|at|on|to|by|from)\s(?=wh|how))?"
)


def _first(clause: str) -> set[str]:
    """The sections of a clause's first word, after a lead and a joint: "it is for a client, is it good enough?"."""
    starts = [match.end() for match in (_BEGINS.match(clause), *re.finditer(r",\s", clause)) if match]
    begins = [{span.section for span in spans(clause) if span.start == start} for start in starts]
    return begins[0] if "ask" in begins[0] else next((each for each in begins if "yes_no" in each), begins[0])


def _asks(clause: str) -> bool:
    """Whether a clause asks: by its mark, its first word, or what it wants done."""
    # "Don't tell me about the noise." says what not to answer, "Anything with a cast is out." by what to judge.
    sections = _first(clause)
    rules = clause.rstrip().endswith(".") and "any" in sections
    begins = "ask" in sections and "except" not in sections and not rules
    wants = any(_of(section, clause) for section in ("rate", "metrics")) and not re.search(r"[.!]$", clause.strip())
    both = bool(_of("keep", clause) and _of("drop", clause))
    told = bool(re.search(r"\b(?:whether|i wonder|ob)\b", clause))
    marked = clause.rstrip().endswith("?")
    return marked or begins or wants or both or told or bool(known_tools(clause)) or _explains(clause)


def _merged(questions: Sequence[Question]) -> list[Question]:
    """Without what is asked twice; a question that names no place is about that of the one before it."""
    kept: list[Question] = []
    for question in questions:
        if kept and kept[-1].places and not question.places and question.measures:
            question = question.model_copy(update={"places": kept[-1].places})
        if question.operation is Operation.CURATE and kept and kept[-1].operation is Operation.CURATE:
            rule = kept.pop()
            question = question.model_copy(update={"terms": (*rule.terms, *question.terms)})
        same = {"text": "", "yes_no": False}
        if not any(other.model_copy(update=same) == question.model_copy(update=same) for other in kept):
            kept.append(question)
    return kept


class _Reader:
    """Reads one clause, beside the rest of the text."""

    def __init__(self, clause: str, context: str, text: str, tools: list[str]) -> None:
        self.clause = clause = _asked(clause)
        self.context, self.text, self.tools = context, text, tools
        self.spans = spans(clause)
        found = {span.section for span in self.spans}
        self.has = found.__contains__
        self.named = [span for span in self.spans if self._is_term(span)]
        self.out = _excluded(clause)
        kept = [span for span in self.named if span not in self.out]
        self.terms = tuple(dict.fromkeys(_term(span, clause) for span in kept))
        self.begins = _first(clause)
        self.joined: Literal["and", "or"] = "or" if re.search(r"\b(?:or|oder|ou|o)\b", clause) else "and"
        self.which = bool(re.search(r"\b(?:which|what|where|welch\w*|was|wo|quel\w*|où|qué|cuál|dónde)\b", clause))
        told = "yes_no" in self.begins or bool(_TAG.search(clause)) or re.search(r"\b(?:whether|ob)\b", text)
        shown = re.match(r"\W*(?:what|was|que|qu'est|qué|cosa)\b.*\b(?:in|on|auf|dans|sur|en|nell)\b", clause)
        self.plain = _about_image(clause) and not shown
        # "Good enough for a passport?" has no verb and is a question all the same.
        other = self.has("advice") or self.has("rate") or self.which or self.joined == "or"
        short = self.begins & {"good", "bad"} and clause.rstrip().endswith("?") and not other
        self.yes_no = bool(told or short) and "what" not in self.begins

    def _is_term(self, span: Span) -> bool:
        before, after = self.clause[: span.start], self.clause[span.end :]
        # "Is there noise in the dark parts?" is not about the light.
        part = re.match(r" (?:parts?|areas?|regions?|spots?|zones?|corners?)\b", after)
        if part and re.search(rf"\b(?:in|of|over|from|at) {_DETERMINER} $", before):
            others = {each.key for each in self.spans if each.section == "faults"} - {span.key}
            if others and span.section in ("faults", "topics") and kind_of(canonical(span)) is Distortion.BRIGHTNESS:
                return False
        if span.section == "topics":
            return not re.search(r"\b(?:what|which|welche) $", before)
        return span.section in ("faults", "praise") and not is_format(span, self.clause)

    def question(self) -> Question:
        """The question of the clause."""
        facts = [span for span in self.spans if span.section == "facts"]
        facts = [span for span in facts if span.key == "print"] or facts
        attributes = tuple(dict.fromkeys(
            span.key for span in facts
            if span.key != "megapixels" or not any(other is not span and other.start < span.end for other in facts)
        ))  # fmt: skip
        letters = re.sub(r"\W", "", self.clause)
        tools = tuple(name for name in self.tools if plain(name) in letters)
        strength = bool(self.terms) and self.named[0].section == "faults" and not self.has("good")
        strength = strength and not re.search(r"\bqualit", self.clause)
        scale = read_scale(self.clause, of_fault=strength)
        # "At ISO 100 and 1/60 s. Is it good?" tells no scale.
        graded = any(_of(each, self.context) for each in ("rate", "scales")) or re.search(r"\bfrom \d", self.context)
        graded = graded or not self.yes_no
        scale = scale or (read_scale(self.text) if self.has("rate") or (self.has("good") and graded) else None)
        threshold = read_threshold(self.clause)
        places = self._places()
        remedies, terms = self._remedies(), self.terms
        if remedies and self._was_done():
            # "Was it sharpened?", "sharpening or softening?" ask what was done, not what to do.
            effects = [span for span in self.spans if span.key in _EFFECTS and span.section == "remedies"]
            left = [Term(name=name, word=span.text) for span in effects for name in _EFFECTS[span.key].split(", ")]
            terms = self.terms = (*left, *terms)
            self.joined = "or"
            remedies = ()
        # A sentence about the image without one word that is strange here can only be about its quality.
        # "Is it right?" is about the image, "am I right?" about what was said of it.
        right = re.search(r"(?<!\bi )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bwe )\bright\W*$", clause := self.clause)
        right = right and not places and "left" not in clause and "yes_no" in self.begins
        good = None if not (self.has("bad") or self.has("good") or right) else not self.has("bad")
        good = False if good is None and not terms and self.out else good
        operation = self._operation(attributes, tools, scale, threshold, places, remedies)
        if operation is Operation.CHOOSE:
            # "Is it the compression or the focus?" offers the topic as what is at fault.
            topics = {span.text for span in self.named if span.section == "topics"}
            terms = tuple(t.model_copy(update={"absent": t.absent and t.word not in topics}) for t in terms)
        neutral = {span.section for span in self.named} == {"topics"} and not any(term.absent for term in terms)
        if operation is Operation.DECIDE and terms and (self._offers() or (neutral and good is None)):
            # "Is it noise or just the texture?", "is the exposure balanced?": what is there, as no word says what yes
            # would mean.
            operation, self.yes_no = Operation.FIND, False
        if operation is Operation.ADVISE and not remedies:
            # "How can I make it brighter?" is about too little light.
            wished = [Term(name=name, word=span.text) for span in self.named if (name := self._wished(span))]
            terms = self.terms = tuple(wished) or terms
        excluded, metrics = tuple(dict.fromkeys(span.key for span in self.out)), set(map(plain, tools))
        if operation is Operation.COMPARE and self.joined == "or" and len(places) > 1:
            # "Is the left or the right half sharper?" asks which.
            held = re.search(r"\b(?:than|as|als|wie|que|differ\w*)\b", clause)
            self.yes_no = self.yes_no and bool(held and self.begins & {"yes_no"})
        if not terms and (operation is Operation.CURATE or (operation is Operation.COMPARE and good is None)):
            terms = self.terms = tuple(_term(span, self.context) for span in spans(self.context) if self._is_term(span))
        left = _excluded(self.context)
        if not terms and (self.has("else") or self.has("except") or (self.has("bad") and left)):
            excluded += tuple(canonical(span) for span in spans(self.context) if span.section in ("faults", "topics"))
        elif not terms:
            excluded += tuple(canonical(span) for span in left)
        if operation is Operation.FIND and terms and self.has("else"):
            excluded, terms = tuple(dict.fromkeys((*excluded, *(term.name for term in terms)))), ()
        return Question(
            text=self.clause,
            operation=operation,
            yes_no=self.yes_no,
            terms=terms,
            excluded=tuple(dict.fromkeys(excluded)),
            joined=self.joined,
            good=good,
            free=self.has("bad") and all(_term(span, clause).free for span in self.spans if span.section == "bad"),
            tolerant=self.has("noticed") or self.has("good") or bool(_TOLERANT.search(self.clause)),
            scale=scale,
            severities=_severities(self.clause),
            places=places,
            objects=() if places else tuple(each for each in _objects(self.clause) if not metrics & set(each.split())),
            sought=self._sought(),
            tools=tools,
            attributes=attributes,
            told=self.has("describe"),
            remedies=remedies,
            rescue=bool(re.search(r"\b(?:back|recover\w*|rescue\w*|restor\w*|salvag\w*|undo\w*|revers\w*|rett\w*|wiederher\w*"
                                  r"|récup\w*|sauv\w*|recuper\w*|salv\w*)\b", self.clause)),
            keep=self._keep(),
            threshold=threshold,
        )  # fmt: skip

    def _operation(
        self, attributes: tuple[str, ...], tools: tuple[str, ...], scale: Scale | None, threshold: Threshold | None,
        places: tuple[str, ...], remedies: tuple[str, ...],
    ) -> Operation:  # fmt: skip
        """What is wanted: the closed forms first."""
        has, terms = self.has, self.terms
        strong = any(span.section != "topics" for span in self.named)
        # "Can I use it for a poster?" asks for more than its pixels.
        suits = "print" in attributes and self.yes_no and (has("good") or has("keep"))
        # "Is this a good portrait?" is about a kind of picture, "is the format right?" about the file.
        kind = {"orientation", "colour", "format"}.issuperset(attributes)
        kind = kind and not re.search(r"orientation|format|type\b|extension", self.clause)
        # "Is it okay that it is a PNG?" does not praise it.
        praised = (self.clause[span.end :] for span in self.spans if span.section == "good")
        praised = not all(re.match(r" (?:that|dass|que|che)\b", rest) for rest in praised)
        suits = suits or (kind and (scale is not None or has("rate") or praised))
        told = attributes and not strong and not suits and not has("bad") and ("print" in attributes or not remedies)
        says = has("metrics") and re.search(r"\b(?:say|says|give|gives|report|values?|scores?|results?)\b", self.clause)
        converts = attributes == ("format",) and has("reference")
        parts = max(len(places), len(_objects(self.clause)))
        compares = parts > 1 and bool(self._sought() or (terms and self.joined == "or"))
        better = self.which and not terms and re.search(r"\b(?:better|worse)\b", self.clause)
        beside = has("reference") or (not terms and any(_of("reference", self.context)))
        degrees = _severities(self.clause) and not any(term.absent for term in self.terms)  # "extremely sharp" is none
        how_much = has("degree") or bool(degrees) or "percentage" in self.clause
        rates = has("rate") and not self.yes_no
        praises = "what" in self.begins and has("good") and not has("bad") and not terms
        # The first one that holds; what is precise comes before what is only suggested.
        wanted: tuple[tuple[object, Operation], ...] = (
            (threshold is not None, Operation.DECIDE),
            (told, Operation.RELATE if converts else Operation.READ),
            (tools and not terms, Operation.RATE if has("rate") or has("good") else Operation.MEASURE),
            (says and not tools, Operation.MEASURE),
            (has("metrics") and not tools, Operation.RECOMMEND),
            (self._curates() and not self._mends(), Operation.CURATE),
            (scale is not None, Operation.RATE),
            (compares, Operation.COMPARE),
            (better, Operation.RELATE),
            (self._chooses(remedies), Operation.CHOOSE),
            (remedies or self._advises(), Operation.ADVISE),
            (beside, Operation.RELATE),
            (terms and how_much and not (self.yes_no and has("noticed")), Operation.DEGREE),
            (has("degree") and has("bad") and not self.yes_no, Operation.DEGREE),
            ((rates and not (has("bad") and has("describe"))) or praises, Operation.RATE),
            (self._praises_a_thing(), Operation.DECLINE),
            ("what" in self.begins and not self.yes_no, self._open()),
            (terms or (self.yes_no and (self.out or has("bad") or has("good") or has("rate"))), Operation.DECIDE),
            (self.yes_no, Operation.DECIDE if has("image") and _SERVES.search(self.clause) else Operation.DECLINE),
        )
        return next((operation for holds, operation in wanted if holds), self._open())

    def _advises(self) -> bool:
        """Whether it asks what to do; "has it been edited?" and "can you help me?" do not."""
        done = re.match(r"\W*(?:(?:was|were) (?:it|this|the)|has|have|did|wurde|hat)\b|.*\bhelp me\b", self.clause)
        asks = self.yes_no or "what" in self.begins or self.which or self.clause.rstrip().endswith("?")
        return self.has("advice") and not done and asks

    def _mends(self) -> bool:
        """Whether what is to go is a fault and not the image: "remove the grain", "can the banding be taken out?"."""
        advised = {span[2:] for span in self.spans if span.section == "advice"}
        going = [span for span in self.spans if span.section == "drop" and span[2:] in advised]
        between = r" (?:(?:be|the|this|that|these|those|all|any|some) )+(?:\w+ )?"
        # "Remove the noisy images" asks which to keep.
        faults = [each for each in self.named if not _IMAGES.match(self.clause[each.end :])]
        gaps = (self.clause[min(a.end, b.end) : max(a.start, b.start)] for a in faults for b in going)
        return any(re.fullmatch(between, gap) for gap in gaps)

    def _offers(self) -> bool:
        """Whether it puts one known thing beside another that is not known, or degrees beside each other."""
        joined = re.search(r"\b(?:or|oder|ou|o) (?!not\b|nicht\b|no\b|non\b|pas\b)", self.clause)
        return bool(joined) and len({term.name for term in self.terms}) == 1 and not _EXISTS.search(self.clause)

    def _was_done(self) -> bool:
        """Whether a remedy is spoken of as something that somebody did to the image."""
        begins = re.match(r"\W*(?:was|were|has|have|did|wurde|hat)\b", self.clause)
        wanted = re.search(r"\b(?:should|could|can|must|need\w*|be|get|soll\w*|kann)\b", self.clause)
        # "Is it sharpened?", "is there too much sharpening?", "is the noise reduction too strong?"
        did = any(span.section == "remedies" and span.text.endswith("ed") for span in self.spans)
        did = did or bool(re.search(r"\btoo much (?:\w+ )?\w+(?:ing|tion)\b|(?:ing|tion) too\b", self.clause))
        return bool((begins and self.joined == "or") or (did and self.yes_no and not wanted))

    def _praises_a_thing(self) -> bool:
        """Whether what is to be good is no image and nothing of one: "is it a good composition?"."""
        if self.terms or self.has("bad"):
            return False
        starts = {span.start for span in self.spans}
        led = r"(?:^|, |\b(?:an?|the|eine?|une?|una|uno) (?:\w+ )?)$"
        # "A good passport photo" is a picture.
        thing = rf" [^\W\d_]{{4,}}\b(?!{_IMAGES.pattern})"
        praises = [span for span in self.spans if span.section == "good"]
        of_it = [span for span in praises if span.end + 1 not in starts and re.match(thing, self.clause[span.end :])]
        return bool(praises) and praises == [span for span in of_it if re.search(led, self.clause[: span.start])]

    def _open(self) -> Operation:
        """What is wrong, why, or the state of one distortion: nothing closed."""
        known = self.terms or self.out or self.has("bad") or self.has("else")
        if known or self.plain:
            how = re.match(r"\W*(?:how|wie|à quel point|qué tan)\b", self.clause)
            return Operation.DEGREE if how and self.terms else Operation.FIND
        return Operation.RATE if self.has("good") else Operation.DECLINE

    def _curates(self) -> bool:
        if self.has("keep") and self.has("drop"):
            return True
        told = "criteria" in {span.section for span in spans(self.text)}
        ruled = any(_of(section, self.context) for section in ("keep", "drop")) and any(
            map(self._is_term, spans(self.context))
        )
        if ruled and self.has("rate") and not self.terms and not self.yes_no:
            return True
        may = re.search(r"\b(?:should|can|shall|soll\w*|dois|debo)\b", self.clause)
        done = re.match(r"\W*(?:did|was|were|has|have)\b", self.clause)
        other = self.has("remedies") or self.has("reference") or (done and not told)
        # "Should it go?" is about dropping it, "is it good to go?" is not.
        drops = any(span.section == "drop" and (told or may or span.text not in ("go", "goes")) for span in self.spans)
        return (self.has("keep") or drops) and bool(told or may or not self.terms) and not other

    def _chooses(self, remedies: tuple[str, ...]) -> bool:
        """Whether it offers distortions, or remedies, to choose from."""
        joined = re.search(r"\b(?:or|oder|ou|o|than|als|que)\b", self.clause)
        faults = {(term.name, term.absent) for term in self.terms}
        offered = set(remedies) or faults if len(faults) < 2 or self.has("advice") else faults
        listed = self.which or re.search(r"\b1\W.*\b2\W|\b(?:choose|pick|select)\b", self.clause)
        joined = joined or (listed and len({term.name for term in self.terms}) > 1)
        if not joined or _EXISTS.search(self.clause):
            return False
        generic = self.has("good") and offered - {"reshoot"} and not re.search(r"\b(?:or|oder|ou|o) not\b", self.clause)
        return len(offered) > 1 or bool(generic)

    def _remedies(self) -> tuple[str, ...]:
        found = [span.key for span in self.spans if span.section == "remedies"]
        if any(span.key == Distortion.BRIGHTNESS for span in self.spans):
            found += ["underexposure"] if re.search(r"\b(?:up|raise|push|lift)\b", self.clause) else []
            found += ["overexposure"] if re.search(r"\b(?:down|lower|pull|reduce)\b", self.clause) else []
        if re.search(r"\b(?:should|could|needs?|ought|help|soll\w*|braucht)\b", self.clause):
            # "Should it be brighter?", "does it need more contrast?" think of what would make it so.
            wished = [(span, remedy) for span in self.named if (remedy := self._wished(span))]
            found += [remedy for _, remedy in wished]
            self.terms = self.terms if not wished else ()
        return tuple(dict.fromkeys(found))

    def _wished(self, span: Span) -> str | None:
        """The remedy that makes an image more of what a word says: a comparative, or "more" or "less" before it."""
        more = re.search(r"\b(more|less|mehr|weniger) $", self.clause[: span.start])
        name = canonical(span)
        if more and name in _MORE_OF:
            return _MORE_OF[name][more[1] in ("less", "weniger")]
        return _BY_COMPARATIVE.get(name) if span.text.endswith("er") and not more else None

    def _sought(self) -> Literal["more", "less", "equal"] | None:
        no_more, at_least = _NO_MORE.search(self.clause), _AT_LEAST.search(self.clause)
        at_least = at_least or no_more
        less = bool(_NOT_AS.search(self.clause) or no_more) or (self.has("less") and not at_least)
        if self._alike() and not (less or at_least):
            return "equal"
        beside = self.yes_no and self.terms and self.has("reference") and len(named_places(self.clause)) < 2
        # "Is it sharp after the conversion, compared with the original?" seeks neither more nor less.
        said = " ".join(term.word for term in self.terms) if beside else self.clause
        compares = re.search(r"\w(?:er|est)\b|compar|vergl|differ|unterschied|\bvs\b|versus", said)
        offers = self.joined == "or" and len(named_places(self.clause)) > 1
        if not (self.has("more") or less or at_least or self.which or compares or offers):
            return None
        cuts = any(span.key == "crop" for span in self.spans)
        wants_less = any(term.absent for term in self.terms) if self.terms else not (self.has("bad") or cuts)
        return "less" if wants_less is not less else "more"

    def _alike(self) -> bool:
        """Whether it asks for likeness: "as sharp as", "as the original", but not "as far as I see"."""
        about = {span.start for span in self.spans if span.section in CONTENT}
        found = [_AS.match(self.clause, span.start) for span in self.spans if span.section == "equal"]
        return any(match is None or match.end() in about for match in found)

    def _places(self) -> tuple[str, ...]:
        """The parts of the image that it is about; the quarters where something is sought or the same everywhere."""
        everywhere = _EVERYWHERE.search(self.clause)
        if self.joined == "or" and everywhere and everywhere[1] is None:
            return ()  # "Everywhere, or just at the left?" is about all of it.
        asks = re.match(r"\W*(?:where|wo|où|dónde)\b", self.clause)
        most = asks and re.search(r"\w(?:est|sten)\b|\bmost\b|\bmeisten\b|\bplus\b|\bmás\b", self.clause)
        even = everywhere and everywhere[1] and self.yes_no and not self.has("reference")
        anywhere = named_places("the four quarters") if self.terms and (most or even) else ()
        places = tuple(named_places(self.clause) or named_places(self.context) or anywhere)
        # "Is the left side blurrier?", "only the left half", "the top third against the rest" have one to compare with.
        ends = r"(?: (?:in|on|at|to|towards?) .*)?\W*$"
        word = re.match(rf"\W*(?:{_VERBS}|does) (?!there\b).*? (\w+er|worse){ends}", self.clause)
        compared = word and any(span.text == word[1] and span.section in CONTENT for span in self.spans)
        way, _, noun = (places or ("",))[0].partition(" ")
        rest = len(places) == 1 and (compared or _REST.search(self.clause))
        if rest and way in _OPPOSITE and noun in ("half", "third"):
            places += (f"{_OPPOSITE[way]} {noun.replace('third', 'two thirds')}",)
        return places

    def _keep(self) -> tuple[str, str]:
        pair = [next((span.text for span in self.spans if span.section == own), own) for own in ("keep", "drop")]
        # "In or out?" is both words at once.
        both = pair[0].split(" or ") if pair[0] == pair[1] else pair
        return (both[0], both[-1])


_EFFECTS = {
    "blurs": "oversharpening", "noise": "blurs", "underexposure": "overexposure", "overexposure": "underexposure",
    "low contrast": "high contrast", "color cast": "color cast", "upscale": "pixelation, blurs",
    "saturation change": "saturation change",
}  # fmt: skip
"""Remedy -> the faults that too much of it makes."""

_MORE_OF = {
    "contrast": ("low contrast", "contrast"), "brightness change": ("underexposure", "overexposure"),
    "saturation change": ("saturation change",) * 2, "color distortions": ("saturation change",) * 2,
    "blurs": ("blurs", "oversharpening"),
}  # fmt: skip
"""Topic -> the remedies that give more and less of it."""

_EVERYWHERE = re.compile(
    r"\b(?:whole|everywhere|all over|überall|ganze\w*|partout|(equally|evenly|uniform\w*|gleich\w*|également))\b"
)
_TOLERANT = re.compile(r"\benough\b|\btoo (?:strong|severe|heavy|serious|thick)\b")
_REST = re.compile(r"\bthe (?:rest|other)\b|\b(?:is|are) (?:\w+ ){0,3}(?:only|just|limited|confined) (?:\w+ )?the\b")
_OPPOSITE = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}

_BY_COMPARATIVE = {"overexposure": "underexposure", "underexposure": "overexposure", "blurs": "blurs"}
"""What a comparative speaks of -> the remedy that makes it so: "brighter" is what helps against too little light."""


_FREE = re.compile(
    r"\b(?:free (?:of|from)|frei von|(without|ohne|sans|sin|senza)) ((?:(?!but |aber |mais |pero )\w+ )*)$"
)
_DENIED = re.compile(
    r"\b(?<!is )(?<!was )(?:that|dass)\b[^,;:?]{0,80}(?<!\bor )(?:\b(?:not?(?! only)|kein\w*|nicht)|n't) (?:\w+ ){0,2}$"
)


def _term(span: Span, text: str) -> Term:
    name, absent = canonical(span), span.section == "praise"
    if name == "overexposure" and re.match(r"\W+(?:enough|genug)\b", text[span.end :]):
        name, absent = "underexposure", True  # "bright enough"
    if span.section == "topics" and span.key == Distortion.SHARPNESS:
        absent = True
    said = _FREE.search(text[: span.start])
    # "Without a reference", "taken without flash": it lacks something else.
    free = said is not None and (not said[1] or (_all_known(said[2]) and not _of("reference", said[2])))
    free = free or span.text.endswith(("less", "frei", " free")) or text[span.end :].startswith((" free", " frei"))
    # "Can you confirm that it has no noise?"
    absent = (absent or free) is not bool(_DENIED.search(text[: span.start]))
    return Term(name=name, absent=absent, word=span.text, free=free)


def _excluded(text: str) -> list[Span]:
    """The distortions that a text sets aside: those of the clause of "apart from", after it if there are any."""
    found: list[Span] = []
    position = 0
    for clause in re.split(r"([,;:?!]|\.\s)", text):
        start, end = position, position + len(clause)
        position = end
        marks = [span for span in _of("except", text) if start <= span.start < end]
        named = [span for span in spans(text) if span.section in ("faults", "topics") and start <= span.start < end]
        if not marks:
            continue
        after = [span for span in named if span.start > marks[0].start]
        asks = any(span.section == "ask" and start <= span.start < marks[0].start for span in spans(text))
        found += after if after or asks else named
    return found


def _severities(text: str) -> tuple[Severity, ...]:
    of_other = ("no", "low", "high", "light", "medium", "none", "noticeable")
    # "Too strong", "strong enough" are no degrees; "slightly" is one if it is "only slightly".
    text = re.sub(r"\b(?:(?:only|just|merely) (\w+?)|(severe|extreme|strong))ly\b", r"\1\2", text)
    words = (word for word in re.findall(r"\b(?<!\btoo )[^\W\d_]+\b(?! enough)", text) if word not in of_other)
    return tuple(dict.fromkeys(filter(None, map(severity_named, words))))


_VERBS = "is|are|was|were|ist|sind|est|sont|está|están|è|sono"
_DETERMINER = r"(?:the|this|that|these|those|my|our|your|his|her|their|its|der|die|das|le|la|les|el|los|las)"
_NOUNS = r"(?=(?P<name>[^\W\d_]+(?: [^\W\d_]+){0,2}))"
_PLACED = ("of", "in", "on", "with", "around", "behind")
_OBJECT = re.compile(
    rf"(?:^\W*(?:{_VERBS}|does|do|has|have|how \w+ (?:is|are)) {_DETERMINER}"
    rf"|\b(?:{'|'.join(_PLACED)}|and|than) {_DETERMINER}) {_NOUNS}"
)
_ELSEWHERE = re.compile(rf"\b(?:to|worth|for|by|with|against|despite|zu|für|gegen|trotz)\b|\b{_DETERMINER} $")
"""What leads from the subject of a question to something else."""
_NO_SUBJECT = frozenset("scales rate remedies advice metrics degree keep drop".split())
"""The sections whose words say what is wanted, if they are not the subject."""


def _asked(clause: str) -> str:
    """A clause in which words of its subject mean nothing: "is the moving train sharp?", "are the stars noisy?"."""
    begins = re.match(rf"\W*(?:{_VERBS}) (?:(this|that|these|those|der|die|das) |{_DETERMINER} )", clause)
    found = spans(clause)
    last = max((span.start for span in found if span.section in ("faults", "praise")), default=0)
    if begins is None or _ELSEWHERE.search(clause[begins.end() : last]):
        return clause
    for span in found:
        after = {other.section for other in found if other.start == span.end + 1}
        # "Is this sharp everywhere?" has no noun after its adjective.
        noun = after & {"image", "topics", "parts"} or not (after or begins[1])
        # "Is the noise, blur or compression worse?", "was the photo denoised or sharpened?" ask about them.
        noun = noun and re.match(r" [^\W\d_]", clause[span.end :])
        named = any(begins.end() <= other.start < span.start and other.section == "image" for other in found)
        named = named or clause.startswith(" or ", span.end)
        describes = span.section in ("faults", "praise", "good") and span.start == begins.end() and noun
        # "Is the compression causing blur?": the name of a fault describes no unknown thing.
        describes = describes and (after or span.section != "faults" or not canonical(span).startswith(span.text))
        if begins.end() <= span.start < last and (describes or (span.section in _NO_SUBJECT and not named)):
            clause = clause[: span.start] + "…" * len(span.text) + clause[span.end :]
    return clause


def _objects(clause: str) -> tuple[str, ...]:
    """The things that a clause asks about, as its subject or as where something is: words with no meaning here."""
    found: list[str] = []
    for match in _OBJECT.finditer(clause):
        words: list[str] = []
        for word in re.finditer(r"\S+", match["name"]):
            position = match.start("name") + word.start()
            known = [span for span in spans(clause) if span.start <= position < span.end]
            if known:
                words = [] if any(span.section in ("image", "reference", "criteria") for span in known) else words
                break
            words.append(word[0])
        # After "is" a verb is not far, and after "does" it is the next word.
        one = match[0].split()[0] in (*_PLACED, "does", "do", "has", "have")
        found += [" ".join(words[:1] if one else words)] if words else []
    return tuple(dict.fromkeys(found))

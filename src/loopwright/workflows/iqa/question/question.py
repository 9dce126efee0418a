"""The reader of one clause, and of a query with several.

Rules read what is closed: options, scales, numbers, places, tools, what a file can tell, words that are excluded. What
is left is decided by which kinds of words a clause has (`vocabulary`), not by how a sentence is built. A query may ask
several things; each is a `Question` of its own.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal

from loopwright.config import shipped
from loopwright.workflows.iqa.distortions import Distortion, kind_of
from loopwright.workflows.iqa.question.asked import AT_LEAST, BECAME, NO_MORE, Operation, Question, Term
from loopwright.workflows.iqa.question.clauses import SERVES, about_image, asking_clauses, first_sections
from loopwright.workflows.iqa.question.places import named_places
from loopwright.workflows.iqa.question.scales import Scale, read_scale, read_threshold
from loopwright.workflows.iqa.question.terms import DETERMINER, VERBS, degrees, objects, predicate, set_aside, term_of
from loopwright.workflows.iqa.question.tool_names import named_tools
from loopwright.workflows.iqa.question.vocabulary import CONFIRMED, CONTENT, Span, canonical, is_format, spans, spans_of
from loopwright.workflows.iqa.tools.registry import plain

_IMAGES = re.compile(r" (?:ones?|images?|pictures?|photos?|pics?|shots?|frames?|files?|scans?)\b")
_OF_IMAGES = re.compile(rf"{_IMAGES.pattern}.* (?:with|have|having|has|show|showing) (?:\w+ )?$")
_FLAW = re.compile(r"(?:art[ie]fact|problem|issue|defect|flaw|fault|mistake|distortion|degradation|damage)s?")
_NOT_AS = re.compile(r"\b(?:not|nicht) (?:quite |nearly |ganz )?(?:as|so) ")
_AS = re.compile(r"(?:as|so) (?:(?:much|many|viele?|the|its|my|our|\w+ly) )?")
_TAG = re.compile(
    r",\s*(?!\s|wh|how|was\b|wie\b|qu)[^,?]{1,16}\?\s*$"
    r"|(?<!top )(?<!bottom )\b(?:right|rite|no|oder|non|verdad|hein|eh|ne|gell)\s*\?*\s*$"
)
_EXISTS = re.compile(r"\bany\b|\bthere\b|\bgibt es\b|\by a\b|\bhay\b|\bhas\b|\bhave\b|\bhat\b|\ba-t\b")


def read_questions(stem: str) -> tuple[Question, ...]:
    """What a query without lettered options and regions in numbers asks: at least one question, if only to decline."""
    text, asked = asking_clauses(stem)
    context = text
    for clause in asked:
        context = context.replace(clause, " ; ", 1)
    # Acronyms tell tools from words, so the text as it was written is read.
    tools = named_tools(stem)
    read = [_Reader(clause, context, text, tools).question() for clause in asked]
    kept = [question for question in read if question.operation is not Operation.DECLINE or question.unmeasured]
    return tuple(_merged(kept)) or (Question(text=text, operation=Operation.DECLINE),)


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
        self.clause = clause = predicate(clause)
        self.context, self.text = context, text
        self.spans = spans(clause)
        found = {span.section for span in self.spans}
        self.has = found.__contains__
        self.named = [span for span in self.spans if self._is_term(span)]
        self.out = set_aside(clause)
        # "Is the contrast too harsh?" is about the harshness alone.
        told = {kind_of(canonical(span)) for span in self.named if span.section != "topics"}
        kept = [span for span in self.named if span.section != "topics" or kind_of(canonical(span)) not in told]
        kept = [span for span in kept if span not in self.out]
        self.terms = tuple(dict.fromkeys(term_of(span, clause) for span in kept))
        self.begins = first_sections(clause)
        offers = re.search(r"\b(?:or|oder|ou|o)\b", clause) and not CONFIRMED.search(clause)
        self.joined: Literal["and", "or"] = "or" if offers else "and"
        # German "was" asks for a thing, English "was" for yes or no.
        asking = re.sub(r"\bwas\b", "", clause) if "yes_no" in self.begins else clause
        self.which = bool(re.search(rf"\b(?:{_WHICH})\b", asking))
        told = "yes_no" in self.begins or bool(_TAG.search(clause)) or re.search(r"\b(?:whether|ob)\b", text)
        shown = re.match(r"\W*(?:what|was|que|qu'est|qué|cosa)\b.*\b(?:in|on|auf|dans|sur|en|nell)\b", clause)
        self.plain = about_image(clause) and not shown
        # "Good enough for a passport?" has no verb and is a question all the same.
        other = self.has("advice") or self.has("rate") or self.which or self.joined == "or"
        # Nor has "la foto è buona?" its verb in front.
        stated = self.has("good") and self.has("yes_no") and not self.has("what")
        short = (stated or self.begins & {"good", "bad"}) and clause.rstrip().endswith("?") and not other
        self.yes_no = bool(told or short) and "what" not in self.begins
        self.attributes, self.scale, self.places = self._attributes(), self._scale(), self._places()
        self.threshold = read_threshold(clause)
        letters = re.sub(r"\W", "", clause)
        self.tools = tuple(name for name in tools if plain(name) in letters)
        self.remedies = self._remedies()
        # Not "good despite the watermark?".
        asked = (each for each in self.spans if each.section == "unmeasured" and each not in self.out)
        self.unmeasured = tuple(dict.fromkeys(each.key for each in asked if not _BESIDE.search(clause[: each.start])))

    def _is_term(self, span: Span) -> bool:
        before = self.clause[: span.start]
        # "Is there noise in the shadows?", "in the dark parts?" is not about the light.
        if _WITHIN.search(before):
            others = {each.key for each in self.spans if each.section == "faults"} - {span.key}
            if others and span.section in ("faults", "topics") and kind_of(canonical(span)) is Distortion.BRIGHTNESS:
                return False
        if span.section == "topics":
            return not re.search(r"\b(?:what|which|welche) $", before)
        return span.section in ("faults", "praise") and not is_format(span, self.clause)

    def question(self) -> Question:
        """The question of the clause."""
        if self.remedies and self._was_done():
            # "Was it sharpened?", "sharpening or softening?" ask what was done, not what to do.
            effects = [span for span in self.spans if span.key in _EFFECTS and span.section == "remedies"]
            left = [Term(name=name, word=span.text) for span in effects for name in _EFFECTS[span.key]]
            self.terms, self.joined, self.remedies = (*left, *self.terms), "or", ()
        good = self._good()
        operation = self._settled(self._operation(), good)
        excluded, terms = self._excluded(), self.terms
        if operation is Operation.CHOOSE:
            # "Is it the compression or the focus?" offers the topic as what is at fault.
            topics = {span.text for span in self.named if span.section == "topics"}
            terms = tuple(t.model_copy(update={"absent": t.absent and t.word not in topics}) for t in terms)
        if operation is Operation.FIND and terms and self.has("else"):
            excluded, terms = (*excluded, *(term.name for term in terms)), ()
        metrics = set(map(plain, self.tools))
        things = () if self.places else (each for each in objects(self.clause) if not metrics & set(each.split()))
        return Question(
            text=self.clause, operation=operation, yes_no=self.yes_no, joined=self.joined, terms=terms, good=good,
            unmeasured=self.unmeasured, excluded=tuple(dict.fromkeys(excluded)),
            tools=self.tools, attributes=self.attributes, remedies=self.remedies, scale=self.scale,
            threshold=self.threshold, severities=degrees(self.clause), sought=self._sought(), places=self.places,
            objects=tuple(things),
            free=self.has("bad") and all(term_of(bad, self.clause).free for bad in spans_of("bad", self.clause)),
            # The "good" of "perfectly sharp" allows nothing.
            tolerant=self.has("noticed") or bool(_TOLERANT.search(self.clause))
            or (self.has("good") and not any(term.free for term in self.terms)),
            told=self.has("describe"), rescue=bool(_RESCUE.search(self.clause)), keep=self._keep(),
        )  # fmt: skip

    def _attributes(self) -> tuple[str, ...]:
        """What it wants to know of the file; "how many pixels wide" is no number of megapixels."""
        facts = [span for span in self.spans if span.section == "facts"]
        facts = [span for span in facts if span.key == "print"] or facts
        others = [(span, [other for other in facts if other is not span and other.start < span.end]) for span in facts]
        return tuple(dict.fromkeys(span.key for span, before in others if span.key != "megapixels" or not before))

    def _scale(self) -> Scale | None:
        strength = bool(self.terms) and self.named[0].section == "faults" and not self.has("good")
        # "How much quality was lost, in percent?" has its high end for much of that; "how sharp, 1 the worst" has not.
        losses = (self.clause[: span.start] for span in self.spans if span.key in ("worse", "lost"))
        of_fault = any(map(_LOSS.search, losses)) or (strength and not re.search(r"\bqualit", self.clause))
        scale = read_scale(self.clause, of_fault=of_fault)
        # "At ISO 100 and 1/60 s. Is it good?" tells no scale.
        graded = spans_of("rate", self.context) or spans_of("scales", self.context) or not self.yes_no
        graded = graded or re.search(r"\bfrom \d", self.context)
        return scale or (read_scale(self.text) if self.has("rate") or (self.has("good") and graded) else None)

    def _good(self) -> bool | None:
        """Whether it speaks of good or bad quality; "is it right?" does, "am I right?" is about what was said."""
        right = re.search(r"(?<!\bi )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bwe )\bright\W*$", self.clause)
        right = right and not self.places and "left" not in self.clause and "yes_no" in self.begins
        denied = re.search(r"\bnot (?:(?:quite|really|all) )?right\W*$", self.clause)
        if right and denied and not CONFIRMED.search(self.clause):
            return False
        if not (self.has("bad") or self.has("good") or right):
            return False if self.out and not self.terms else None
        return not self.has("bad")

    def _settled(self, operation: Operation, good: bool | None) -> Operation:
        """The operation once it is known what it is about; the terms and the form of the answer with it."""
        neutral = {span.section for span in self.named} == {"topics"} and not any(term.absent for term in self.terms)
        if operation is Operation.DECIDE and self.terms and (self._offers() or (neutral and good is None)):
            # "Is it noise or just the texture?", "is the exposure balanced?": what is there, as no word says what yes
            # would mean.
            operation, self.yes_no = Operation.FIND, False
        if operation is Operation.ADVISE and not self.remedies:
            # "How can I make it brighter?" is about too little light.
            wished = [Term(name=name, word=span.text) for span in self.named if (name := self._wished(span))]
            self.terms = tuple(wished) or self.terms
        if operation is Operation.COMPARE and self.joined == "or" and len(self.places) > 1:
            # "Is the left or the right half sharper?" asks which.
            held = _HELD.search(self.clause) or "differ" in self.clause
            self.yes_no = bool(self.yes_no and held and self.begins & {"yes_no"})
        if not self.terms and (operation is Operation.CURATE or (operation is Operation.COMPARE and good is None)):
            self.terms = tuple(term_of(each, self.context) for each in spans(self.context) if self._is_term(each))
        return operation

    def _excluded(self) -> tuple[str, ...]:
        """The distortions that it is not about, in its own words or, where it names none, in those beside it."""
        left, own = set_aside(self.context), tuple(span.key for span in self.out)
        if self.terms:
            return own
        if self.has("else") or self.has("except") or (self.has("bad") and left):
            left = [span for span in spans(self.context) if span.section in ("faults", "topics")]
        return (*own, *map(canonical, left))

    def _operation(self) -> Operation:
        """What is wanted: the closed forms first."""
        has, terms, attributes, tools, remedies = self.has, self.terms, self.attributes, self.tools, self.remedies
        strong = any(span.section != "topics" for span in self.named)
        # "Can I use it for a poster?" asks for more than its pixels.
        suits = "print" in attributes and self.yes_no and (has("good") or has("keep"))
        # "Is this a good portrait?" is about a kind of picture, "is the format right?" about the file.
        kind = {"orientation", "colour", "format"}.issuperset(attributes)
        kind = kind and not re.search(r"orientation|format|type\b|extension", self.clause)
        # "Is it okay that it is a PNG?" does not praise it.
        praised = (self.clause[span.end :] for span in self.spans if span.section == "good")
        praised = not all(re.match(r" (?:that|dass|que|che)\b", rest) for rest in praised)
        suits = suits or (kind and (self.scale is not None or has("rate") or has("keep") or praised))
        told = attributes and not strong and not suits and not has("bad") and ("print" in attributes or not remedies)
        says = has("metrics") and re.search(r"\b(?:say|says|give|gives|report|values?|scores?|results?)\b", self.clause)
        converts = attributes == ("format",) and has("reference")
        parts = max(len(self.places), len(objects(self.clause)))
        compares = parts > 1 and bool(self._sought() or (terms and self.joined == "or")) and not self._to_reference()
        better = self.which and not (terms or has("advice") or attributes) and self._ranks_images()
        beside = has("reference") or (not terms and any(spans_of("reference", self.context)))
        graded = degrees(self.clause) and not any(term.absent for term in self.terms)  # "extremely sharp" is none
        how_much = has("degree") or bool(graded) or "percentage" in self.clause
        rates = has("rate") and not self.yes_no
        praises = "what" in self.begins and has("good") and not has("bad") and not terms
        # The first one that holds; what is precise comes before what is only suggested.
        wanted: tuple[tuple[object, Operation], ...] = (
            (self.threshold is not None, Operation.DECIDE),
            (told, Operation.RELATE if converts else Operation.READ),
            (self.unmeasured and not (terms or self.out or remedies), Operation.DECLINE),
            (tools and not terms, Operation.RATE if has("rate") or has("good") else Operation.MEASURE),
            (says and not tools, Operation.MEASURE),
            (has("metrics") and not tools, Operation.RECOMMEND),
            (self._curates() and not self._mends(), Operation.CURATE),
            (self.scale is not None, Operation.RATE),
            (compares, Operation.COMPARE),
            (better, Operation.RELATE),
            (self._chooses(), Operation.CHOOSE),
            (remedies or self._advises(), Operation.ADVISE),
            (beside, Operation.RELATE),
            (terms and how_much and not (self.yes_no and has("noticed")), Operation.DEGREE),
            (has("degree") and has("bad") and not self.yes_no, Operation.DEGREE),
            ((rates and not (has("bad") and has("describe"))) or praises, Operation.RATE),
            (self._praises_a_thing(), Operation.DECLINE),
            ("what" in self.begins and not self.yes_no, self._open()),
            (terms and self.yes_no and BECAME.search(self.clause), Operation.RELATE),
            (terms or (self.yes_no and (self.out or has("bad") or has("good") or has("rate"))), Operation.DECIDE),
            (self.yes_no, Operation.DECIDE if has("image") and SERVES.search(self.clause) else Operation.DECLINE),
        )
        return next((operation for holds, operation in wanted if holds), self._open())

    def _ranks_images(self) -> bool:
        """Whether something is to be better or worse, but not "le pire défaut", "lo peor", "la mejor manera"."""
        ranks = [span for span in self.spans if span.section == "ranks" and span.key != "lost"]
        starts = {span.start for span in ranks}
        bad = any(span.section == "bad" and span.start not in starts for span in self.spans)
        known = {span.start for span in self.spans if span.section in ("image", "reference", "function")}
        led = [(re.search(r"\b(?:l[aeo]|el|il) $", self.clause[: span.start]), span.end) for span in ranks]
        things = [end for article, end in led if article and end + 1 not in known and self.clause[end:].strip(" ?.!")]
        return bool(ranks) and not (bad or things or self._asked_area())

    def _asked_area(self) -> Span | None:
        """The word for a part of the image that is asked for: "which part", but not "what is in the darker part"."""
        areas = (span for span in self.spans if span.key == "area" and not self.yes_no)
        return next((span for span in areas if _WHICH_OF.search(self.clause[: span.start])), None)

    def _advises(self) -> bool:
        """Whether it asks what to do; "has it been edited?" and "can you help me?" do not."""
        done = re.match(r"\W*(?:(?:was|were) (?:it|this|the)|has|have|did|wurde|hat)\b|.*\bhelp me\b", self.clause)
        asks = self.yes_no or "what" in self.begins or self.which or self.clause.rstrip().endswith("?")
        return self.has("advice") and not done and asks

    def _mends(self) -> bool:
        """Whether what is to go is a fault and not the image: "remove the grain", "can the banding be taken out?"."""
        advised = {span[2:] for span in self.spans if span.section == "advice"}
        going = [span for span in self.spans if span.section == "drop" and span[2:] in advised]
        between = r"(?: (?:in|of|from) \w+ \w+)? (?:(?:be|the|this|that|these|those|all|any|some) )+(?:\w+ )?"
        # "Remove the noisy images", "the ones with noise", "the worst" ask which to keep.
        faults = [span for span in self.spans if span in self.named or _FLAW.fullmatch(span.text)]
        faults = [span for span in faults if not _IMAGES.match(self.clause[span.end :])]
        faults = [span for span in faults if not _OF_IMAGES.search(self.clause[: span.start])]
        gaps = (self.clause[min(a.end, b.end) : max(a.start, b.start)] for a in faults for b in going)
        return any(re.fullmatch(between, gap) for gap in gaps)

    def _offers(self) -> bool:
        """Whether it puts one known thing beside another that is not known, or degrees beside each other."""
        joined = re.search(r"\b(?:or|oder|ou|o) (?!not\b|nicht\b|nein\b|no\b|non\b|pas\b)", self.clause)
        return bool(joined) and len({term.name for term in self.terms}) == 1 and not _EXISTS.search(self.clause)

    def _was_done(self) -> bool:
        """Whether a remedy is spoken of as something that somebody did to the image."""
        begins = re.match(r"\W*(?:was|were|has|have|did|wurde|hat)\b", self.clause)
        wanted = re.search(r"\b(?:should|could|can|must|need\w*|be|get|soll\w*|kann)\b", self.clause)
        # "Is it sharpened?", "is there too much sharpening?", "is the noise reduction too strong?"
        did = any(span.section == "remedies" and span.text.endswith(("ed", "blown up")) for span in self.spans)
        did = did or bool(re.search(r"\btoo much (?:\w+ )?\w+(?:ing|tion)\b|(?:ing|tion) too\b", self.clause))
        return bool((begins and self.joined == "or") or (did and self.yes_no and not wanted))

    def _praises_a_thing(self) -> bool:
        """Whether what is to be good is no image and nothing of one: "is it a good composition?"."""
        if self.terms or self.has("bad"):
            return False
        starts = {span.start for span in self.spans}
        led = r"(?:^|, |\b(?:an?|the|eine?|une?|una|uno) (?:(?!quality)\w+ )?)$"
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
        ruled = any(spans_of(section, self.context) for section in ("keep", "drop")) and any(
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

    def _chooses(self) -> bool:
        """Whether it offers distortions, or remedies, to choose from."""
        joined = re.search(r"\b(?:or|oder|ou|o|than|als|que)\b", self.clause)
        faults = {(term.name, term.absent) for term in self.terms}
        offered = set(self.remedies) or faults if len(faults) < 2 or self.has("advice") else faults
        listed = self.which or re.search(r"\b1\W.*\b2\W|\b(?:choose|pick|select)\b", self.clause)
        joined = joined or (listed and len({term.name for term in self.terms}) > 1)
        if not joined or _EXISTS.search(self.clause) or CONFIRMED.search(self.clause):
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
        no_more, at_least = NO_MORE.search(self.clause), AT_LEAST.search(self.clause)
        less = bool(_NOT_AS.search(self.clause) or no_more) or (self.has("less") and not at_least)
        if self._alike() and not (less or at_least):
            return "equal"
        several = len(named_places(self.clause)) > 1
        beside = self.yes_no and self.terms and self.has("reference") and (not several or self._to_reference())
        # "Is it sharp after the conversion, compared with the original?" seeks neither more nor less.
        said = " ".join(term.word for term in self.terms) if beside else self.clause
        compares = re.search(r"\w(?:er|est)\b|compar|vergl|differ|unterschied|\bvs\b|versus", said)
        offers = self.joined == "or" and several
        if not (self.has("more") or less or at_least or self.which or compares or offers):
            return None
        cuts = any(span.key == "crop" for span in self.spans)
        wants_less = any(term.absent for term in self.terms) if self.terms else not (self.has("bad") or cuts)
        return "less" if wants_less is not less else "more"

    def _to_reference(self) -> bool:
        """Whether each place is held against the reference: "are the corners darker than in the original?"."""
        rests = [self.clause[match.end() :] for match in _HELD.finditer(self.clause)]
        held = any(spans_of("reference", rest) and not named_places(rest) for rest in rests)
        return self.yes_no and (held or (not rests and bool(BECAME.search(self.clause))))

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
        area = self._asked_area()
        words = [span for span in self.spans if span in self.named or span.section in ("bad", "good", "ranks")]
        most = any(_RANKED.match(span.text) or span.key in ("better", "worse") for span in words)
        most = most or re.search(r"\b(?:most|meisten|plus|más|più)\b", self.clause)
        most = most or (asks and re.search(r"\w(?:est|sten)\b", self.clause))
        even = everywhere and everywhere[1] and self.yes_no and not self.has("reference")
        # "Which part is blurred?" asks as "where" does, and "which part is sharper?" compares.
        ranked = most and (area or (asks and self.terms))
        anywhere = named_places("the four quarters") if ranked or (even and self.terms) else ()
        places = tuple(named_places(self.clause) or named_places(self.context) or anywhere)
        # "Is the left side blurrier?", "only the left half", "the top third against the rest" have one to compare with.
        ends = r"(?: (?:in|on|at|to|towards?) .*)?\W*$"
        word = re.match(rf"\W*(?:{VERBS}|does) (?!there\b).*? (\w+er|worse){ends}", self.clause)
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


_REMEDIES: dict[str, Any] = shipped("loopwright.workflows.iqa", "data/remedies.yaml")
_EFFECTS, _MORE_OF, _BY_COMPARATIVE = (_REMEDIES[name] for name in ("overdone", "more_of", "comparative"))

_WHICH = r"which|what|where|welch\w*|was|wo|quel\w*|où|qué|cuál|qual[ei]?|dónde"
_WHICH_OF = re.compile(rf"\b(?:{_WHICH})(?: [\w']+){{0,3}} (?:(?<!er )|(?<=welcher ))$")
_RANKED = re.compile(
    r"(?!(?:pixel)?fehler|schleier|sauber|düster|finster|jitter|shutter|salt|matter|suffer|bother)"
    r".*(?:er|est|sten|worst|worse)$"
)
_LOSS = re.compile(
    r"\b(?:how (?:much|many|worse)|rate the|percentage|wie ?viel\w*|combien|pourcentage|cuánt\w*|porcentaje|quant\w*)\b"
    r"(?:(?!\b(?:good|left|remain\w*|after|despite|gut|nach|trotz|bien|après|después|dopo)\b)\D)*$"
    r"(?<!\bsans )(?<!\bsin )(?<!\bsenza )(?<!\bohne )(?<!\bwithout )(?<!\bno )(?<!\b[eil][laei] )"
)
"""What stands before a loss whose amount is asked for, not before one that is denied or a named end of a scale."""
_HELD = re.compile(r"\b(?:than|as|als|wie|que|che|como)\b")
_WITHIN = re.compile(
    rf"\b(?:(?:in|of|over|from|at|on|dans|sur|en|nel) (?:{DETERMINER}|den|dem)|im|nelle|negli|nei|nella) (?:\w+ )?$"
)
"""What leads to a place that is named by its light."""
_BESIDE = re.compile(
    r"\b(?:despite|with|without|besides?|from|than|trotz|mit|ohne|außer|malgré|avec|sans|sauf|con|sin|senza|salvo)"
    rf" (?:(?:{DETERMINER}|an?|den|dem) )?$"
)
"""What leads to something that is not asked about."""
_EVERYWHERE = re.compile(
    r"\b(?:whole|everywhere|all over|überall|ganze\w*|partout|(equally|evenly|uniform\w*|gleich\w*|également))\b"
)
_RESCUE = re.compile(
    r"\b(?:back|recover\w*|rescue\w*|restor\w*|salvag\w*|undo\w*|revers\w*|rett\w*|wiederher\w*|récup\w*|sauv\w*"
    r"|recuper\w*|salv\w*)\b"
)
_TOLERANT = re.compile(r"\benough\b|\btoo (?:strong|severe|heavy|serious|thick)\b")
_REST = re.compile(r"\bthe (?:rest|other)\b|\b(?:is|are) (?:\w+ ){0,3}(?:only|just|limited|confined) (?:\w+ )?the\b")
_OPPOSITE = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}

"""One question, read against a conference: conditions, what is excluded, what is to be done, and the rest."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import chain, pairwise
from math import inf

from rapidfuzz import process
from rapidfuzz.distance import OSA

from loopwright.retrieval.english import english_words, share
from loopwright.retrieval.text import STOP_WORDS, fold, terms
from loopwright.workflows.assistant.question import facts, moments
from loopwright.workflows.assistant.question import names as naming
from loopwright.workflows.assistant.question.nearest import Near, asked_with, nearest, refused
from loopwright.workflows.assistant.question.negation import asked_until, cue_at, denied, unread
from loopwright.workflows.assistant.question.presence import read_presence
from loopwright.workflows.assistant.question.tokens import Sentence, Span, Token
from loopwright.workflows.assistant.schemas import Condition, Filters, Operation, Question, Slot, Table
from loopwright.workflows.assistant.searching.index import SHORTHAND, TableIndex, keys_of
from loopwright.workflows.assistant.searching.lexicon import cues, days, glossary, spoken, table, words
from loopwright.workflows.assistant.searching.search import Search
from loopwright.workflows.assistant.sources.catalogue import holds, span_of

_RARE = 1e-5
"""A word with a smaller share of English names a subject, however many sessions have it."""
_WAITS = re.compile(r"(?i)\b(?:long(?:er)?|lange)(?: (?:is|it|left|dauert|ist|es|noch))* (?:until|till?|before|bis)\b")
_CHILDREN = re.compile(
    r"(?i)\b(?:\d|1[0-7]|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven)teen)"
    r"[ -]year[ -]old(?:s\b|(?=\s*(?:$|[,.;:!?)]|(?:and|or|but|so|if|who|that|can|is|to|in|on|at|with)\b)))"
)
"""Who is called by an age below 18: "for my 8 year old", "twelve-year-olds"; but no 8 year old project."""
_PARTED = 3
"""The fewest letters of a part of a word that was written as two."""
MAX_QUESTION = 1_000
"""The most characters of a question that are read."""
SUBJECT = 0.9
"""The weight of a word that can be what a question is about, beside conditions; without any, half of it."""
DOUBTFUL = 4.5
"""The log-odds from which a question may ask for something else than it was read as."""
CLEAR, NEAR, ALONE = 2.0, 9.0, 6.5
"""Log-odds: above the next operation; for one on records, and above a search; for what is asked without a subject."""
_DOUBTED = frozenset({"outside", "now", "next", "previous", "first", "last", "longest", "shortest", "clash", "until"})
_HOME = re.compile(r"(?i)\b(?:i|we) (?:go|head) home\b")
_MOMENTS: dict[Operation, Slot] = {"now": "on", "next": "start", "previous": "end"}
"""What goes by the present moment -> what that moment is a limit of."""
_PEOPLE, _SPOKEN = {"people", "persons"}, naming.SPEAKING - {"is", "does", "by", "when"}
_ALONE = frozenset({"greeting", "thanks", "help"})


@dataclass(slots=True)
class Reader:
    """Reads the questions of one conversation."""

    search: Search
    """The conference and its words."""
    moment: datetime | None
    """The moment of asking."""
    index: TableIndex = field(init=False)
    """The words of its sessions."""
    names: naming.Names = field(init=False)
    """Its names."""
    last: Sentence = field(init=False)
    """The question read last, each word with what it was read as."""
    days: tuple[str, ...] = ()
    """The days that the turn before asked for, or the one of all that was shown last."""
    doubted: bool = False
    """Whether it may ask for something else than a search, as it seems."""
    at_stand: bool = False
    """Whether it asks an exhibitor for what no programme has, as stickers."""

    def __post_init__(self) -> None:
        """Look at the conference once for all that is read."""
        self.index, self.names = self.search.index(), naming.names_of(self.search.catalogue)

    def sentence(self, text: str) -> Sentence:
        """A question with its conditions read."""
        names = self.names
        sentence = Sentence.of(text[:MAX_QUESTION])
        self._mend(sentence)
        self.index = self.search.index(Table.EXHIBITORS if self.asks_stands(sentence) else Table.SESSIONS)
        if records := naming.read_titles(sentence, names):
            place = next(n for n, token in enumerate(sentence.tokens) if token.taken == "record")
            named = Condition(slot="record", values=tuple(each.id for each in records), said=records[0].title)
            sentence.spans.append(Span(place, place + 1, named))
        elif (plainer := _HOME.sub("we leave", _CHILDREN.sub("children", text))) != text:
            return self.sentence(plainer)
        naming.read_beside(sentence, names)
        moments.read_days(sentence, names.days, self.now, self.days)
        self._meals(sentence)
        windows = moments.read_windows(sentence, names.days)
        naming.read_places(sentence, names)
        moments.read_times(sentence, self.now)
        moments.read_lengths(sentence)
        naming.read_persons(sentence, names)
        naming.read_kinds(sentence, names)
        read_presence(sentence, lambda place: self.weight(sentence, place))
        sentence.spans += windows
        _without_reasons(sentence)
        self._without_background(sentence)
        self._corrected(sentence)
        for place, token in enumerate(sentence.tokens):
            # "The congress", but not "the congress dinner".
            the = {"the", "this"} if sentence.language == "en" else words("grammar", "opening", sentence.language)
            named = sentence.is_any(place - 1, the) and sentence.is_any(place, words("things", "conference"))
            alone = named and not self.names.titled(sentence.raw(place, place + 2) if place + 1 < len(sentence) else "")
            if alone or self.names.called.intersection(terms(token.word)):
                sentence.take(place, place + 1, "conference")
        return sentence

    def _meals(self, sentence: Sentence) -> None:
        """A meal of the programme is asked for itself, unless it only says when: on the days asked for, or today."""
        days = {day for span in sentence.spans if span.condition.slot == "day" for day in span.condition.values}
        today, begun = {self.now.day.isoformat()} if self.now else set[str](), self._begun()
        for place in (n for n in range(len(sentence)) if sentence.is_any(n, words("time", "noon dinner"))):
            word = sentence.word(place)
            called = self.names.titled(glossary(word, sentence.language)) or self.names.titled(word)
            meals = [] if word in moments.MIDDAY else called
            to_come = not all(any(holds(each, past) for past in begun) for each in meals)
            waits = to_come and _WAITS.search(sentence.text)  # "how long until lunch?"
            before = place - 1 - sentence.is_any(place - 1, ("the", "dem", "zum"))
            timing = words("time", "at before after during between to", sentence.language)
            if called and (waits or not sentence.is_any(before, timing)):
                sentence.take(place, place + 1, "title")
                continue
            named = sorted(meals, key=lambda each: -len(each.title))  # "Lunch" rather than "Lunch quiz"
            spans = {each.values("day")[0]: span_of(each) for each in named if each.end and not each.values("speaker")}
            if own := [spans[day] for day in days or self.days or today & spans.keys() or spans if day in spans]:
                sentence.meals[word] = min(own)[0], max(last for _, last in own)

    def _corrected(self, sentence: Sentence) -> None:
        """What somebody takes back in the same breath is not asked: "on Saturday, no wait, Sunday"."""
        for place in range(len(sentence)):
            mends, denies = sentence.is_any(place, words("turns", "mends")), sentence.word(place - 1) == "no"
            if not mends and not (sentence.word(place) == "no" and sentence.is_any(place + 1, words("turns", "opens"))):
                continue
            later = {span.condition.slot for span in sentence.spans if span.first > place}
            corrects = any(span.last <= place and span.condition.slot in later for span in sentence.spans)
            # "Scratch, Sunday" and "scratch that" take something back, and "Scratch for children" is a subject.
            behind = sentence.tokens[place + 1 : place + 2] if sentence.begins(place) else []
            corrects |= denies or any(each.gap != " " or each.taken or each.word == "that" for each in behind)
            if mends and not corrects:
                continue
            sentence.take(place - (mends and denies), place + 1 + (not mends), "correction")
            sentence.spans = [span for span in sentence.spans if span.first > place or span.condition.slot not in later]

    def _without_background(self, sentence: Sentence) -> None:
        """What somebody tells of themselves is no subject where another follows: "I walk with a stick, so no hills"."""
        for place in (place for place in range(len(sentence)) if sentence.concludes(place)):
            first = max(other for other in range(place) if sentence.begins(other))
            tells = any(sentence.is_any(other, words("time", "person", "en")) for other in (first, first + 1))
            if tells and any(self.is_subject(sentence, other) for other in self._known(sentence) if other > place):
                sentence.take(first, place, "told")

    def conditions(self, text: str) -> tuple[Condition, ...]:
        """What a few words ask of time, place, kind and persons; what the programme does not have is left out."""
        sentence = self.sentence(text)
        return () if sentence.notes else _joined(sentence.spans)

    @property
    def now(self) -> moments.Now | None:
        """The moment of asking, by the conference's clock."""
        return moments.Now.of(self.moment, self.search.catalogue.info)

    def read(self, text: str) -> Question:
        """Read a question that stands alone."""
        sentence = self.last = self.sentence(text)
        near = self.operation(sentence)
        operation, by = self._asked(sentence, near)
        doubted, said = self.doubted, {token.word for token in sentence.tokens}
        wanted = moments.read_number(sentence) if operation in ("find", "recommend") else 0
        coming = self._next_thing(sentence) if operation == "find" else 0
        coming = 1 if operation == "next" and sentence.asks("person", "track", "type") else coming
        if operation in ("outside", *_ALONE, "personal"):
            return Question(text=text, operation=operation, tables=())
        # What made the operation be seen asks for it, and is no subject.
        for place, token in enumerate(sentence.tokens if operation != "find" else ()):
            telling = near.terms.intersection(terms(token.word)) and not self.is_subject(sentence, place)
            ordered = operation in ("first", "last") and sentence.language != "en"  # "la dernière conférence"
            ordered = token.word in words("things", "first last" if ordered else "last" if operation == "until" else "")
            if telling or ordered:
                token.taken = token.taken or "operation"
        # "Who spoke at ten?", and what has the most of something that nobody counts.
        past = operation == "previous" and sentence.asks("start", "on", "end")
        ends = (each.condition for each in sentence.spans if each.condition.slot == "end")
        exact = any(each.least and each.most for each in ends)  # the "ends" made it look like "last"
        if past or (operation == "last" and exact) or (operation == "most" and not by):
            operation = "find"
        spans, excluded = denied(sentence, lambda place: self._deniable(sentence, place))
        excluded = self._in_other_words(sentence, excluded)
        self._namesakes(sentence, spans, excluded)
        tables = self.tables(sentence, spans)
        if {*tables} <= {Table.EXHIBITORS, Table.ATTENDEES} and operation not in ("count", "recommend"):
            operation, doubted = "find", doubted or operation in _DOUBTED  # stands are there all day
        # Who names a session by its title asks for that one, whatever else is said.
        topic = "" if sentence.asks("record") and operation == "find" else self.topic(sentence, excluded)
        if operation == "recommend" and topic:
            operation = "find"
        if operation in ("now", "next", "previous"):  # of the moment and a room anybody may ask in many words
            topic = " ".join(sentence.tokens[place].raw for place in self._subjects(sentence, excluded))
        noun = facts.counts(fold(topic))  # "which authors are there?", "how many halls?"
        topic = "" if by and noun == by else topic
        whole = operation == "find" and topic == sentence.raw(0, len(sentence))
        now = operation == "now"
        unclear = now or operation == "find" or (operation == "most" and near.likeness < ALONE)
        if unclear and (whole or not topic or noun) and (listed := facts.listed(sentence)):
            people, topic, whole = listed == Table.SPEAKERS, "", False  # "who are the speakers?"
            operation, by, tables = ("find", "", (Table.SPEAKERS,)) if people else ("about", listed, tables)
        by = "free room" if by == "room" and facts.asks_free(sentence) else by
        # No word of it is a subject.
        marked = (each for each in sentence.rest() if not _only_asks(sentence.word(each)) and _marked(sentence, each))
        known = self.search.vocabulary
        spelled = (n for n in sentence.rest() if known.knows(sentence.word(n)) or known.others(sentence.word(n)))
        plain = len(sentence) < 4 and any(self.is_subject(sentence, place) for place in spelled)
        doubted |= whole and not plain and not any(marked)
        now |= by == "free room" and not (sentence.asks("day") or ("day" in said and said & {"all", "whole"}))
        limit = "now" if now else "previous" if past else "find" if coming == 1 else operation
        filters = self._filters(sentence, limit, spans, excluded, coming)
        include, exclude, barred = filters.include, filters.exclude, [span.condition for span in spans]
        unwanted = [said for each in barred for said in (*each.values, each.said) if said]
        # Where a time was read, or a place or a person and no topic, all that is shown fits it.
        clear = ("start", "on", "record", *(() if topic else ("room", "track", "type", "person")))
        doubted = doubted and not any(each.slot in clear for each in include)
        notes = [*sentence.notes]
        if operation == "find":
            notes += [f"I did not understand “{each}”, so this goes by the rest" for each in unread(sentence)]
        kind = operation == "count" and not (by or sentence.asks("type") or said & words("things", "sessions thing"))
        unsaid = self.unread(sentence) if (kind or operation == "find") and not topic else []
        unsaid = [n for n in unsaid if not kind or sentence.is_any(n - 1, ("many", "of"))]  # "how many tutorials?"
        whole = all(each.slot == "day" or not (each.said or each.values) for each in include)
        if unsaid and whole:
            # Plain words are no clear subject, but all of a day is no answer to them.
            places = [place for place in sentence.rest() if place in unsaid or self._belongs(sentence, place, unsaid)]
            topic = " ".join(sentence.tokens[place].raw for place in places)
            unsaid, doubted = [], True
        elif whole and operation == "find" and not (topic or excluded or exclude or notes):
            unsaid = facts.unlisted(sentence)
        return Question(
            text=text,
            operation="next" if coming == 1 and operation == "find" else operation,
            tables=tables,
            topic=topic,
            filters=filters,
            by=by,
            wanted=wanted,
            # Who is not wanted need not be there.
            notes=tuple(dict.fromkeys(each for each in notes if not any(value in each for value in unwanted))),
            doubted=doubted,
            unread=tuple(sentence.tokens[place].raw for place in unsaid),
        )

    def _filters(
        self, sentence: Sentence, operation: Operation, spans: list[Span], without: list[str], coming: int
    ) -> Filters:
        """What records must be, and what they must not be: what spans say, and subjects; how many of them come next."""
        exclude = tuple(span.condition for span in spans)
        # What is not wanted is not asked for by being named again: "anything but Sunday; Sunday is for the family".
        barred = {(each.slot, each.values) for each in exclude if each.values}
        kept = [each for each in sentence.spans if (each.condition.slot, each.condition.values) not in barred]
        include = _joined([span for span in kept if span not in spans])
        operation = "next" if coming > 1 else operation
        include += self._to_come(include, self._moment(sentence, operation), sentence)
        # The next keynote may be one of another day.
        begun = self._begun() if operation == "until" or coming == 1 else ()
        records = self.search.catalogue.records
        titled = [records[value] for each in include if each.slot == "record" for value in each.values]
        # What is named and has begun is told of, unless it comes again.
        if not titled or any(not any(holds(each, past) for past in begun) for each in titled):
            exclude += begun
        return Filters(include=include, exclude=exclude, without=tuple(dict.fromkeys(without)))

    def _asked(self, sentence: Sentence, near: Near) -> tuple[Operation, str]:
        """What of the programme's own is to be done, and what is counted, where it looks like an operation."""
        operation, by = near.operation, facts.counted_by(sentence, near.operation)
        said = {token.word for token in sentence.tokens}
        counted = [n for n, each in enumerate(sentence.tokens) if by and facts.counts(each.word) == by]
        talks = next((n for n in range(len(sentence)) if sentence.is_any(n, words("things", "sessions"))), inf)
        if operation == "most" and any(n > talks or cue_at(sentence, n - 1) for n in counted):
            return "find", ""  # "which talk has no room?", "which talk has the most speakers?"
        # Those who come are in no programme, nor is the most popular talk.
        guests = operation in ("count", "about", "most") and said & _PEOPLE and not said & _SPOKEN
        if guests or (operation == "most" and not (by or sentence.spans or self.topic(sentence))):
            return "outside", ""
        subjects = {n: terms(sentence.word(n)) for n in self._subjects(sentence, ())} if operation == "outside" else {}
        named = [sentence.word(n) for n, own in subjects.items() if asked_with("outside").isdisjoint(own)]
        meal = any(each.taken == "title" and each.word in words("time", "noon dinner") for each in sentence.tokens)
        bare = sentence.raw(0, len(sentence)) if 1 < len(sentence) < 4 else ""  # "food prices"
        titled = self.names.titled(" ".join(named)) or (operation == "outside" and self.names.titled(bare))
        if titled or (operation == "outside" and meal):  # "how do I get rid of mites?"
            operation, self.doubted = "find", bool(named)
        return operation, by

    def operation(self, sentence: Sentence) -> Near:
        """What is to be done: the nearest example to any of the sentences, unless it looks like a search."""
        starts = [place for place in range(len(sentence)) if sentence.begins(place) or sentence.concludes(place)] or [0]
        parts = [*pairwise([*starts, len(sentence)])]
        asking = [part for part in parts if not refused(sentence, *part)] or parts  # "so the one with ladders is out"
        bounds = [(first, asked_until(sentence, first, last)) for first, last in asking]
        found = [nearest(sentence, *each) for each in bounds]
        stand = self.names.has_stand(sentence) or self.asks_stands(sentence)
        self.at_stand = stand and any(near.operation == "outside" for near in found)
        found = [nearest(sentence, *each, answered=inf) for each in bounds] if stand else found
        told_at_length = sum(sentence.begins(first) for first, _ in bounds) > 2
        best, self.doubted = Near("find", 0.0, 0.0, 0.0), False
        subject = any(self.is_subject(sentence, place) for place in self._known(sentence))
        talks = [place for place in range(len(sentence)) if sentence.is_any(place, words("things", "sessions"))]
        asks = any(sentence.asks_at(place) for place in talks)
        for near, (first, _) in zip(found, bounds, strict=True):
            alone = near.operation in (*_ALONE, "about", "personal", "outside")
            # In a long message, or beside a question for talks, what looks like one of these tells, rather than asks.
            told = told_at_length or (asks and not sentence.asks_at(first))
            told &= alone or near.operation == "recommend"
            mixed = any(each.operation not in _ALONE for each in found)
            if near.operation == "find" or told or (near.operation in _ALONE and (mixed or subject)):
                continue
            # Where nothing else is a subject, less tells: "how many exhibitors?".
            person = near.operation in ("first", "count") and sentence.asks("person")  # "when does Ana talk?"
            bare = not (subject or alone or person) and near.operation not in (*_MOMENTS, "until")
            needed = DOUBTFUL if bare else ALONE if alone or near.clear else NEAR
            unclear = near.margin < CLEAR or min(near.likeness, near.search) < needed
            if unclear:
                self.doubted |= near.likeness >= DOUBTFUL and not told_at_length and near.operation in _DOUBTED
            elif near.likeness > best.likeness:
                best = near
        self.doubted &= best.operation == "find"
        return best

    def asks_stands(self, sentence: Sentence) -> bool:
        """Whether one of the stands is asked for, which may offer anything: "which booth", "is there a stand"."""
        asking = words("things", "any", "en") | {"which", "what", "a", "there"}
        said = (place for place in range(len(sentence)) if _says(sentence, place, Table.EXHIBITORS))
        has = self.search.catalogue.of_table(Table.EXHIBITORS)
        return bool(has) and any(sentence.begins(place) or sentence.is_any(place - 1, asking) for place in said)

    def weight(self, sentence: Sentence, place: int) -> float:
        """How much a word says of a subject."""
        word = sentence.word(place)
        speaks = sentence.says(place, "speaking") and not _marked(sentence, place)
        if speaks or _is_thing(word) or _is_filler(word) or moments.counts_at(sentence, place):
            return 0.0
        index = self.index
        raw = sentence.tokens[place].raw
        found = keys_of(raw if fold(raw) == word else word)
        weight = max((index.weight(term, named=sentence.named(place)) for term in found), default=0.0)
        if found and self.names.own.issuperset(found):
            return 0.0
        own = sentence.tokens[place].taken == "title" or (raw[1:].isupper() and not sentence.text.isupper())
        foreign = sentence.language != "en" and word in spoken(sentence.language) and not own  # "CI" is Italian too
        # What puts in order stands in no example of an operation in another language.
        if foreign and word not in words("things", "first last"):
            return 0.0
        if weight < SUBJECT and _marked(sentence, place) and all(share(term) < 2e-3 for term in found):
            weight = max(weight, 1.3 * max(index.weight(term, named=True) for term in found) if found else 0.0)
            weight = max(weight, SUBJECT * self._is_named(word))
        return weight

    def _is_named(self, word: str) -> bool:
        """Whether a word names a subject even where every session is about it: plain English hardly has it."""
        found = keys_of(word)
        return bool(found) and self.search.vocabulary.knows(word) and all(share(term) < _RARE for term in found)

    def _deniable(self, sentence: Sentence, place: int) -> float:
        """How much a word says of a subject that is denied: of another language only what is known to be one."""
        word = sentence.word(place)
        phrases = (word, f"{sentence.word(place - 1)} {word}", f"{word} {sentence.word(place + 1)}")
        known = self.search.vocabulary.knows(word) or any(glossary(each, sentence.language) for each in phrases)
        if sentence.language != "en" and not known:
            return 0.0
        plain = _only_asks(word) or word in spoken(sentence.language)  # "im", which plain English hardly has
        return max(self.weight(sentence, place), 0.0 if plain else SUBJECT * self._is_named(word))

    def _namesakes(self, sentence: Sentence, denied: Sequence[Span], without: Sequence[str]) -> None:
        """Of persons with one name, or one that differs by a slip, those who speak about the subject are meant."""
        index, wanted = self.search.index(), self._subjects(sentence, without)
        held = (n for each in wanted for key in keys_of(sentence.word(each)) for n in index.held(key)[0])
        speakers = {person for place in held for person in index.records[place].values("speaker")}
        asked = [each for each in sentence.spans if each not in denied]
        for span in [each for each in asked if (each.condition.slot, each.last - each.first) == ("person", 1)]:
            said = sentence.raw(span.first, span.last)
            meant = speakers.intersection(span.condition.values)
            family = any(fold(each).endswith(f" {fold(said)}") for each in span.condition.values)  # no "Andrea"
            slips = not meant and (family or fold(said) not in self.names.persons)
            meant |= naming.misspelt(fold(said), speakers if slips else ())
            if len(meant) == 1 and meant != {*span.condition.values}:
                sentence.spans.remove(span)
                sentence.ask(span.first, span.last, "person", *meant, said=f"with {min(meant)}")
                sentence.notes += [f"I took “{said}” to be {min(meant)}"] if slips else []

    def _in_other_words(self, sentence: Sentence, excluded: list[str]) -> list[str]:
        """What is excluded, in English; the rest of its clause asks for nothing, as "no quiero"."""
        if sentence.language == "en":
            return excluded
        for first, last in sentence.clauses():
            if any(token.taken == "negation" for token in sentence.tokens[first:last]):
                for place in (each for each in range(first, last) if not self._deniable(sentence, each)):
                    sentence.take(place, place + 1, "negation")
        return [glossary(fold(each), sentence.language) or each for each in excluded]

    def topic(self, sentence: Sentence, without: Sequence[str] = ()) -> str:
        """What is left to rank by, in the person's words and in English; empty where conditions say it all.

        Subjects that are not wanted are not wished for where they are named again.
        """
        unwanted = {term for topic in without for term in terms(topic)}
        counted = {n for n in sentence.rest() if moments.counts_at(sentence, n)}
        rest = [n for n in sentence.rest() if n not in counted and not unwanted.intersection(terms(sentence.word(n)))]
        weights = {place: self.weight(sentence, place) for place in rest}
        # What is told before or after a question that names its subject says why it is asked.
        asked = [place for place in rest if sentence.asks_at(place)]
        known = {place: weights[place] for place in rest if self.search.vocabulary.knows(sentence.word(place))}
        named = max((known.get(place, 0.0) for place in asked), default=0.0)
        marked = any(known.get(place, 0.0) >= SUBJECT and _marked(sentence, place) for place in asked)
        points = any(sentence.is_any(n, words("turns", "it")) and sentence.asks_at(n) for n in range(len(sentence)))
        if (marked and not points) or named >= max(SUBJECT, 0.8 * max(known.values(), default=0.0)):
            rest = asked
        english = self._in_english(sentence, rest)
        conditions = {span.condition.slot for span in sentence.spans} - {"day", "start", "end", "on"}
        rest = [place for place in rest if not self.is_stray(sentence, place)]
        telling = sum(sentence.word(place) not in STOP_WORDS for place in rest)
        least = SUBJECT if (conditions or len(rest) < 4) and telling < 6 else SUBJECT / 2
        if not english and max(weights.values(), default=0.0) < least:
            says = len(rest) > 3 and not all(_only_asks(sentence.word(place)) for place in rest)
            whole = says and not sentence.spans and self.operation(sentence).operation == "find"
            return sentence.raw(0, len(sentence)) if whole else ""
        kept = [place for place in rest if weights[place] > 0 or len(rest) > 3]
        heavy = [place for place in kept if weights[place] >= SUBJECT]
        subjects = [place for place in heavy if not _only_asks(sentence.word(place))]
        if not subjects and sentence.asks("person"):  # "I'd love to hear PERSON"
            return ""
        heavy = subjects or heavy
        if heavy or sentence.spans:  # words that people only ask with are no part of a subject
            idle = {n for n in kept if _only_asks(sentence.word(n)) and not self._belongs(sentence, n, heavy)}
            kept = [place for place in kept if place in heavy or place not in idle]
        kept = [sentence.tokens[place].raw for place in kept]
        if sentence.language != "en":
            # Of another language only what the programme has too, and what is known in English.
            told = [sentence.tokens[n].raw for n in rest if known.get(n, 0.0) > max(known.values(), default=0.0) / 2]
            named = [word for word in told if word[0].isupper()]
            plain = spoken(sentence.language)
            kept = [each for each in kept if fold(each) not in plain and not _only_asks(fold(each))]
            kept = named if english else told or kept
        return " ".join([*kept, *english]).strip()

    def _belongs(self, sentence: Sentence, place: int, subjects: Collection[int]) -> bool:
        """Whether a word right behind a subject is a part of it, as "learning" of "machine learning"."""
        beside = place - 1 in subjects and sentence.tokens[place].gap == " "
        return beside and self.weight(sentence, place) > SUBJECT / 2

    def is_stray(self, sentence: Sentence, place: int, *, mends: bool = False) -> bool:
        """Whether nobody here uses a word, and other words say what is wanted; of a turn that mends, a short word."""
        word = sentence.word(place)
        short = mends and len(word) <= SHORTHAND
        beside = short or sentence.asks("on", "minutes", "room", "track", "type", "language", "person", "record")
        # Who writes German with capitals writes subjects so: "Was kann ich morgen ansehen?"
        beside |= sentence.language == "de" and sentence.text != sentence.text.lower() and bool(sentence.spans)
        known = any(map(self.index.lexicon.knows, keys_of(word))) or (not short and self.search.vocabulary.others(word))
        return beside and not known and not sentence.tokens[place].raw[0].isupper() and not _marked(sentence, place)

    def _known(self, sentence: Sentence) -> list[int]:
        """The words that were read as nothing, and that the programme has."""
        return [place for place in sentence.rest() if self.search.vocabulary.knows(sentence.word(place))]

    def _subjects(self, sentence: Sentence, without: Sequence[str]) -> list[int]:
        """The words that can be a subject by themselves, and that the programme has."""
        unwanted = {term for topic in without for term in terms(topic)}
        found = [place for place in self._known(sentence) if self.is_subject(sentence, place)]
        return [place for place in found if not unwanted.intersection(terms(sentence.word(place)))]

    def is_subject(self, sentence: Sentence, place: int) -> bool:
        """Whether a word can be what is asked about by itself, and is none that people only ask with."""
        marked = sentence.says(place - 1, "about") and not sentence.is_any(place, words("turns", "after"))
        return self.weight(sentence, place) >= SUBJECT and (marked or not _only_asks(sentence.word(place)))

    def tables(self, sentence: Sentence, denied: Sequence[Span] = ()) -> tuple[Table, ...]:
        """Where to look, the most important first."""
        asked = [each.condition for each in sentence.spans if each not in denied and each.condition.slot == "record"]
        named = dict.fromkeys(self.search.catalogue.records[value].table for each in asked for value in each.values)
        if named.keys() - {Table.SESSIONS}:
            return (*named,)
        found: dict[Table, None] = {}
        for place in range(len(sentence)):
            for kind in (Table.EXHIBITORS, Table.ATTENDEES):
                if _says(sentence, place, kind) and sentence.tokens[place].taken in ("", "negation"):
                    found.setdefault(kind)
                    sentence.take(place, place + 1, "kind")
        rooms = {value for span in sentence.spans if span.condition.slot == "room" for value in span.condition.values}
        if rooms and rooms.isdisjoint(self.search.catalogue.values("room")):  # "who is at stand B12?"
            found.setdefault(Table.EXHIBITORS)
        pairs = pairwise(token.word for token in sentence.tokens)
        talking = {place for place, (one, other) in enumerate(pairs) if one == "talk" and other in ("to", "with")}
        asked = {token.word for place, token in enumerate(sentence.tokens) if place not in talking}
        sessions = asked & words("things", "sessions")
        if (asked & words("things", "meet", "en") or (talking and not found)) and not sessions:
            found |= dict.fromkeys((Table.SESSIONS, Table.SPEAKERS, Table.EXHIBITORS, Table.ATTENDEES))
        asking = words("things", "speakers", "en") | words("things", "speakers", sentence.language)
        speakers = sentence.is_any(0, asking)  # "wie" asks for persons in Dutch alone
        if not found and speakers and not sentence.asks("person") and not sessions:
            found = {Table.SESSIONS: None, Table.SPEAKERS: None}
            if not any(token.word in naming.SPEAKING for token in sentence.tokens):  # "who rents out headphones?"
                found[Table.EXHIBITORS] = None
        if not found or (found.keys() <= {Table.EXHIBITORS} and sessions):
            found = {Table.SESSIONS: None, **found}
        found = {Table.EXHIBITORS: None, **found} if self.at_stand else found
        present = [kind for kind in found if self.search.catalogue.of_table(kind)]
        return tuple(present or found)

    def _mend(self, sentence: Sentence) -> None:
        """Mend slips in the words that rules go by, and in names; what a subject was meant to be is for the search."""
        vocabulary = self.search.vocabulary
        for place in range(len(sentence) - 1):  # "sql lite"
            one, other = sentence.word(place), sentence.word(place + 1)
            joined = one + other
            apart = min(len(one), len(other)) < _PARTED or {one, other} & (STOP_WORDS | spoken(sentence.language))
            if not apart and sentence.tokens[place + 1].gap == " " and other not in vocabulary.spread:
                if meant := joined if joined in vocabulary.spread else vocabulary.spelled(joined):
                    sentence.tokens[place : place + 2] = [Token(meant, meant, sentence.tokens[place].gap)]
        for place, token in enumerate(sentence.tokens):
            asked = sentence.is_any(place - 1, words("things", "first last which"))
            if token.word in words("things", "shown slots" if asked else "shown"):  # "which act?", but not "Yard Act"
                token.word = "sessions" if token.word.endswith("s") else "session"
        denying = {word for phrase in cues() for word in phrase}
        rules = _rule_words() | spoken(sentence.language)
        known = (english_words(), vocabulary.spread, self.names.persons, rules, {*chain(*self.names.rooms)})
        for place, token in enumerate(sentence.tokens):
            word = token.word
            is_known = any(word in each for each in known)
            if is_known or len(word) < 4 or not word.isalpha():
                continue
            own = _rule_words() & (spoken(sentence.language) | spoken("en"))
            # Of another language not all words are known, and none of them is to deny what is asked: "Nacht", "nicht".
            own = own | words("turns", "corrects", "en") if sentence.language == "en" else own - denying
            meant = [each for each in (*own, *self.names.types) if len(each) > 4]
            token.word = _nearest(word, meant) or self._named(sentence, place) or word

    def _named(self, sentence: Sentence, place: int) -> str:
        """The name that a word was meant to be: one written as a name, or beside another of the same person."""
        persons = self.names.persons
        name = _nearest(sentence.word(place), [*persons], 7) if len(sentence.word(place)) > 5 else ""
        if not name or sentence.tokens[place].raw[0].isupper():
            return name
        beside = (sentence.word(other) for other in (place - 1, place + 1))
        meant = (persons.get(word) or persons.get(_nearest(word, [*persons]), set()) for word in beside)
        spoken = any(sentence.is_any(other, naming.SPEAKING) for other in (place - 2, place - 1, place + 1))
        return name if spoken or any(persons[name] & people for people in meant) else ""

    def _in_english(self, sentence: Sentence, rest: list[int]) -> list[str]:
        """What the subjects of a question in another language are called in English."""
        if sentence.language == "en":
            return []
        found: list[str] = []
        for place in rest:
            for length in (3, 2, 1):
                phrase = " ".join(token.word for token in sentence.tokens[place : place + length])
                if other := glossary(phrase, sentence.language):
                    found.append(other)
                    break
        return list(dict.fromkeys(found))

    def unread(self, sentence: Sentence) -> list[int]:
        """The words that say something, were read as nothing, and stand in no example of a search."""
        rest = sentence.rest() if sentence.language == "en" else []
        said = {place: sentence.word(place) for place in rest if not _is_filler(sentence.word(place))}
        kinds = {span.last for span in sentence.spans if span.condition.slot == "type"}  # "Junior workshops"
        return [n for n, word in said.items() if n not in kinds and not _only_asks(word.partition("'")[0])]

    def _moment(self, sentence: Sentence, operation: Operation) -> Operation:
        """The operation, or that of the present moment, as in "X now"; but not in "now we ..."."""
        if operation == "find":
            for place in sentence.rest():
                tells = sentence.begins(place) and sentence.is_any(place + 1, words("time", "person", "en"))
                if sentence.is_any(place, words("time", "now")) and not tells:
                    return "now"
        return operation

    def _next_thing(self, sentence: Sentence) -> int:
        """How many are asked for that come next: one for "the next keynote", 2 for "the next talks", 0 for none."""
        for place in (place for place in sentence.rest() if sentence.is_any(place, words("time", "next"))):
            for other in range(place + 1, min(place + 4, len(sentence))):
                thing = sentence.is_any(other, words("things", "sessions") | {"one", "ones"})
                thing |= sentence.tokens[other].taken == "type"
                if thing and sentence.tokens[place + 1].gap == " ":
                    sentence.take(place, place + 1, "operation")
                    return 1 + sentence.word(other).endswith("s")
        return 0

    def _begun(self) -> tuple[Condition, ...]:
        """What nobody waits for any more: what was on earlier days, or has begun by this very minute."""
        if self.now is None:
            return ()
        today = self.now.day.isoformat()
        past = tuple(day for day in self.names.days if day < today)
        begun = Condition(slot="start", values=(today,), most=self.now.minute + 1)
        return (Condition(slot="start", values=past), begun) if past else (begun,)

    def _to_come(self, include: tuple[Condition, ...], operation: Operation, said: Sentence) -> tuple[Condition, ...]:
        """What is asked of time that goes by the present moment: what is on now, next or was before, and still to come.

        Of today only what has not ended, and of what is only recommended, what begins later today. Who asks during the
        conference what is on at a time, and of no day or subject, means today's.
        """
        now = self.now
        if now is None:
            return ()
        today = now.day.isoformat()
        days = [value for each in include if each.slot == "day" for value in each.values]
        times = [each for each in include if each.slot in ("start", "on")]
        if operation in _MOMENTS:
            if times or any(each.slot == "end" for each in include) or any(day != today for day in days):
                return ()
            return now.conditions(_MOMENTS[operation], 1 if operation == "now" else None)[bool(days) :]
        named = any(each.slot in ("person", "record", "on") for each in include)
        if operation == "recommend" and not days and today in self.names.days:
            return now.conditions("start", None)
        to_come = all(each.most is None or each.most > now.minute for each in times) and today in self.names.days
        alone = not (days or self.days or said.asks("person", "record") or said.word(0) in words("turns", "opens"))
        if times and to_come and alone and operation == "find" and not self.topic(said):
            return now.conditions("on")[:1]
        over = any(each.most is not None and each.most <= now.minute for each in include)
        still = days == [today] and operation in ("find", "recommend") and not over and not named
        return (Condition(slot="end", least=now.minute),) if still else ()


def _joined(spans: list[Span]) -> tuple[Condition, ...]:
    """What is asked, the alternatives of one slot as one condition."""
    found: dict[str, Condition] = {}
    rest: list[Condition] = []
    for condition in (span.condition for span in spans):
        known = found.get(condition.slot)
        if not condition.values:
            same = (each for each in rest if each.slot == condition.slot)
            apart = next((each for each in same if gap_between(each, condition) >= 0), None)  # either is meant
            if apart is None:
                rest.append(condition)
            else:
                rest[rest.index(apart)] = _either(apart, condition)
        elif known is None:
            found[condition.slot] = condition
        else:
            values = tuple(dict.fromkeys((*known.values, *condition.values)))
            update = {"values": values, "said": f"{known.said} or {condition.said}"}
            found[condition.slot] = known.model_copy(update=update)
    return (*found.values(), *rest)


def gap_between(one: Condition, other: Condition) -> int:
    """The minutes between two times of one slot; less than none where they leave something together."""
    until = min(each.most if each.most is not None else moments.MIDNIGHT * 2 for each in (one, other))
    return max(one.least or 0, other.least or 0) - until


def _either(one: Condition, other: Condition) -> Condition:
    most = None if one.most is None or other.most is None else max(one.most, other.most)
    least = min(one.least or 0, other.least or 0) or None
    return one.model_copy(update={"least": least, "most": most, "said": f"{one.said} or {other.said}"})


def _without_reasons(sentence: Sentence) -> None:
    """What only says why, asks for nothing: "on Saturday, because I leave on Sunday"."""
    for place in range(1, len(sentence)):
        apart = bool(sentence.tokens[place].gap.strip()) or sentence.is_any(place + 1, words("time", "person"))
        # "On Saturday as well as on Sunday" and "was ist denn am Sonntag" give no reason.
        sure = not sentence.match(place, ("as", "well")) and (apart or not sentence.says(place, "doubtful"))
        if sure and sentence.is_any(place, words("negation", "reason", sentence.language)):
            end = next((other for other in range(place + 1, len(sentence)) if sentence.begins(other)), len(sentence))
            if any(span.last <= place for span in sentence.spans):
                sentence.spans = [span for span in sentence.spans if not place < span.first < end]
            if sentence.says(place, "because"):
                sentence.take(place, end, "reason")


def _marked(sentence: Sentence, place: int) -> bool:
    """Whether a subject stands here: behind "about", or before "talks"."""
    before = sentence.says(place - 1, "about")
    return before or (_is_thing(sentence.word(place + 1)) and not sentence.begins(place + 1))


def _only_asks(word: str) -> bool:
    speaks = word in naming.SPEAKING
    return speaks or _is_filler(word) or _is_thing(word) or bool(asked_with().intersection(terms(word)))


def _is_filler(word: str) -> bool:
    """Whether a word says nothing by itself: "the", "pls", "couldn't"."""
    return word in STOP_WORDS or word.endswith("n't") or word in words("turns", "filler")


def _says(sentence: Sentence, place: int, kind: Table) -> bool:
    """Whether a word is one for stands, or for those who come, and no verb: "I can't stand X", "what X stands for"."""
    stands_for = sentence.word(place + 1) == "for" and sentence.begins(place + 2)
    verb = sentence.word(place - 1).endswith("n't") or stands_for
    return sentence.is_any(place, words("things", kind.value)) and not verb


def _is_thing(word: str) -> bool:
    return word in words("things", "sessions speakers exhibitors attendees track any some room building")


@cache
def _rule_words() -> frozenset[str]:
    named = words("things", " ".join(table("things")["en"]), "en")
    timed = words("time", "today tomorrow morning afternoon evening noon now before after between")
    denying = (word for phrase in cues() for word in phrase)
    return named.union(timed, denying, days())


def _nearest(word: str, known: Collection[str], long: int = 6) -> str:
    """The word that a misspelt one was meant to be, which begins with the same letter, a long one with two slips."""
    # Of words that are as near, the same in every process, whatever the order of a set.
    known = sorted(each for each in known if each[0] == word[:1])
    near = process.extractOne(word, known, scorer=OSA.distance, score_cutoff=1 + (len(word) > long))
    return near[0] if near else ""

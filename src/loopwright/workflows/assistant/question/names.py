"""The names that a conference has, and where they stand in a question: rooms, buildings, tracks, kinds and persons."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import TypeVar

from rapidfuzz.distance import OSA

from loopwright.retrieval.english import share
from loopwright.retrieval.text import STOP_WORDS, fold, terms
from loopwright.workflows.assistant.question.moments import COUNTS
from loopwright.workflows.assistant.question.nearest import asked_with
from loopwright.workflows.assistant.question.negation import cue_at
from loopwright.workflows.assistant.question.tokens import TITLES, Sentence
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.searching.index import COMMON, named_by
from loopwright.workflows.assistant.searching.lexicon import days, function_words, glossary, numbers, spoken, words
from loopwright.workflows.assistant.searching.vocabulary import WORD
from loopwright.workflows.assistant.sources.catalogue import Catalogue
from loopwright.workflows.assistant.sources.info import CODES, NAMES, code_of

_Key = TypeVar("_Key")
_Named = TypeVar("_Named")
_PREFIX = re.compile(r"[A-Za-z]{1,3}(?=[\d.])")
_LONGER = re.compile(r"[A-Za-z]{1,3}\d(?=\.)")
_SIGNS = re.compile(r"[.,;?!()]")
_BRACKETED = re.compile(r"\([^)]*\)")
SPEAKING = words("grammar", "speaking")
"""Words beside which a person stands."""
_PLACES = words("things", "room building")
_TIMES = words("time", "today tomorrow morning afternoon evening noon now day") | {"next", "what's"}
_USUAL, _OWN = 3e-5, 1e-6
_LONGEST_ROOM = 5
_ANY_KIND = ("talk", "session", "devroom", "event")
_LONGEST_NAME, _SHORTEST_NAME, _PARTICLE = 4, 4, 3
_LONGEST_TITLE = 30
_PLAIN = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})


class Names:
    """The names of one conference; never changed once made, safe in threads."""

    def __init__(self, catalogue: Catalogue) -> None:
        sessions = catalogue.of_table(Table.SESSIONS)
        info = catalogue.info
        self.own = frozenset(terms(f"{info.title} {info.acronym}")) if info else frozenset[str]()
        """The terms of the conference's own name, which is no subject there."""
        self.called = frozenset(term for term in self.own if term.isalpha() and share(term) < _OWN)
        """Those of them that are no words of plain English, so that they name the conference."""
        self.days = tuple(sorted(catalogue.values("day")))
        """Its days that have sessions, as ISO dates."""
        self.rooms: dict[tuple[str, ...], tuple[str, ...]] = {}
        """What a room or a building is called, as words -> the rooms."""
        self.places: dict[tuple[str, ...], tuple[str, ...]] = {}
        """Some words of a room's name -> the rooms that have them, for who asks what is on "in the auditorium"."""
        self.buildings: dict[str, tuple[str, ...]] = {}
        """What a building's rooms begin with, folded -> the rooms."""
        self._read_rooms([*catalogue.values("room"), *catalogue.values("room", Table.EXHIBITORS)])
        self.tracks = named_by(catalogue.values("track"))
        """Track -> the words that tell it."""
        self.types = grouped((_squashed(kind), kind) for kind in catalogue.values("type") if _squashed(kind))
        """Kind of session, squashed -> as the schedule has it, the most frequent first."""
        self.languages = grouped((code_of(code), code) for code in catalogue.values("language"))
        """Code -> as the schedule has it."""
        self.persons: dict[str, set[str]] = defaultdict(set)
        """Word of a name -> the persons who have it."""
        people = {person for record in sessions for person in record.values("speaker")}
        people |= {record.title for record in catalogue.of_table(Table.SPEAKERS)}
        beside = Counter(told for person in people for told in _BRACKETED.findall(person))
        for person in people:
            # What several have in brackets, or many words, is no name: "Ada (Google)", "Ada (University of London)".
            called = [told for told in _BRACKETED.findall(person) if beside[told] < 2 and " " not in told]
            named = WORD.findall(fold(" ".join((_BRACKETED.sub("", person), *called))))
            long = sum(len(word) > _PARTICLE for word in named) > _LONGEST_NAME  # a team is called by its subject
            for word in () if long else {*named, *(word.translate(_PLAIN) for word in named)} - TITLES:
                self.persons[word].add(person)
        whole = {person: {*WORD.findall(fold(person))} for person in people}
        self.said, self.otherwise = Counter[str](), Counter[str]()
        """Word -> in how many sessions it is written; and in how many of them it is nobody's name who speaks there."""
        for record in sessions:
            written = {*WORD.findall(fold(" ".join((record.title, *record.texts.values()))))}
            told = written.union(*(whole[person] for person in record.values("speaker")))
            self.said.update(written)
            self.otherwise.update(n for n in written if not any(whole[p] <= told for p in self.persons.get(n, ())))
        titled = Counter(term for record in catalogue.of_table(Table.EXHIBITORS) for term in set(terms(record.title)))
        self._stands = {term for term, count in titled.items() if count == 1 and share(term) < _USUAL}
        others = (*catalogue.of_table(Table.EXHIBITORS), *catalogue.of_table(Table.ATTENDEES))
        self.beside = {_phrase(each.title): each for each in others if each.title not in people}
        """What an exhibitor or attendee is called, as words -> the record."""
        held = (word for slot in ("room", "track", "type") for each in catalogue.values(slot) for word in _phrase(each))
        self._held = _TIMES.union(self.persons, held)
        self._titled = [(frozenset(terms(record.title)), record) for record in sessions]
        self.titles = grouped((_squashed(record.title), record) for record in sessions)
        """Session's title, squashed -> the sessions that have it."""

    def _read_rooms(self, rooms: list[str]) -> None:
        found: dict[tuple[str, ...], list[str]] = defaultdict(list)
        starts: dict[str, list[str]] = defaultdict(list)
        for room in dict.fromkeys(rooms):
            inside = [each[1:-1] for each in _BRACKETED.findall(room)]
            plain = _BRACKETED.sub("", room)
            short = plain.partition(",")[0]  # of "G405, G Block, Level 4"
            alone = " ".join(each for each in plain.split() if fold(each) not in _PLACES)
            for alias in (room, plain, short, alone, *inside):
                if phrase := _phrase(alias):
                    found[phrase].append(room)
                    found[(*(re.sub("e[rs]?$", "en", n) for n in phrase[:-1]), phrase[-1])].append(room)  # "Großen"
            for alias in (room, *inside):
                for prefix in filter(None, (_PREFIX.match(alias), _LONGER.match(alias))):
                    starts[fold(prefix[0])].append(room)
        whole = [(room, _phrase(room)) for room in dict.fromkeys(rooms)]
        parts = ((each[n:m], room) for room, each in whole for n, m in combinations(range(len(each) + 1), 2))
        no_place = STOP_WORDS | _TIMES | words("things", "conference sessions")
        self.places = grouped(dict.fromkeys(each for each in parts if not no_place.issuperset(each[0])))
        # "The hall" is no room where several are halls.
        self.places = {part: own for part, own in self.places.items() if len(own) == 1 or not _PLACES.issuperset(part)}
        self.rooms = {phrase: tuple(dict.fromkeys(named)) for phrase, named in found.items()}
        self.buildings = {start: tuple(dict.fromkeys(named)) for start, named in starts.items()}

    def building_of(self, rooms: Sequence[str]) -> tuple[str, ...]:
        """All rooms of the building that some rooms are in; the rooms themselves where that is not known."""
        starts = sorted(self.buildings, key=len)
        return next((self.buildings[each] for each in starts if set(rooms) <= {*self.buildings[each]}), tuple(rooms))

    def has_stand(self, sentence: Sentence) -> bool:
        """Whether a name stands in a question that one exhibitor alone has."""
        named = (each.word for each in sentence.tokens if each.raw[0].isupper() or share(each.word) < _USUAL / 10)
        return any(self._stands.intersection(terms(word)) for word in named)

    def asked_beside(self, sentence: Sentence, first: int, last: int) -> Record | None:
        """The exhibitor or attendee that some words name, where they can be none of the programme's own names."""
        phrase = tuple(token.word.removesuffix("'s") for token in sentence.tokens[first:last])
        record = self.beside.get(phrase)
        if record is None or not sentence.free(first, last):
            return None
        around = {each.word.partition("'")[0] for each in (*sentence.tokens[:first], *sentence.tokens[last:])}
        alone, named = len(phrase) == 1, _squashed(sentence.raw(first, last))
        beside = any(sentence.named(n) for n in (first - 1, last) if 0 <= n < len(sentence))
        known = phrase in self.rooms or named in self.titles or (alone and (beside or phrase[0] in self._held))
        if known and not around & words("things", "exhibitors"):  # "where is the Bright stand?"
            return None
        # "Where is PostgreSQL?" asks for the stand, and "what about PostgreSQL?" for sessions that are about it.
        placed = around & {"where", "who", "is", "are"} and around <= STOP_WORDS - {"there", "about", "what", "when"}
        said = all(word in STOP_WORDS or self.said[word] for word in phrase)  # "anything on PostgreSQL?"
        held = any(named in title for title in self.titles) or (said and around & words("things", "any some", "en"))
        capital = all(each.raw[0].isupper() or each.word in STOP_WORDS for each in sentence.tokens[first:last])
        capital &= any(map(sentence.named, range(first, last)))
        common = max(max(map(share, terms(word)), default=1.0) for word in phrase)
        lower = not capital and (said or common >= _USUAL / (10 if alone else 1))  # "all about bees"
        return record if (placed and not (alone and lower)) or not (held or lower) else None

    def in_title(self, sentence: Sentence, place: int, kind: str) -> bool:
        """Whether a word for a kind is part of a subject, with the one before it: "solar panels", which is no panel."""
        both = {*terms(sentence.word(place - 1)), *terms(sentence.word(place))}
        if len(both) < 2 or not sentence.free(place - 1, place):
            return False
        own = {*self.types[kind]}
        return any(both <= title and own.isdisjoint(record.values("type")) for title, record in self._titled)

    def tells(self, word: str) -> bool:
        """Whether a folded word, of letters or not, stands in a session."""
        return any(word in fold(" ".join((each.title, *each.texts.values()))) for _, each in self._titled)

    def titled(self, text: str) -> list[Record]:
        """The sessions that have all words of a text in their titles; none for a text without words."""
        wanted = set(terms(text))
        return [record for title, record in self._titled if wanted and wanted <= title]

    def records(self, quoted: str) -> tuple[Record, ...]:
        """The sessions whose title is quoted, or begins so."""
        wanted = _squashed(quoted)
        begun = (found for title, found in self.titles.items() if len(wanted) > 11 and title.startswith(wanted))
        return self.titles.get(wanted) or next(begun, ())

    def framing(self, word: str) -> tuple[Record, ...]:
        """The sessions called "Opening" or "Closing", but for what they are, a day and the conference's own name."""
        more = words("grammar", "framing") | words("things", "sessions") | {word, *days(), *numbers()}
        told = (([n for n in WORD.findall(fold(each.title)) if n not in STOP_WORDS], each) for _, each in self._titled)
        own = (([n for n in named if not self.own.issuperset(terms(n))], each) for named, each in told if word in named)
        found = grouped((str(len(own)), each) for own, each in own if all(n in more or n.isdigit() for n in own))
        return next((found[length] for length in sorted(found)), ())

    def else_named(self, sentence: Sentence, place: int) -> bool:
        """Whether two words that are a title name something else too: a time, a person, a track, a room, a subject."""
        both, said = (sentence.word(place), sentence.word(place + 1)), sentence.raw(place, place + 2)
        if cue_at(sentence, place - 1) or all(n in STOP_WORDS | _TIMES or n in days() or n.isdigit() for n in both):
            return True
        person = self.persons.get(both[0], set()) & self.persons.get(both[1], set())
        more = len(self.titled(said)) > len(self.titles[_squashed(said)]) and not sentence.says(place - 1, "framed")
        track = frozenset(terms(said)) in map(frozenset, self.tracks.values())
        return bool(person) or both in self.rooms or more or track

    def track_of(self, wanted: list[str]) -> tuple[str, frozenset[str]] | None:
        """The track whose name some terms cover best, and the terms of it that they have."""
        spread = Counter(term for own in self.tracks.values() for term in own)
        best, found = 0.0, None
        for track, own in self.tracks.items():
            held = own.intersection(wanted)
            covered = sum(1 / spread[term] for term in held)
            score = covered + covered / sum(1 / spread[term] for term in own) if held else 0.0
            if score > best:
                best, found = score, (track, frozenset(held))
        return found


names_of = lru_cache(maxsize=4)(Names)
"""The names of a conference, made once."""


def read_titles(sentence: Sentence, names: Names) -> list[Record]:
    """The sessions whose titles are quoted; their words are read as nothing else."""
    found: list[Record] = []
    for match in re.finditer(r"[\"“”„«]([^\"“”„«»]{3,200})[\"“”»]|(?<!\w)['‘]([^'‘’]{8,200})['’](?!\w)", sentence.text):
        quoted = match[1] or match[2]
        wanted = [token.word for token in Sentence.of(quoted).tokens]
        free = (n for n in range(len(sentence)) if sentence.free(n, n + len(wanted)))
        first, records = next((n for n in free if sentence.match(n, wanted)), None), names.records(quoted)
        if first is not None and (records or len(wanted) > 1):
            found += records
            sentence.take(first, first + len(wanted), "record" if records else "title")
    # "Machine learning or lightning talks": one that is no title here makes none of the other.
    pairs = (n for n in range(len(sentence) - 1) if names.titles.get(_squashed(sentence.raw(n, n + 2))))
    subject = any(names.else_named(sentence, n) for n in pairs)
    for first in range(len(sentence)):
        named = sentence.is_any(first, ("opening", "closing")) and sentence.says(first - 1, "framed")
        alone = named and (sentence.begins(first + 1) or sentence.says(first + 1, "ends"))  # "the closing?"
        for last in range(min(len(sentence), first + _LONGEST_TITLE), first + 1 - alone, -1):
            called = _squashed(sentence.raw(first, last))
            # Two words may be a kind or a subject, too: "machine learning talks".
            told = sentence.says(first - 1, "about") or sentence.is_any(last, words("things", "sessions"))
            known = names.framing(called) if last - first == 1 else names.titles.get(called)
            other = last - first == 2 and (told or called in names.types or subject)
            if sentence.free(first, last) and not other and known:
                found += known
                sentence.take(first, last, "record")
                break
    return found


def read_beside(sentence: Sentence, names: Names) -> None:
    """Read exhibitors and attendees who are named; where sessions are asked for, a name is what these are about."""
    asking = words("things", "sessions") | SPEAKING - {"is", "does", "by", "when"}
    said = (n for n, each in enumerate(sentence.tokens) if each.word in asking or _squashed(each.word) in names.types)
    if any(not sentence.is_any(place + 1, ("to", "with")) for place in said):  # "can I talk to Yuki?"
        return
    for start, end in sentence.clauses():
        for first, last in ((n, m) for n in range(start, end) for m in range(min(end, n + _LONGEST_TITLE), n, -1)):
            if record := names.asked_beside(sentence, first, last):
                # "I work at AgriBank, what should I see?" and "Ann wants to hear about bees" tell whose question it is.
                tells = sentence.is_any(start, words("time", "person") | {"this"}) or sentence.word(first - 1) == "from"
                tells = (tells and end - start < len(sentence)) or "about" in map(sentence.word, range(last, end))
                if tells or _is_asker(sentence, first, last):
                    sentence.take(start, last, "told")
                else:
                    sentence.ask(first, last, "record", record.id)


def read_places(sentence: Sentence, names: Names) -> None:
    """Read rooms and buildings; a room that is not there is noted and kept, so that no other is shown for it."""
    blocks = words("things", "building")
    for place in range(len(sentence)):
        if sentence.tokens[place].taken or sentence.tokens[place].raw.endswith(("'", "’")):  # "c'est"
            continue
        for length in range(_LONGEST_ROOM, 0, -1):
            phrase = tuple(token.word for token in sentence.tokens[place : place + length])
            spelled = tuple(str(numbers().get(word, word)) for word in phrase)  # "room one"
            rooms = (names.rooms.get(phrase) or names.rooms.get(spelled)) if len(phrase) == length else None
            called = length > 1 or (rooms and _is_room(sentence, place, names))
            if not (rooms and called) and _in_the(sentence, place, place + length, names):
                rooms, called = names.places.get(phrase), True
            if rooms and called and sentence.free(place, place + length):
                sentence.ask(place, place + length, "room", *rooms)
                break
        else:
            _read_building(sentence, place, names, blocks)


def _in_the(sentence: Sentence, first: int, last: int, names: Names) -> bool:
    """Whether some words say where something is, and no others follow that name it: "in the auditorium at two"."""
    the = sentence.says(first - 1, "opens") and sentence.says(first - 2, "inside")
    idle = STOP_WORDS | _TIMES | function_words(sentence.language)
    ends = sentence.begins(last) or sentence.tokens[last].taken or _SIGNS.search(sentence.tokens[last].gap)
    if not (the or sentence.says(first - 1, "within_the")) or not (ends or sentence.is_any(last, idle)):
        return False
    # Of "security in the cloud" a programme may tell; "what's on in the cloud?" asks for a room.
    asks = asked_with() | spoken(sentence.language) | idle
    before = (each.word for each in sentence.tokens[:first] if not each.taken)
    subject = any(names.said[word] and asks.isdisjoint((word, *terms(word))) for word in before)
    return not (subject and any(names.said[token.word] for token in sentence.tokens[first:last]))


def _is_room(sentence: Sentence, place: int, names: Names) -> bool:
    """Whether one word that a room is called means it."""
    word = sentence.word(place)
    if _joined_to(sentence, place, "room"):  # "rooms 1 and 2"
        return True
    if word in STOP_WORDS:  # "a" is no room, "in A" and "hall a" are
        return sentence.named(place) or sentence.is_any(place - 1, _PLACES)
    if word.isdigit() or word in numbers():  # "at 8" is an hour, "stand 8" none
        counts = sentence.is_any(place - 1, COUNTS)
        return sentence.is_any(place - 1 - counts, words("things", "room building exhibitors"))
    near = {sentence.word(place - 1), sentence.word(place - 2), sentence.word(place + 1)}
    located = near & {"in", "at", "im", "en", "room", "hall", "there", "into", *words("things", "room")}
    around = {token.taken for token in sentence.tokens[max(0, place - 1) : place + 2]}
    kind = _squashed(word) in names.types  # "wie viele Poster", where there is a Poster Hall
    beside = "day" in around and not kind
    unsaid = share(word) < (_USUAL / 10 if names.said[word] else _USUAL)
    return (sentence.named(place) and not kind) or bool(located) or beside or unsaid


def _read_building(sentence: Sentence, place: int, names: Names, blocks: frozenset[str]) -> None:
    word, raw = sentence.word(place), sentence.tokens[place].raw
    near = next((other for other in (place + 1, place - 1) if sentence.is_any(other, blocks)), None)
    said = raw.isupper() and sentence.says(place - 1, "inside")  # "not in UB"
    if near is None and word in names.buildings and (said or word[-1].isdigit()):  # "UB2" is nothing else
        near = place
    if near is not None and word in names.buildings:
        first, last = min(place, near), max(place, near) + 1
        sentence.ask(first, last, "room", *names.buildings[word], said=f"the {raw.upper()} building")
    elif re.fullmatch(r"[a-z]{1,3}\d?\.[\d.]+\w*", word):
        rooms = [room for each in names.buildings.values() for room in each if fold(room).startswith(word)]
        if not rooms and names.tells(word):  # "H.264"
            return
        if not rooms:
            sentence.notes.append(f"There is no room {raw}")
        sentence.ask(place, place + 1, "room", *(dict.fromkeys(rooms) or (raw,)))


def read_kinds(sentence: Sentence, names: Names) -> None:
    """Read tracks, kinds of sessions and languages."""
    for place in range(len(sentence)):
        if not sentence.free(place, place + 1):
            continue
        word = sentence.word(place)
        if word in words("things", "track"):
            _read_track(sentence, place, names)
        for length in (2,) if word in STOP_WORDS else (2, 1):  # "other" alone is no kind
            squashed = _squashed("".join(token.word for token in sentence.tokens[place : place + length]))
            if squashed not in names.types and length == 1:
                squashed = _squashed(glossary(word, sentence.language))
            # "That aren't talks" leaves the other kinds; "talks" alone are sessions of any.
            told = squashed not in _ANY_KIND or sentence.says(place - 1, "not")
            known = squashed in names.types and told and not names.in_title(sentence, place, squashed)
            if known and sentence.free(place, place + length):
                sentence.ask(place, place + length, "type", *names.types[squashed])
                break
        code = NAMES.get(word)
        # "I don't speak French" denies the whole of what it says.
        first = place - sentence.says(place - 1, "understand")
        said = sentence.says(place - 1, "language") or sentence.is_any(place + 1, words("things", "sessions"))
        said = said or _joined_to(sentence, place, "language")
        if code and sentence.free(place, place + 1) and (said or first < place):
            if code not in names.languages:
                lacks = f"has nothing in {CODES[code]}" if names.languages else "does not say what is in which language"
                sentence.notes.append(f"The programme {lacks}")
            sentence.take(first, place + 1, "language")
            if names.languages:
                sentence.ask(first, place + 1, "language", *names.languages.get(code, (code,)))


def _read_track(sentence: Sentence, place: int, names: Names) -> None:
    """The track whose name stands before the word for it, or after it; each of those joined: "Go and Rust devrooms"."""
    groups: list[list[int]] = [[]]
    for other in range(place - 1, max(-1, place - 7), -1):
        if not sentence.free(other, other + 1) or (sentence.begins(other + 1) and other + 1 != place):
            break
        if groups[-1] and sentence.says(other, "opens") and not sentence.says(other - 1, "and"):
            break
        each = sentence.word(place).endswith("s") or sentence.says(other + 1, "opens")
        if each and sentence.says(other, "and"):
            groups.append([])
        else:
            groups[-1].append(other)
    asked = [_ask_track(sentence, group, place, names) for group in groups]
    named = sentence.free(place + 1, place + 2) and sentence.named(place + 1)
    if not any(asked) and (named or sentence.word(place + 1) in ("on", "about", "for", "zu")):
        after = range(place + 1, min(len(sentence), place + 4))
        asked = [_ask_track(sentence, [other for other in after if sentence.free(other, other + 1)], place, names)]
    if not any(asked) and groups[0] and sentence.named(groups[0][0]):
        sentence.notes.append(f"There is no track {sentence.tokens[groups[0][0]].raw}")


def _ask_track(sentence: Sentence, places: list[int], place: int, names: Names) -> bool:
    """Ask for the track that some words name, and for those whose names begin like it; whether there is one."""
    idle = STOP_WORDS | words("things", "sessions speakers first last any room track")
    said = (word for word in map(sentence.word, places) if len(word) > 1 and word not in idle)
    wanted = [term for word in said for term in terms(word)]
    found = names.track_of(wanted)
    if found is None:
        return False
    track, held = found
    used = [other for other in places if held.intersection(terms(sentence.word(other)))]
    named = [each for each, own in names.tracks.items() if held <= own]
    same = named if len(held) > 1 or len(names.tracks) < 4 else [track]
    tracks = (track, *(each for each in same if each.split()[0] == track.split()[0] and each != track))
    last = place + 1 if places[0] == place - 1 else max(used) + 1
    sentence.ask(min(used), last, "track", *dict.fromkeys(tracks), said=f"in the track {track}")
    return True


def read_persons(sentence: Sentence, names: Names) -> None:
    """Read who is named: two names of one person are enough; one alone must stand where a person is meant."""
    place = 0
    while place < len(sentence):
        place = _read_person(sentence, place, names)
    if sentence.asks("person") or not names.persons:  # a programme without speakers lacks none of them
        return
    for place in range(len(sentence) - 1):
        spoken = any(sentence.is_any(near, SPEAKING) for near in (place - 1, place - 2, place + 2, place + 3))
        last = _nobody(sentence, place, names) if sentence.word(place) not in STOP_WORDS else 0
        if spoken and last and not all(map(str.isupper, sentence.raw(place, last).split())):
            _ask_nobody(sentence, place, last)
            return


def _nobody(sentence: Sentence, place: int, names: Names) -> int:
    """Where a name that begins at a word ends, of a family that nobody here has; 0 if none stands there."""
    family = place + 1 + sentence.says(place + 1, "particles")
    last = family + 1
    while last < len(sentence) and sentence.tokens[last].gap == "-":
        last += 1
    if last > len(sentence) or not (sentence.free(place, last) and sentence.named(last - 1)):
        return 0
    apart = any(sentence.tokens[other].gap.strip() for other in range(place + 1, family + 1))
    word, given = sentence.word(last - 1), names.persons.get(sentence.word(place))
    known = not given and any(names.persons.get(sentence.word(other)) for other in range(place + 1, last))
    rare = all(share(term) < _USUAL for term in terms(word)) or (given and word not in names.said)
    return last if sentence.tokens[place].raw[0].isupper() and rare and not (apart or known) else 0


def _ask_nobody(sentence: Sentence, place: int, last: int) -> None:
    name = sentence.written(place, last)
    sentence.notes.append(f"The programme has nobody called {name}")
    sentence.ask(place, last, "person", name)


def _read_person(sentence: Sentence, place: int, names: Names) -> int:
    votes = Counter[str]()
    last = place
    while last < min(len(sentence), place + 5) and sentence.free(last, last + 1):
        if last > place and _SIGNS.search(sentence.tokens[last].gap):
            break
        word = sentence.word(last).removesuffix("'s")
        people = names.persons.get(word) or misspelt(word, votes)
        if last > place and votes and not people & votes.keys() and word not in words("grammar", "particles"):
            break
        if not people and not (votes and word in words("grammar", "particles")):
            break
        votes.update(people)
        last += 1
    most = max(votes.values(), default=0)
    if not any(_telling(sentence, other) for other in range(place, last)):
        return place + 1
    if most == 1 and _is_asker(sentence, place, place + 1):
        sentence.take(place, place + 1, "told")
        return place + 1
    if most == 1 and not _alone(sentence, place, names):
        return place + 1
    if most == 1:
        if last := _nobody(sentence, place, names):
            _ask_nobody(sentence, place, last)
            return last
        last = place + 1
    persons = sorted(person for person, count in votes.items() if count == most)
    while sentence.free(place - 1, place) and misspelt(sentence.word(place - 1), persons):
        place -= 1
    sentence.ask(place, last, "person", *persons, said=f"with {persons[0]}" if len(persons) == 1 else "")
    return last


def misspelt(word: str, persons: Iterable[str]) -> set[str]:
    """Who of those already meant has a name that differs from a word by a slip."""
    if len(word) < 5:
        return set()
    slips = 1 + (len(word) > 6)
    named = ((person, own) for person in persons for own in WORD.findall(fold(person)))
    return {person for person, own in named if 0 < OSA.distance(own, word, score_cutoff=slips) <= slips}


def _telling(sentence: Sentence, place: int) -> bool:
    """Whether a word alone tells of a name, and is none of plain speech: of "One of the ducks" only "ducks"."""
    word = sentence.word(place)
    common = word in STOP_WORDS | function_words(sentence.language) or share(word.removesuffix("'s")) >= COMMON
    return not common or sentence.named(place)


def _is_asker(sentence: Sentence, place: int, last: int) -> bool:
    """Whether a name is that of who asks: "I'm Anna", "my name is Anna", "Anna here"."""
    called = sentence.says(place - 2, "named") and sentence.says(place - 1, "is")
    presents = sentence.word(last) == "here" and not sentence.says(place - 1, "be")
    return called or sentence.says(place - 1, "am") or presents


def _alone(sentence: Sentence, place: int, names: Names) -> bool:
    """Whether one name alone means a person, rarely written otherwise or said to speak: no "dawn" of plain speech."""
    word, named = sentence.word(place).removesuffix("'s"), sentence.named(place)
    beside = any(sentence.is_any(near, SPEAKING - {"is", "does", "when"}) for near in (place - 1, place + 1))
    spoken = any(sentence.is_any(near, SPEAKING) for near in (place - 2, place - 1, place + 1, place + 2))
    if not named and (len(word) < _SHORTEST_NAME or (share(word) >= _USUAL / (1 if spoken else 10) and not beside)):
        return False
    if _joined_to(sentence, place, "person"):
        return True
    have, written = len(names.persons[word]), names.otherwise[word]
    sure = have / max(have, written) + 0.25 * spoken + 0.1 * named >= 0.55
    return sure and written <= 8 + 8 * spoken


def _joined_to(sentence: Sentence, place: int, what: str) -> bool:
    """Whether a word is joined to one that was read so: "Moser or Hofer"."""
    return sentence.says(place - 1, "and") and sentence.tokens[place - 2].taken == what


def grouped(pairs: Iterable[tuple[_Key, _Named]]) -> dict[_Key, tuple[_Named, ...]]:
    """What goes by the same name, in order."""
    found: dict[_Key, tuple[_Named, ...]] = {}
    for name, each in pairs:
        found[name] = (*found.get(name, ()), each)
    return found


def _squashed(text: str) -> str:
    return re.sub(r"(ies|y|s)$", "", re.sub(r"[\W_]+", "", fold(text)))


def _phrase(text: str) -> tuple[str, ...]:
    return tuple(token.word for token in Sentence.of(text).tokens)

"""Persons in a question: by full or last name, without accents, with typing errors."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from loopwright.workflows.assistant.understanding.frames import BARE, SESSION_NOUNS
from loopwright.workflows.assistant.understanding.spelling import allowed_errors, by_length, near, words_of, written_out
from loopwright.workflows.assistant.understanding.words import Words

PERSON = "person"
"""The kind of words that name a person."""

_ASIDE = re.compile(r"[(（\"“«][^)）\"”»]*[)）\"”»]")
_INSIDE = re.compile(r"[(（\"“«]\s*([^)）\"”»]+?)\s*[)）\"”»]")
_REST = re.compile(r",.*|\s[-–—|⧓]+\s.*")
_PARTICLES = frozenset("van von der den de del della di da do dos du la le el al bin ibn ter ten zu zum y e".split())
_MOST_NAMESAKES = 5
_RARE = 3  # a word in no more sessions than this may be a mistyped name
_SPEAKS = frozenset("speak speaks speaking present presents presenting talk talking give gives giving moderate".split())
_ASKS = frozenset("does did will is do are".split())
_BY = frozenset("by speaker mr ms mrs dr prof professor hear meet named called".split())
_UNKNOWN = re.compile(
    r"\b[Ww]ho(?:\s+is|['’]s|\s+are)\s+(?P<a>{name})\s*[?.!]*$"
    r"|\b(?i:does|did|will|is)\s+(?P<b>{name}|[a-z]{{3,}}\s[a-z]{{3,}})\s+"
    r"(?:speak|speaking|talk|talking|present|presenting|give|giving|on\s+stage|coming|attending|here|there)\b"
    r"|\b(?P<c>{name})['’]s?\s+(?:talks?|sessions?|presentations?|keynotes?|workshops?)\b"
    r"|\b(?i:talks?|sessions?|presentations?|keynotes?|workshops?|anything|something)\s+(?:given\s+|held\s+)?(?:by|from|of)\s+"
    r"(?P<d>{name})".format(name=r"[A-ZÀ-Þ][^\W\d_]+(?:\s(?:van|von|de|der|den|la|le))*(?:[\s-][A-ZÀ-Þ][^\W\d_]+){1,2}")
)


class PersonNames:
    """All that the persons of a conference may be called."""

    def __init__(self, persons: Iterable[str]) -> None:
        """Derive short forms: without nicknames and middle names, last names, single names.

        Args:
            persons: Names as the schedule has them.
        """
        self.known = tuple(persons)
        """Names as the schedule has them."""
        full, short = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        self.tokens: dict[str, set[str]] = defaultdict(set)
        """Word of a name -> the persons whose name has it."""
        self.parts: dict[str, tuple[str, ...]] = {}
        """Person -> the words of the name, without asides."""
        self.nicknames: set[str] = set()
        """Nicknames as one string each."""
        self.first_names: set[str] = set()
        """The first words of names that have several."""
        for person in self.known:
            for written in dict.fromkeys((person, written_out(person))):
                self._add(person, written, full, short)
        self.by_length: Mapping[int, Sequence[str]] = by_length(self.tokens)
        """The words of names by their length."""
        self.full: Mapping[str, set[str]] = full
        """A name of two words or more as one string -> the persons."""
        self.short: Mapping[str, set[str]] = short
        """A single word of a name -> the persons."""

    def _add(
        self, person: str, written: str, full: defaultdict[str, set[str]], short: defaultdict[str, set[str]]
    ) -> None:
        core = words_of(_REST.sub("", _ASIDE.sub(" ", written))) or words_of(written)
        forms = [core, words_of(written)]
        if len(core) > 1:
            forms += [[core[0], core[-1]], [core[-1], core[0]], [*core[1:], core[0]]]
            self.first_names.add(core[0])
        for form in forms:
            (full if len(form) > 1 else short)["".join(form)].add(person)
        for word in filter(lambda word: len(word) > 1, core):
            self.tokens[word].add(person)
            if word not in _PARTICLES or len(core) == 1:
                short[word].add(person)
        for nickname in _INSIDE.findall(written):
            alias = "".join(words_of(nickname))
            if len(alias) > 2 and "/" not in nickname and nickname.count(" ") < 2:
                short[alias].add(person)
                self.nicknames.add(alias)
        self.parts.setdefault(person, tuple(core))


@dataclass(frozen=True, slots=True)
class Persons:
    """What a question says of persons."""

    speakers: tuple[str, ...] = ()
    """Names as the schedule has them; a person who does not speak is given as asked for."""
    notes: tuple[str, ...] = ()
    """What could not be taken as asked."""


def take_full_names(words: Words, names: PersonNames, spread: Mapping[str, int]) -> list[str]:
    """Take full names, so that no part of one is read as something else.

    Args:
        words: The question.
        names: The persons.
        spread: Word -> in how many sessions it stands.

    Returns:
        The persons, as the schedule has them.
    """
    found: dict[str, None] = {}
    for first, last, alias in list(words.phrases(8)):
        if first < last and words.free(first, last) and alias in names.full and _is_name(words, first, last, spread):
            _take(words, first, last)
            found.update(dict.fromkeys(sorted(names.full[alias])))
    return list(found)


def read_persons(words: Words, names: PersonNames, spread: Mapping[str, int], full: Iterable[str]) -> Persons:
    """The persons that a question names.

    A full name counts anywhere; a single name where the sentence asks for a person ("talks by X", "when does X
    speak") or where nothing else in the question could be a topic. A mistyped name counts if one person fits.

    Args:
        words: The question; what is read is taken.
        names: The persons.
        spread: Word -> in how many sessions it stands.
        full: Those whose full names `take_full_names` took.
    """
    found = dict[str, None].fromkeys(full)
    notes: list[str] = []
    guesses = {} if found else _guesses(words, names, spread)
    found.update(dict.fromkeys(_mistyped_pair(words, guesses, names, notes)))
    for i in range(len(words)):
        if words.free(i, i) and (persons := _single(words, i, names, spread)):
            _take(words, i, i)
            found.update(dict.fromkeys(persons))
    if not found:
        rest = _mistyped_single(words, guesses, names, notes) or _unknown(words, names, spread, notes)
        found.update(dict.fromkeys(rest))
    return Persons(tuple(found), tuple(notes))


def _take(words: Words, first: int, last: int) -> None:
    if words.key(first - 1) in ("mr", "ms", "mrs", "dr", "prof", "professor"):
        first -= 1
    words.take(first, last, PERSON)


def _is_name(words: Words, first: int, last: int, spread: Mapping[str, int]) -> bool:
    """Not a topic that happens to be someone's name: two common words in small letters."""
    common = all(spread.get(words.key(i), 0) > 5 for i in range(first, last + 1))
    return not common or words[first].capitalised or _person_wanted(words, first, last)


def _person_wanted(words: Words, first: int, last: int) -> bool:
    """Whether the words around a name ask for a person."""
    before, after = words.key(first - 1), words.key(last + 1)
    if before in _BY and words.key(first - 2) not in ("driven", "powered", "caused", "used"):
        return True
    if before in ("and", "or") and first > 1 and words.kinds[first - 2] == PERSON:
        return True
    if words[last].possessive and (after in SESSION_NOUNS or after in ("keynote", "workshop")):
        return True
    if before in ("is", "are", "who") and words.key(first - 2) in ("who", "") and _ends(words, last):
        return "who" in (before, words.key(first - 2))
    return after in _SPEAKS and (before in _ASKS or after in ("speak", "speaks", "speaking", "giving", "presenting"))


def _ends(words: Words, last: int) -> bool:
    return last == len(words) - 1


def _single(words: Words, i: int, names: PersonNames, spread: Mapping[str, int]) -> list[str]:
    """The persons of a single name, if it is one here; one who has no other name goes before namesakes."""
    key = words.key(i)
    persons = sorted(names.short.get(key, ()))
    persons = [person for person in persons if names.parts[person] == (key,)] or persons
    if not persons or key in BARE or len(persons) > _MOST_NAMESAKES or not _stands_alone(words, i, persons, names):
        return []
    if _person_wanted(words, i, i):
        return persons
    distinct = spread.get(key, 0) <= 2 and (names.parts[persons[0]] == (key,) or len(key) >= 5)
    last_name = any(key == names.parts[person][-1] for person in persons)
    if _nothing_else(words, i) and (distinct or (last_name and words[i].capitalised and spread.get(key, 0) <= 5)):
        return persons
    return persons if distinct and last_name and words[i].capitalised and spread.get(key, 0) == 0 else []


def _stands_alone(words: Words, i: int, persons: Iterable[str], names: PersonNames) -> bool:
    """Whether no other word beside a name may belong to it: "Max Smith" is none of the other Smiths."""
    first_name = any(names.parts[person][0] == words.key(i) for person in persons)
    after = not first_name or not words.key(i + 1) or words.key(i + 1) in BARE or not words.free(i + 1, i + 1)
    before = not words.key(i - 1) or words.key(i - 1) in BARE or not words.free(i - 1, i - 1)
    return (after or words[i].possessive) and (before or words.key(i - 1) in _BY)


def _nothing_else(words: Words, i: int) -> bool:
    return all(words.key(j) in BARE for j in range(len(words)) if j != i and words.free(j, j))


def _guesses(words: Words, names: PersonNames, spread: Mapping[str, int]) -> dict[int, dict[str, int]]:
    """Place of a word -> the words of names that it may be, with the number of errors."""
    places = (i for i in range(len(words)) if words.free(i, i) and _may_be_name(words, i, names, spread))
    return {i: near(words.key(i), names.by_length, most=_errors(words.key(i))) for i in places}


def _errors(key: str) -> int:
    return 1 if len(key) == 3 else allowed_errors(key)


def _may_be_name(words: Words, i: int, names: PersonNames, spread: Mapping[str, int]) -> bool:
    key = words.key(i)
    if key in BARE:
        # "Will" or "Hall": only beside a word that no session has.
        beside = (words.key(i - 1), words.key(i + 1))
        return key in names.tokens and any(word and word not in BARE and not spread.get(word) for word in beside)
    if len(key) < 3:
        return key in names.tokens
    return key in names.tokens or spread.get(key, 0) <= _RARE or words[i].capitalised or _person_wanted(words, i, i)


def _mistyped_pair(
    words: Words, guesses: Mapping[int, Mapping[str, int]], names: PersonNames, notes: list[str]
) -> list[str]:
    for first, last in _pairs(words, guesses):
        best = _best(guesses[first], guesses[last], names)
        if best:
            return _corrected(words, first, last, best, names, notes)
    return []


def _pairs(words: Words, guesses: Mapping[int, object]) -> Iterator[tuple[int, int]]:
    """Neighbours, or two words with a few others between them: middle names, or "van de"."""
    for gap in range(1, 6):
        for first in guesses:
            last = first + gap
            if last in guesses and words.free(first, last):
                yield first, last


def _best(first: Mapping[str, int], last: Mapping[str, int], names: PersonNames) -> list[str]:
    """The persons whose first and last names two words are with the fewest errors, at most 2, in either order."""
    scored: dict[str, int] = {}
    for one, errors in first.items():
        for other, more in last.items():
            for person in names.tokens[one] & names.tokens[other] if one != other and errors + more <= 2 else ():
                if {names.parts[person][0], names.parts[person][-1]} == {one, other}:
                    scored[person] = min(errors + more, scored.get(person, 9))
    fewest = min(scored.values(), default=0)
    best = sorted(person for person, errors in scored.items() if errors == fewest)
    return best if len(best) <= 2 else []


def _mistyped_single(
    words: Words, guesses: Mapping[int, Mapping[str, int]], names: PersonNames, notes: list[str]
) -> list[str]:
    for i, tokens in guesses.items():
        if not words.free(i, i) or len(words.key(i)) < 4:
            continue
        if not _person_wanted(words, i, i):  # "coffee" alone is not Mr Coffey
            continue
        persons = {person for token in tokens for person in names.tokens[token] if names.parts[person][-1] == token}
        persons = {person for person in persons if len(names.parts[person]) == 1} or persons
        if len(persons) == 1 and _stands_alone(words, i, persons, names):
            return _corrected(words, i, i, sorted(persons), names, notes)
    return []


def _corrected(
    words: Words, first: int, last: int, persons: list[str], names: PersonNames, notes: list[str]
) -> list[str]:
    known = {part for person in persons for part in words_of(person)}
    while words.key(last + 1) in known and words.free(last + 1, last + 1):
        last += 1
    asked = words.shown(first, last)
    _take(words, first, last)
    if not known.issuperset(words_of(asked)):
        notes.append(f'There is no speaker "{asked}"; taken as {" or ".join(persons)}.')
    return persons


def _unknown(words: Words, names: PersonNames, spread: Mapping[str, int], notes: list[str]) -> list[str]:
    """A person who does not speak: only where the sentence leaves no doubt that one is meant."""
    for match in _UNKNOWN.finditer(words.text) if names.known else ():
        group = next(name for name in "abcd" if match[name])
        asked = match[group]
        place = words.within(match.start(group), match.end(group))
        keys = [words.key(i) for i in range(place[0], place[1] + 1)] if place else []
        if place is None or not words.free(*place) or not BARE.isdisjoint(keys):
            continue
        first_name = keys[0] in names.first_names
        # "talks by Red Hat", "how does Home Assistant talk to ...": no person, or not known to be one.
        if group == "d" and not first_name:
            continue
        if group == "b" and (words.key(0) == "how" or not (first_name or any(spread.get(k, 0) <= _RARE for k in keys))):
            continue
        _take(words, *place)
        notes.append(f'There is no speaker "{asked}" in the schedule.')
        return [asked]
    return []

"""The words of one table's records: which stand where, and how much each says."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.english import share
from loopwright.retrieval.lexicon import Lexicon, TermCounts
from loopwright.retrieval.records import Passage
from loopwright.retrieval.text import LETTER, SIGNED, STOP_WORDS, fold, terms
from loopwright.workflows.assistant.schemas import Record
from loopwright.workflows.assistant.searching.lexicon import synonyms

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

CARRYING = 4
"""A question's subject stands in so many of its words, those that say most."""
_LEAST = 2.2
"""What the words of a subject must weigh together; fewer or commoner ones are no full evidence."""
_ALONE = 0.9
"""What a word must weigh to be a whole subject."""
_TITLED = 0.6
"""What a word of titles weighs, of its rarity."""
_PLAIN = 0.6
"""Where no word of a query weighs so much, the words that are left are all that there is."""
_OTHER, _APART, _STRANGE = 0.8, 0.3, 4.0
COMMON = 8e-4
"""A word with a larger share of English names no subject."""
_WORD = re.compile(rf"(?i){SIGNED}|{LETTER}+(?:['’]{LETTER}+)?")
_PLURAL = re.compile(r"[A-Z][A-Z0-9]+s")
SHORTHAND = 4
"""So short, an unknown word beside a known subject is the shorthand of messages, as "abt" or "any1"."""
_TITLES = frozenset({"title", "name", "track", "speakers", "tags"})


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a query."""

    key: str
    """Its stem, as texts are compared by."""
    word: str
    """The word as it was written."""
    weight: float
    """How much it says of what is asked."""
    known: bool
    """Whether a record has it."""
    also: tuple[str, ...] = ()
    """Other stems that are as good, if a little less."""


class TableIndex:
    """The words of a table's records; never changed once made, safe in threads."""

    def __init__(self, records: Sequence[Record]) -> None:
        """Read the records of one table, which everything else names by their places."""
        self.records = tuple(records)
        """The records."""
        self.place = {record.id: place for place, record in enumerate(self.records)}
        """Record id -> its place."""
        counts = [TermCounts(_told(record)) for record in self.records]
        self.lexicon = Lexicon(counts)
        """How common each term is here."""
        self.total = Counter[str]()
        """Term -> how often it stands in all records."""
        lengths = np.array([each.length for each in counts], np.float32)
        self.titled = [frozenset(terms(_name(record))) for record in self.records]
        """The terms of each record's title, track, tags and names."""
        tracks = named_by(dict.fromkeys(track for record in self.records for track in record.values("track")))
        self._tracks = frozenset(term for own in tracks.values() if len(own) == 1 for term in own)
        self._in_titles = Counter(term for record in self.records for term in set(terms(record.title)))
        self._spread = Counter(term for each in counts for term in each.counts)
        # In a conference of a few records every word stands in many of them, and says as much as in any other.
        self._scale = max(1.0, _STRANGE / self.lexicon.rarity(""))
        found: dict[str, list[tuple[int, int]]] = {}
        for place, each in enumerate(counts):
            self.total.update(each.counts)
            for term, count in each.counts.items():
                found.setdefault(term, []).append((place, count))
        self._postings: dict[str, tuple[Ints, Floats]] = {}
        for term, held in found.items():
            if term in self._tracks and share(term) >= COMMON:  # "Go" is no "go"
                held = [(place, count) for place, count in held if _names(self.records[place], term)]
            places = np.array([place for place, _ in held], np.int32)
            often = self.lexicon.saturation(np.array([count for _, count in held], np.float32), lengths[places])
            named = np.array([term in self.titled[place] for place, _ in held])
            self._postings[term] = places, np.where(named, np.float32(1), often).astype(np.float32)

    def weight(self, term: str, *, named: bool = False) -> float:
        """How much a term says: how rare it is here, by how much commoner it is here than in English at large.

        That needs no list of words that say nothing: "daughter" and "boss" weigh little in any programme, "attestation"
        much. A term that stands nowhere here weighs by its rarity in English, so that what lacks it is no full answer.
        """
        usual = share(term)
        if usual >= COMMON or term in STOP_WORDS or (len(term) == 1 and not term.isdigit() and not named):
            key = 0.0
        elif self.lexicon.knows(term):
            own = (self.total[term] + 0.5) / max(self.total.total(), 1)
            key = math.log(own / max(usual, 2e-8)) / 2.5
        else:
            key = math.log(3e-5 / max(usual, 2e-8)) / 3 + 0.3
        # What stands in titles more often than words of plain speech do is a subject here, common or not.
        titles = self._in_titles[term]
        if titles > 1 and term not in STOP_WORDS:
            key = max(key, _TITLED * min(1.0, (titles / self._spread[term] - 0.12) / 0.2))
        # And what is the name of a track, though as a common word only where it is written as a name is: "Go".
        if term in self._tracks and (named or usual < COMMON):
            key = 1.0
        return self.lexicon.rarity(term) * self._scale * min(1.0, max(0.6 if named and usual < COMMON else 0.02, key))

    def read(self, text: str) -> list[Term]:
        """The words of a query, each once, in order."""
        found: dict[str, Term] = {}
        for match in _WORD.finditer(text):
            word = match[0]
            within = match.start() > 0 or word[1:] != word[1:].lower()
            named = word[0].isupper() and (within or not self._tracks.isdisjoint(terms(word)))
            for key in keys_of(word):
                if key not in found and fold(word) not in STOP_WORDS:
                    # A programming language is written with "lang" behind it too: "golang" of the track Go.
                    others = [*synonyms(fold(word)), *({fold(word).removesuffix("lang")} & self._tracks)]
                    also = tuple(dict.fromkeys(term for other in others for term in terms(other)))
                    weight = max([self.weight(key, named=named), *(_OTHER * self.weight(each) for each in also)])
                    known = any(map(self.lexicon.knows, (key, *also)))
                    found[key] = Term(key, word, weight, known, also)
        # In a long message a word that nobody uses here is one of many; in a short one it is the point.
        share_of = min(1.0, 5 / max(1, sum(each.weight > _PLAIN for each in found.values())))
        about = any(each.known and each.weight >= _ALONE for each in found.values())
        for key, each in found.items():
            if not each.known and not each.word[0].isupper():
                short = about and len(each.word) <= SHORTHAND
                found[key] = replace(each, weight=_APART * _PLAIN if short else each.weight * share_of)
        read = [*found.values()]
        if max((each.weight for each in read), default=1.0) >= _PLAIN:
            return read
        return [replace(each, weight=max(each.weight, self._plain(each.key))) for each in read]

    def _plain(self, term: str) -> float:
        return 0.5 * self.lexicon.rarity(term) if share(term) < COMMON and self.lexicon.knows(term) else 0.0

    def evidence(self, query: Sequence[Term]) -> Floats:
        """How much of what a query asks each record holds, float32 [records], from 0 to 1.

        A word in the title, the track or a name counts in full, one in the text by BM25's saturation. The share is of
        the few words that say most. A record that is named by all of them is what was asked, however common they are:
        where every session is about one subject, its name weighs nothing.
        """
        scores = np.zeros(len(self.records), np.float32)
        named = np.full(len(self.records), bool(query))
        carrying = sorted((each.weight for each in query), reverse=True)[:CARRYING]
        for each in query:
            places, held = self.held_any(each)
            scores[places] += each.weight * held
            named &= np.isin(np.arange(len(named)), places[held >= 1])
        # One word that can be a subject is all that was asked.
        least = _ALONE if len(query) == 1 and query[0].weight >= _ALONE else _LEAST
        return np.maximum(scores / np.float32(max(sum(carrying), least)), named)

    def coverage(self, query: Sequence[Term]) -> Floats:
        """Which share of all that a query says each record holds, by how rare each word is here, float32 [records].

        That a word stands in a record at all counts for half of it.
        """
        scores, whole = np.zeros(len(self.records), np.float32), 0.0
        for each in query:
            places, held = self.held_any(each)
            rarity = self.lexicon.rarity(each.key)
            scores[places] += rarity * (1 + held) / 2
            whole += rarity
        return scores / np.float32(max(whole, _LEAST))

    def held(self, term: str) -> tuple[Ints, Floats]:
        """The places of the records that hold a term, and how well each does, from 0 to 1."""
        return self._postings.get(term, _NOWHERE)

    def held_any(self, word: Term) -> tuple[Ints, Floats]:
        """The same for a word or what is as good."""
        if not word.also:
            return self.held(word.key)
        best = np.zeros(len(self.records), np.float32)
        for place, term in enumerate((word.key, *word.also)):
            places, held = self.held(term)
            best[places] = np.maximum(best[places], held * np.float32(_OTHER if place else 1))
        places = np.flatnonzero(best).astype(np.int32)
        return places, best[places]


def named_by(tracks: Iterable[str]) -> dict[str, frozenset[str]]:
    """Track -> the terms that tell it: a word that every track has, as "devroom", tells none of them."""
    own = {track: frozenset(terms(track)) for track in tracks}
    spread = Counter(term for each in own.values() for term in each)
    usual = {term for term, count in spread.items() if count > max(2, len(own) // 4)}
    return {track: each - usual or each for track, each in own.items()}


def keys_of(word: str) -> list[str]:
    """The terms that a word of a question is compared by: of "TPMs", which no stemmer shortens, that of "TPM"."""
    return terms(word[:-1] if _PLURAL.fullmatch(word) else re.split("['’]", word)[0])


_NOWHERE = np.empty(0, np.int32), np.empty(0, np.float32)


def _name(record: Record) -> str:
    return " ".join([record.title, *record.values("track"), *record.values("speaker"), record.texts.get("tags", "")])


def _names(record: Record, term: str) -> bool:
    """Whether a record's track or title names a subject by a common word, which is written as a name is there."""
    named = (match[0] for match in _WORD.finditer(record.title) if match[0][0].isupper())
    own = (set(terms(text)) for text in record.values("track"))
    return any(term in each and len(each) < 3 for each in own) or any(terms(text) == [term] for text in named)


def _told(record: Record) -> Passage:
    """A record as a titled text."""
    beside = (record.texts.get(facet, "") for facet in ("subtitle", "tags"))
    heading = " ".join([*record.values("track"), *record.values("speaker"), *beside])
    rest = (text for facet, text in record.texts.items() if facet not in _TITLES and facet != "subtitle")
    return Passage(id=record.id, document_id=record.id, text="\n".join(rest), title=record.title, heading=heading)

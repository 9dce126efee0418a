"""What a question's words weigh in these documents, and in which other forms they stand there."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from loopwright.config import shipped
from loopwright.retrieval.english import english_words, rarity
from loopwright.retrieval.lexicon import Lexicon, TermCounts
from loopwright.retrieval.records import Evidence
from loopwright.retrieval.text import LETTER, STOP_WORDS, UNSPACED, fold, terms
from loopwright.workflows.rag.question.words import IN_PARENTHESES, VERSION, informative_terms, without_particles

_WORD = re.compile(rf"v?{VERSION.pattern}|{LETTER}+")
# "company's", "they're"; of "don't" the negation stays.
_ENDING = re.compile(r"['’](?:s|re|ve|ll|m|d)\b|(?<=n)['’]t\b")
_WORD_AND_NUMBER = re.compile(r"\b(?:([^\W\d_]{2,})(\d+)|(\d+) ?([^\W\d_]+))\b")
# What ends a sentence, or leads to one; "(Ada King)" at the end is what is meant by a question of a chat.
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?!\()")
# What an answer is to leave out: a name, or where nothing else can be meant, one word.
_CAPITAL = "[A-ZÀ-ÖØ-Þ]"
_TITLE = rf"(?:(?:{_CAPITAL}|Dr|Mr|Mrs|Ms|Prof|St)\. ?)*"
_NAME = rf"{_TITLE}{_CAPITAL}[\w'’-]*(?: {_TITLE}{_CAPITAL}[\w'’-]*)*"
_LEFT_OUT = re.compile(
    r"(?:\b(?i:besides|apart from|aside from|other than|except for|excluding|hormis|à part|excepto)"
    rf" (?:(?:the|a|an|any|my|our) )?(?:{_NAME}|[\w'’-]+)|\b(?i:except|außer|salvo) (?:the )?{_NAME})(?!\w)"
)
# "What sets Paxos apart from Raft?"
_SET_APART = re.compile(
    r"(?i)\b(?:what|that|to|can|could|you|we|I|do|does) (?:set|tell|keep)s? (?!me\b|us\b)(?:[^\s,]+ ){1,6}apart from\b"
)
_ASIDE = 0.5
_CORRECTED = 0.8
_RELATED = 0.5
_LEAST_PREFIX = 0.34
_MOST_WEIGHT = 6.0
_USUAL_WEIGHT = 3.0
_FEW = 40
# What a kind of thing that a question asks for weighs.
_WANTED = 3.0
_DATA: dict[str, dict[str, list[Any]]] = shipped("loopwright.workflows.rag.question", "kinds.yaml")
_PART: dict[str, str] = {}
for _name, _each in _DATA["parts"].items():
    _PART[_name] = f"(?:{'|'.join(_each) % _PART})"
_KINDS = {kind: ["|".join(each) % _PART for each in both] for kind, both in _DATA["kinds"].items()}
_LETTERS, _MONTH = _PART["letters"], _PART["month"]
_HOW_MANY, _COUNTED = (re.compile("|".join(each) % _PART, re.IGNORECASE) for each in _DATA["counts"].values())


@dataclass(frozen=True, slots=True)
class Asked:
    """One word of a question."""

    weight: float
    """What it says: its rarity in the documents (BM25's idf, at most 6) times its rarity in English."""
    forms: Mapping[str, float]
    """Term -> how surely it means the word, from 0 to 1: the word itself, its likely spelling, its compounds."""
    rarity: float
    """Its rarity in English alone, which does not depend on how many documents there are."""


def lexicon_of(evidence: Sequence[Evidence]) -> Lexicon:
    """How common each term is in some passages alone, where nothing is known of the rest."""
    return Lexicon([TermCounts(each) for each in evidence])


@lru_cache(maxsize=16)  # the same question is weighed for each of many passages
def asked_words(question: str, lexicon: Lexicon) -> Mapping[str, Asked]:
    """Weigh a question's words by the documents; what neither they nor English are rare in weighs nothing.

    Nor does what is not asked for, as "Ada King" in "who besides Ada King".
    """
    found: dict[str, Asked] = {}
    rest = question if _SET_APART.search(question) else _LEFT_OUT.sub(" ", question)
    question = rest if informative_terms(rest) else question
    # Of a chat it is not sure what a question refers to: where it has words of its own, these say more.
    own = IN_PARENTHESES.sub("", question)
    parts = _SENTENCE_END.split(own if any(map(lexicon.knows, informative_terms(own))) else question)
    asking = [part for part in parts if "?" in part] or parts
    said = said_by_length(question, lexicon)
    for part in [*asking, *parts, question]:
        for word in _WORD.findall(_ENDING.sub(" ", fold(without_particles(_parted(part, lexicon))))):
            for term in VERSION.findall(word) or terms(word):
                if term not in found and (asked := _asked(word, term, lexicon, word in said)).weight > 0:
                    share = (1 if part in asking else _ASIDE) * said.get(word, 1)
                    found[term] = replace(asked, weight=asked.weight * share, rarity=asked.rarity * share)
    return found


def said_by_length(question: str, lexicon: Lexicon) -> Mapping[str, float]:
    """How much each word says of a question in the language of documents that are not English; else nothing.

    In any language with small letters the short words are the common ones (G. K. Zipf, "The Psycho-Biology of
    Language"). What has a capital within the question may be a name.
    """
    every = _WORD.findall(question)
    words = set(map(fold, every))
    foreign = {word for word in words if not lexicon.foreign.isdisjoint(terms(word))}
    plain = {fold(word) for place, word in enumerate(every) if not place or word[0].islower()}
    # A question's first word asks, as long as it may be.
    told = {word: min(1.0, len(word) / 6) ** 3 for word in plain if word.islower()}
    told |= {word: told[word] / 5 for word in map(fold, every[:1]) if word in told}
    return told if len(foreign) > len(STOP_WORDS & words - foreign) else {}


def sought(question: str, lexicon: Lexicon) -> dict[str, Asked]:
    """A question's words, and the kinds of things that it asks for as if they were some; its "cost" means any sum."""
    found = dict(words := asked_words(question, lexicon))
    for kind, (asking, _) in _KINDS.items():
        if match := re.search(rf"(?i:\b(?:{asking})\b)", question):
            for term in words.keys() & terms(" ".join(filter(None, match.groups()))):
                found[term] = replace(words[term], forms={**words[term].forms, kind: 1.0})
            found[kind] = Asked(_WANTED, {kind: 1.0}, rarity=0.0)
    if (many := _HOW_MANY.search(question)) and (counted := _counted(many.groups(), found)):
        found["<counted>"] = Asked(_WANTED, dict.fromkeys(counted, 1.0), rarity=0.0)
    return found if words else {}


def kinds_in(text: str, asked: Collection[str] = ()) -> set[str]:
    """The kinds of things that a text holds; what is asked of, and so only a part of what is asked, is none."""
    own = {term for term in asked if term[0] != "<"} - STOP_WORDS
    kinds = {kind for kind, (_, looks) in _KINDS.items() for m in re.finditer(looks, text) if not own > {*terms(m[0])}}
    return kinds.union(*map(_counted, _COUNTED.findall(text)))


def other_figures(question: str, text: str) -> set[str]:
    """What a question counts, as "10 days", and its months, which a text has not, or as a sum, a day or an item."""
    sums = rf"(?<![\d.,])[\d.,]*(?:{_KINDS['<sum>'][1]})\d*"
    places = rf"(?m:^\W*\d+[.)] )|\b\d\d?\.?(?= (?i:{_MONTH}))"
    figures = rf"(?<![^\W_])\d+(?= (?!(?i:{_MONTH})){_LETTERS}{{3}})|(?i:\b{_MONTH}(?= \d)|(?<=\d ){_MONTH})"
    asked = " ".join(re.findall(figures, re.sub(sums, " ", question)))
    return {*terms(asked)}.difference(terms(re.sub(f"{sums}|{places}", " ", text)))


def _counted(words: Iterable[str], asked: Mapping[str, Asked] | None = None) -> set[str]:
    """What marks these words, in all forms that they have in the documents, as counted."""
    each = {term for word in words if word for term in terms(word)}
    return {f"<{form}>" for term in each for form in (asked[term].forms if asked and term in asked else [term])}


@lru_cache(maxsize=16)
def corrected(question: str, lexicon: Lexicon) -> str:
    """A question with what is likely mistyped as the documents write it, for models that read whole words.

    Only a word that neither English nor the documents know is changed, and only to an English word that the documents
    have.
    """
    return _WORD.sub(lambda match: _corrected(match[0], lexicon), _parted(question, lexicon))


def _parted(question: str, lexicon: Lexicon) -> str:
    """The question with "loam3" as "loam 3", and "10 kg" as "10kg", where the documents know only the other form."""

    def other(match: re.Match[str]) -> str:
        parts = [each for each in match.groups() if each]
        whole, known = lexicon.knows(terms("".join(parts))[0]), all(lexicon.knows(terms(each)[0]) for each in parts)
        return match[0] if whole == known else ("" if whole else " ").join(parts)

    return _WORD_AND_NUMBER.sub(other, question)


def _corrected(word: str, lexicon: Lexicon) -> str:
    folded, english = fold(word), english_words()
    if not folded.isalpha() or len(folded) < 3 or folded in english or any(map(lexicon.knows, terms(folded))):
        return word
    near = _nearest(folded, english.keys(), 1 if len(folded) < 5 else 2)
    known = [(distance, -english[other], other) for other, distance in near if lexicon.knows(terms(other)[0])]
    return min(known)[2] if known else word


def _asked(word: str, term: str, lexicon: Lexicon, strange: bool) -> Asked:
    if lexicon.knows(term):
        # The longer names that begin with it are rarer, and make it say no more.
        forms = {term: 1.0, **_longer(word, term, lexicon)}
        return Asked(_weight(word, term, lexicon), forms, _rarity(word))
    forms = _forms(word, term, lexicon, strange)
    # A correction says what the corrected word says, not what the unknown one would; of a stem English knows nothing.
    english = english_words()
    said = [_weight(form if form in english and word not in english else word, form, lexicon) for form in forms]
    weight = max(said, default=_weight(word, term, lexicon))
    # What no passage of a sample has may stand in the others.
    return Asked(weight, {term: 1.0, **forms}, _rarity(word))


def _rarity(word: str) -> float:
    # English says nothing of numbers, nor of pieces of scripts without spaces; a version is a name.
    return rarity(word) if (word.isalpha() and not UNSPACED.search(word)) or VERSION.search(word) else 1.0


def _weight(word: str, term: str, lexicon: Lexicon) -> float:
    # A few passages say little of how rare a word is: "what" stands in none of three.
    known = lexicon.size / (lexicon.size + _FEW)
    return (known * min(lexicon.rarity(term), _MOST_WEIGHT) + (1 - known) * _USUAL_WEIGHT) * _rarity(word)


def _forms(word: str, term: str, lexicon: Lexicon, strange: bool) -> dict[str, float]:
    """What an unknown word may stand for among the known terms: the nearest spelling, beginnings, compounds."""
    forms: dict[str, float] = {}
    if not word.isalpha() or len(word) < 3 or UNSPACED.search(word):
        return forms
    known = [e for e in (sorted(lexicon.foreign) if strange else lexicon.terms) if len(e) > 2 and e.isalpha()]
    if word not in english_words():
        # Another first letter makes another word of a short one.
        near = _nearest(term, [e for e in known if len(word) > 4 or e[0] == term[0]], 1 if len(word) < 5 else 2)[:8]
        forms |= {form: _CORRECTED for form, distance in near if distance == near[0][1]}
    if len(word) > 4:
        for form in known:
            begins = word.startswith(form) and len(form) >= _LEAST_PREFIX * len(word)
            if begins or form.startswith(word) or (form.endswith(term) and form in lexicon.foreign):
                forms.setdefault(form, _RELATED)
    return forms


def _longer(word: str, term: str, lexicon: Lexicon) -> dict[str, float]:
    """The longer names that begin with a name, as "PostgreSQL" with "postgres"."""
    if len(word) < 4 or not word.isalpha() or word in english_words():
        return {}
    return {form: _RELATED for form in lexicon.terms if form.startswith(term) and form != term and form.isalpha()}


def _nearest(word: str, known: Collection[str], most: int) -> list[tuple[str, float]]:
    """The words that are at most so many edits away, nearest first."""
    from rapidfuzz import process
    from rapidfuzz.distance import DamerauLevenshtein

    near = process.extract(word, known, scorer=DamerauLevenshtein.distance, score_cutoff=most, limit=None)
    return [(other, distance) for other, distance, _ in near]

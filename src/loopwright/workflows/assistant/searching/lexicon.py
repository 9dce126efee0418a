"""The words that rules go by: read from ``data/words``, one file for each purpose, by language."""

import re
from functools import cache
from typing import Any

from loopwright.config import shipped
from loopwright.retrieval.text import fold

LANGUAGES = ("en", "de", "fr", "nl", "es", "it")
"""The languages that questions are read in."""


def table(purpose: str) -> dict[str, Any]:
    """One file, as it stands."""
    return shipped("loopwright.workflows.assistant", f"data/words/{purpose}.yaml")


@cache
def words(purpose: str, keys: str, language: str = "") -> frozenset[str]:
    """The words of one or more entries of a file, named with blanks between them, in one language or in all."""
    tables = [table(purpose).get(each, {}) for each in ((language,) if language else LANGUAGES)]
    found = (each.get(key, "") for each in tables for key in keys.split())
    return frozenset(fold(word) for entry in found for word in entry.replace(",", " ").split())


@cache
def days(key: str = "days") -> dict[str, int]:
    """Name of a day -> its number from Monday, in all languages; of ``months`` and ``positions`` from the first."""
    lists = (table("time").get(language, {}).get(key, []) for language in LANGUAGES)
    return {fold(word): number for names in lists for number, entry in enumerate(names) for word in entry.split()}


@cache
def numbers() -> dict[str, int]:
    """Word -> number, from one."""
    lists = (table("time").get(language, {}).get("numbers", "") for language in LANGUAGES)
    return {fold(word): place for entry in lists for place, word in enumerate(entry.split(), start=1)}


@cache
def cues(language: str = "en") -> tuple[tuple[str, ...], ...]:
    """What excludes the thing behind it, as words, the longest first; English takes any, Dutch no French "pas"."""
    read = LANGUAGES if language == "en" else (language, "en")
    lists = [entry for each in read for entry in table("negation").get(each, {}).get("cues", [])]
    phrases = {tuple(fold(phrase).split()) for entry in lists for phrase in entry.split(",")}
    return tuple(sorted(phrases | {(word,) for word in words("negation", "weak")}, key=lambda each: (-len(each), each)))


@cache
def verbal() -> frozenset[tuple[str, ...]]:
    """The cues behind which a verb stands."""
    entries = (table("negation").get(language, {}).get("verbal", "") for language in LANGUAGES)
    return frozenset(tuple(fold(phrase).split()) for entry in entries for phrase in entry.split(","))


@cache
def language_of(folded: tuple[str, ...]) -> str:
    """The language that most of some words belong to; English where that is not clear."""
    votes = {language: sum(word in spoken(language) for word in folded) for language in LANGUAGES}
    best = max(LANGUAGES, key=lambda language: votes[language])
    own = len([word for word in folded if word in spoken(best) and word not in spoken("en")])
    return best if votes[best] > votes["en"] and own >= 2 else "en"


@cache
def spoken(language: str) -> frozenset[str]:
    """All words that rules know of a language."""
    tables = [table(purpose).get(language, {}) for purpose in ("function", "time", "things", "turns", "negation")]
    entries = [each for part in tables for each in (part.values() if isinstance(part, dict) else [part])]
    return frozenset(re.findall(r"[^\W\d_]+(?:['-][^\W\d_]+)*", fold(" ".join(map(str, entries)))))


@cache
def function_words(language: str) -> frozenset[str]:
    """The commonest words of a language, and of English."""
    return frozenset(fold(" ".join(table("function").get(each, "") for each in (language, "en"))).split())


@cache
def ordering(word: str, language: str) -> str:
    """What a word for sessions or their order is in English, as "letzte"; the word itself if it is none."""
    keys = ("sessions", "first", "last") if language != "en" else ()
    found = (key for key in keys if word in words("things", key, language))
    return next((table("things")["en"][key].split()[0] for key in found), word)


def glossary(phrase: str, language: str) -> str:
    """What a subject is called in English; empty if it is not known."""
    return {fold(key): value for key, value in table("glossary").get(language, {}).items()}.get(phrase, "")


@cache
def synonyms(word: str) -> tuple[str, ...]:
    """English words for the same subject."""
    return tuple(glossary(word, "en").split())


@cache
def same_as(word: str) -> tuple[str, ...]:
    """English words that may name the same subject, in either direction: what is not wanted is none of them."""
    listed = table("glossary")["en"]
    return (*synonyms(word), *(fold(key) for key, value in listed.items() if word in value.split()))

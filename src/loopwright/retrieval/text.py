"""How text becomes the terms that lexical search compares."""

import re
import unicodedata
from functools import lru_cache

import Stemmer

# Scripts that are written without spaces between words: Thai, Lao, Khmer, Myanmar, Han, Kana.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
"""A letter of Han or Kana."""
# Vowel signs and points, which regular expressions do not count as part of a word: Hebrew, Arabic, Indic scripts.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0971-\u0dff"
# All that combine but the joiner of graphemes between them.
_ACCENTS = re.compile("[\u0300-\u034e\u0350-\u036f]+")
UNSPACED = re.compile(f"[{_UNSPACED}]")
"""A letter or mark of a script that is written without spaces between words."""
LETTER = f"(?:[^\\W_]|[{_MARKS}{_UNSPACED}])"
"""Pattern for a letter, digit or mark of any script."""
SIGNED = r"(?<![^\W_])[a-z]{1,2}(?:\+\+|#(?!\w))|(?:(?<!\w)|(?<=\basp)|(?<=\bado)|(?<=\bvb))\.net(?!\w)"
"""Pattern for a name with a sign that is part of it, folded: "c++", "f#", ".net"."""
_RUNS = re.compile(f"{SIGNED}|[{_UNSPACED}]+|(?:[^\\W_{_UNSPACED}]|[{_MARKS}])+")

STOP_WORDS = frozenset(
    "a about after all also an and any are as at be because been before being between both but by can could did do "
    "does during each for from had has have having he her here hers him his how i if in into is it its itself just "
    "me more most my no nor not of off on once only or other our out over own same she should so some such than "
    "that the their them then there these they this those through to too under until up very was we were what when "
    "where which while who whom whose why will with would you your".split()
)
"""English words that say little; left out of queries that have others."""
APART = {"authorit": "author", "experiment": "experi", "importan": "import", "positiv": "posit", "several": "sever"}
"""How words begin that the stemmer puts with others of another meaning, as "several" with "severance" -> its stem."""


def terms(text: str) -> list[str]:
    """Split a text into comparable terms, in order.

    Words of spaced scripts are folded (case, width, accents) and stemmed as English. Runs of unspaced scripts become
    overlapping pieces: two characters for Han and Kana, three for Thai, Lao, Khmer and Myanmar; a shorter run is one
    piece.
    """
    found: list[str] = []
    for run in _RUNS.findall(fold(text)):
        if UNSPACED.match(run):
            size = 2 if IDEOGRAPHS.match(run) else 3
            found += [run[i : i + size] for i in range(max(1, len(run) - size + 1))]
        else:
            found.append(stem(run))
    return found


def query_terms(text: str) -> list[str]:
    """The terms of a query, each once: without stop words where others are left."""
    wanted = [word for run in _RUNS.findall(fold(text)) if run not in STOP_WORDS for word in terms(run)]
    return list(dict.fromkeys(wanted or terms(text)))


def fold(text: str) -> str:
    """A text without differences of case, width, of accents on letters of spaced scripts, and soft hyphens."""
    folded = unicodedata.normalize("NFKC", text.replace("\u00ad", "")).casefold()
    if folded.isascii():
        return folded
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", folded)))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a folded word, as an English one."""
    return apart[0] if (apart := re.match("|".join(APART), word)) else Stemmer.Stemmer("english").stemWord(word)

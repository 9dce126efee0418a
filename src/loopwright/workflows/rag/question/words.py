"""The words of a question: what carries meaning, what only asks, what it names, and how many steps they ask for."""

import re
from collections.abc import Iterable

from loopwright.config import shipped
from loopwright.retrieval.names import find_mentions
from loopwright.retrieval.text import STOP_WORDS, UNSPACED, fold, terms
from loopwright.workflows.rag.schemas import Complexity

# Everything that separates words; combining marks do not, or Thai syllables would break apart.
_BREAKS = r"\s!-/:-@\[-`{-~…«»“”„‘’「」『』《》〈〉（）【】。，、！？；：·—–\u200b"
_WORD = re.compile(rf"[^{_BREAKS}]+(?:['’.\-–][^{_BREAKS}]+)*")

ASKING_WORDS = STOP_WORDS | frozenset(
    "does doing done may might must shall tell say says said give explain describe list please name named called many "
    "much whether im us me s t also there thing kind type".split()
)
"""English words that ask or connect, and so say nothing of what is looked for."""

_KANA = re.compile("[\u3041-\u309f\u30a1-\u30fa]")
_PARTICLES = " ".join(shipped("loopwright.workflows.rag.question", "particles.yaml")["particles"].values()).split()
# Longer ones first, so that "什么时候" is not left as "时候".
_PARTICLE = re.compile("|".join(sorted(_PARTICLES, key=len, reverse=True)))

# "paracetamol or ibuprofen", "is picomatch faster than minimatch"; words are taken whole, or long input takes long.
_SIDES = re.compile(
    r"(?<![\w-])(?:([\w-]++),? (?:or|oder) (?:the |an? )?([\w-]++)"
    r"|([\w-]++) (?:(?:more|less) )?[\w-]++ than (?:the |an? )?([^\W\d][\w-]*+))",
    re.IGNORECASE,
)
IN_PARENTHESES = re.compile(r"\(([^()]*+)\)\W*$")
"""What stands in parentheses at the end, as what is meant by a question of a chat does."""

VERSION = re.compile(r"(?<![\d.])\d+(?:\.\d{1,2}){2,}(?!\d|\.\d)")
"""A version, as 3.1.4: one number, and not three."""

MAX_READ = 1000
"""The most characters of a question that the rules read; some of their patterns take quadratic time."""


def words(text: str) -> list[str]:
    """The words of a text as they stand, in order; a run of an unspaced script is one word."""
    return _WORD.findall(text)


def without_particles(text: str) -> str:
    """A text without Thai and Chinese question words and particles; other languages, as Japanese, stay as they are."""
    if not UNSPACED.search(text) or _KANA.search(text):
        return text
    return " ".join(_PARTICLE.sub(" ", text).split()) or text


def keywords(text: str) -> list[str]:
    """The words that carry meaning, as they stand, each once, in order."""
    found = (re.sub(r"['’]s$", "", word) for word in words(without_particles(text)))
    kept = [word for word in found if fold(word) not in ASKING_WORDS]
    return list({fold(word): word for word in reversed(kept)}.values())[::-1]


def informative_terms(text: str) -> list[str]:
    """The comparable terms of the words that carry meaning, each once, in order."""
    return list(dict.fromkeys(term for word in keywords(text) for term in terms(word) if term not in ASKING_WORDS))


def terms_of(text: str) -> list[str]:
    """The comparable terms of a text, and its versions."""
    return [*terms(text), *VERSION.findall(text)]


def normal_form(text: str) -> frozenset[str]:
    """What two queries are compared by: their words, whatever the order, case and punctuation."""
    return frozenset(fold(word) for word in words(text))


def names(text: str) -> list[str]:
    """What a text names, without names inside other names: quoted titles, runs of capitalised words; each once."""
    found: list[str] = []
    end = 0
    for start, last in find_mentions(text):
        if start >= end:
            found.append(text[start:last])
            end = last
    return unique(found)


def subjects(question: str) -> list[str]:
    """What a question is about, so that an answer must say more than that.

    Returns:
        What it names, what it sets side by side, and what stands in parentheses at its end, as what is meant by a
        question of a chat does.
    """
    sides = (side for match in _SIDES.findall(question) for side in match if side)
    return unique([*names(question), *sides, *IN_PARENTHESES.findall(question)])


def unique(texts: Iterable[str]) -> list[str]:
    """Each text once, in order, whatever its case."""
    return list({fold(text): text for text in texts}.values())


_SIDE_BY_SIDE = re.compile(
    r"\b(?:or|both|versus|vs|between|compared?|than|same|common|differ\w*|oder|beide|ou|lequel)\b"
    r"|กว่า|ทั้งสอง|ทั้งคู่|หรือ(?!ไม่|เปล่า)|还是|還是|相同|比较|比較",
    re.IGNORECASE,
)
_FIRST = re.compile(r"^\W*(?:in |on |at |by |from )?(?:who|whom|whose|what|which|when|where|how \w+)\b", re.IGNORECASE)
# "the designer of ...", "the city that ...": something that has to be found before what is asked of it.
_DESCRIBED = re.compile(
    r"\b(?:the|an?|this) (?:[\w-]+ ){1,4}?(?:of|that|who|whose|which|where|in which|by)\b|['’]s [a-z]", re.IGNORECASE
)
_ASKED_FOR = re.compile(r"^\W*(?:who|what|which) (?:is|are|was|were) (?:the|an?) ", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_OF_UNSPACED = re.compile(r"ของ.+ของ|ที่.+(?:ของ|ใน)|的.+的")


def complexity_of(question: str) -> Complexity:
    """Say how many steps a question needs.

    Returns:
        ``comparison`` where it sets two things side by side, ``multi_hop`` where it asks something of what is only
        described, else ``one_hop``.
    """
    text = " ".join(question.split())[:MAX_READ]
    if _SIDE_BY_SIDE.search(text) and (max(len(names(text)), len({*_YEAR.findall(text)})) > 1 or not text.isascii()):
        return Complexity.COMPARISON
    described = len(_DESCRIBED.findall(_FIRST.sub("", text))) - bool(_ASKED_FOR.match(text))
    return Complexity.MULTI_HOP if described > 0 or _OF_UNSPACED.search(text) else Complexity.ONE_HOP

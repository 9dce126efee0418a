"""Which entities a text names, by spelling alone: no model, no word list of names.

Scripts with capitals: runs of capitalised words, acronyms, and quoted titles. Any script: the document's title, quoted
terms, and names that the caller knows already.
"""

import html
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from loopwright.retrieval.text import LETTER, STOP_WORDS, UNSPACED, fold

MAX_NAME_WORDS = 10
"""A longer run of words is no name."""
_MOST_KEY_WORDS = 20  # a word as "Frisch-Auf" has a key of two
_MOST_LETTERS = 200

_WORD = re.compile(rf"{LETTER}+(?:['’.\-&]{LETTER}+)*")
_KEY_WORD = re.compile(rf"{LETTER}+")
_POSSESSIVE = re.compile(r"['’]s(?![^\W_])|(?<=s)['’](?![^\W_])")
_QUALIFIER = re.compile(r"(?<=\S)\s*[(（][^()（）]*[)）]\s*$")
_ARTICLES = frozenset({"a", "an", "the"})
_INSIDE = frozenset("of the de da das del della der des di do dos du den el la las le los van von y ibn bin al".split())
_TIMES = frozenset(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday".split()
)
# Besides stop words, what opens sentences right before a name.
_OPENERS = STOP_WORDS | frozenset(
    "according additionally afterwards along although among another besides despite earlier eventually finally "
    "following former formerly furthermore however instead initially later like many meanwhile moreover near "
    "originally recently several since subsequently though throughout today together toward towards unlike unless upon "
    "whereas within without".split()
)
# After these a full stop is part of the name, as it is after a single letter ("Waylon J. Smithers", "St. Louis").
_ABBREVIATIONS = frozenset("dr fr gen jr lt mr mrs ms mt no prof sgt sr st vs".split())
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_SENTENCE_BREAK = re.compile(r"[.!?:;•\n\"“”(\[]|^$")
_QUOTED = re.compile(
    "「([^「」\n]{1,60})」|『([^『』\n]{1,60})』|《([^《》\n]{1,60})》|〈([^〈〉\n]{1,60})〉"
    "|“([^“”\n]{2,80})”|„([^„“\n]{2,80})“|«([^«»\n]{2,80})»|\"([^\"\n]{2,80})\"|``([^`'\n]{2,80})''"
)


Span = tuple[int, int]
"""Where something begins and ends in a text, in characters."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word and its place; ``opens`` says that a sentence begins with it."""

    text: str
    start: int
    end: int
    opens: bool


def entity_key(name: str) -> str:
    """What makes two spellings one entity.

    Case, width, accents, punctuation, leading articles, a possessive ending, and the bracketed qualifier at the end
    of a title ("Mercury (planet)") make no difference.

    Returns:
        Lower-case words separated by single spaces; empty if the name has neither letters nor digits.
    """
    if name.isalnum():
        return fold(name)
    plain = _POSSESSIVE.sub("", html.unescape(name))
    words = _KEY_WORD.findall(fold(_QUALIFIER.sub("", plain))) or _KEY_WORD.findall(fold(plain))
    while len(words) > 1 and words[0] in _ARTICLES:  # "The A to Z": the key of a key is itself
        words = words[1:]
    return " ".join(words)


def findable(keys: Iterable[str]) -> frozenset[str]:
    """Of entity keys those that can be found in texts; not stop words, nor what is longer than two names."""
    return frozenset(key for key in keys if key and key.count(" ") < _MOST_KEY_WORDS) - STOP_WORDS


def find_mentions(text: str, *, title: str = "", known: Collection[str] = ()) -> list[Span]:
    """Find where names stand in a text.

    A name inside another counts too where it stands after "of" or before a possessive: "University of Copenhagen"
    names Copenhagen. The title of its document is a name wherever it occurs, and so are known entity keys, whatever
    their case.

    Returns:
        The names by place, the longer first where two begin together; no place twice.
    """
    words = _words(text)
    found = [*_capitalised(text, words, title), *_quoted(text)]
    title_key = entity_key(title)
    wanted = {*known, title_key} if title_key.partition(" ")[0] in fold(text) else known
    if keys := findable(wanted):
        found += _known(text, words, keys, max(key.count(" ") for key in keys) + 1)
    short = {(start, end) for start, end in found if end - start <= _MOST_LETTERS and entity_key(text[start:end])}
    return sorted(short, key=lambda span: (span[0], -span[1]))


def known_in(text: str, keys: frozenset[str]) -> set[str]:
    """Which of the entity keys that can be found a text names, in any case: of names that overlap the longest."""
    return {entity_key(text[start:end]) for start, end in _known(text, _words(text), keys, _MOST_KEY_WORDS)}


def _words(text: str) -> list[_Word]:
    words: list[_Word] = []
    end = 0
    for match in _WORD.finditer(text):
        gap = text[end : match.start()]
        opens = not words or (bool(_SENTENCE_BREAK.search(gap)) and not _is_initial_stop(words[-1].text, gap))
        words.append(_Word(match[0], match.start(), match.end(), opens))
        end = match.end()
    return words


def _is_initial_stop(word: str, gap: str) -> bool:
    """Whether the full stop in a gap belongs to the word before it, not to a sentence."""
    return gap == ". " and (len(word) == 1 or fold(word) in _ABBREVIATIONS)


def _capitalised(text: str, words: list[_Word], title: str) -> Iterable[Span]:
    """Runs of capitalised words; a lone word that opens a sentence only if it is capitalised elsewhere as well."""
    elsewhere = {word.text for word in words if not word.opens} | {word.text for word in _words(title)}
    i = 0
    while i < len(words):
        if not _begins_name(words, i):
            i += 1
            continue
        last = _end_of_name(text, words, i)
        run = _without_openers(words[i : last + 1])
        i = last + 1
        if not run or len(run) > MAX_NAME_WORDS or all(_says_little(word.text) for word in run):
            continue
        if len(run) == 1 and run[0].opens and run[0].text not in elsewhere and not _is_acronym(run[0].text):
            continue
        yield from _nested(text, run)


def _begins_name(words: list[_Word], i: int) -> bool:
    if words[i].text[0].isupper():
        beside = (*words[i - 1 : i], *words[i + 1 : i + 2])
        return fold(words[i].text) not in _TIMES or not any(word.text.isdigit() for word in beside)
    ordinal = _ORDINAL.fullmatch(words[i].text)
    return bool(ordinal) and i + 1 < len(words) and words[i + 1].text[0].isupper() and not words[i + 1].opens


def _end_of_name(text: str, words: list[_Word], first: int) -> int:
    """The index of the last word of the name that begins here."""
    last = first
    for j in range(first + 1, len(words)):
        gap = text[words[j - 1].end : words[j].start]
        if gap not in (" ", " & ", " &amp; ") and not _is_initial_stop(words[j - 1].text, gap):
            break
        word = words[j].text
        if word.isdigit():
            return j if last == j - 1 else last
        if word[0].isupper():
            last = j
        elif fold(word) not in _INSIDE or gap != " ":
            break
    return last


def _without_openers(run: list[_Word]) -> list[_Word]:
    """A run without the common words that only the sentence's beginning capitalises, and what they drag along."""
    for n, word in enumerate(run):
        is_opener = (folded := fold(word.text)) in _ARTICLES or (word.opens and folded in _OPENERS)
        if not is_opener and (n == 0 or word.text[0].isupper()):
            return run[n:]
    return []


def _says_little(word: str) -> bool:
    return word.isdigit() or (folded := fold(word)) in _TIMES or folded in STOP_WORDS


def _is_acronym(word: str) -> bool:
    return len(letters := word.replace(".", "").replace("&", "")) >= 2 and letters.isupper()


def _nested(text: str, run: list[_Word]) -> Iterable[Span]:
    """A name, and the names inside it: after its last "of", and before a possessive."""
    yield _mention(text, run[0].start, run[-1].end)
    folded = [fold(word.text) for word in run]
    if "of" in folded:
        after = len(folded) - folded[::-1].index("of")
        after += after < len(folded) - 1 and folded[after] == "the"
        if after < len(run) and not _says_little(run[after].text):
            yield _mention(text, run[after].start, run[-1].end)
    for n, word in enumerate(run[:-1]):
        if _POSSESSIVE.search(word.text):
            yield _mention(text, run[0].start, run[n].end)


def _mention(text: str, start: int, end: int) -> Span:
    """Where the name between two places stands, without the possessive ending that the last word may have."""
    return start, end - 2 * text[start:end].endswith(("'s", "’s"))


def _quoted(text: str) -> Iterable[Span]:
    for match in _QUOTED.finditer(text):
        group = match.lastindex or 0
        name = match[group].rstrip(" ,.;:!?")
        stripped = name.lstrip()
        is_title = bool(UNSPACED.match(stripped)) or (stripped[:1].isupper() or stripped[:1].isdigit())
        if is_title and len(stripped.split()) <= MAX_NAME_WORDS and any(character.isalpha() for character in stripped):
            start = match.start(group) + len(name) - len(stripped)
            yield start, start + len(stripped)


def _known(text: str, words: list[_Word], known: frozenset[str], longest: int) -> Iterable[Span]:
    """The longest known names at each place; in unspaced scripts a name may begin anywhere in a run."""
    keys = [entity_key(word.text) for word in words]
    i = 0
    while i < len(words):
        lasts = range(min(i + longest, len(keys)) - 1, i - 1, -1)
        last = next((last for last in lasts if " ".join(keys[i : last + 1]) in known), None)
        if last is not None:
            yield _mention(text, words[i].start, words[last].end)
            i = last
        elif UNSPACED.match(words[i].text):
            yield from _known_inside(words[i], known)
        i += 1


def _known_inside(run: _Word, known: frozenset[str], longest: int = 24) -> Iterable[Span]:
    start = 0
    while start < len(run.text):
        for end in range(min(start + longest, len(run.text)), start + 1, -1):
            if fold(run.text[start:end]) in known:
                yield run.start + start, run.start + end
                start = end - 1
                break
        start += 1

"""Binding what an answer says to the words that bear it out."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from loopwright.retrieval.records import Evidence
from loopwright.retrieval.text import UNSPACED, fold, terms
from loopwright.workflows.files.source import file_and_key
from loopwright.workflows.rag.answer.sentences import STOPS, sentence_spans
from loopwright.workflows.rag.question.words import ASKING_WORDS, informative_terms, names
from loopwright.workflows.rag.schemas import Answer, Citation, Sentence

_PLACES = r"\s*\d{1,3}(?:\s*[,;，、–-]\s*\d{1,3})*\s*"
_MARK = rf"(?:\[{_PLACES}\]|【{_PLACES}】)"
_FENCE = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(`{3,})[^`\n]*\n.*?(?:^[ \t>]*\1`*(?=[ \t]*\r?$)|\Z)",
    re.MULTILINE | re.DOTALL,
)
_STOP = f"[.!?{STOPS}]"
_MARKS = re.compile(rf"(?<!\s)\s*+{_MARK}(?:\s*{_MARK})*")
_MARKS_AFTER = re.compile(rf"(?P<stop>(?<!{_STOP}){_STOP}++[\"”’」』]*+)(?P<marks>\s*+{_MARK}(?:\s*{_MARK})*)")
_INNER_QUOTE = re.compile(r"[\"“「]([^\"“”「」]{12,400})[\"”」]")
_NO_ANSWER = re.compile(
    r"(?:(?:sorry|therefore|thus|so|hence)[, ]*)*"
    r"(?:(?:i (?:do not|don['’]t) know|i can(?:not|['’]t) (?:answer|find|say)"
    r"|(?:the|these) (?:passages|documents|sources) (?:do not|don['’]t)"
    r" (?:answer|say|mention|contain)|no answer"
    r"|ich wei(?:ß|ss) es nicht|je ne sais pas|no lo s[eé])\b|ไม่ทราบ|ฉันไม่รู้|我不知道|不知道|无法回答)"
    r"[^.!?。！？]*[.!?。！？]*"
)
_QUOTE_AFTER = re.compile(rf"(?P<mark>{_MARK})(?P<stop>{_STOP}?)[\s:]*[\"“「](?P<quote>[^\"“”「」]{{2,600}})[\"”」]")
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:([.,'’])\d{3}(?:\1\d{3})*)(?!\d)")
NOT = re.compile(
    r"(?:\b(?<![,;(] )(?:not|never|no(?! longer| \d|[.-])|cannot|nicht|keine?[mnrs]?|nie|pas|jamais|aucune?|nunca"
    r"|ningun\w*|non(?!-)|nessun\w*)|n['’]t)\b(?! (?:only|just|nur|seulement|solo|doubt|(?:more|less|later) than))"
    r"(?![^,.;\n]{0,60}\b(?:until|before|bis|avant)\b)"
)
"""Pattern for what says no of the next word of a folded text."""
# What else may mean a no, or leaves it open.
_DENIES = re.compile(
    rf"{NOT.pattern}|\b(?:not?(?:ne|thing|body|r)?\b|without|ohne|sans|sin\b|senza|forbid|prohib|banned|refus|deni|exclu|excep"
    r"|un(?:less|able|til)|only|fail|lack|clos|shut|free|avoid|below|under\b|less|zero|instead|geschlossen|ferme|cerrad|cierra"
    r"|chius|verbot|untersagt|interdi|vietat)|[✕✗✘❌]"
)
_SOMETIMES = re.compile(r"\b(?:if|when(?:ever)?|wenn|falls|sofern|si|se non|quand|cuando|quando)\b")
_YES_OR_NO = re.compile(r"^\W{0,9}(?:yes|no|ja|nein|oui|non|si)\s*[,.:;!–—-]\s*")
_SHARED = ("title", "document_id", "heading", "page", "origin")
_NEARLY = 0.8
_HOLDS_ALONE = 0.5
_HOLDS_TOGETHER = 0.25
_LEAST_INNER = 4
_NOT_BORNE_OUT = "The documents do not bear out an answer to this."
_PLAIN = str.maketrans("“”„‟«»″‘’‚‛′‐‑‒–—―−", '"' * 7 + "'" * 5 + "-" * 7)
# What a quote need not repeat: soft hyphens, signs of trade marks, Markdown's marks of emphasis and code, or those put
# for them: ' that stands not within a word.
_UNSEEN = re.compile(r"[\u00ad*`™℠®]|(?<![^\W_])'|'(?![^\W_])")
# Between the digits of a number; an ordinary space may also stand between two numbers.
_NARROW = str.maketrans(dict.fromkeys("\u00a0\u2009\u202f", "'"))


def number_of(listed: list[Citation], evidence: Evidence, start: int, end: int) -> int:
    """Cite ``evidence.text[start:end]`` and say under which number; these are dense, from 1, each place has one."""
    for citation in listed:
        if (citation.evidence_id, citation.start, citation.end) == (evidence.id, start, end):
            return citation.number
    number = len(listed) + 1
    shared: dict[str, Any] = {name: getattr(evidence, name) for name in _SHARED}
    quote = evidence.text[start:end]
    listed.append(Citation(number=number, evidence_id=evidence.id, quote=quote, start=start, end=end, **shared))
    return number


def cite(text_with_marks: str, evidence: Sequence[Evidence]) -> Answer:
    """Make an answer of a draft that cites passages by number, and keep of it what they bear out.

    After each ``[n]`` the draft may quote passage n: ``[1] "designed by Horace Jones"``. The quote must stand there, in
    whole words; without one the sentence of the passage that says most of the same is quoted. A mark without a
    passage, with another quote, or whose passage has not the sentence's names, numbers and half of its words, or says
    plainly the opposite, is no citation: it is taken out and counted. A sentence without a citation that holds is taken
    out too. Code in its fence is cited as the sentence before it.

    Returns:
        The answer, its citations numbered anew from 1, and in ``left_out`` what nothing bears out; it abstains if the
        draft is empty, or if it cites nothing and ends with "I don't know".
    """
    draft, quotes = _without_quotes(_MARKS_AFTER.sub(r"\g<marks>\g<stop>", text_with_marks.strip()))
    listed: list[Citation] = []
    kept: list[Sentence] = []
    left_out: list[str] = []
    whole, done, removed = "", 0, 0
    before: list[int] = []
    # The numbers of a list, which count up, claim nothing.
    items = [*map(int, re.findall(r"^[ \t]*(\d{1,3})[.)]\s", draft, re.MULTILINE))]
    item = r"^\d{1,3}[.)]\s+" if len(items) > 1 and items == [*range(1, len(items) + 1)] else "^"
    for start, end in _claims(draft):
        text, numbers = draft[start:end], before
        if code := _FENCE.match(text):
            text += "" if text.endswith(code[1]) and "\n" in text[code.end(1) :] else f"\n{code[1]}"
        else:
            before = numbers = [*dict.fromkeys(_numbers(text))]
            text = re.sub(rf"(?<!\s)\s++([.!?,;:，{STOPS}])", r"\1", _MARKS.sub("", text)).strip()
        if not any(map(str.isalnum, text)):
            continue
        given = [(number, quote) for place, number, quote in quotes if start <= place < end]
        cited = _bound(re.sub(item, "", text), numbers, evidence, given, listed)
        removed += 0 if code else len(numbers) - len(cited)
        if cited:
            kept.append(Sentence(text=text, citations=tuple(dict.fromkeys(cited))))
            gap = draft[done:start]  # the items of a list stay apart
            whole += (re.sub(r"[^\n]", "", gap)[:2] or " ") + marked(kept[-1])
            done = end
        else:
            left_out.append(text)
    if kept and draft.endswith(" …") and not kept[-1].text.endswith("…"):
        # The sentence within which a model was cut off says nothing yet.
        left_out = [each for each in left_out if not draft.endswith(each)]
        whole += " …"
    silent = not kept and (not left_out or bool(_NO_ANSWER.fullmatch(fold(left_out[-1]))))
    return Answer(
        text=_NOT_BORNE_OUT if not kept and not silent else left_out[-1] if left_out and silent else whole.strip(),
        short=kept[0].text if kept else "",
        sentences=tuple(kept),
        citations=tuple(listed),
        abstained=silent,
        removed_citations=removed,
        left_out=() if silent else tuple(left_out),
    )


def marked(sentence: Sentence) -> str:
    """A sentence with its marks."""
    # Beside it, marks would be part of a table's last row, or keep a fence from closing.
    gap = "\n\n" if sentence.text.endswith(("```", "|")) else " "
    return (sentence.text + gap + "".join(f"[{number}]" for number in sentence.citations)).rstrip()


def is_row(evidence: Evidence) -> bool:
    """Whether a passage is the row of a table, which has its name above it; a record with a text of its own has not."""
    return bool(evidence.heading and file_and_key(evidence.document_id)[1])


def best_quote(sentence: str, evidence: Evidence) -> tuple[int, int, float]:
    """The sentence of a passage that bears another sentence out best."""
    wanted, titled = set(informative_terms(sentence)), set(terms(evidence.title))
    # A row is one statement, whatever the number of its fields.
    spans = [(0, len(evidence.text))] if is_row(evidence) else sentence_spans(evidence.text)
    scored = [
        (len(wanted & {*terms(evidence.text[start:end]), *titled}) / (len(wanted) or 1), -start, end)
        for start, end in spans
    ]
    share, negative_start, end = max(scored, default=(0.0, 0, 0))
    return -negative_start, end, share


def numbers_in(text: str) -> set[str]:
    """The numbers of a text in digits, of which 1,000, 1.000 and 1000 are one, and so are 9 and 09, 2,5 and 2.5."""
    whole = _THOUSANDS.sub(lambda match: re.sub(r"\D", "", match[0]), fold(text.translate(_NARROW)))
    plain = re.sub(r"(?<![,\d])(\d+),(\d\d?)(?!,?\d)", r"\1.\2", whole)
    return {number.lstrip("0") or "0" for number in re.findall(r"\d+(?:\.\d+)?", plain)}


def _without_quotes(draft: str) -> tuple[str, list[tuple[int, int, str]]]:
    """The draft without the quotes after its marks; of each quote where its mark stands, its passage, its words."""
    quotes: list[tuple[int, int, str]] = []
    kept, end = "", 0
    for match in _QUOTE_AFTER.finditer(draft):
        kept += draft[end : match.start()] + match["mark"]
        quotes += [(len(kept) - 1, number, match["quote"].strip(" .…")) for number in _numbers(match["mark"])]
        kept, end = kept + match["stop"], match.end()
    return kept + draft[end:], quotes


def _claims(draft: str) -> Iterator[tuple[int, int]]:
    """Where each sentence, and each block of code, begins and ends."""
    place = 0
    for start, end in [*(fence.span() for fence in _FENCE.finditer(draft)), (len(draft), len(draft))]:
        yield from ((place + left, place + right) for left, right in sentence_spans(draft[place:start]))
        yield start, end
        place = end


def _numbers(sentence: str) -> list[int]:
    parts = re.findall(r"(\d+)(?:\s*[–-]\s*(\d+))?", "".join(re.findall(_MARK, sentence)))
    spans = [(int(first), int(last or first)) for first, last in parts]
    # Nobody cites so many passages at once: of such a range, or one that goes down, its ends.
    return [n for first, last in spans for n in (range(first, last + 1) if 0 <= last - first < 20 else (first, last))]


def _contradicts(said: str, source: str) -> bool:
    """Whether one of two sentences says no of a word of the other, and all else that they say is nearly the same."""
    both = _YES_OR_NO.sub("", fold(said)), fold(source)
    mine, theirs = ({*informative_terms(NOT.sub(" ", text))} for text in both)
    theirs = {term for term in theirs if term in mine or not term.isdigit()}  # a year more changes little
    if any(map(_SOMETIMES.search, both)) or len(mine & theirs) < _NEARLY * max(len(mine), len(theirs)):
        return False
    for one, other in (both, both[::-1]):
        said_no = NOT.search(other) or {*_DENIES.findall(other)} - {*_DENIES.findall(one)}
        if not said_no and _denied(one) & {*terms(other)}:
            return True
    return False


def _denied(text: str) -> set[str]:
    after = (text[match.end() : match.end() + 60] for match in NOT.finditer(text))
    clauses = (re.split(r"[,.;:!?()–—]", part, maxsplit=1)[0] for part in after)
    # What is said twice may be denied once: "no airport; the nearest airport is".
    return {term for clause in clauses for term in informative_terms(clause)[:1] if terms(text).count(term) < 2}


def _bound(
    text: str,
    numbers: Sequence[int],
    evidence: Sequence[Evidence],
    quotes: Sequence[tuple[int, str]],
    listed: list[Citation],
) -> list[int]:
    """The new numbers of the citations that hold."""
    several = len(set(numbers)) > 1
    cited = [(number, evidence[number - 1]) for number in numbers if 1 <= number <= len(evidence)]
    sources = [f"{each.title} {each.heading} {each.text}" for _, each in cited]
    known = {term for source in sources for term in terms(source)}
    named = {term for name in names(text) for term in terms(name)} - ASKING_WORDS
    # What the sentence names and counts must stand in what it cites, whatever else it shares with it.
    wanted = set(informative_terms(text))
    counted = {number for source in sources for form in (source, fold(source)) for number in numbers_in(form)}
    if not numbers_in(text) <= counted or not named <= known:
        return []
    kept: list[int] = []
    for number, passage in cited:
        start, end, share = best_quote(text, passage)
        given = [quote for of, quote in quotes if of == number]
        places = [place for quote in given if (place := verify_quote(quote, passage.text, whole_words=True))]
        inner = [quote for quote in _INNER_QUOTE.findall(text) if len(quote.split()) >= _LEAST_INNER]
        misquoted = (given and not places) or any(verify_quote(quote, passage.text) is None for quote in inner)
        # Where only one of the two is in a script without spaces no words can agree: a quote stands for them.
        translated = bool(places) and bool(UNSPACED.search(text)) != bool(UNSPACED.search(passage.text))
        if misquoted or (share < (_HOLDS_TOGETHER if several else _HOLDS_ALONE) and not translated):
            continue
        if _contradicts(text, passage.text[start:end]):
            continue
        # Several sentences may quote one passage: each takes the quote that says most of the same.
        same = {place: len(wanted & set(terms(passage.text[slice(*place)]))) for place in places}
        best = max(same, key=lambda place: same[place]) if same else (start, end)
        kept.append(number_of(listed, passage, *best))
    return kept


def verify_quote(quote: str, text: str, *, whole_words: bool = False) -> tuple[int, int] | None:
    """Find a quote in a text, whatever the white space and how characters are written or marked; case counts.

    Returns:
        Where it stands: ``text[start:end]`` are the source's own characters. None if it does not stand there, or if the
        quote has no letter or digit.
    """
    if not any(character.isalnum() for character in quote):
        return None
    wanted = _plain(quote)[0].strip()
    plain, places = _plain(text)
    start = plain.find(wanted)
    while start >= 0 and whole_words and (_inside_word(plain, start) or _inside_word(plain, start + len(wanted))):
        start = plain.find(wanted, start + 1)
    return None if start < 0 else (places[start], places[start + len(wanted) - 1] + 1)


def _inside_word(text: str, place: int) -> bool:
    """Whether a place is no word border; scripts without spaces have none to keep."""
    around = text[max(0, place - 1) : place + 1]
    inside = unicodedata.combining(around[-1:] or " ") or (around.isalnum() and not UNSPACED.search(around))
    return 0 < place < len(text) and bool(inside)


def _plain(text: str) -> tuple[str, list[int]]:
    """A text in plain characters with single spaces, and where each of its characters stands in the source."""
    kept: list[str] = []
    places: list[int] = []
    text = text.translate(_PLAIN)
    unseen = {match.start() for match in _UNSEEN.finditer(text)}
    for place, character in enumerate(text):
        if place in unseen or (character.isspace() and kept[-1:] == [" "]):
            continue
        parts = " " if character.isspace() else unicodedata.normalize("NFKD", character)
        kept += parts
        places += [place] * len(parts)
    return "".join(kept), places

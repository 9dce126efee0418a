"""Binding what an answer says to the words that bear it out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loopwright.retrieval.text import fold, terms
from loopwright.workflows.rag.answering.quotes import verify_quote
from loopwright.workflows.rag.answering.sentences import sentence_spans
from loopwright.workflows.rag.asking.weights import coverage, term_weights
from loopwright.workflows.rag.asking.words import ASKING_WORDS, has_unspaced
from loopwright.workflows.rag.schemas import Answer, Citation, Evidence, Sentence

_MARK = r"(?:\[\s*\d{1,3}(?:\s*[,;，、]\s*\d{1,3})*\s*\]|【\s*\d{1,3}(?:\s*[,;，、]\s*\d{1,3})*\s*】)"
_MARKS = re.compile(rf"(?<!\s)\s*+{_MARK}(?:\s*{_MARK})*")
_MARKS_AFTER = re.compile(rf"(?P<stop>(?<![.!?。！？])[.!?。！？]++[\"”’」』]*+)(?P<marks>\s*+{_MARK}(?:\s*{_MARK})*)")
_INNER_QUOTE = re.compile(r"[\"“「]([^\"“”「」]{12,400})[\"”」]")
_NO_ANSWER = re.compile(
    r"(?:(?:sorry|therefore|thus|so|hence)[, ]*)*"
    r"(?:(?:i (?:do not|don['’]t) know|i can(?:not|['’]t) (?:answer|find|say)"
    r"|(?:the|these) (?:passages|documents|sources) (?:do not|don['’]t)"
    r" (?:answer|say|mention|contain)|no answer"
    r"|ich wei(?:ß|ss) es nicht|je ne sais pas|no lo s[eé])\b|ไม่ทราบ|ฉันไม่รู้|我不知道|不知道|无法回答)"
    r"[^.!?。！？]*[.!?。！？]*"
)
_HOLDS_ALONE = 0.5
_HOLDS_TOGETHER = 0.25
_CLOSED = frozenset({"yes", "no"})
_LEAST_QUOTE = 8
_LEAST_QUOTE_UNSPACED = 3


@dataclass(slots=True)
class CitationList:
    """Collects citations and numbers them densely, from 1, each place once."""

    citations: list[Citation] = field(default_factory=list[Citation])
    """What was cited so far, by number."""

    def add(self, evidence: Evidence, start: int, end: int) -> int:
        """Cite ``evidence.text[start:end]`` and say under which number."""
        for citation in self.citations:
            if (citation.evidence_id, citation.start, citation.end) == (evidence.id, start, end):
                return citation.number
        number = len(self.citations) + 1
        self.citations.append(
            Citation(
                number=number,
                evidence_id=evidence.id,
                quote=evidence.text[start:end],
                start=start,
                end=end,
                title=evidence.title,
                document_id=evidence.document_id,
                heading=evidence.heading,
                page=evidence.page,
                origin=evidence.origin,
            )
        )
        return number


def cite(
    text_with_marks: str, evidence: Sequence[Evidence], *, quotes: Mapping[int, str] | None = None, short: str = ""
) -> Answer:
    """Make an answer of a draft that cites passages by number.

    Each ``[n]`` is bound to the sentence of passage n that bears the draft's sentence out best. A number without a
    passage, a given quote that does not stand in the passage in whole words, and a passage without the sentence's
    numbers and most of its words, are no citations: they are taken out and counted. Where only one of sentence and
    passage is in a script without spaces, so that no words can agree, a given quote stands for the words.

    Args:
        text_with_marks: The draft, with ``[1]``, ``[2, 3]`` or ``[1][2]`` in or after its sentences.
        evidence: The passages; ``[1]`` is the first.
        quotes: Number of a passage -> the words that the writer says it took from there, where it says so.
        short: The answer in as few words as possible, where the writer gives it; left out where the quotes do not have
            its names and numbers.

    Returns:
        The answer, its citations numbered anew from 1; it abstains if the draft is empty, or if it cites nothing and
        ends with "I don't know".
    """
    draft = _MARKS_AFTER.sub(r"\g<marks>\g<stop>", text_with_marks.strip())
    listed = CitationList()
    written: list[Sentence] = []
    pieces: list[str] = []
    removed = position = 0
    for start, end in sentence_spans(draft):
        numbers = _numbers(draft[start:end])
        text = re.sub(r"(?<!\s)\s++([.!?,;:。！？，])", r"\1", _MARKS.sub("", draft[start:end])).strip()
        kept = _bound(text, numbers, evidence, quotes or {}, listed)
        removed += len(numbers) - len(kept)
        cited = tuple(dict.fromkeys(kept))
        if any(character.isalnum() for character in text):
            written.append(Sentence(text=text, citations=cited))
            pieces += [draft[position:start], text, marks_of(cited)]
        position = end
    said = fold(" ".join(sentence.text for sentence in written))
    # What ends with "I don't know" and cites nothing says no more than that.
    last = fold(written[-1].text) if written else ""
    silent = _NO_ANSWER.fullmatch(said) or _NO_ANSWER.fullmatch(last)
    abstains = not written or (not listed.citations and bool(silent))
    return Answer(
        text="".join(pieces).strip(),
        short="" if abstains else _borne_out(short, listed.citations),
        sentences=tuple(written),
        citations=tuple(listed.citations),
        abstained=abstains,
        removed_citations=removed,
    )


def marks_of(numbers: Sequence[int]) -> str:
    """The marks that follow a sentence, for example `` [1][3]``; empty without numbers."""
    return f" {''.join(f'[{number}]' for number in numbers)}" if numbers else ""


def with_sentences(answer: Answer, kept: Sequence[Sentence]) -> Answer:
    """An answer of only some of its sentences, with only the citations that they need, numbered anew.

    Args:
        answer: The answer.
        kept: Those of its sentences that stay. The short answer stays with them if their quotes have its names and
            numbers; "yes" and "no" only if every sentence stays, because all of them together show it.
    """
    needed = list(dict.fromkeys(number for sentence in kept for number in sentence.citations))
    renumbered = {old: new for new, old in enumerate(needed, 1)}
    by_number = {citation.number: citation for citation in answer.citations}
    written = tuple(
        sentence.model_copy(update={"citations": tuple(renumbered[number] for number in sentence.citations)})
        for sentence in kept
    )
    citations = tuple(by_number[old].model_copy(update={"number": new}) for old, new in renumbered.items())
    shown = len(written) == len(answer.sentences) or fold(answer.short) not in _CLOSED
    return answer.model_copy(
        update={
            "short": _borne_out(answer.short, citations) if shown else "",
            "text": " ".join(f"{sentence.text}{marks_of(sentence.citations)}" for sentence in written),
            "sentences": written,
            "citations": citations,
        }
    )


def best_quote(sentence: str, evidence: Evidence) -> tuple[int, int, float]:
    """The sentence of a passage that bears another sentence out best.

    Args:
        sentence: What is to be borne out.
        evidence: The passage.

    Returns:
        Where it begins and ends in the passage's text, and the share of the sentence's weight that it covers with its
        title, from 0 to 1; 0 for a sentence or passage without words.
    """
    weights = term_weights(sentence)
    titled = set(terms(evidence.title))
    scored = [
        (coverage(weights, set(terms(evidence.text[start:end])) | titled), -start, end)
        for start, end in sentence_spans(evidence.text)
    ]
    share, negative_start, end = max(scored, default=(0.0, 0, 0))
    return -negative_start, end, share


def numbers_in(text: str) -> set[str]:
    """The numbers of a text in digits, without separators of thousands, so that 1,000 and 1000 are one."""
    return set(re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", fold(text))))


def _borne_out(short: str, citations: Sequence[Citation]) -> str:
    """A short answer if the citations have its names and numbers, else nothing; "yes" needs some citation only."""
    said = " ".join(f"{citation.quote} {citation.title}" for citation in citations)
    # A word with a capital is a name here, even the first one, and a script without capitals is compared as a whole.
    named = " ".join(word for word in short.split() if has_unspaced(word) or any(map(str.isupper, word)))
    wanted = set[str]() if fold(short).strip(" .!") in _CLOSED else {*terms(named), *numbers_in(short)} - ASKING_WORDS
    return short if citations and wanted <= {*terms(said), *numbers_in(said)} else ""


def _numbers(sentence: str) -> list[int]:
    return [int(number) for mark in re.findall(_MARK, sentence) for number in re.findall(r"\d+", mark)]


def _bound(
    text: str, numbers: Sequence[int], evidence: Sequence[Evidence], quotes: Mapping[int, str], listed: CitationList
) -> list[int]:
    """The new numbers of the citations that hold."""
    needed = _HOLDS_ALONE if len(set(numbers)) == 1 else _HOLDS_TOGETHER
    wanted = numbers_in(text) if len(set(numbers)) == 1 else set[str]()
    kept: list[int] = []
    for number in numbers:
        if not 1 <= number <= len(evidence):
            continue
        passage = evidence[number - 1]
        given = quotes.get(number)
        start, end, share = best_quote(text, passage)
        translated = given is not None and has_unspaced(text) != has_unspaced(passage.text)
        holds = (share >= needed or translated) and wanted <= numbers_in(f"{passage.title} {passage.text}")
        if not holds or _misquotes(text, passage, given):
            continue
        kept.append(listed.add(passage, *(_place_of_quote(text, passage, given) or (start, end))))
    return kept


def _place_of_quote(text: str, passage: Evidence, given: str | None) -> tuple[int, int] | None:
    """Where the words stand that a writer gave as a quote, apart or inside its sentence."""
    places = (verify_quote(quote, passage.text, whole_words=True) for quote in _quotes_of(text, given))
    return next((place for place in places if place is not None), None)


def _misquotes(text: str, passage: Evidence, given: str | None) -> bool:
    """Whether a quote was given that does not stand in the passage, or is too short to show anything."""
    if given is not None and len(given.strip()) < (_LEAST_QUOTE_UNSPACED if has_unspaced(given) else _LEAST_QUOTE):
        return True
    return any(verify_quote(quote, passage.text, whole_words=True) is None for quote in _quotes_of(text, given))


def _quotes_of(text: str, given: str | None) -> list[str]:
    """The quote that was given apart, else those of at least four words inside the sentence."""
    inner = (match[1].strip() for match in _INNER_QUOTE.finditer(text))
    return [given.strip()] if given is not None else [quote for quote in inner if len(quote.split()) >= 4]

"""Short answers: every span of the evidence, ranked by how well it fits the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

from loopwright.retrieval.names import plain_title
from loopwright.retrieval.text import fold, terms
from loopwright.workflows.rag.answering.spans import Span, SpanKind, spans_in
from loopwright.workflows.rag.answering.support import Supported
from loopwright.workflows.rag.asking.asked import AnswerType, Asked
from loopwright.workflows.rag.asking.clauses import main_terms
from loopwright.workflows.rag.asking.words import ASKING_WORDS, keywords, names
from loopwright.workflows.rag.schemas import Evidence

_NEAR = 60
_BESIDE = 25
_SENTENCES = 40
_READ = 4000


@dataclass(frozen=True, slots=True)
class Features:
    """What speaks for a candidate, each about 0 to 1; as weights, how much it counts."""

    support: float
    """How well its sentence bears on the question."""
    kind: float
    """1 if it looks like what is asked for, -1 if it looks like something else."""
    main: float
    """The share of what the question asks in its main clause that stands close to it."""
    beside: float
    """The share of that which stands right next to it."""
    said: float
    """The share of that which its sentence and title say."""
    focus: float
    """Whether the noun that is asked for stands next to it, or it is one."""
    aligned: float
    """How much of what precedes the question word also precedes it."""
    phrase: float
    """Whether it is a plain phrase, and no name, date or number."""
    late: float
    """How far down its sentence and passage stand, from 0 for the first."""


WEIGHTS = Features(
    support=1.2,
    kind=2.0,
    main=0.7,
    beside=0.5,
    said=2.4,
    focus=1.2,
    aligned=2.3,
    phrase=-0.6,
    late=-2.0,
)
"""How much each feature counts: a listwise logistic regression over 95 questions of HotpotQA and MuSiQue, rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A possible short answer."""

    text: str
    """Its words."""
    sentence: Supported
    """The sentence that it stands in."""
    score: float
    """How well it fits; comparable within one question."""
    features: Features
    """What speaks for it."""


def ranked_candidates(
    question: str, asked: Asked, evidence: Sequence[Evidence], found: Sequence[Supported]
) -> list[Candidate]:
    """Rank the spans that could be the short answer.

    What the question names itself is no answer to it. Only the first 4,000 characters of a sentence are read: what is
    longer is a table or noise.

    Args:
        question: The question.
        asked: What kind of answer it wants.
        evidence: The passages.
        found: Their sentences, weighed.

    Returns:
        The candidates, best first, each text once.
    """
    asked_terms = set(terms(question))
    asked_names = [set(terms(name)) for name in names(question)]
    main = main_terms(question)
    best: dict[str, Candidate] = {}
    for sentence in sorted(found, key=lambda each: -each.support)[:_SENTENCES]:
        title = plain_title(evidence[sentence.passage].title)
        said = _share(main, set(terms(sentence.text)) | set(terms(title)))
        whole = Span(text=title, start=0, end=0, kind="title")
        for span in [whole, *spans_in(sentence.text[:_READ])]:
            own = {term for term in terms(span.text) if term not in ASKING_WORDS}
            text = _fitted(span, asked, asked_terms)
            if not own or set(terms(text)) <= asked_terms or any(name <= own for name in asked_names):
                continue
            features = _features(span, sentence, asked, main, title, said)
            if span is whole and asked.type is AnswerType.PERSON and _IS_A_WORK.search(sentence.text):
                features = replace(features, kind=-1.0)
            score = sum(a * b for a, b in zip(astuple(features), astuple(WEIGHTS), strict=True))
            if fold(text) not in best or score > best[fold(text)].score:
                best[fold(text)] = Candidate(text=text, sentence=sentence, score=score, features=features)
    return sorted(best.values(), key=lambda each: -each.score)


def _features(
    span: Span,
    sentence: Supported,
    asked: Asked,
    main: set[str],
    title: str,
    said: float,
) -> Features:
    before = sentence.text[max(0, span.start - _NEAR) : span.start]
    after = sentence.text[span.end : span.end + _NEAR]
    around = set(terms(before)) | set(terms(after))
    if span.end == 0:
        around |= set(terms(sentence.text[: 2 * _NEAR]))
    lead = {term for word in keywords(asked.before) for term in terms(word)}
    close = set(terms(before[-40:]))
    is_title = fold(span.text) in fold(title) or fold(title) in fold(span.text)
    return Features(
        support=sentence.support,
        kind=_kind_fit(span, asked, before, sentence.place == 0 and is_title),
        main=_share(main, around),
        beside=_share(main, set(terms(f"{before[-_BESIDE:]} {after[:_BESIDE]}"))),
        said=said,
        focus=_focus_fit(span, asked, before, after),
        aligned=_share(lead, close),
        phrase=float(span.kind == "phrase"),
        late=min(1.0, 0.1 * sentence.passage + 0.1 * sentence.place),
    )


_KINDS: dict[AnswerType, tuple[SpanKind, ...]] = {
    AnswerType.PERSON: ("name", "title"),
    AnswerType.PLACE: ("name", "title"),
    AnswerType.DATE: ("date", "year"),
    AnswerType.NUMBER: ("number",),
    AnswerType.THING: ("name", "title", "phrase"),
    AnswerType.DEFINITION: ("phrase", "name", "title"),
    AnswerType.EXPLANATION: ("phrase", "name", "title"),
}
_IS_A_WORK = re.compile(
    r"\b(?:is|was|are|were) (?:an?|the) [^.]{0,60}?"
    r"\b(?:film|movie|album|song|single|series|book|novel|show|game|company|magazine"
    r"|episode|journal|soundtrack|play|opera|city|town|village)\b"
)
_IN_PLACE = re.compile(r"(?:\b(?:in|at|from|near|of|to|on|through)(?: the)?|[A-Z]\w+,) $")
_REGIONS = ("state", "country", "province", "county")
_CITIES = ("city", "town", "village")
_PLACE_NAME = re.compile(
    r"\b(?:City|County|River|Mountains?|Island|State|Province|District|Lake|Range|University|Kingdom|Republic)\b"
)


def _kind_fit(span: Span, asked: Asked, before: str, is_subject: bool) -> float:
    """1 if a span looks like what is asked for, 0 if it may be, -1 if it looks like something else."""
    if span.kind not in _KINDS.get(asked.type, ()):
        return -1.0
    if asked.type is AnswerType.DATE and asked.focus == "year":
        return 1.0 if re.search(r"\d{4}", span.text) else -1.0
    if asked.type is AnswerType.NUMBER and re.match(r"\d+(?:st|nd|rd|th)\b|[a-z]+$", span.text):
        # "35th most populous" and "one of" seldom are the number that is asked for.
        return 0.0
    if asked.type is AnswerType.PERSON and before.endswith(('"', "“", "``")):
        return -1.0
    if asked.type is AnswerType.PERSON:
        looks_so = 2 <= len(span.text.split()) <= 4 and not _PLACE_NAME.search(span.text)
        return float(looks_so and not (_IN_PLACE.search(before) and not before.endswith("of ")))
    if asked.type is AnswerType.PLACE:
        return float(bool(_IN_PLACE.search(before) or _PLACE_NAME.search(span.text)) or is_subject)
    return 0.5 if span.kind == "phrase" else 1.0


def _focus_fit(span: Span, asked: Asked, before: str, after: str) -> float:
    """Whether "city" stands in, right before or right after a candidate, where a city is asked for."""
    wanted = set(terms(asked.focus))
    if not wanted:
        return 0.0
    if wanted & set(terms(span.text)):
        return 1.0
    if wanted & set(terms(before[-25:])) or wanted & set(terms(after[:25])):
        return 0.8
    # "Portland, Oregon": the region follows the city.
    if asked.focus in _REGIONS and re.search(r"[^\W\d_], $", before):
        return 0.6
    if asked.focus in _CITIES and re.match(r", [A-Z]", after):
        return 0.6
    # "X (born 1950) is a British actor": what its first words say it is.
    said = re.match(r"[^.]*?\b(?:is|was|are|were) (?:an?|the|one of the) ([^.]{3,60})", after)
    return 0.8 if said and wanted & set(terms(said[1])) else 0.0


def _share(wanted: set[str], found: set[str]) -> float:
    return len(wanted & found) / len(wanted) if wanted else 0.0


def _fitted(span: Span, asked: Asked, asked_terms: set[str]) -> str:
    """A span cut to what was asked for: the year alone of a date, a phrase without the question's words at its ends."""
    if asked.type is AnswerType.DATE and asked.focus == "year" and (year := re.search(r"\d{4}", span.text)):
        return year[0]
    if span.kind != "phrase":
        return span.text.strip()
    kept = span.text.split()
    while kept and set(terms(kept[0])) <= asked_terms:
        kept.pop(0)
    while kept and set(terms(kept[-1])) <= asked_terms:
        kept.pop()
    return " ".join(kept)

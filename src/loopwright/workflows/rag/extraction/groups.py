"""Parts of English clauses: verb groups, what follows a verb, and what follows "is"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from loopwright.workflows.rag.extraction import lexicon
from loopwright.workflows.rag.extraction.tokens import Kind, Token

TARGETS = frozenset({Kind.NAME, Kind.DATE, Kind.NUMBER})
_BEFORE_VERB = frozenset({Kind.BE, Kind.AUXILIARY, Kind.NEGATION, Kind.ADVERB})
_LINKS = frozenset({Kind.PREPOSITION, Kind.DETERMINER, Kind.POSSESSIVE, Kind.WORD, Kind.ADVERB})
_NOUN_WORDS = frozenset({Kind.WORD, Kind.NAME, Kind.NUMBER, Kind.DATE, Kind.ADVERB, Kind.GENITIVE})
_LONGEST_RELATION = 14
"""A relation of more words says too much to be one."""
_LONGEST_LINK = 6
"""So many words may stand between a verb and what it is about."""
_MOST_TARGETS = 8
"""So many objects may follow one verb."""


class VerbGroup(NamedTuple):
    """A verb with its auxiliaries and adverbs, or "is" alone."""

    start: int
    """The index of its first token."""
    end: int
    """The index after its last token."""
    copula: bool
    """Whether a form of "to be" is its verb."""


class Found(NamedTuple):
    """A relation and its object; the subject is known elsewhere."""

    relation: str
    """In normalised words."""
    object: str
    """As it stands in the text."""
    end: int
    """Where the object ends in the passage's text, in characters."""
    confidence: float
    """How sure the pattern is."""


class Reading(NamedTuple):
    """What was found after a verb."""

    found: tuple[Found, ...]
    """The relations and objects."""
    end: int
    """The index after the last token that was understood."""
    describes: bool = False
    """Whether it ends in a noun that describes the subject, so that what follows is about the subject too."""


def kind_at(tokens: Sequence[Token], i: int) -> Kind:
    """The kind of a token; past the end, a stop."""
    return tokens[i].kind if 0 <= i < len(tokens) else Kind.STOP


def relation_text(tokens: Sequence[Token]) -> str:
    """Words as a relation: small letters except in names, contractions written out, no fillers, no last article."""
    words = [
        token.text if token.kind in TARGETS else lexicon.CONTRACTIONS.get(token.lower, token.lower)
        for token in tokens
        if token.lower not in lexicon.FILLERS
    ]
    while words and words[-1] in (*lexicon.ARTICLES, "both"):
        words.pop()
    return " ".join(words).replace(" 's", "'s")


def verb_group(tokens: Sequence[Token], i: int) -> VerbGroup | None:
    """The verb group that begins at a token, if one does."""
    j = i
    auxiliary = be = False
    while kind_at(tokens, j) in _BEFORE_VERB or _no_longer(tokens, j):
        if kind_at(tokens, j) in (Kind.BE, Kind.AUXILIARY):
            auxiliary, be = True, kind_at(tokens, j) is Kind.BE
        j += 2 if _no_longer(tokens, j) else 1
    finite = kind_at(tokens, j) is Kind.VERB and (auxiliary or tokens[j].lower not in lexicon.BASE_VERBS)
    if finite or (kind_at(tokens, j) is Kind.PARTICIPLE and be):
        j += 1
        while kind_at(tokens, j) is Kind.ADVERB or (tokens[j : j + 1] and tokens[j].lower in lexicon.PARTICLES):
            j += 1
        return VerbGroup(i, j, copula=False)
    return VerbGroup(i, j, copula=be) if auxiliary else None


def _no_longer(tokens: Sequence[Token], i: int) -> bool:
    return [token.lower for token in tokens[i : i + 2]] == ["no", "longer"]


def arguments(tokens: Sequence[Token], group: VerbGroup) -> Reading:
    """The names, dates and numbers that a verb is about."""
    found: list[Found] = []
    i = verb_end = _past_infinitive(tokens, group.end)
    while len(found) < _MOST_TARGETS:
        target = _next_target(tokens, i)
        if target is None or (found and kind_at(tokens, i) is not Kind.PREPOSITION):
            break
        between = tokens[i:target]
        words = (*tokens[group.start : verb_end], *between)
        if len(words) > _LONGEST_RELATION:
            break
        surety = _surety(len(found), tokens[target].kind, between)
        listed = _listed(tokens, target, between)
        relation = relation_text(words)
        found += [Found(relation, tokens[n].text, tokens[n].end, surety) for n in listed if _stands_alone(tokens, n)]
        # "turned Cuba over to the United States": the first object belongs to what the second one is about.
        direct = i == verb_end and kind_at(tokens, i) is not Kind.PREPOSITION
        i = listed[-1] + 1
        if kind_at(tokens, target) is Kind.NUMBER:
            found[-1:], i = _measured(tokens, target, found[-1:])
        verb_end = i if direct else verb_end
        i = _after_genitive_phrase(tokens, i)
    return Reading(tuple(found), i)


def complement(tokens: Sequence[Token], group: VerbGroup) -> Reading:
    """What "is" says of its subject: a noun phrase, and the names that it stands in relation to."""
    first = group.end
    while kind_at(tokens, first) is Kind.DETERMINER or (
        kind_at(tokens, first) is Kind.ADVERB and kind_at(tokens, first + 1) is Kind.DETERMINER
    ):
        first += 1
    last, end = first, _end_of_noun(tokens, first)
    while end > first and (following := _next_noun(tokens, end)) is not None:
        last, end = following, _end_of_noun(tokens, following)
    if end == first:
        return Reading((), group.end)
    article = tokens[group.end : first]
    related = _related(tokens, end, (*tokens[group.start : first], *tokens[last:end]))
    named = end == first + 1 and kind_at(tokens, first) in TARGETS
    found = list(related)
    if article or named or tokens[end - 1].lower.endswith("s"):
        describes = True
        if not (related and tokens[end].lower == "of" and end == first + 1):
            relation = _with_article(relation_text(tokens[group.start : first]), article)
            phrase = _text(tokens[first:end])
            found.insert(0, Found(relation, phrase, tokens[end - 1].end, 0.9 if article or named else 0.7))
    else:
        describes = False
    return Reading(tuple(found), _end_of(tokens, end, related), describes)


def _with_article(relation: str, article: Sequence[Token]) -> str:
    last = article[-1].lower if article else ""
    return f"{relation} {last}".strip() if last in lexicon.ARTICLES else relation


def _text(tokens: Sequence[Token]) -> str:
    """Tokens as they stood in the text, one space where there was any, none where there was none."""
    text = tokens[0].text
    for before, token in pairwise(tokens):
        text += token.text if before.end == token.start else f" {token.text}"
    return text


def _next_target(tokens: Sequence[Token], i: int) -> int | None:
    """The index of the name, date or number that links lead to; None if something else comes first."""
    for j in range(i, min(i + _LONGEST_LINK + 1, len(tokens))):
        kind = tokens[j].kind
        if kind in TARGETS and not _modifies(tokens, j):
            return j
        if kind not in _LINKS and kind not in TARGETS:
            return None
    return None


def _modifies(tokens: Sequence[Token], i: int) -> bool:
    """Whether a name only describes the noun after it, as in "English club"."""
    if kind_at(tokens, i) is Kind.NUMBER:
        return False
    return kind_at(tokens, i + 1) in (Kind.WORD, Kind.NAME, Kind.NUMBER, Kind.GENITIVE)


def _stands_alone(tokens: Sequence[Token], i: int) -> bool:
    return kind_at(tokens, i + 1) is not Kind.GENITIVE


def _listed(tokens: Sequence[Token], i: int, between: Sequence[Token]) -> list[int]:
    """A target, and what follows it after commas and "and"."""
    listed, conjunction = [i], False
    while True:
        i = listed[-1]
        j = i + 1
        while kind_at(tokens, j) is Kind.COMMA or (tokens[j : j + 1] and tokens[j].lower in ("and", "or")):
            j += 1
        first = j
        while kind_at(tokens, j) is Kind.DETERMINER:
            j += 1
        alike = kind_at(tokens, j) is kind_at(tokens, i) and not _modifies(tokens, j)
        if first == i + 1 or not alike or verb_group(tokens, j + 1) is not None:
            break
        conjunction = conjunction or kind_at(tokens, first - 1) is Kind.CONJUNCTION
        listed.append(j)
    # "on the south side of Chicago, Illinois": what holds of the city need not hold of the state.
    narrow = any(token.kind is Kind.WORD for token in between) and any(
        token.kind is Kind.PREPOSITION for token in between
    )
    return listed if conjunction or not narrow else listed[:1]


def _measured(tokens: Sequence[Token], i: int, last: list[Found]) -> tuple[list[Found], int]:
    """A number with what it counts: "54 countries", "25 square kilometres"."""
    j = i + 1
    while j < i + 3 and (kind_at(tokens, j) is Kind.WORD or (j == i + 1 and _is_unit(tokens, j))):
        j += 1
    return [found._replace(object=_text(tokens[i:j]), end=tokens[j - 1].end) for found in last], j


def _is_unit(tokens: Sequence[Token], i: int) -> bool:
    """Whether a name is one of the units that begin with a capital: MHz, GB, MW."""
    return kind_at(tokens, i) is Kind.NAME and len(tokens[i].text) <= 3


def _after_genitive_phrase(tokens: Sequence[Token], i: int) -> int:
    """Past "of the NAME", which belongs to the noun before it."""
    if i < len(tokens) and tokens[i].lower == "of":
        target = _next_target(tokens, i)
        return i if target is None else target + 1
    return i


def _past_infinitive(tokens: Sequence[Token], i: int) -> int:
    """Past "to premiere", which belongs to the verb."""
    infinitive = kind_at(tokens, i + 1) in (Kind.WORD, Kind.VERB) and kind_at(tokens, i + 2) not in (
        Kind.WORD,
        Kind.STOP,
    )
    return i + 2 if i < len(tokens) and tokens[i].lower == "to" and infinitive else i


def _surety(earlier: int, kind: Kind, between: Sequence[Token]) -> float:
    if earlier:
        return 0.8 if kind is Kind.DATE else 0.6
    nouns = sum(token.kind is Kind.WORD for token in between)
    return 0.85 if not nouns else 0.75 if nouns <= 2 else 0.6


def _end_of_noun(tokens: Sequence[Token], first: int) -> int:
    """The index after the words of a noun phrase that begins here without an article."""
    j = first
    while kind_at(tokens, j) in _NOUN_WORDS or (
        kind_at(tokens, j) in (Kind.VERB, Kind.PARTICIPLE) and _is_adjective(tokens, j, first)
    ):
        j += 1
    while j > first and kind_at(tokens, j - 1) in (Kind.ADVERB, Kind.GENITIVE):
        j -= 1
    return j


def _is_adjective(tokens: Sequence[Token], i: int, first: int) -> bool:
    """Whether a participle stands before its noun: "a converted church", "a German born soldier"."""
    following = kind_at(tokens, i + 1)
    return following is Kind.WORD or (following is Kind.NAME and (i == first or tokens[i].lower == "born"))


def _next_noun(tokens: Sequence[Token], i: int) -> int | None:
    """Where a comma or "and" leads to one more noun of the same phrase: "astronomer, mathematician and politician"."""
    j = i
    while kind_at(tokens, j) is Kind.COMMA or (tokens[j : j + 1] and tokens[j].lower in ("and", "or")):
        j += 1
    end = _end_of_noun(tokens, j)
    if j == i or end == j or kind_at(tokens, end - 1) is not Kind.WORD:
        return None
    listed = end >= len(tokens) or kind_at(tokens, end) in (
        Kind.COMMA, Kind.CONJUNCTION, Kind.STOP, Kind.PREPOSITION, Kind.RELATIVE, Kind.VERB, Kind.PARTICIPLE
    )  # fmt: skip
    return j if listed else None


def _related(tokens: Sequence[Token], end: int, phrase: Sequence[Token]) -> list[Found]:
    """The names that a preposition after a noun leads to: "is the capital of | France"."""
    if kind_at(tokens, end) is not Kind.PREPOSITION:
        return []
    target = _next_target(tokens, end)
    if target is None or len(phrase) > _LONGEST_RELATION:
        return []
    relation = relation_text((*phrase, *tokens[end:target]))
    listed = _listed(tokens, target, tokens[end:target])
    sure = 0.9 if target - end <= 2 else 0.7
    found = [Found(relation, tokens[n].text, tokens[n].end, sure) for n in listed if _stands_alone(tokens, n)]
    return _measured(tokens, target, found)[0] if kind_at(tokens, target) is Kind.NUMBER else found


def _end_of(tokens: Sequence[Token], i: int, related: Sequence[Found]) -> int:
    """The index after the last thing that was related."""
    if related:
        while i < len(tokens) and tokens[i].end <= related[-1].end:
            i += 1
    return i

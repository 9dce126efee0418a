"""What people say of themselves in a message, read by rules from English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from loopwright.retrieval.web import looks_like_instructions
from loopwright.workflows.assistant.question.languages import NAMES

Field = Literal["interests", "seeking", "offering", "languages", "name", "newest", "all", "any"]
"""Which part of a profile is meant; ``newest`` what was said last, ``all`` the whole, ``any`` wherever it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfStatement:
    """One thing that a person says of itself."""

    field: Field
    """What it is about."""
    values: tuple[str, ...] = ()
    """What is said, in the person's words; languages as codes."""
    holds: bool = True
    """Whether it holds, rather than being taken back."""
    only: bool = False
    """Whether nothing else holds."""


_MOST_READ = 2000
_MOST_OF_CLAUSE = 300
_LONGEST = 60
_MOST_WORDS = 7

_ADVERBS = (
    r"(?:\s+(?:really|very|also|mostly|mainly|particularly|especially|most|quite|always|currently|now|actually|still"
    r"|just|only|much|professionally|deeply|primarily))*"
)
_BE = rf"\b(?:i'?m|i am|we're|we are)(?P<not>\s+(?:not|no longer))?{_ADVERBS}\s+"
_DO = (
    r"\b(?:i|we|my company|our company|my team|our team)"
    rf"(?P<not>\s+(?:don't|do not|no longer|never|can't|cannot|stopped|have stopped))?{_ADVERBS}\s+"
)
_ROLES = (
    r"(?:developer|engineer|researcher|programmer|maintainer|administrator|admin|scientist|enthusiast|teacher|designer"
    r"|student|specialist|expert|consultant|journalist|librarian|farmer|doctor|nurse|architect|artist)s?"
)
_PATTERNS: tuple[tuple[Field, str], ...] = (
    (
        "interests",
        rf"{_BE}(?:interested in|into|passionate about|curious about|keen on|fond of|enthusiastic about"
        r"|(?:a )?(?:big |huge )?fans? of|working (?:on|with|in)|researching|studying|specialis(?:ed|ing) in"
        r"|specializ(?:ed|ing) in)\s+",
    ),
    (
        "interests",
        rf"{_DO}(?:work(?:s|ing)? (?:on|with|in)|develops?|maintains?|research|study|care about|speciali[sz]e in"
        r"|focus(?:es)? on|love|enjoy|like)\s+",
    ),
    (
        "interests",
        r"\bmy (?:main |research )?(?:interests?|fields?|topics?|focus|special(?:i)?ty)(?P<not> (?:is|are) not)?"
        r" (?:is|are|includes?)\s+",
    ),
    (
        "seeking",
        rf"{_BE}(?:looking for|looking to (?:buy|hire|meet|learn(?: about)?)|searching for|seeking"
        r"|hoping to (?:find|meet|hire|buy)|trying to (?:find|hire|buy|learn)|hiring|shopping for"
        r"|in the market for|in need of)\s+",
    ),
    (
        "seeking",
        r"\b(?:i|we)(?:'d| would)?(?P<not>\s+(?:don't|do not|no longer))?"
        rf"{_ADVERBS}\s+(?:want|need|like|wish|hope|plan) to (?:buy|purchase|hire|meet|learn(?: about)?|find)\s+",
    ),
    (
        "offering",
        rf"{_DO}(?:sell(?:s|ing)?|offer(?:s|ing)?|provide(?:s)?|providing|teach(?:es|ing)?|manufactures?|makes?"
        r"|suppl(?:y|ies)|can help with|consults? on)\s+",
    ),
    ("offering", rf"{_BE}(?:selling|offering|providing|teaching|manufacturing|supplying)\s+"),
)
_RULES: tuple[tuple[Field, re.Pattern[str]], ...] = tuple(
    (field, re.compile(pattern, re.IGNORECASE)) for field, pattern in _PATTERNS
)
_ROLE = re.compile(rf"{_BE}an?\s+(?:senior |junior |lead |freelance )?(?P<what>[^,.;!?]+?)\s+{_ROLES}\b", re.IGNORECASE)
_SPEAKS = re.compile(
    r"\b(?:i|we)(?P<not>\s+(?:don't|do not|can't|cannot|can not|barely|hardly))?"
    rf"(?:\s+(?:can|do|even))?{_ADVERBS}\s+(?:speak|understand)\s+",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b(?:my name is|my name's|i am called|i'm called)\s+|\bcall me\s+(?=(?-i:[A-Z]))", re.IGNORECASE)
_PERSON = re.compile(
    r"[^\W\d_][\w'.-]*(?: (?!(?:and|from|with|at|but|i|we|who|of)\b)[^\W\d_][\w'-]*){0,3}", re.IGNORECASE
)
_FORGET = re.compile(r"\b(?:forget|delete|erase|remove|clear|reset|wipe)\s+", re.IGNORECASE)
# Only a command, which the whole sentence is: "how do I delete my data from a phone?" is none.
_WHOLE = re.compile(
    r"(?:^|(?<=[.!?;,]\s))(?:(?:please|now|and|then|ok(?:ay)?|(?:can|could|would|will) you|i want you to)[, ]+)*"
    r"(?:forget|delete|erase|remove|clear|reset|wipe) (?:about )?(?:me|my (?:whole )?(?:profile|data)"
    r"|(?:everything|all)(?: (?:of )?(?:that )?(?:you (?:know|have|stored|saved)|i (?:have )?(?:said|told you)|my data"
    r"|my profile))?(?: (?:about|on|of) (?:me|myself))?)"
    r"(?:,? (?:please|now|again|from your memory|completely))*\s*(?=[.!?;,]|$)",
    re.IGNORECASE,
)
_NEWEST = re.compile(r"(?:that|it|this|what i (?:just )?said|the last (?:one|thing))[\s.!]*$", re.IGNORECASE)
_LEAD_OF_FORGETTING = re.compile(r"(?:that|about|what i said about|my interest in)\s+", re.IGNORECASE)

_ASKED = re.compile(r"\b(?:do|does|did|should|can|could|would|will|if|unless|shall|may)\s+$", re.IGNORECASE)
_STARTERS = (
    r"(?:what|which|where|when|who|whom|how|why|can|could|do|does|is|are|should|shall|will|would|please|tell|show|any"
    r"|anything|recommend|suggest|find|give|i|i'm|i'd|we|we're|my|our|but|so|because|since|also)"
)
_CLAUSE_END = re.compile(
    rf"[.!?](?=\s|$)|[;:\n]|\s-\s|,\s*(?:and\s+)?{_STARTERS}\b|\s+(?:and\s+)?(?:but|so|because|since|please)\b"
    rf"|\s+and\s+{_STARTERS}\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|plus|as well as)\s+|\s*&\s+", re.IGNORECASE)
_FRONT = re.compile(
    r"^(?:(?:a|an|the|some|any|all|more|new|things?|stuff|topics?|everything|anything|something|about|like|on|in"
    r"|learning|hearing|knowing|reading|how)\s+)+",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:^|\s+)(?:talks?|sessions?|workshops?|stuff|things|topics|too|as well|a lot|very much|so much|any ?more"
    r"|any longer|please|here|right now|these days|at (?:the|this) (?:conference|event)|at work|for a living"
    r"|(?:(?:on|this|in the|at|for|from|after|before|next)\s+)*(?:today|tomorrow|tonight|now|year|weekend|morning"
    r"|afternoon|evening|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\d{1,2}(?::\d\d)?\s*(?:am|pm|h)?))$",
    re.IGNORECASE,
)
# What points to something else, or is about this visit alone.
_NO_VALUE = re.compile(
    r"(?:it|that|this|these|those|them|him|her|you|your|what|which|to|when|where|who|one|ones|attending|visiting|going"
    r"|joining|my|our|being)\b"
    r"|.*\b(?:talks?|sessions?|workshops?|keynotes?|lectures?|rooms?|stands?|booths?|tracks?|devrooms?|toilets?|lunch"
    r"|coffee|seats?|tickets?|first one|second one|last one)\b",
    re.IGNORECASE,
)


def self_statements(text: str) -> list[SelfStatement]:
    """Read what a person says of itself.

    Args:
        text: The message. What is asked or supposed ("do we sell ...", "if I like ...") is no statement. From a message
            that seems to command a chat model only what is taken back is read, and of a long one the beginning.

    Returns:
        The statements, in the order of the rules.
    """
    said = " ".join(text[:_MOST_READ].replace("’", "'").split())
    forgotten = list(_forgotten(said))
    if looks_like_instructions(said):
        return forgotten
    kept = _WHOLE.sub("", said)
    return [*forgotten, *_named(kept), *_languages(kept), *_stated(_FORGET.split(kept)[0])]


def _stated(text: str) -> Iterator[SelfStatement]:
    for field, rule in _RULES:
        for match in rule.finditer(text):
            values = _values(_clause(text, match.end()))
            if values and not _ASKED.search(text[: match.start()]):
                yield SelfStatement(field=field, values=values, holds=not match["not"])
    for match in _ROLE.finditer(text):
        if not _ASKED.search(text[: match.start()]) and (values := _values(match["what"])):
            yield SelfStatement(field="interests", values=values, holds=not match["not"])


def _forgotten(text: str) -> Iterator[SelfStatement]:
    if _WHOLE.search(text):
        yield SelfStatement(field="all", holds=False)
    for match in _FORGET.finditer(_WHOLE.sub("", text)):
        rest = match.string[match.end() :]
        if _NEWEST.match(rest):
            yield SelfStatement(field="newest", holds=False)
        elif own := list(_stated(rest)):
            yield from (SelfStatement(field=each.field, values=each.values, holds=False) for each in own)
        elif match.start() == 0 and (values := _values(_clause(_LEAD_OF_FORGETTING.sub("", rest, count=1), 0))):
            yield SelfStatement(field="any", values=values, holds=False)


def _named(text: str) -> Iterator[SelfStatement]:
    match = _NAME.search(text)
    person = _PERSON.match(text, match.end()) if match else None
    if match and person and not _ASKED.search(text[: match.start()]):
        name = person[0].rstrip(".")
        yield SelfStatement(field="name", values=(name.title() if name.islower() else name,))


def _languages(text: str) -> Iterator[SelfStatement]:
    for match in _SPEAKS.finditer(text):
        clause = _clause(text, match.end())
        codes = tuple(NAMES[word] for word in re.findall(r"\w+", clause.casefold()) if word in NAMES)
        if codes and not _ASKED.search(text[: match.start()]):
            only = bool(re.search(r"\b(?:only|just)\b", f"{match[0]} {clause}", re.IGNORECASE))
            yield SelfStatement(field="languages", values=codes, holds=not match["not"], only=only)


def _clause(text: str, start: int) -> str:
    end = _CLAUSE_END.search(text, start)
    return text[start : end.start() if end else len(text)][:_MOST_OF_CLAUSE]


def _values(clause: str) -> tuple[str, ...]:
    cleaned = (_cleaned(part) for part in _BETWEEN.split(clause.strip()))
    return tuple(dict.fromkeys(value for value in cleaned if _is_value(value)))


def _cleaned(part: str) -> str:
    value = _FRONT.sub("", part.strip(" .,!?:;\"'“”"))
    while (shorter := _TAIL.sub("", value)) != value:
        value = shorter
    return value.strip()


def _is_value(value: str) -> bool:
    return (
        0 < len(value) <= _LONGEST
        and len(value.split()) <= _MOST_WORDS
        and any(character.isalnum() for character in value)
        and not _NO_VALUE.match(value)
    )

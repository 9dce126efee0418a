"""What a person says or asks of itself: nothing is searched, and the answer says what is noted, known or forgotten."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loopwright.workflows.assistant.question.languages import CODES
from loopwright.workflows.assistant.question.statements import SelfStatement, self_statements
from loopwright.workflows.assistant.schemas import Profile

_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
_ABOUT_ME = re.compile(
    r"(?:and |so |but |ok(?:ay)? |please )*(?:(?:what|(?:tell|show) me what) (?:do you (?:know|remember|have)"
    r"|have you (?:noted|kept|stored|saved)|did i (?:tell|say to) you)(?: (?:about|of|on) (?:me|myself))?|who am i"
    r"|(?:what is|what's|whats) (?:my name|in my profile|my profile)|what are my (?:interests|languages)"
    r"|(?:(?:show|tell) me )?my (?:profile|interests)"
    r"|do you (?:know|remember) (?:me|my name|who i am|anything about me))",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\?|\b(?:what|which|where|when|who|whom|how|why|show|list|find|recommend|suggest|give me|tell me|anything"
    r"|something|is there|are there|do you|can you|could you|want|would like|'d like|need|hope|plan|looking for"
    r"|searching for|seeking|meet|see|attend|hear|help)\b",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"\W*(?:hi|hello|hey|hallo|thanks?|thank you|please|good (?:morning|day|evening))(?: \w+)?\W*", re.IGNORECASE
)
_COMMANDS = frozenset({"all", "newest"})


def is_about_the_person(question: str) -> bool:
    """Whether a message only says or asks something of the person who writes, so that nothing is to be searched.

    Args:
        question: What the person wrote, without a greeting.
    """
    sentences = [sentence for sentence in map(str.strip, _SENTENCES.split(question)) if sentence]
    told = [sentence for sentence in sentences if not _COURTESY.fullmatch(sentence)]
    return bool(told) and all(_asks_of_me(sentence) or _only_tells(sentence) for sentence in told)


def says_anything(profile: Profile | None) -> bool:
    """Whether a profile holds a wish that records can be compared with.

    Args:
        profile: What is known of the person, if anything.
    """
    return profile is not None and bool(profile.interests or profile.seeking or profile.offering)


def told_of(question: str, profile: Profile | None) -> tuple[str, ...]:
    """What is answered to such a message: what was noted or forgotten, and what is known now.

    Args:
        question: The message.
        profile: What is known of the person, after the message.
    """
    said = self_statements(question)
    known = profile or Profile(user_id="")
    if any(statement.field == "all" for statement in said):
        if not known.user_id:
            return ("I keep nothing of you: no user id was given.",)
        forgotten = "I have forgotten everything that I knew of you, and our conversations."
        return (forgotten, *(_known(known) if _anything(known) else ()))
    told = list(dict.fromkeys(_confirmed(statement, known) for statement in said))
    told += _known(known)
    if said and not known.user_id:
        told.append("It holds for this message alone, since no user id was given.")
    return tuple(told)


def _asks_of_me(sentence: str) -> bool:
    return bool(_ABOUT_ME.fullmatch(" ".join(sentence.replace("’", "'").strip(" ?.!,;").split())))


def _only_tells(sentence: str) -> bool:
    said = self_statements(sentence)
    if any(statement.field in _COMMANDS for statement in said):
        return True
    return bool(said) and not _ASKS.search(sentence.replace("’", "'"))


def _confirmed(said: SelfStatement, known: Profile) -> str:
    if said.field == "languages" and not said.holds and not known.languages:
        names = _listed([CODES[code] for code in said.values])
        return f"That you do not speak {names} cannot be kept; tell me which languages you speak."
    if not said.holds:
        return "Forgotten." if said.field in ("newest", "any") or not _has(said, known) else "I could not forget that."
    return "Noted." if _has(said, known) else "I could not note that."


def _has(said: SelfStatement, known: Profile) -> bool:
    entries: Sequence[str] = (known.name,) if said.field == "name" else getattr(known, said.field)
    return {value.casefold() for value in said.values} <= {entry.casefold() for entry in entries}


def _anything(known: Profile) -> bool:
    return bool(known.name or known.interests or known.seeking or known.offering or known.languages)


def _known(known: Profile) -> list[str]:
    if not _anything(known):
        return ["I know nothing of you."]
    parts = [f"your name is {known.name}"] if known.name else []
    for entries, what in (
        (known.interests, "you are interested in"),
        (known.seeking, "you look for"),
        (known.offering, "you offer"),
        ([CODES.get(code, code) for code in known.languages], "you understand"),
    ):
        if entries:
            parts.append(f"{what} {_listed(entries)}")
    return [f"What I know of you: {'; '.join(parts)}."]


def _listed(entries: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(entries[:-1]), entries[-1])))

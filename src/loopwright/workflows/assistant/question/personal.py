"""What a person says or asks of itself, read by a few plain patterns in English; a chat model reads more."""

from __future__ import annotations

import re

from loopwright.retrieval.web import looks_like_instructions
from loopwright.workflows.assistant.schemas import Profile

_MOST_READ, _LONGEST = 2000, 60
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
_COURTESY = re.compile(
    r"\W*(?:hi|hello|hey|hallo|thanks?|thank you|please|good (?:morning|day|evening))(?: \w+)?\W*", re.IGNORECASE
)
# Only a command, which the whole sentence is: "how do I delete my data from a phone?" is none.
_FORGET = re.compile(
    r"(?:(?:please|now|and|ok(?:ay)?|(?:can|could) you)[, ]+)*(?:forget|delete|erase|remove|clear) (?:about )?"
    r"(?:me|my (?:whole )?(?:profile|data)|everything|all (?:of )?my data)(?: (?:about|of) me| you know(?: about me)?)?"
    r"(?:,? (?:please|now))?\s*[.!]?",
    re.IGNORECASE,
)
_ABOUT_ME = re.compile(
    r"(?:what do you (?:know|remember) (?:about|of) me|who am i|what(?:'s| is| are) my (?:name|profile|interests)"
    r"|(?:show me )?my (?:profile|interests))\W*",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b(?i:my name is|i am called|i'm called)\s+([^\W\d_][\w'-]*(?: [A-Z][\w'-]*){0,2})")
_INTERESTS = re.compile(
    r"(?<!if )(?<!do )\b(?:(?:i'?m|i am|we are)(?: \w+ly| very)? (?:interested in|into|working (?:on|with))"
    r"|(?:i|we)(?: \w+ly)? (?:work (?:on|with)|maintain|research|study|like|love)|my (?:main )?interests? (?:is|are))"
    r"\s+(?P<what>[^.!?;:\n]+)",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r",?\s+(?:and\s+)?(?:but|so|because|since|what|which|where|when|who|how|can|is|are|any|please|recommend|show"
    r"|i|i'm|i'd|we)\b.*",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*,\s*(?:and\s+)?|\s+(?:and|or)\s+")
_POINTS = re.compile(
    r"(?:to|it|that|this|these|those|them|what|you|the|a|an|some|my|our)\b|.*\b(?:talks?|sessions?|things?|stands?)\b",
    re.IGNORECASE,
)


def forgets_all(text: str) -> bool:
    """Whether a message asks to forget everything that is known of the person.

    Args:
        text: The message.
    """
    return any(_FORGET.fullmatch(sentence) for sentence in _told(text))


def said_of_itself(text: str) -> tuple[str, tuple[str, ...]]:
    """The name and the interests that a message states; from one that seems to command a chat model, nothing.

    Args:
        text: The message.
    """
    if looks_like_instructions(text):
        return "", ()
    read = " ".join(text[:_MOST_READ].replace("’", "'").split())
    named = _NAME.search(read)
    entries = [
        entry.strip(" '\"")
        for match in _INTERESTS.finditer(read)
        for entry in _BETWEEN.split(_ENDS.sub("", match["what"]).strip())
    ]
    kept = (each for each in entries if 0 < len(each) <= _LONGEST and not _POINTS.match(each))
    return named[1] if named else "", tuple(dict.fromkeys(kept))


def is_about_the_person(text: str) -> bool:
    """Whether a message only says or asks something of the person who writes, so that nothing is to be searched.

    Args:
        text: The message.
    """
    told = _told(text)
    return bool(told) and all(
        _FORGET.fullmatch(each) or _ABOUT_ME.fullmatch(each) or ("?" not in each and _states(each)) for each in told
    )


def says_anything(profile: Profile | None) -> bool:
    """Whether a profile holds a wish that records can be compared with.

    Args:
        profile: What is known of the person, if anything.
    """
    return profile is not None and bool(profile.interests or profile.seeking or profile.offering)


def told_of(text: str, profile: Profile | None) -> tuple[str, ...]:
    """What is answered to such a message: what was noted or forgotten, and what is known now.

    Args:
        text: The message.
        profile: What is known of the person, after the message.
    """
    known = profile or Profile(user_id="")
    if forgets_all(text):
        forgotten = "I have forgotten everything that I knew of you, and our conversations."
        return (forgotten if known.user_id else "I keep nothing of you: no user id was given.",)
    noted = any(said_of_itself(text))
    parts = [f"your name is {known.name}"] if known.name else []
    for entries, what in (
        (known.interests, "you are interested in"),
        (known.seeking, "you look for"),
        (known.offering, "you offer"),
    ):
        parts += [f"{what} {', '.join(entries)}"] if entries else []
    told = f"What I know of you: {'; '.join(parts)}." if parts else "I know nothing of you."
    alone = noted and not known.user_id
    after = ("It holds for this message alone, since no user id was given.",) if alone else ()
    return (*(("Noted.",) if noted else ()), told, *after)


def _told(text: str) -> list[str]:
    """The sentences of a message without greetings."""
    sentences = map(str.strip, _SENTENCES.split(text[:_MOST_READ].replace("’", "'")))
    return [sentence for sentence in sentences if sentence and not _COURTESY.fullmatch(sentence)]


def _states(sentence: str) -> bool:
    """Whether a sentence says something of the person, and nothing else: no wish follows it."""
    read = sentence.rstrip(".! ")
    rest = _NAME.sub("", _INTERESTS.sub(lambda match: " ".join(_ENDS.findall(match["what"])), read))
    return any(said_of_itself(sentence)) and not re.sub(r"\b(?:hi|hello|and|also|too)\b|\W", "", rest, flags=re.I)

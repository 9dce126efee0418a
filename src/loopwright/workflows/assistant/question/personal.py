"""What a person asks of what is known of them: to see it, or to have it forgotten."""

import re

from loopwright.workflows.assistant.schemas import Profile, UserContext

_MOST_READ = 2000
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
# Only a command, which the whole sentence is: "how do I delete my data from a phone?" is none.
_FORGET = re.compile(
    r"(?:(?:please|now|and|ok(?:ay)?|(?:can|could) you)[, ]+)*(?:forget|delete|erase|remove|clear) (?:about )?"
    r"(?:me|my (?:whole )?(?:profile|data)|everything|all (?:of )?my data)(?: (?:about|of) me| you know(?: about me)?)?"
    r"(?:,? (?:please|now))?\s*[.!]?",
    re.IGNORECASE,
)


def forgets_all(text: str) -> bool:
    """Whether a message asks to forget everything that is known of the person."""
    return any(_FORGET.fullmatch(sentence.strip()) for sentence in _SENTENCES.split(text[:_MOST_READ]))


def forgotten(profile: Profile | None, context: UserContext) -> str:
    """What is answered to such a message: what was deleted; nothing was where the profile is not an empty one."""
    user = context.get("user_id") or ""
    if profile != Profile(user_id=user):
        return "I could not delete it just now; please ask again."
    if user:
        return "I have forgotten everything that I knew of you, and our conversations."
    talked = "I have forgotten this conversation. " if context.get("conversation_id") else ""
    return f"{talked}Of you I keep nothing: no user id was given."


def told_of(profile: Profile | None) -> str:
    """What is known of a person."""
    known = profile or Profile(user_id="")
    told = ("your name is", "you are interested in", "you look for", "you offer")
    named = (known.name,) if known.name else ()
    lists = zip(told, (named, known.interests, known.seeking, known.offering), strict=True)
    parts = [f"{what} {', '.join(entries)}" for what, entries in lists if entries]
    return f"What I know of you: {'; '.join(parts)}." if parts else "I know nothing of you."

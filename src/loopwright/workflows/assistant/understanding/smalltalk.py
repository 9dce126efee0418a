"""What asks for nothing that could be searched."""

from __future__ import annotations

import re

GREETING, THANKS, HELP = "greeting", "thanks", "help"
"""Intents of smalltalk."""

_HELLO = (
    r"(?:hi|hiya|hello|hey|good\s+(?:morning|afternoon|evening|day)|greetings|hallo|bonjour|salut|moin|servus"
    r"|guten\s+tag)"
)
_TO_WHOM = r"(?:\s+(?:there|all|everyone|assistant|bot|again|you))?"
_GREETING = re.compile(rf"{_HELLO}{_TO_WHOM}", re.IGNORECASE)
_OPENING = re.compile(
    rf"^\s*{_HELLO}{_TO_WHOM}\s*[,.!:;–-]+\s*(?=\S)|^\s*(?:thanks|thank\s+you|thx)\s*[,.!:;–-]+\s*(?=\w)", re.IGNORECASE
)
_THANKS = re.compile(
    r"(?:(?:ok(?:ay)?|great|perfect|super|cool|nice|awesome)\W*)?(?:many\s+)?(?:thanks|thank\s+you|thx|cheers|merci|danke|ta)"
    r"(?:\s+(?:a\s+lot|so\s+much|very\s+much|again|for\s+(?:your|the)\s+help|that(?:['’]s|\s+is|\s+was)\s+.{0,30}|everything|all))*"
    r"|(?:bye|goodbye|see\s+you(?:\s+later)?|that(?:['’]s|\s+is)\s+all|ok(?:ay)?|great|perfect|super|cool|nice|awesome|yes|no)",
    re.IGNORECASE,
)
_HELP = re.compile(
    r"(?:please\s+)?help(?:\s+me)?|(?:what|how)\s+can\s+you\s+(?:do|help)(?:\s+(?:for\s+)?me)?|who\s+are\s+you|what\s+are\s+you"
    r"|what\s+(?:can|could|may|should)\s+i\s+ask(?:\s+you)?|how\s+(?:does\s+this|do\s+you)\s+work|are\s+you\s+(?:a\s+)?(?:human|bot|real|robot)"
    r"|what\s+is\s+your\s+name|how\s+are\s+you(?:\s+doing)?(?:\s+today)?",
    re.IGNORECASE,
)


def smalltalk_of(question: str) -> str:
    """The intent of smalltalk; empty if something is asked.

    Args:
        question: What the person wrote.
    """
    said = question.strip(" \t\n?!.,;:)(-–")
    if not said:
        return HELP
    for intent, pattern in ((GREETING, _GREETING), (THANKS, _THANKS), (HELP, _HELP)):
        if pattern.fullmatch(said):
            return intent
    return ""


def without_greeting(question: str) -> str:
    """A question without the greeting before it, as in "Hi, what is on?".

    Args:
        question: What the person wrote.
    """
    return _OPENING.sub("", question, count=1).strip()

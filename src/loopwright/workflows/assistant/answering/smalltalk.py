"""What is said where nothing is asked that could be searched."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loopwright.retrieval.text import fold

_THANKS = re.compile(r"\b(?:thanks?|thank you|thx|cheers|merci|danke|gracias|great|perfect|awesome|cool)\b")
_BYE = re.compile(r"\b(?:bye|goodbye|see you|good night|ciao|farewell)\b")
_HELP = re.compile(r"\b(?:help|what can you|how do you work|what do you do|who are you|what are you)\b")
_HELLO = re.compile(r"\b(?:hi|hello|hey|good (?:morning|afternoon|evening)|hallo|bonjour|hola|greetings)\b")
EXAMPLES = (
    "Ask me what is on at a time, in a room or about a topic, who speaks about something, or which exhibitors there "
    "are: for example “what is on about security on the first day?” or “who can I talk to about storage?”"
)
"""What can be asked."""


def small_answer(text: str, conference: str, name: str = "", *, told: Sequence[str] = ()) -> str:
    """An answer to thanks, a greeting, a question about the assistant itself, or what a person says of itself.

    Args:
        text: What the person said.
        conference: The conference's title; may be empty.
        name: How to address the person; may be empty.
        told: What was noted, forgotten or is known of the person, where that was said or asked; it is the answer then.
    """
    if told:
        return " ".join(told)
    said, address = fold(text), f", {name}" if name else ""
    about = f" about {conference}" if conference else " about the conference"
    if _HELP.search(said):
        return f"I answer questions{about} from its own programme. {EXAMPLES}"
    if _THANKS.search(said):
        return f"You are welcome{address}. Ask me anything else{about}."
    if _BYE.search(said):
        return f"Goodbye{address}, and enjoy {conference or 'the conference'}."
    greeting = f"Hello{address}." if _HELLO.search(said) else f"I can help you{about}{address}."
    return f"{greeting} {EXAMPLES}"


def greets(text: str) -> bool:
    """Whether a text is no more than a greeting, thanks or a goodbye.

    Args:
        text: The text.
    """
    words = fold(text)
    for pattern in (_THANKS, _BYE, _HELLO):
        words = pattern.sub(" ", words)
    left = re.sub(r"\b(?:you|so|very|much|a lot|there|everyone|all|for|the|your|that|it|is|was)\b", " ", words)
    return words != fold(text) and not any(character.isalnum() for character in left)

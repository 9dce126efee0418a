"""Whether a question leaves it to the person's own wishes what fits."""

from __future__ import annotations

import re

from loopwright.workflows.assistant.schemas import Profile

_PERSONAL = re.compile(
    r"\b(?:for\s+(?:me|us)|(?:suits?|fits?|matches|match|interests?)\s+(?:me|my\b.*)|my\s+(?:\w+\s+)?(?:interests?|profile|topics?)"
    r"|i\s+(?:might|may|would|could)\s+(?:like|enjoy|be\s+interested\s+in)|i['’]d\s+(?:like|enjoy)\s*[?.!]*$|recommend|suggest"
    r"|what\s+(?:should|can|could|do|shall|must)\s+i\s+(?:\w+\s+)?(?:see|attend|watch|visit|do|hear|go)"
    r"|(?:who|whom)\s+(?:should|could|shall)\s+i\s+(?:meet|talk|speak)|where\s+should\s+i\s+go)",
    re.IGNORECASE,
)
_OWN_WISHES = re.compile(
    r"^(?:(?:that|which|is|are|would|could|might|fits?|suits?|matches|match|matching|to|for|me|my|of|based|according|given|on|with"
    r"|i|like|enjoy|interests?|interest|interested|profile|topics?|us|recommendations?|suggestions?|recommended|suggested"
    r"|in|be|and|what|should|see|do|relevant)\b\W*)+$",
    re.IGNORECASE,
)


def is_personal(question: str, topic: str) -> tuple[bool, str]:
    """Whether a question asks for what suits the person, and its topic without the words that say so.

    Args:
        question: The question.
        topic: Its topic as read.
    """
    if not _PERSONAL.search(question):
        return False, topic
    return True, "" if _OWN_WISHES.match(topic) else topic


def says_anything(profile: Profile | None) -> bool:
    """Whether a profile holds a wish that records can be compared with.

    Args:
        profile: What is known of the person, if anything.
    """
    return profile is not None and bool(profile.interests or profile.seeking or profile.offering)

"""Words that carry a question but say nothing of what it is about."""

from __future__ import annotations

import re

from loopwright.retrieval.text import STOP_WORDS

SESSION_NOUNS = frozenset(
    "talk talks session sessions presentation presentations lecture lectures slot slots devroom devrooms programme "
    "program schedule agenda".split()
)
"""Words for what a conference consists of."""
TRACK_NOUNS = frozenset("devroom devrooms track tracks strand strands".split())
"""Words that a track's name goes with."""
ROOM_NOUNS = frozenset(
    "room rooms hall auditorium theatre theater stage building studio pavilion wing saal lounge block".split()
)
"""Words that a room's or a building's name goes with."""
TOPIC_MARKS = frozenset("about on regarding concerning covering around".split())
"""Words after which a topic begins; what follows is left as it is."""
ARTICLES = frozenset({"a", "an", "the", "any", "some"})
"""What may stand between such a word and the topic."""

_MEANINGFUL = frozenset(
    "own same most few more before after under over up down out off between no nor not without against".split()
)
_SMALL = STOP_WORDS - _MEANINGFUL
_ASKING = frozenset(
    "please thanks hi hello hey ok okay well show tell list give find search recommend suggest see attend visit watch "
    "hear listen learn know like want wish need looking look interested interesting interest anything something "
    "everything happening happens going scheduled held available related discuss discusses discussed cover covers "
    "covered deal deals dealing mention mentions mentioned speak speaks speaking speaker speakers talking present "
    "presents presented presenting given gives giving must shall might us im id ive lets whats there conference start "
    "starts begin begins dont meet today planned event events thing things person people one ones stuff someone anyone "
    "everyone everybody somebody anybody best good great exist exists topic topics subject many much ask maybe perhaps "
    "possible possibly actually really currently still yet expect miss worth useful suitable try buy sell sells "
    "selling else more pls plz kindly".split()
)
_IDLE = frozenset(
    "run runs running read reading use get gets got help say says said concern concerns treat treats explain explains "
    "focus focuses point time free kick kicks off whole end ends long come comes follow follows".split()
)
_FOREIGN = frozenset("de des del le les el las los von vom".split())
LEADING = (
    _SMALL
    | _FOREIGN
    | _ASKING
    | SESSION_NOUNS
    | TRACK_NOUNS
    | frozenset({"room", "rooms", "hall", "where", "regarding"})
)
"""What may be cut from the front of a topic."""
TRAILING = (
    (_SMALL - frozenset("it off".split()))
    | SESSION_NOUNS
    | frozenset(
        "please pls plz thanks stuff attend see go visit watch happening scheduled available held there today planned "
        "speaking speaker speakers talking presenting presented given expect recommend suggest start starts begin "
        "begins devroom track tracks exist topic topics ok okay maybe worth like want miss meet again".split()
    )
)
"""What may be cut from the end of a topic."""
BARE = LEADING | TRAILING | TOPIC_MARKS | ARTICLES | _IDLE
"""Words that alone are no topic."""

_PROGRAMME = re.compile(
    r"\b(?:what['’]?s\s+(?:on|in|at|next|happening|up)|what\s+is\s+(?:on|in|at|next|up)|on\s+(?:now|today|right)|there|left|still"
    r"|happening|scheduled|starts?|begins?|talks?|sessions?|keynotes?|workshops?|attend|see|watch|visit|later|programme)\b",
    re.IGNORECASE,
)


def says_programme(question: str) -> bool:
    """Whether a question is plainly about the programme, so that "now" and "today" are times and not "nowadays".

    Args:
        question: The question.
    """
    return bool(_PROGRAMME.search(question))

"""Where a question goes first, and the answers that need no documents."""

import re
from collections.abc import Sequence
from functools import cache

from loopwright.config import shipped
from loopwright.workflows.rag.question.words import fold
from loopwright.workflows.rag.schemas import Route

_ASKS: dict[str, list[str]] = shipped("loopwright.workflows.rag.question", "web.yaml")
_WEB, _WEB_AFTER = (re.compile("".join(_ASKS[place]), re.IGNORECASE | re.DOTALL) for place in ("before", "after"))
# Before or behind what is said may stand a short address: "hello loopwright", "thanks, bye".
_ADDRESS = r"(?:(?:oh|ok|okay|great|well|hello|hi|hey|please)[ ,]+)*"
_EMPTY = ("", "it", "that", "this", "for it", "for me", "up", "please")
_NOTHING = "What shall I search the web for?"


def route_of(question: str, history: Sequence[str] = ()) -> Route:
    """Where a question goes first.

    What the documents do not hold is found out by looking: the web comes first only where the user asks for it.

    Returns:
        ``direct_answer`` for a greeting and a question about the assistant; ``web_search`` where the web is
        asked for; else ``knowledge_graph_retrieval``.
    """
    wanted = web_query(question)
    if wanted is not None:
        return "web_search" if wanted or any(turn.strip() for turn in history) else "direct_answer"
    return "direct_answer" if _direct(question) is not None else "knowledge_graph_retrieval"


def web_query(question: str) -> str | None:
    """The question without "search the web for"; empty if nothing else is said, None if it does not ask for the web."""
    text = " ".join(question.split())
    if match := _WEB.match(text):
        parts = ((match["inner"] or "").strip(), match["rest"].strip())
        return " ".join(part for part in parts if fold(part.strip(" ?.!。？")) not in _EMPTY)
    match = _WEB_AFTER.match(text)
    return None if match is None else match["rest"].strip(" ,;:–-")


def direct_answer(question: str) -> str:
    """Answer a question that needs no documents."""
    return _NOTHING if web_query(question) == "" else _direct(question) or next(iter(_answers()))


@cache
def _answers() -> dict[str, list[str]]:
    """Answer -> patterns of what it answers; first what the assistant says of itself."""
    kinds: dict[str, dict[str, list[str]]] = shipped("loopwright.workflows.rag.question", "direct.yaml")
    return {answer: patterns for kind in kinds.values() for answer, patterns in kind.items()}


def _direct(question: str) -> str | None:
    text = " ".join(re.sub(r"[?!.,;:。，！？、…~\"]+", " ", fold(question)).split())
    for answer, patterns in _answers().items():
        said = "|".join(map(fold, patterns))
        if re.fullmatch(f"{_ADDRESS}(?:{said})(?: (?:loopwright|assistant|bot|friend|please|sir|madam))?", text):
            return answer
    return None

"""Where a question goes first, and the answers that need no documents."""

import re
from collections.abc import Sequence
from functools import cache

from loopwright.config import shipped
from loopwright.workflows.rag.question.words import fold
from loopwright.workflows.rag.schemas import Route

_WEB = re.compile(
    r"^(?:(?:please|can you|could you|would you|go and)\s+)*"
    r"(?:(?:search|google|check|browse|query)(?: on)? (?:the )?(?:web|internet|online|net(?= for\b|\W*$))\b"
    r"|(?:look|search|find)(?: up| out| for)?(?: (?P<inner>.{1,200}?))?(?: up)? (?:on the (?:web|internet)|online)\b"
    r"|(?:do|run|make) a web ?search\b|web ?search\b"
    r"|such(?:e)? (?:im (?:internet|netz|web))|cherche(?:z)? sur (?:internet|le web)|busca(?:r)? en (?:internet|la web)"
    r"|(?:ช่วย)?(?:ค้นหา|ค้น|หา|เสิร์ช)(?:ใน|จาก|บน|ทาง)(?:เว็บ|อินเทอร์เน็ต|เน็ต|กูเกิล)"
    r"|(?:请|請|帮我|幫我)*(?:在|上)?(?:网上|網上|网络上|互联网上?|網路上)(?:搜索|搜尋|搜|查找|查询|查一下|查)(?:一下)?)"
    r"(?:\s*(?:(?:for|about|nach|por|เกี่ยวกับ|เรื่อง)\b|[:：,，]|and (?:tell me|find(?: out)?)))?\s*(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
# What is asked comes first, and the web in a clause of its own: "Can guests use the internet?" asks for none.
_WEB_AFTER = re.compile(
    r"^(?P<rest>.{3,500}?)(?:(?:(?<=[,;:.?!–-])|\s(?:and|please))\s+(?:and |please )*"
    r"(?:(?:search|check|look (?:it|this) up|(?<!and )use)\s+(?:on |in )?(?:the )?(?:web|internet|online)|on the web)"
    r"|,?\s+according to the (?:web|internet))\s*[?.!]*$",
    re.IGNORECASE | re.DOTALL,
)
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

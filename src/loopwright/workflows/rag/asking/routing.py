"""Where a question goes first, and the answers that need no documents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loopwright.workflows.rag.asking.arithmetic import evaluate, expression_in, shown
from loopwright.workflows.rag.asking.words import fold
from loopwright.workflows.rag.schemas import Route

_GREETINGS: dict[str, tuple[str, ...]] = {
    "Hello! Ask me anything about your documents.": (
        r"(?:hello|hi|hey|greetings|good (?:morning|afternoon|evening|day))(?: there| again| everyone| all)?",
        r"how are you(?: doing)?(?: today)?",
        r"nice to meet you",
    ),
    "You are welcome.": (r"(?:many )?thanks?(?: you)?(?: (?:so|very) much| a lot| again)?", "thx", "cheers"),
    "Goodbye!": (r"(?:good ?)?bye(?: bye)?", "goodbye", "see you(?: later| soon)?", "good night"),
    "Hallo! Fragen Sie mich etwas zu Ihren Dokumenten.": (
        "hallo",
        "guten (?:tag|morgen|abend)",
        "grüß gott",
        "servus",
        "moin",
    ),
    "Gern geschehen.": (r"(?:vielen |herzlichen )?dank(?:e)?(?: schön| sehr)?", "dankeschön"),
    "Auf Wiedersehen!": ("auf wiedersehen", "tschüss?"),
    "Bonjour ! Posez-moi une question sur vos documents.": ("bonjour", "salut", "bonsoir"),
    "Je vous en prie.": (r"merci(?: beaucoup| bien)?",),
    "Au revoir !": ("au revoir",),
    "¡Hola! Pregúnteme lo que quiera sobre sus documentos.": (
        "hola",
        r"buen[oa]s (?:días|dias|tardes|noches)",
        "buenas",
    ),
    "De nada.": (r"(?:muchas )?gracias",),
    "¡Adiós!": ("adi[oó]s", "hasta luego"),
    "สวัสดี ถามเกี่ยวกับเอกสารของคุณได้เลย": (r"(?:สวัสดี|หวัดดี)(?:ครับ|ค่ะ|คะ|จ้า)?",),
    "ด้วยความยินดี": (r"ขอบคุณ(?:มาก)?(?:ครับ|ค่ะ|คะ|นะ)*", r"ขอบใจ(?:มาก|จ้า)?"),
    "你好！请就您的文档提问。": (r"(?:你|您)好(?:吗|啊|呀)?", "哈[喽啰罗]", "嗨", "早上好", "下午好", "晚上好"),
    "不客气。": (r"(?:谢谢|謝謝|多谢|感谢)(?:你|您)?(?:了)?",),
    "再见！": ("再见|再見|拜拜",),
}
_ABOUT_ITSELF: dict[str, tuple[str, ...]] = {
    "I am Loopwright's question answering workflow. I look up your question in the documents that were added, quote "
    "the passages that answer it, and cite them. If the documents do not answer a question, I say so. "
    'If you ask for it ("search the web for ...") and a search engine is configured, I search the web. '
    "I can do simple arithmetic, too.": (
        r"(?:so )?(?:who|what) (?:exactly )?are you",
        r"what(?:'s| is) your (?:name|purpose|job)",
        r"what (?:can|do) you (?:do|know|help(?: me)? with)",
        r"what (?:are|can be) your (?:capabilities|abilities|skills|limits|limitations|features)",
        r"how (?:do|can) (?:you work|i use you|you help(?: me)?)",
        r"are you (?:an? )?(?:human|robot|bot|person|machine|ai|real|chatbot|language model|llm|assistant)",
        r"can you help(?: me)?",
        r"(?:tell me about|introduce|describe) yourself",
        r"who (?:made|built|created|wrote|developed) you",
        r"(?:which|what) (?:model|llm|language model) (?:are you|do you use)",
        r"help(?: me)?",
    ),
    "Ich bin der Frage-Antwort-Ablauf von Loopwright: Ich suche in Ihren Dokumenten, zitiere die "
    "passenden Stellen, und sage es, wenn die Dokumente eine Frage nicht beantworten.": (
        "wer (?:bist du|sind sie)",
        r"was k(?:annst du|önnen sie)(?: tun| machen)?",
    ),
    "Je suis l'assistant de questions de Loopwright : je cherche dans vos documents, je cite les passages qui "
    "répondent, et je le dis quand ils ne répondent pas.": (
        r"(?:qui (?:es-tu|êtes-vous)|que (?:sais-tu|peux-tu|pouvez-vous) faire)",
    ),
    "Soy el asistente de preguntas de Loopwright: busco en sus documentos, cito los pasajes que responden y lo digo "
    "cuando no responden.": (r"qui[eé]n (?:eres|es usted)", r"qu[eé] (?:puedes|puede) hacer"),
    "ฉันคือระบบถามตอบของ Loopwright ฉันค้นหาคำตอบในเอกสารของคุณ ยกข้อความที่ตอบคำถามพร้อมอ้างอิง และบอกตรง ๆ เมื่อเอกสารไม่มีคำตอบ": (
        r"(?:คุณ|เธอ)(?:คือใคร|เป็นใคร|ชื่ออะไร|ทำอะไรได้บ้าง|ช่วยอะไรได้บ้าง)(?:ครับ|คะ|ค่ะ)?",
    ),
    "我是 Loopwright 的问答助手：我在您的文档中查找答案，引用相关段落；文档没有答案时，我会如实说明。": (
        r"(?:你|您)(?:是谁|是誰|叫什么(?:名字)?|能做什么|会做什么|会什么|可以做什么)",
    ),
}
_WEB = re.compile(
    r"^(?:(?:please|can you|could you|would you|go and)\s+)*"
    r"(?:(?:search|google|check|browse|query)(?: on)? (?:the )?(?:web|internet|net|online)"
    r"|(?:look|search|find)(?: up| for)?(?: (?P<inner>.{1,200}?))?(?: up)? (?:on the (?:web|internet)|online)"
    r"|(?:do|run|make) a web ?search|web ?search|google(?= )"
    r"|such(?:e)? (?:im (?:internet|netz|web))|cherche(?:z)? sur (?:internet|le web)|busca(?:r)? en (?:internet|la web)"
    r"|(?:ช่วย)?(?:ค้นหา|ค้น|หา|เสิร์ช)(?:ใน|จาก|บน|ทาง)(?:เว็บ|อินเทอร์เน็ต|เน็ต|กูเกิล)"
    r"|(?:请|請|帮我|幫我)*(?:在|上)?(?:网上|網上|网络上|互联网上?|網路上)(?:搜索|搜尋|搜|查找|查询|查一下|查)(?:一下)?)"
    r"(?:\s*(?:(?:for|about|nach|por|เกี่ยวกับ|เรื่อง)\b|[:：,，]|and (?:tell me|find(?: out)?)))?\s*(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_WEB_AFTER = re.compile(
    r"^(?P<rest>.{3,500}?),?\s+(?:(?:please )?(?:search|check|look (?:it|this) up|use)\s+"
    r"(?:on |in )?(?:the )?(?:web|internet|online)"
    r"|according to the (?:web|internet)|on the web)\s*[?.!]*$",
    re.IGNORECASE | re.DOTALL,
)
_NOTHING = "What shall I search the web for?"


def route_of(question: str, history: Sequence[str] = ()) -> Route:
    """Where a question goes first.

    What the documents do not hold is found out by looking: the web comes first only where the user asks for it.

    Args:
        question: The user's question.
        history: Earlier questions and answers, oldest first: "search the web" alone then means the last of them.

    Returns:
        ``direct_answer`` for a greeting, arithmetic and a question about the assistant; ``web_search`` where the web is
        asked for; else ``knowledge_graph_retrieval``.
    """
    wanted = web_query(question)
    if wanted is not None:
        return "web_search" if wanted or any(turn.strip() for turn in history) else "direct_answer"
    return "direct_answer" if _direct(question) is not None else "knowledge_graph_retrieval"


def web_query(question: str) -> str | None:
    """What to search the web for.

    Args:
        question: The user's question.

    Returns:
        The question without "search the web for"; empty if nothing else is said; None if it does not ask for the web.
    """
    text = " ".join(question.split())
    match = _WEB.match(text)
    if match is not None:
        rest = match["rest"].strip() or (match["inner"] or "").strip()
        return (
            "" if fold(rest.strip(" ?.!。？")) in ("it", "that", "this", "for it", "for me", "up", "please") else rest
        )
    match = _WEB_AFTER.match(text)
    return None if match is None else match["rest"].strip()


def direct_answer(question: str) -> str:
    """Answer a question that needs no documents.

    Args:
        question: One that `route_of` routes to ``direct_answer``.

    Returns:
        A greeting, a result, or what the assistant is; for any other question, what it can do.
    """
    if web_query(question) == "":
        return _NOTHING
    return _direct(question) or next(iter(_ABOUT_ITSELF))


def _direct(question: str) -> str | None:
    expression = expression_in(question)
    if expression is not None:
        return _worked_out(expression)
    text = _plain(question)
    for answers in (_ABOUT_ITSELF, _GREETINGS):
        for answer, patterns in answers.items():
            if any(_plain_match(pattern, text) for pattern in patterns):
                return answer
    return None


def _plain_match(pattern: str, text: str) -> bool:
    """Whether a text is this alone, or this after or before a short address ("hello loopwright", "thanks, bye")."""
    address = r"(?:(?:oh|ok|okay|great|well|hello|hi|hey|please)[ ,]+)*"
    return bool(
        re.fullmatch(f"{address}(?:{fold(pattern)})(?: (?:loopwright|assistant|bot|friend|please|sir|madam))?", text)
    )


def _plain(question: str) -> str:
    return " ".join(re.sub(r"[?!.,;:。，！？、…~\"]+", " ", fold(question)).split())


def _worked_out(expression: str) -> str:
    try:
        value = evaluate(expression)
    except ZeroDivisionError:
        return "That divides by zero, so it has no value."
    except OverflowError:
        return "That is too large for me to work out."
    except ValueError as error:
        return f"I cannot work that out: {error}."
    return f"{' '.join(expression.split())} = {shown(value)}"

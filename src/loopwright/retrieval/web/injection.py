"""Phrases by which a text tries to command the model that reads it."""

from __future__ import annotations

import re
import unicodedata

from loopwright.retrieval.web.cleaning import INVISIBLE

MAX_SHOWN = 100
"""The most characters that are shown of one phrase."""

SPECIAL_TOKENS = re.compile(
    # ChatML, Llama 3, Phi, Qwen, DeepSeek; Llama 2 and Mistral; Gemma and tags of other templates.
    r"[<＜][|｜][^<>＜＞|｜\n]{1,40}[|｜][>＞]"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|<</?SYS>>"
    r"|</?(?:start_of_turn|end_of_turn|bos|eos|s|system|assistant|user|human|tool_call|tool_response|think)>",
    re.IGNORECASE,
)
"""Marks by which chat templates say who speaks; a tokenizer may read them as such wherever they stand."""

# What an instruction speaks of, and the words that may stand before it.
_ORDERS = (
    r"(?:instructions?|prompts?|directions?|directives?|commands?|rules?|guidelines?|orders?|context|messages?|text)"
)
_EARLIER = r"(?:previous|prior|preceding|above|earlier|foregoing|original|existing|initial|system|your|former)"
_FEW = r"(?:\s+(?:all|any|every|each|of|the|these|those|that|this|my|our|and|or)){0,5}"
_OBEY = r"(?:ignore|disregard|forget|override|overrule|bypass|neglect|discard|skip|do\s+not\s+follow|don't\s+follow)"

# Normalised like the text that they are sought in: NFKC takes the Thai vowel am apart.
_PHRASES = re.compile(
    unicodedata.normalize(
        "NFKC",
        "|".join(
            [
                rf"\b{_OBEY}{_FEW}(?:\s+{_EARLIER}){{1,3}}(?:\s+\w+){{0,2}}\s+{_ORDERS}\b",
                rf"\b{_OBEY}{_FEW}\s+{_ORDERS}(?:\s+\w+){{0,3}}\s+(?:above|before|earlier|previously|so\s+far|given)\b",
                rf"\b{_OBEY}\s+(?:everything|anything|all|what)(?:\s+\w+){{0,4}}\s+(?:above|before|earlier|previously|so\s+far)\b",
                r"\b(?:new|updated|revised|real|important)\s+(?:system\s+)?(?:instructions?|prompt|task)\s*:",
                r"\b(?:system|developer|hidden|initial)\s+prompt\b",
                rf"\b(?:reveal|print|repeat|show|output|leak|disclose)\s+(?:\w+\s+){{0,3}}{_EARLIER}\s+(?:\w+\s+)?{_ORDERS}\b",
                r"\b(?:reveal|print|send|show|output|leak|disclose)\s+(?:\w+\s+){0,3}(?:api\s+keys?|passwords?|credentials|secrets)\b",
                r"\byou\s+are\s+(?:now|no\s+longer)\s+(?:an?|the|in|bound|restricted|called|free)\b",
                r"\b(?:act|behave|respond|answer)\s+as\s+(?:if\s+you|though\s+you|an?\s+(?:ai|unrestricted|unfiltered)|dan\b)",
                r"\bpretend\s+(?:to\s+be|that\s+you|you\s+are)\b",
                r"\b(?:developer|jailbreak|god|dan)\s+mode\b|\bjailbreak(?:ed|ing)?\b",
                r"\bdo\s+not\s+(?:tell|inform|mention|reveal|alert|warn)\s+(?:\w+\s+){0,3}(?:the\s+)?(?:user|human|operator)\b",
                r"\b(?:attention|note\s+to|dear|hey)\s*,?\s+(?:all\s+|any\s+)?(?:ai|llms?|language)\b",
                r"\b(?:if\s+you\s+are|as)\s+an?\s+(?:ai|llm|(?:large\s+)?language\s+model|chatbot)\b",
                r"\b(?:end|begin(?:ning)?|start)\s+of\s+(?:the\s+)?(?:untrusted|system|user)\s+(?:prompt|message|input|text|data)",
                r"(?:^|\n)[ \t>*#-]{0,6}(?:system|assistant|developer|user|human)\s{0,3}:",
                # The same order in other languages.
                r"(?:忽略|无视|無視|不要理会)[^。\n]{0,12}(?:指令|指示|提示|命令|规则)",
                r"(?:以前|これまで|上記|前)の(?:すべての)?(?:指示|命令|プロンプト)[^。\n]{0,6}(?:無視|忘れ)",
                r"(?:เพิกเฉย|ละเว้น|ไม่ต้องสนใจ|ลืม|อย่าทำตาม)[^\n]{0,20}(?:คำสั่ง|คำแนะนำ|ข้อความ)",
                r"\bignor[ae]r?\s+(?:\w+\s+){0,3}(?:instrucciones|instruções|istruzioni)\b",
                r"\bignore[rz]?\s+(?:\w+\s+){0,4}(?:instructions|consignes)\b",
                r"\bignoriere?n?\s+(?:sie\s+)?(?:\w+\s+){0,4}(?:anweisungen|instruktionen|befehle)\b",
                r"игнорируй(?:те)?\s+(?:\w+\s+){0,3}(?:инструкции|указания|команды)",
            ]
        ),
    ),
    re.IGNORECASE,
)


def looks_like_instructions(text: str) -> list[str]:
    """Find the phrases by which a text seems to command a model: a hint for logs and graders, never a proof.

    Width, case, invisible characters and line breaks within a phrase do not hide it; other words, other languages and
    encodings do.

    Returns:
        The phrases in order, each once, at most `MAX_SHOWN` characters each; none if nothing looks so.
    """
    marks = [match[0] for match in SPECIAL_TOKENS.finditer(text)]
    plain = INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).replace("\u2019", "'")
    marks += [match[0] for match in SPECIAL_TOKENS.finditer(plain)]
    phrases = [match[0] for match in _PHRASES.finditer(plain)]
    return list(dict.fromkeys(" ".join(phrase.split())[:MAX_SHOWN] for phrase in [*marks, *phrases]))

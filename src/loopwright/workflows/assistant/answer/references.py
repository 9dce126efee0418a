"""What is put before the writer of an answer, each record under its mark, ``[sessions:6196]``, and what is cited."""

import re
from collections.abc import Iterator, Mapping, Sequence

from loopwright.retrieval.text import fold
from loopwright.retrieval.web import quote_untrusted, untrusted_line
from loopwright.workflows.assistant.answer.wording import BRACKETS, joined, shortened, when
from loopwright.workflows.assistant.schemas import Found, Record, Table

_TABLES = "|".join(Table)
_BRACKETS = re.compile(r"(?<!\\)[\[【]\s*([^\[\]【】\n]{1,300}?)\s*[\]】](?!\()")
_NAMED = re.compile(rf"(?:{_TABLES})\s*[:：]", re.IGNORECASE)
_NEXT = re.compile(rf"\s*[,;，、]\s*(?=(?:{_TABLES})\s*[:：])", re.IGNORECASE)
_UNCLOSED = re.compile(r"[\[【](?=[^\]】\n]*$)")
_COLON = re.compile(r"\s*[:：]\s*")
_MOST_SHOWN = 5000
"""Characters of all records together; a small model reads 4,096 tokens, and slowly."""
_MOST_RECORD = 900
"""Characters of one record where there are few."""


def mark(record_id: str) -> str:
    """The mark that cites a record by its id; no id holds brackets."""
    return f"[{record_id}]"


def referenced(text: str, offered_ids: Sequence[str]) -> tuple[str, ...]:
    """The records that a text cites of those that were offered to its writer, each once, in the order of the text."""
    return tuple(dict.fromkeys(each for _start, _end, ids in _marks(text, offered_ids) for each in ids))


def without_strangers(text: str, offered_ids: Sequence[str]) -> str:
    """The text without marks to records that were not offered, and with the others as `mark` writes them."""
    cleaned, position = "", 0
    for start, end, ids in _marks(text, offered_ids):
        cleaned += text[position:start]
        # What stood around a stranger may not come together as a mark that nobody wrote, nor be escaped.
        kept = cleaned if cleaned.rstrip(" ").endswith("\\") else _UNCLOSED.sub("", cleaned.rstrip(" "))
        cleaned = cleaned + " ".join(map(mark, ids)) if ids else kept
        position = end
    return cleaned + text[position:]


def _marks(text: str, offered_ids: Sequence[str]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Every mark of a text, in order: where it begins and ends, and the offered ids that it names.

    Chat models vary the form: several ids in one pair of brackets, other brackets, blanks, other case, and the key
    alone. The key alone counts where exactly one offered record has it, and what else stands in brackets is no mark.
    """
    known = {fold(each): each for each in offered_ids}
    keys: dict[str, list[str]] = {}
    for each in offered_ids:
        keys.setdefault(fold(each.partition(":")[2]), []).append(each)
    for match in _BRACKETS.finditer(text):
        if _NAMED.match(match[1]):
            names = (_COLON.sub(":", name.strip(), count=1) for name in _NEXT.split(match[1]))
            yield match.start(), match.end(), tuple(known[fold(name)] for name in names if fold(name) in known)
        elif len(one := keys.get(fold(match[1]), [])) == 1:
            yield match.start(), match.end(), (one[0],)


def shown_hits(shown: Sequence[Found]) -> str:
    """Records for a prompt: one on each line, its mark first, all within one fence.

    Brackets within the records become round ones and their line breaks blanks, so that no text of a record can pass
    for another record's line or mark. The more records there are, the less is shown of each.
    """
    if not shown:
        return "none"
    most = min(_MOST_RECORD, _MOST_SHOWN // len(shown))
    lines = "\n".join(f"{mark(found.record.id)} {_told(found.record, most)}" for found in shown)
    return quote_untrusted(lines, source="the conference's programme")


def _told(record: Record, most: int) -> str:
    people = joined(record.values("speaker")) if record.table is Table.SESSIONS else ""
    told = {record.title, *(", ".join(values) for values in record.fields.values())}
    parts = [
        record.title,
        when(record),
        joined(record.values("room"), "or"),
        f"with {people}" if people else "",
        f"track {joined(record.values('track'))}" if record.values("track") else "",
        *(
            f"{facet.replace('_', ' ')}: {shortened(text, most // 2)}"
            for facet, text in record.texts.items()
            if text not in told
        ),
    ]
    return untrusted_line(shortened(" | ".join(part for part in parts if part), most)).translate(BRACKETS)


def offered(query_results: Mapping[str, Sequence[Found]], limit: int) -> list[Found]:
    """The hits that an answer may cite, the best first: the scores of all tables are on one scale.

    Equal scores stay in the order in which they are given, for example that of time.
    """
    return sorted((found for hits in query_results.values() for found in hits), key=lambda found: -found.score)[:limit]

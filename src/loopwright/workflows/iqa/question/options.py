"""The answer options of a multiple-choice question."""

import re

_MARK = re.compile(
    r"(?<!\w)\(\s?([A-Za-z1-9])\s?\)"  # (A) blur, (1) blur
    r"|(?<![\w(.'’-])([A-Za-z1-9])\)"  # A) blur, 1) blur
    r"|(?:(?<=\n)|\A)([1-9])\.(?=\s)"  # 1. blur, at the start of a line
    r"|(?<![\w(.'’-])(?<![A-Z]\.\s)([A-Z])\.(?!\w\.)"  # A. blur, but not A.B. Smith or R. A. Smith
    r"|(?:(?<=\n)|(?<=option )|(?<=Option )|\A)([A-Z]):"  # A: blur, at the start of a line
)
_END_OF_LAST = re.compile(r"\n\s*\n|\n\s*(?=[A-Z])|(?<=[.?!])\s+(?=[A-Z])")
_CHOOSES = re.compile(
    r"\b(?:which|welche\w*|quel\w*|quale?|cuál\w*)\b[^?]*\?\s*$"
    r"|\b(?:what|how|was|wie|qué|cómo|comment|che|come)\b(?:(?!\b(?:each|all|both|these|following)\b)[^?])*\?\s*$",
    re.IGNORECASE,
)
"""The end of a question that one of what follows answers."""
_EDGES = " ,;|/*•_-.?"
_JOINTS = frozenset({"or", "and", "option", "options", "choice", "choices"})


def split_options(query: str) -> tuple[str, dict[str, str]]:
    """Take the options out of a query, which may be in any of the forms ``A. x``, ``A) x`` and ``(A) x``.

    They may stand on one line or on several. The letters begin with A and rise, or they are numbers from 1 behind a
    question that one of them answers; "Cannot tell" is an option only if it is listed, under the letter that it is
    listed with.

    Returns:
        Everything but the options; and letter -> text, in order, of none or at least two.
    """
    marks = _list_of(list(_MARK.finditer(query)))
    if len(marks) < 2:
        return query, {}
    options: dict[str, str] = {}
    end = len(query)
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        text = query[mark.end() : following.start() if following else len(query)]
        if following is None:
            lead = len(text) - len(text.lstrip())
            stop = _END_OF_LAST.search(text, lead)
            text = text[: stop.start()] if stop else text
            end = mark.end() + len(text)
        options[_letter(mark)] = _clean(text)
    # "1) Is it sharp? 2) Is it noisy?" are questions, and "is it 1) sharp 2) well exposed?" asks about both.
    chosen = _CHOOSES.search(query[: marks[0].start()]) and "?" not in query[marks[0].start() : marks[-1].start()]
    if not all(options.values()) or ("1" in options and not chosen):
        return query, {}
    return f"{query[: marks[0].start()]}\n{query[end:]}".strip(), options


def _list_of(marks: list[re.Match[str]]) -> list[re.Match[str]]:
    """The marks of the first list that begins with A or 1 and whose marks rise by one, or at most two."""
    found: list[re.Match[str]] = []
    for mark in marks:
        letter = _letter(mark)
        if not found or (len(found) == 1 and letter in "A1"):
            found = [mark] if letter in "A1" else []
            continue
        step = ord(letter) - ord(_letter(found[-1]))
        if step in (1, 2):
            found.append(mark)
        elif len(found) > 1:
            break
        else:
            found = []
    return found


def _letter(mark: re.Match[str]) -> str:
    return next(group for group in mark.groups() if group).upper()


def _clean(text: str) -> str:
    """One line, without the joints between two options and the full stop."""
    words = " ".join(text.split()).strip(" *_•").rstrip(_EDGES).split(" ")
    while words and words[-1].lower() in _JOINTS:
        words = " ".join(words[:-1]).rstrip(_EDGES).split(" ")
    return " ".join(words)

"""Several positions named at once, written out one by one: "the left, middle and right thirds", "which corner"."""

from __future__ import annotations

import re

_SIDE = r"(?:upper|lower|top|bottom|left|right)"
_MIDDLE = r"(?:cent(?:er|re)|middle)"
_DIRECTION = rf"(?:{_SIDE}|{_MIDDLE}|central)(?: (?:{_SIDE}|{_MIDDLE}))?"
_NOUN = r"(?:half|third|quarter|quadrant|corner|edge|border|side|part)"
_JOINT = r"(?:,? (?:and|or|versus|vs\.?|against|from|to|with|than)|,)"
_LIST = re.compile(rf"\b{_DIRECTION}(?:{_JOINT} (?:in )?(?:the )?{_DIRECTION})+ (?:hand )?({_NOUN})s?\b")
_ONE = re.compile(rf"\b(?:the )?({_DIRECTION})\b")
_BARE = re.compile(
    rf"(?<!from )(?<!from the )\b(?P<first>{_SIDE}|{_MIDDLE})"
    rf"(?P<joint> (?:versus|vs\.?|against) | (?:and|or|to|with|compared? (?:to|with)) "
    r"| (?:\w+er|(?:more|less) \w+) than )"
    rf"(?:the )?(?P<second>{_SIDE}|{_MIDDLE})\b(?! (?:{_SIDE}|{_MIDDLE}|{_NOUN}))"
)
_COMPARING = re.compile(r"\b(?:compar\w+|which|differ\w*|between)\b")
_WHOLE = r"(?: of the (?:whole |entire )?(?:image|picture|photo|photograph|frame|shot|scene)| of it)?(?! of\b)"
_GROUPS = {
    "corners": ("top left corner", "top right corner", "bottom left corner", "bottom right corner"),
    "quadrants": ("top left quarter", "top right quarter", "bottom left quarter", "bottom right quarter"),
    "edges": ("left edge", "right edge", "top edge", "bottom edge"),
    "thirds": ("left third", "middle third", "right third"),
    "halves": ("left half", "right half", "top half", "bottom half"),
}
"""What a noun without a direction stands for."""
_GROUP = re.compile(
    rf"\b(?P<which>which(?: one)?(?: of the(?: four| three| two)?)? "
    r"|(?:(?:the|all|all the|every|each) )?(?:four |three )?)"
    rf"\b(?P<noun>corners?|quadrants?|edges?|borders?|thirds?|half)\b{_WHOLE}"
)
_PLURAL = {
    "corner": "corners", "quadrant": "quadrants", "edge": "edges", "border": "edges", "borders": "edges",
    "third": "thirds", "half": "halves",
}  # fmt: skip


def listed_places(text: str) -> str:
    """Write out positions that a text names together.

    Args:
        text: A question, in the form of `spoken`.

    Returns:
        The same question with one position after another, each with its noun: "the left half and the right half". A
        noun alone stands for all of its kind where it can mean nothing else: "which corner", "the corners", or "the
        edges" beside the centre, for the edges alone may be those of things.
    """
    text = _LIST.sub(_each_with_noun, re.sub(r"\bhalves\b", "half", text))
    text = _BARE.sub(lambda match: _bare(match, text), text)
    beside_centre = bool(re.search(rf"\b(?:the|in|at|than|with|to|against|vs\.?|versus) (?:the )?{_MIDDLE}\b", text))
    beside_centre = beside_centre or bool(re.search(rf"^{_MIDDLE}\b", text))
    # "Which half is blurrier, the left or the right?" names its own.
    if re.search(rf"\b{_SIDE}\b", text):
        return text
    return _GROUP.sub(lambda match: _group(match, beside_centre=beside_centre), text)


def _each_with_noun(match: re.Match[str]) -> str:
    noun = match[1]
    directions = match[0].removesuffix("s").removesuffix(noun).rstrip().removesuffix(" hand")

    def one_by_one(one: re.Match[str]) -> str:
        # "The centre and the left edge": a centre has no edge, half or corner of its own.
        alone = re.fullmatch(_MIDDLE, one[1]) and noun not in ("third", "part")
        return f"the {one[1]}" if alone else f"the {one[1]} {noun}"

    listed = _ONE.sub(one_by_one, directions)
    return listed.removeprefix("the ") if match.string[: match.start()].endswith("the ") else listed


def _bare(match: re.Match[str], text: str) -> str:
    """Halves for "left vs. right"; "left and right" need a word that compares."""
    if match["joint"].strip() in ("and", "or", "to", "with") and not _COMPARING.search(text):
        return match[0]
    names = [name if re.fullmatch(_MIDDLE, name) else f"{name} half" for name in (match["first"], match["second"])]
    before = "" if text[: match.start()].endswith("the ") else "the "
    return f"{before}{names[0]}{match['joint']}the {names[1]}"


def _group(match: re.Match[str], *, beside_centre: bool) -> str:
    which = match["which"].startswith("which")
    kind = _PLURAL.get(match["noun"], match["noun"])
    several = match["noun"] not in _PLURAL or match["noun"] == "borders"
    alone = kind in ("corners", "quadrants") or (kind == "edges" and beside_centre)
    counted = bool(re.search(r"\b(?:four|three|all|every|each)\b", match["which"]))
    if not (which or counted or (several and alone)):
        return match[0]
    return f"{'which of ' if which else ''}the {' and the '.join(_GROUPS[kind])}"

"""Places that words name ("the upper half", "bottom right corner") or numbers give ("region 10,20,100,80")."""

import re
from dataclasses import dataclass
from typing import Any

from loopwright.config import shipped
from loopwright.workflows.iqa.measuring.whereabouts import Fractions, cell
from loopwright.workflows.iqa.question.vocabulary import spans, spans_of, spoken
from loopwright.workflows.iqa.schemas import Box
from loopwright.workflows.iqa.sources.images import widened

REGION_PREFIX = "region "
"""How the scope of a box begins."""

_DOWN = {"top": 0, "bottom": 2}
_ACROSS = {"left": 0, "right": 2}
_DIRECTIONS = frozenset((*_DOWN, *_ACROSS, "center"))
_PLACES: dict[str, Any] = shipped("loopwright.workflows.iqa", "data/names.yaml")["places"]
_SHARES, _SYNONYMS, _GROUPS = (_PLACES[name] for name in ("shares", "synonyms", "groups"))

_BOX_SCOPE = re.compile(r"region (\d{1,7}),(\d{1,7}),(\d{1,7}),(\d{1,7})")
_OWNED = re.compile(
    r" (?:of|der|des|von|de|du|del|de la) (?:(?:the|this|that|my|our|your|a|an|his|her|its|their|la) )?(\w+)"
)
_ARTICLE = re.compile(r"\b(?:the|in|at|on|to|than|vs\.?|versus|against) $")
_THE = r"(?:in )?(?:the |der |die |das |la |le |el |il )?"
_JOINED = re.compile(
    rf"(?:,? ?(?:\w+ )?(?:and|or|vs\.?|versus|against|to|with|from|than|und|oder|als|et|ou|que|y|o|e|,) ?{_THE})"
)


@dataclass(slots=True)
class _Named:
    """Directions and nouns that stand side by side."""

    directions: list[str]
    noun: str | None
    start: int
    end: int
    many: bool


def named_places(text: str) -> list[str]:
    """The places of the image that a text names, which is as `spoken` gives it.

    Returns:
        Different names that `fractions_of` knows, in order. A noun alone stands for all of its kind ("which corner",
        "the corners"; "the edges" beside the centre only, for the edges alone may be those of things); a direction
        alone takes the noun that it is listed with.
    """
    named = [each for each in _gathered(text) if not _is_of_a_thing(each, text)]
    given = [each.noun for each in named if each.directions and each.noun not in (None, "side", "area")]
    own = [each.noun for each in named if each.noun and not each.directions]
    centre = any(each.directions == ["center"] for each in named)
    directed = any(each.directions and each.directions != ["center"] for each in named)
    english = {"left", "right", "top", "bottom", "upper", "lower"} & {span.text for span in spans_of("parts", text)}
    found: list[str] = []
    for position, each in enumerate(named):
        if not each.directions:
            if each.noun == "side" and not directed and _asks_which(text, each, among="which|what|one"):
                # "Is any part soft?" asks of the whole.
                found += _GROUPS["half"][:2]
            alone = each.noun in _GROUPS and not directed and (each.many or _asks_which(text, each))
            if alone and (each.noun != "edge" or centre or _asks_which(text, each)):
                found += _GROUPS[each.noun or ""]
            continue
        if each.noun is None and each.directions != ["center"]:
            # Joined to the place beside it: "the left or the right", "left and right half".
            pairs = [(named[i], named[i + 1]) for i in (position - 1, position) if 0 <= i < len(named) - 1]
            listed = any(_JOINED.fullmatch(text[first.end : second.start].lstrip()) for first, second in pairs)
            if len(each.directions) < 2 and not (listed or _ARTICLE.search(text[: each.start]) or not english):
                continue
            each.noun = (given or own or ["half"])[0] if listed or own or len(each.directions) < 2 else None
        found += _written(each)
    return list(dict.fromkeys(found))


def _gathered(text: str) -> list[_Named]:
    gathered: list[_Named] = []
    for span in spans(text):
        # "The top three issues" are no place.
        ranks = span.text == "top" and re.match(
            r" (?:\d|two|three|four|five|ten|issue|problem|fault)", text[span.end :]
        )
        if span.section != "parts" or ranks:
            continue
        last = gathered[-1] if gathered else None
        # "Left hand side" is one place, and so is "the top left"; a noun ends it.
        near = last is not None and last.noun is None and text[last.end : span.start].strip() in ("", "hand")
        if last is None or not near:
            gathered.append(last := _Named([], None, span.start, span.end, many=False))
        last.end = span.end
        if span.key in _DIRECTIONS:
            last.directions.append(span.key)
        else:
            last.noun, last.many = span.key, bool(re.search(r"(?:s|ves|n|ften)$", span.text))
    return gathered


def _is_of_a_thing(named: _Named, text: str) -> bool:
    """Whether a place is that of a thing ("the left side of the car"), not of the image."""
    owner = _OWNED.match(text[named.end :])
    if owner is None:
        return False
    start = named.end + owner.start(1)
    return not any(span.section in ("image", "parts", "facts") and span.start == start for span in spans(text))


def _asks_which(text: str, named: _Named, *, among: str = "which|what|one|any|all|every|each|four|alle") -> bool:
    words = rf"\b(?:{among}|welche\w*|quel\w*|qual[ei]|qué|cuál)(?: \w+){{0,3}} $"
    return bool(re.search(words, text[: named.start]))


def _written(named: _Named) -> list[str]:
    if named.directions == ["center"]:
        return ["center" if named.noun in (None, "side", "area", "half") else f"center {named.noun}"]
    noun = _SYNONYMS.get(named.noun or "", named.noun or "")
    noun = "half" if noun == "side" and len(named.directions) == 1 else noun
    if noun in ("corner", "quarter") and len(named.directions) == 1:
        way = named.directions[0]
        across = [f"{way} {side}" if way in _DOWN else f"{side} {way}" for side in (_ACROSS if way in _DOWN else _DOWN)]
        return [f"{each} {noun}" for each in across] if named.many else [f"{way} {noun}"]
    ordered = sorted(dict.fromkeys(named.directions), key=lambda way: way not in _DOWN)
    return [f"{' '.join(ordered)} {noun}".strip()]


def place_name(text: str) -> str | None:
    """The name of the place that a whole text gives, such as an answer option; None if it gives none."""
    words = spoken(text).strip(" .?!").removeprefix("the ")
    if fractions_of(words) is not None and words not in _DIRECTIONS:
        return words
    found = named_places(f"in the {words}")
    return found[0] if len(found) == 1 else None


def fractions_of(name: str) -> Fractions | None:
    """Which part of an image a name means.

    Halves, thirds and quarters are taken at their word; a corner is a third of the width and of the height, a side or
    part is a half, two directions without more are a quadrant, an edge is a sixth, and the centre is the middle half of
    both.

    Args:
        name: For example "the upper left corner of the image".

    Returns:
        Left, top, width and height as shares of the image; None if the name means no position ("sky").
    """
    bare = re.sub(r"^the | of (?:the |this |that )?(?:whole |entire )?\w+$", "", spoken(name).strip())
    words = [_SYNONYMS.get(word, word) for word in bare.replace("two thirds", "most").split()]
    known = {*_DIRECTIONS, *_SHARES, "side"}
    if not words or not known.issuperset(words):
        return None
    down = next((_DOWN[word] for word in words if word in _DOWN), None)
    across = next((_ACROSS[word] for word in words if word in _ACROSS), None)
    shares = [_SHARES[word] for word in words if word in _SHARES]
    if down is None and across is None:
        middle = (1 / 3, 0.0, 1 / 3, 1.0) if shares == [3] else (0.25, 0.25, 0.5, 0.5)
        return middle if "center" in words else None
    if "center" in words:
        return cell(1 if down is None else down, 1 if across is None else across, 1 / 3)
    both = down is not None and across is not None
    # A quarter with two directions is a quadrant.
    share = 2 if not shares or (both and shares[0] == 4) else shares[0]
    return cell(down, across, 1 / share)


def box_of(name: str, width: int, height: int) -> Box | None:
    """The box that a scope's name gives, in the image if it does so in words; None for the name of an object."""
    numbers = _BOX_SCOPE.fullmatch(name.strip().lower())
    if numbers:
        left, top, box_width, box_height = map(int, numbers.groups())
        return left, top, box_width, box_height
    shares = fractions_of(name)
    if shares is None:
        return None
    left, right = _pixels(shares[0], shares[2], width)
    top, bottom = _pixels(shares[1], shares[3], height)
    return left, top, right - left, bottom - top


def _pixels(start: float, share: float, length: int) -> tuple[int, int]:
    return widened(round(start * length), round((start + share) * length), length)

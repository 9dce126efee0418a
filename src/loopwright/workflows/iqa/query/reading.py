"""Reading a query by rules: what kind of question it is, and everything that it names.

English, whatever the case and punctuation. Pure functions of the text; the same text always reads the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from loopwright.errors import PlannerError
from loopwright.workflows.iqa.query.options import parse_options, split_options
from loopwright.workflows.iqa.query.places import REGION_PREFIX, place_name, spelled_out
from loopwright.workflows.iqa.query.scope import query_scope
from loopwright.workflows.iqa.query.terms import named_distortions, named_tools, spoken, without_metrics
from loopwright.workflows.iqa.query.thresholds import read_threshold
from loopwright.workflows.iqa.schemas import GLOBAL, AnswerMode, Box, QueryType

__all__ = [
    "MAX_QUERY",
    "QueryReading",
    "asks_value",
    "named_distortions",
    "named_tools",
    "parse_options",
    "parse_region",
    "query_scope",
    "read_query",
]

MAX_QUERY = 10_000
"""The most characters in a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReading:
    """What the rules read in a query."""

    text: str
    """The query, trimmed."""
    query_type: QueryType
    """Whether it is about image quality; in doubt it is."""
    answer_mode: AnswerMode
    """The form of the answer that it wants."""
    scope: list[str] | Literal["Global"]
    """The objects that it asks about, or the whole image."""
    distortions: dict[str, list[str]]
    """Object (or "Global") -> the distortions named for it; empty if it names none, or only as answer options."""
    tools: list[str]
    """The quality tools that it names, by registered name."""
    options: dict[str, str]
    """Letter -> text of its answer options; empty if it lists none."""
    option_distortions: list[str]
    """The distortions that the answer options name."""
    region: Box | None
    """Left, top, width and height in pixels, if it gives one box; several are the scope."""


_EXPLANATION = re.compile(
    r"^(?:please )?(?:(?:can|could|would) you )?(?:please )?"
    r"(?:why|explain|describe|how come|tell me (?:why|what)"
    r"|what (?:is|are|'s) (?:causing|the (?:cause|reason|problem|issue))"
    r"|what(?: is|'s|s)? (?:\w+ )?(?:wrong|causes|makes))\b"
)
_GRADE = re.compile(r"\b(?:quality|rate|rating|grade|mos|how (?:good|bad|poor))\b")
_ADJECTIVES = (
    r"(?:(?:the|this|that|its|my|of|overall|general|image|images?'s|photo|photo's|picture|picture's|perceptual|perceived"
    r"|visual|technical|current) )*"
)
_SCORING = re.compile(
    r"(?<!frame )(?<!bit )(?<!data )(?<!sample )(?<!refresh )\b(?:rate|rates|rating|rank)\b"
    r"|\bscor(?:e|es|ed|ing)\b|(?<!color )(?<!colour )\bgrade\b|\bhow (?:good|bad|poor)\b"
    r"|\bout of (?:5|10|100|five|ten|a hundred)\b|\bscale (?:of|from)\b|\bquality (?:level|value|index|number)\b"
    r"|\b(?:mos|mean opinion)\b"
    rf"|\b(?:assess|evaluate|judge|estimate|measure|quantify|determine|predict) {_ADJECTIVES}(?:image )?quality\b"
    rf"|\bwhat(?:'s|s| is| are| was)? {_ADJECTIVES}quality\b|\bwhat quality\b"
    rf"|\bhow (?:is|high is|low is|would you describe) {_ADJECTIVES}quality\b"
    rf"|^{_ADJECTIVES}quality(?: (?:of|in) [^?]*)?\W*$"
)
_MEASURE = re.compile(
    r"^(?:what(?:'s|s| is| are)|compute|calculate|measure|run|use|give|get|report|show|how high is)\b"
)

# Any of these words makes a text a question about quality, or at least about the image.
_ABOUT_QUALITY = re.compile(
    r"\b(?:qualit|sharp|blur|focus|nois|grain|good|bad|better|best|wors|poor|wrong|faul|defect|problem|issue|flaw|artefact"
    r"|artifact|distort|degrad|clean|clear|clarit|crisp|detail|resol|rat(?:e|ing)\b|scor|grade|look|seem|visib|expos|lighting"
    r"|bright|dark|contrast|saturat|hue|tint|compress|usab|accept|print|damag|imperfect|aesthetic|pixel|sever|fidelit"
    r"|impair|\bmos\b|mean opinion"
    r"|natural|realis|improv|fix|metric|perceptual|haz|fog|ok\b|okay|fine|condition|suitable|compar|retouch|edit)"
)
_ABOUT_IT = re.compile(r"\b(?:it|its|this|that|these|those|here|images?|photos?|photographs?|pictures?|pics?|shots?)\b")
_KNOWLEDGE = re.compile(
    r"^(?:who|whom|whose|when|where|how (?:many|much|old|far|tall|long|big)"
    r"|what (?:is|are|was|were|does|did|year|time|day|country|city|language)"
    r"|what's|which (?:country|city|language|year)|is there life)\b"
)
_CONTENT = re.compile(
    r"^(?:how many|how old|who (?:is|are|took|made|shot)|whose|where (?:was|is) (?:this|the|it)"
    r"|when was|what (?:time|breed|species|year|city|country|language|brand)|what colou?r (?:is|are))\b"
)
_TASK = re.compile(
    r"^(?:please )?(?:(?:can|could) you )?(?:write|translate|calculate \d|compute \d|solve|sing"
    r"|tell me a (?:joke|story)|book|order|remind|send|buy|cook|hello|hi|hey|thanks|thank you"
    r"|good (?:morning|evening|night))\b"
    r"|^[\d\s+*/=().^-]+\??$"
)

_REGION = re.compile(
    r"\b(?:region|roi|crop|box|rectangle)\b(?:\s+(?:at|of|is))?\s*[:=]?\s*[(\[]?\s*"
    r"(-?[0-9][0-9.]{0,12}(?:(?:\s*[,;]\s*|\s+)-?[0-9][0-9.]{0,12}){1,9})",
    re.IGNORECASE,
)
_WHOLE_NUMBER = re.compile(r"[0-9]{1,7}")


def read_query(query: str) -> QueryReading:
    """Read a query.

    Args:
        query: The user's question.

    Returns:
        What it asks for.

    Raises:
        PlannerError: If it is empty or too long, lists two options under one letter, or gives an impossible region.
        UnknownNameError: If it asks for a tool that nobody knows.
    """
    text = query.strip()
    if not text:
        raise PlannerError('the query is empty; ask a question, for example "How good is this image?"')
    if len(text) > MAX_QUERY:
        raise PlannerError(f"the query has {len(text)} characters; at most {MAX_QUERY} are read, so shorten it")
    split = split_options(text)
    stem = spelled_out(" ".join(split.stem.split()))
    boxes = parse_regions(stem)
    stem = _REGION.sub("region ", stem)
    tools = named_tools(stem)
    scope = _several_boxes(boxes) or query_scope(without_metrics(stem))
    offered = _places_of(split.options)
    # "Which half is noisier? A) left B) right" is about those two.
    if offered and all(map(place_name, [] if isinstance(scope, str) else scope)):
        scope = offered
    named = compared_distortions(stem) if len(scope) > 1 and scope != GLOBAL else named_distortions(stem)
    in_options = [name for option in split.options.values() for name in named_distortions(option)]
    query_type = _query_type(spoken(stem), names_something=bool(tools or named or in_options or boxes))
    other = query_type is QueryType.OTHER
    if other:
        scope = GLOBAL
    return QueryReading(
        text=text,
        query_type=query_type,
        answer_mode=_answer_mode(spoken(stem), split.options, tools),
        scope=scope,
        distortions={} if other or in_options or not named else _by_object(stem, scope, named),
        tools=tools,
        options=split.options,
        option_distortions=list(dict.fromkeys(in_options)),
        region=boxes[0] if len(boxes) == 1 else None,
    )


def is_understood(query: str) -> bool:
    """Whether a query has any known word about quality; where it has none, it can only be told what is wrong."""
    stem = split_options(query).stem
    return bool(_ABOUT_QUALITY.search(spoken(stem)) or named_distortions(stem))


def asks_value(stem: str) -> bool:
    """Whether a question asks for a tool's own value ("What is the PSNR?"), not for a grade by it ("Rate by PSNR")."""
    text = spoken(stem)
    return bool(_MEASURE.search(text)) and not _GRADE.search(text) and bool(named_tools(stem))


def parse_region(query: str) -> Box | None:
    """The one region that a query gives in numbers, as in "region 10,20,100,80" or "box x=10 y=20 w=100 h=80".

    Args:
        query: The user's question.

    Returns:
        Left, top, width, height in pixels, or None if it gives none or several.

    Raises:
        PlannerError: If the numbers are no region.
    """
    boxes = parse_regions(query)
    return boxes[0] if len(boxes) == 1 else None


def parse_regions(query: str) -> list[Box]:
    """The different regions that a query gives in numbers, in order.

    Args:
        query: The user's question.

    Returns:
        Left, top, width and height of each, in pixels.

    Raises:
        PlannerError: If some numbers are no region.
    """
    return list(dict.fromkeys(map(_box, _REGION.finditer(spelled_out(" ".join(query.split()))))))


def _box(match: re.Match[str]) -> Box:
    parts = re.split(r"[,;\s]+", match[1].rstrip("."))
    numbers = [int(part) for part in parts if _WHOLE_NUMBER.fullmatch(part)]
    if len(parts) != 4 or len(numbers) != 4 or not numbers[2] or not numbers[3]:
        raise PlannerError(
            f"{match[0].strip()!r} is no region; write region LEFT,TOP,WIDTH,HEIGHT in whole pixels, "
            "with a width and a height of at least 1"
        )
    left, top, width, height = numbers
    return left, top, width, height


def _answer_mode(stem: str, options: dict[str, str], tools: list[str]) -> AnswerMode:
    """Options make a choice; a wish for a grade or for a tool's value makes a score; all else is explained."""
    if options:
        return AnswerMode.MCQ
    if _EXPLANATION.search(stem) or read_threshold(stem):
        return AnswerMode.EXPLANATION
    if _SCORING.search(stem) or (tools and _MEASURE.search(stem)):
        return AnswerMode.SCORING
    return AnswerMode.EXPLANATION


def _query_type(stem: str, *, names_something: bool) -> QueryType:
    """Other only if the text is plainly a task, a question of knowledge, or one about what the image shows."""
    plain_content = _CONTENT.search(stem) and not _ABOUT_QUALITY.search(stem)
    if plain_content and not names_something:
        return QueryType.OTHER
    if names_something or _ABOUT_QUALITY.search(stem):
        return QueryType.IQA
    if _TASK.search(stem) or (_KNOWLEDGE.search(stem) and not _ABOUT_IT.search(stem)):
        return QueryType.OTHER
    return QueryType.IQA


def _several_boxes(boxes: list[Box]) -> list[str]:
    """The names of two or more boxes as scopes; none for a single one, which is the region of the whole question."""
    return [REGION_PREFIX + ",".join(map(str, box)) for box in boxes] if len(boxes) > 1 else []


def _places_of(options: dict[str, str]) -> list[str]:
    """The positions that a question offers as its options, as in "Which half is noisier? A) left B) right"."""
    names = [place_name(text) for text in options.values()]
    places = [name for name in names if name is not None]
    return places if len(places) > 1 else []


def compared_distortions(stem: str) -> list[str]:
    """The distortions that a comparison of two parts of one image names: "sharper than" is about sharpness there.

    Args:
        stem: The query, without its answer options.

    Returns:
        Different canonical names, in order.
    """
    return named_distortions(re.sub(r"\b(sharper|crisper) than\b", r"\1 against", spoken(stem)))


def _by_object(stem: str, scope: list[str] | Literal["Global"], named: list[str]) -> dict[str, list[str]]:
    """Which distortions are asked about for which object: by clause where each has both, else all for all."""
    if isinstance(scope, str):
        return {GLOBAL: named}
    pairs: dict[str, list[str]] = {}
    for clause in re.split(r"[,;.?!]|\band\b|\bor\b|\bbut\b", stem):
        objects, names = query_scope(clause), named_distortions(clause)
        if not isinstance(objects, str) and len(objects) == 1 and names:
            pairs.setdefault(objects[0], []).extend(names)
    if set(pairs) == set(scope) and {name for names in pairs.values() for name in names} == set(named):
        return {scope_name: list(dict.fromkeys(pairs[scope_name])) for scope_name in scope}
    return {scope_name: list(named) for scope_name in scope}

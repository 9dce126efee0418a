"""Reading a query: its answer options, everything that it asks, and the plan that it asks for.

English, German, French or Spanish, whatever the case and punctuation. A pure function of the text; the same text always
reads the same.
"""

import functools
import re
from dataclasses import dataclass
from typing import Literal

from loopwright.errors import PlannerError
from loopwright.workflows.iqa.question.asked import Operation, Question
from loopwright.workflows.iqa.question.places import REGION_PREFIX, place_name
from loopwright.workflows.iqa.question.question import read_questions
from loopwright.workflows.iqa.question.tool_names import named_tools
from loopwright.workflows.iqa.question.vocabulary import named_distortions
from loopwright.workflows.iqa.schemas import GLOBAL, AnswerMode, Box, PlanControlFlags, PlannerOutput, QueryType

MAX_QUERY = 10_000
"""The most characters in a query."""

MAX_SCOPES = 8
"""The most places and things that one query is read to ask about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReading:
    """What the rules read in a query."""

    stem: str
    """The query without its answer options."""
    questions: tuple[Question, ...]
    """What it asks, one after another."""
    plan: PlannerOutput
    """What is to be done for it, as far as the query alone tells; nobody may change it."""
    options: dict[str, str]
    """Letter -> text of its answer options; empty if it lists none."""
    option_distortions: list[str]
    """The distortions that the answer options name."""
    region: Box | None
    """Left, top, width and height in pixels, if it gives one box; several are the scope."""


_KEY = r"(?:\b(?:x|y|w|h|width|height)\s*[=:]\s*)?"
_SIDE = rf"{_KEY}-?[0-9][0-9.]{{0,12}}"
_REGION = re.compile(
    r"\b(?:region|roi|crop|box|rectangle)\b(?:\s+(?:at|of|is))?\s*[:=]?\s*[(\[]?\s*"
    rf"({_SIDE}(?:(?:\s*[,;]\s*|\s+){_SIDE}){{1,9}})",
    re.IGNORECASE,
)
_WHOLE_NUMBER = re.compile(r"[0-9]{1,7}")


@functools.lru_cache(maxsize=256)
def read_query(query: str) -> QueryReading:
    """Read what a query asks for.

    Raises:
        PlannerError: If it is empty or too long, or gives an impossible region.
        UnknownNameError: If it asks for a tool that nobody knows.
    """
    text = query.strip()
    if not text:
        raise PlannerError('the query is empty; ask a question, for example "How good is this image?"')
    if len(text) > MAX_QUERY:
        raise PlannerError(f"the query has {len(text)} characters; at most {MAX_QUERY} are read, so shorten it")
    rest, options = split_options(text)
    boxes = list(dict.fromkeys(map(_box, _REGION.finditer(" ".join(rest.split())))))
    stem = _REGION.sub("region ", rest)
    questions = read_questions(stem)
    tools = named_tools(stem)
    scope: list[str] | Literal["Global"] = [REGION_PREFIX + ",".join(map(str, box)) for box in boxes[1:] and boxes]
    asked = dict.fromkeys(name for question in questions for name in (*question.places, *question.objects))
    scope = scope or [*asked][:MAX_SCOPES] or GLOBAL
    offered = [name for name in map(place_name, options.values()) if name]
    # "Which half is noisier? A) left B) right" is about those two.
    if len(offered) > 1 and all(map(place_name, [] if isinstance(scope, str) else scope)):
        scope = offered
    in_options = [name for option in options.values() for name in named_distortions(option)]
    declined = all(question.operation is Operation.DECLINE for question in questions)
    if declined and not (tools or in_options or boxes or len(offered) > 1):
        plan = PlannerOutput(query_type=QueryType.OTHER, rationale="The query is not about image quality.")
    else:
        every = in_options or any(question.open for question in questions)
        named = [] if every else list(dict.fromkeys(name for question in questions for name in question.names))
        plan = _plan(questions, options, scope, named, tools)
    return QueryReading(
        stem=stem,
        questions=questions,
        plan=plan,
        options=options,
        option_distortions=list(dict.fromkeys(in_options)),
        region=boxes[0] if len(boxes) == 1 else None,
    )


def _plan(
    questions: tuple[Question, ...],
    options: dict[str, str],
    scope: list[str] | Literal["Global"],
    named: list[str],
    tools: list[str],
) -> PlannerOutput:
    """What is to be done about some places and things, for which distortions and tools are named."""
    # Where nothing is to be measured, the file itself tells what is asked.
    measures = bool(options) or any(question.measures for question in questions)
    scopes = [scope] if isinstance(scope, str) else scope
    mode = _answer_mode(questions, options)
    sought = (", ".join(named) or "all distortions") if measures else "what the file itself tells"
    where = "the whole image" if scope == GLOBAL else ", ".join(scopes)
    beside = f", and it names {', '.join(tools)}" if tools else ""
    return PlannerOutput(
        answer_mode=mode,
        query_scope=scope,
        distortion_source="Explicit" if named else "Inferred",
        distortions={name: list(named) for name in scopes} if named else None,
        required_tools=tools or None,
        plan=PlanControlFlags(**dict.fromkeys(PlanControlFlags.model_fields, measures)),
        rationale=f"The query asks about {where}: {sought} is looked for, to give {mode}{beside}.",
    )


def _box(match: re.Match[str]) -> Box:
    """A region in numbers, "region 10,20,100,80" or "box x=10 y=20 w=100 h=80": left, top, width, height in pixels."""
    parts = re.split(r"[,;\s]+", re.sub(_KEY, "", match[1].rstrip("."), flags=re.IGNORECASE))
    numbers = [int(part) for part in parts if _WHOLE_NUMBER.fullmatch(part)]
    if len(parts) != 4 or len(numbers) != 4 or not numbers[2] or not numbers[3]:
        raise PlannerError(
            f"{match[0].strip()!r} is no region; write region LEFT,TOP,WIDTH,HEIGHT in whole pixels, "
            "with a width and a height of at least 1"
        )
    left, top, width, height = numbers
    return left, top, width, height


def _answer_mode(questions: tuple[Question, ...], options: dict[str, str]) -> AnswerMode:
    """Options make a choice; a wish for a grade or for a tool's value makes a score; all else is explained."""
    if options:
        return AnswerMode.MCQ
    scoring = all(each.operation in (Operation.RATE, Operation.MEASURE) and not each.told for each in questions)
    return AnswerMode.SCORING if scoring else AnswerMode.EXPLANATION


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

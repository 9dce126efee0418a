"""Finding one JSON object in what a model wrote."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import NoReturn

from langchain_core.messages import AIMessage, BaseMessage


def reply_text(message: BaseMessage) -> str:
    """The reply as text: the arguments of its first tool call if it made one, else what it wrote."""
    if isinstance(message, AIMessage):
        if message.tool_calls:
            return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
        if message.invalid_tool_calls:
            return message.invalid_tool_calls[0]["args"] or ""
    return str(message.text)


def find_json_object(text: str) -> str:
    """Find the first JSON object in a text: prose and code fences around it are skipped.

    An object that does not end is never mended, and nothing inside of it is taken instead: a truncated reply must not
    be read as a decision. Works in linear time.

    Returns:
        The part of the text that is the object.

    Raises:
        ValueError: If there is none; the message tells a model what was wrong.
    """
    problem = "the reply contains no JSON object"
    for span in _balanced(text):
        if span is None:
            problem = "the JSON object does not end: the reply was cut off, or a brace or quote is missing"
            break
        try:
            json.loads(span, parse_constant=_refuse_constant, parse_float=_finite)
        except RecursionError:
            problem = "the JSON object is nested too deeply"
        except ValueError as error:
            problem = f"the reply is not valid JSON: {error}"
        else:
            return span
    raise ValueError(problem)


def _balanced(text: str) -> Iterator[str | None]:
    """Each outermost ``{...}`` of the text; None at the end if the last one is not closed."""
    depth, start, quoted, escaped = 0, 0, False, False
    for position, character in enumerate(text):
        if depth and quoted:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                quoted = False
        elif depth and character == '"':
            quoted = True
        elif character == "{":
            if not depth:
                start = position
            depth += 1
        elif character == "}" and depth:
            depth -= 1
            if not depth:
                yield text[start : position + 1]
    if depth:
        yield None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(f"{number} is too large for a number")
    return value

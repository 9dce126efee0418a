"""A grader that is never satisfied: with it a test sees whether a graph stops by its bounds alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from pydantic import PrivateAttr

from loopwright.errors import ModelError
from loopwright.testing.chat import Reply, ScriptedChatModel

NEGATIVE = (
    "no", "n", "false", "none", "fail", "failed", "failure", "bad", "poor", "low", "wrong", "incorrect", "invalid",
    "irrelevant", "insufficient", "incomplete", "inadequate", "unsupported", "ungrounded", "useless", "unknown",
    "reject", "rejected", "revise", "retry", "again", "rewrite", "replan", "continue",
)  # fmt: skip
"""Choices that mean "no", in the order of preference; those that begin with "not" or "no" and a space count too."""


class _Negation:
    """Makes objects of JSON schemas that say no wherever they can."""

    def __init__(self, definitions: Mapping[str, Any], fixed: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._fixed = fixed

    def object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, field in schema.get("properties", {}).items():
            if name in self._fixed:
                made[name] = self._fixed[name]
            elif name in schema.get("required", ()):
                made[name] = self.value(field, name)
            else:  # its default may be a yes
                try:
                    made[name] = self.value(field, name)
                except ModelError:
                    continue
        return made

    def value(self, schema: Mapping[str, Any], name: str) -> Any:
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return _negative_choice(schema["enum"], name)
        kind = schema.get("type")
        if kind == "object":
            return self.object(schema)
        if kind == "array":
            least = int(schema.get("minItems", 0))
            return [self.value(schema.get("items", {}), name) for _ in range(least)]
        if kind in ("number", "integer"):
            return _least_number(schema, whole=kind == "integer")
        return {"boolean": False, "null": None}.get(cast("str", kind), "no")

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema behind references and alternatives; null where that is an alternative."""
        while True:
            options = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
            if "$ref" in schema:
                schema = self._definitions[str(schema["$ref"]).rpartition("/")[2]]
            elif options:
                schema = next((option for option in options if option.get("type") == "null"), options[0])
            else:
                return schema


def _negative_choice(choices: list[Any], name: str) -> Any:
    words = {str(choice).lower().replace("_", " ").replace("-", " "): choice for choice in reversed(choices)}
    for word in NEGATIVE:
        if word in words:
            return words[word]
    for word, choice in words.items():
        if word.startswith(("not ", "no ")):
            return choice
    raise ModelError(
        f"always_no cannot tell which of {choices} means no in the field {name!r}: say it, "
        f"for example always_no({name}={choices[-1]!r})"
    )


def _least_number(schema: Mapping[str, Any], *, whole: bool) -> float:
    if "minimum" in schema:
        least = schema["minimum"]
    elif "exclusiveMinimum" in schema:
        least = schema["exclusiveMinimum"] + 1
        if not whole and least >= schema.get("maximum", least + 1):
            least = (schema["exclusiveMinimum"] + schema["maximum"]) / 2
    else:
        least = min(0, schema.get("maximum", 0), schema.get("exclusiveMaximum", 1) - 1)
    return math.ceil(least) if whole else float(least)


def always_no(**verdict: Any) -> ScriptedChatModel:
    """A chat model that grades "no", whatever schema is asked for: with it a graph stops by its bounds alone.

    Asked for structured output it makes an object of the schema: False, "no" (or the choice that means it), 0, nothing
    found. Offered tools it calls the first one, and never gives up. Else it writes "no". It works with
    `loopwright.models.ask`, ``with_structured_output`` and ``bind_tools``.

    Args:
        **verdict: Fields of the schema whose "no" cannot be guessed, for example ``need_replan=True``.

    Returns:
        The model; asked for a choice none of which is known to mean "no", it raises a `ModelError` that lists them.
    """
    return _NoModel(verdict)


class _NoModel(ScriptedChatModel):
    model_name: str = "always no"

    _verdict: dict[str, Any] = PrivateAttr()

    def __init__(self, verdict: dict[str, Any]) -> None:
        super().__init__("no", repeat_last=True)
        self._verdict = verdict

    def _next(self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]) -> Reply:
        plain = super()._next(messages, stop, kwargs)
        if wanted := kwargs.get("response_format"):
            return self._negative(wanted["json_schema"]["schema"])
        if offered := kwargs.get("tools"):
            tool = _chosen(offered, kwargs.get("tool_choice"))
            args = self._negative(tool.get("parameters") or {})
            return AIMessage("", tool_calls=[ToolCall(name=tool["name"], args=args, id=f"no {len(self.calls)}")])
        return self._verdict or plain

    def _negative(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        return _Negation(schema.get("$defs", {}), self._verdict).object(schema)


def _chosen(offered: list[dict[str, Any]], choice: Any) -> dict[str, Any]:
    """The tool that must be called, else the first one."""
    named = choice["function"]["name"] if isinstance(choice, dict) else choice
    tools = [tool["function"] for tool in offered]
    return next((tool for tool in tools if tool["name"] == named), tools[0])

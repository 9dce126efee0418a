"""Makes the most negative value that a JSON schema allows: what a grader that is never satisfied replies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from loopwright.errors import ModelError

NEGATIVE = (
    "no", "n", "false", "none", "fail", "failed", "failure", "bad", "poor", "low", "wrong", "incorrect", "invalid",
    "irrelevant", "insufficient", "incomplete", "inadequate", "unsupported", "ungrounded", "useless", "unknown",
    "reject", "rejected", "revise", "retry", "again", "rewrite", "replan", "continue",
)  # fmt: skip
"""Choices that mean "no", in the order of preference; those that begin with "not" or "no" and a space count too."""


def negative(schema: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """An object that fits a JSON schema and says no wherever it can.

    Args:
        schema: The schema of an object.
        fixed: Fields whose value is given.

    Raises:
        ModelError: If a required choice has nothing that is known to mean "no"; it lists the choices.
    """
    return _Negation(schema.get("$defs", {}), fixed).object(schema)


class _Negation:
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
        f"AlwaysNo cannot tell which of {choices} means no in the field {name!r}: say it, "
        f"for example AlwaysNo().model({name}={choices[-1]!r})"
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

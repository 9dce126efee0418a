"""Inputs that were given as texts, on a command line or in a form."""

import json
from contextlib import suppress
from copy import deepcopy
from typing import Any

from pydantic import BaseModel, ValidationError

_FORM = ("string_", "value_error", "assertion_error")
"""What problems of a text's form are called, by its kind and by a validator of the model's own."""


def read_texts(model: type[BaseModel], given: dict[str, Any]) -> dict[str, Any]:
    """An input with those of its texts read as JSON, at any depth, that its model refuses for more than their form."""
    read = deepcopy(given)
    try:
        model.model_validate(given)
    except ValidationError as error:
        for problem in error.errors():
            inside: Any = given
            made: Any = read
            of_lists = problem["type"].startswith(("list", "tuple", "set", "frozen_set"))
            with suppress(LookupError, TypeError, ValueError, RecursionError):  # there is no such place, or no JSON
                for step in () if problem["type"].startswith(_FORM) else problem["loc"]:
                    if isinstance(inside[step], str):
                        made[step] = said = json.loads(inside[step])
                        if isinstance(said, list) and len(inside) == 1 and isinstance(made, list) and not of_lists:
                            made[:] = said  # the list itself was given as its one item
                        break
                    inside, made = inside[step], made[step]
    return read

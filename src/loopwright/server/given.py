"""What clients give as they like, as far as it can be kept: JSON that every store and checkpointer takes."""

import math
from typing import Annotated, Any, cast

from pydantic import AfterValidator, Field

from loopwright.database import storable

DEEPEST = 64
"""Lists and objects within each other."""
LARGEST = 2**63
"""Whole numbers are smaller than this, with either sign."""


def keepable(value: Any, depth: int = 0) -> Any:
    """Make sure that a value can be kept, and give it back.

    Args:
        value: What `json.loads` made, which takes more than JSON has.
        depth: How deep it lies in what was given.

    Raises:
        ValueError: If it is nested too deep, or holds a number or a text that no database takes.
    """
    if depth > DEEPEST:
        raise ValueError(f"lists and objects are nested deeper than {DEEPEST}")
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            keepable(key, depth)
            keepable(inner, depth + 1)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            keepable(inner, depth + 1)
    elif isinstance(value, str) and storable(value) != value:
        raise ValueError("a text holds half of a surrogate pair, or NUL")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is not finite")
    elif isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise ValueError("a whole number has more than 64 bits")
    return value


Given = Annotated[dict[str, Any], AfterValidator(keepable)]
"""An object that a client gives."""
AnyGiven = Annotated[Any, AfterValidator(keepable)]
"""Any value that a client gives."""
WITHOUT_NUL = r"^[^\x00]*$"
"""What a text looks like that every database takes."""
Author = Annotated[str, Field(max_length=200, pattern=WITHOUT_NUL)]
"""Who wrote something."""
Note = Annotated[str, Field(max_length=2000, pattern=WITHOUT_NUL)]
"""Why somebody did something."""

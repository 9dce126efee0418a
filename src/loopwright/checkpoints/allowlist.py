"""Which classes a checkpoint may bring back to life.

LangGraph's serializer writes a model or an enum as the name of its class and its content. On reading it imports the
class and calls it, whatever its name, unless an allowlist is given (it logs a warning for each class that is on none).
A file that somebody else can write to must therefore be read with an allowlist.
"""

import dataclasses
from collections.abc import Iterable
from enum import Enum
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel
from typing_extensions import is_typeddict

from loopwright.errors import ConfigError

_ALIASED = ("__value__", "__supertype__")  # of a type alias, of a NewType


def state_types(*schemas: Any) -> frozenset[type]:
    """Collect the classes whose instances a state can hold.

    Args:
        schemas: State schemas (typed dicts, pydantic models, dataclasses), enums, or any annotation.

    Returns:
        Every pydantic model, dataclass, enum, named tuple and secret that their annotations mention, at any depth.

    Raises:
        ConfigError: If a schema mentions a name that does not exist at run time.
    """
    found: set[type] = set()
    seen: set[int] = set()
    waiting: list[Any] = [*schemas]
    while waiting:
        annotation = waiting.pop()
        if id(annotation) in seen:
            continue
        seen.add(id(annotation))
        waiting += get_args(annotation)
        waiting += [getattr(annotation, name) for name in _ALIASED if hasattr(annotation, name)]
        if isinstance(annotation, type):
            # Instances of these the serializer writes by the name of the class.
            kinds = issubclass(annotation, BaseModel | Enum) or dataclasses.is_dataclass(annotation)
            if kinds or hasattr(annotation, "_asdict") or hasattr(annotation, "get_secret_value"):
                found.add(annotation)
            waiting += _field_annotations(annotation)
    return frozenset(found)


def _field_annotations(kind: type) -> Iterable[Any]:
    if issubclass(kind, BaseModel):
        return [item.annotation for item in kind.model_fields.values()]
    if dataclasses.is_dataclass(kind) or is_typeddict(kind) or hasattr(kind, "_fields"):
        try:
            return get_type_hints(kind, include_extras=True).values()
        except NameError as problem:
            raise ConfigError(
                f"the annotations of {kind.__module__}.{kind.__qualname__} cannot be read ({problem}): "
                "import what they mention at run time, not only under TYPE_CHECKING."
            ) from problem
    return ()

"""Whether what a declaration holds is of the kinds that its fields are annotated with; asked when it is made."""

from collections.abc import Callable, Collection, Hashable, Mapping
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from loopwright.errors import GraphError

_hints = cache(get_type_hints)

_IN_WORDS = {
    "NonNegativeFloat": "a number from 0 up",
    "NonNegativeInt": "a whole number from 0 up",
    "PositiveInt": "a whole number from 1 up",
}


class Declared:
    """A dataclass that is not made where a value does not fit the annotation of its field."""

    __slots__ = ()

    def __post_init__(self, error: Callable[[str], Exception] | None = None) -> None:
        kind = type(self).__mro__[type(self).__mro__.index(Declared) - 1]  # what a subclass adds is its own affair
        for field, hint in _hints(kind, include_extras=True).items():
            if not fits(value := getattr(self, field), hint):
                fit = kind.__annotations__[field]
                for name, words in _IN_WORDS.items():
                    fit = fit.replace(name, words)
                problem = f"{field} is {value!r}: give {fit}"
                raise error(problem) if error else GraphError(f"{kind.__name__}: {problem}")
            if isinstance(value, Real) and not isinstance(value, int | float):  # NumPy's, which no checkpoint keeps
                object.__setattr__(self, field, int(value) if isinstance(value, Integral) else float(value))


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the kind that an annotation names."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inside)
    if origin is Annotated:  # by pydantic: PositiveInt and the like
        return fits(value, inside[0]) and (value > inside[1].gt if hasattr(inside[1], "gt") else value >= inside[1].ge)
    if hint is bool or origin is Literal:
        return isinstance(value, Hashable) and value in (inside or (True, False))
    if origin is type:
        return isinstance(value, type) and issubclass(value, inside)
    if origin is Callable:
        return callable(value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(fits(k, inside[0]) and fits(value[k], inside[1]) for k in value)
    if origin:  # a tuple or a sequence: whatever can be gone through more than once
        return isinstance(value, Collection) and all(fits(one, inside[0]) for one in value)
    if getattr(hint, "_is_protocol", False):
        return not isinstance(value, type) and all(hasattr(value, name) for name in vars(hint) if name[0] != "_")
    wider = Integral if hint is int else Real if hint is float else hint  # NumPy's numbers are of these
    return isinstance(value, wider) and not isinstance(value, bool) and value == value  # nor is NaN a number

"""What a function's code can see: the names that it uses, and the values behind them."""

from __future__ import annotations

import inspect
from types import CodeType, FunctionType
from typing import Any, NamedTuple


class Seen(NamedTuple):
    """What a function's code, and that of the functions inside it, can see."""

    names: set[str]
    """The global names and attributes that it uses."""
    values: list[Any]
    """The values of those global names, and of its closure."""


def seen_by(function: Any) -> Seen | None:
    """The names that a function uses and the values behind them; None for what is no plain function.

    Args:
        function: A function or method, decorated or not.
    """
    plain = inspect.unwrap(getattr(function, "__func__", function))
    if not isinstance(plain, FunctionType):
        return None
    names = _names_in(plain.__code__)
    values = [plain.__globals__[name] for name in names if name in plain.__globals__]
    return Seen(names, values + [cell.cell_contents for cell in plain.__closure__ or () if is_filled(cell)])


def _names_in(code: CodeType) -> set[str]:
    inside = [_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return {*code.co_names}.union(*inside)


def is_filled(cell: Any) -> bool:
    """Whether a closure's cell holds anything."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False

"""Arithmetic in a question, worked out without ever running code."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal

from loopwright.workflows.rag.question.words import fold

_MAX_LENGTH = 200
_MAX_BITS = 2048
_MAX_EXPONENT = 1024

_OPENING = re.compile(
    r"^(?:please |can you |could you )*(?P<asks>calculate|compute|evaluate|work out"
    r"|how much (?:is|are)|what(?:'s| is| are)"
    r"|wie viel ist|was ist|combien (?:fait|font)|cuánto es|เท่ากับ|คำนวณ|计算|請計算|请计算)?[\s:]*"
)
_CLOSING = re.compile(
    r"(?:\s*(?:=|equals?|เท่ากับเท่าไหร่|เท่ากับเท่าไร|เท่าไหร่|เท่าไร|等于多少|等於多少|是多少|ได้เท่าไร)?\s*[?？!.。]*)$"
)
_SPOKEN = (
    (re.compile(r"(?<=\d),(?=\d{3}(?:\D|$))"), ""),
    (
        re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|percent|per cent|prozent|pour cent|por ciento)\s*(?:of|von|de|ของ)\s*"),
        r"(\1/100)*",
    ),
    (re.compile(r"(\d+(?:\.\d+)?)\s*的\s*(\d+(?:\.\d+)?)\s*%"), r"\1*\2/100"),
    (re.compile(r"(\d)\s*(?:%|percent)(?!\s*[\d(])"), r"\1/100"),
    (re.compile(r"\s*\b(?:to the power of)\b\s*|\s*\^\s*"), "**"),
    (re.compile(r"\b(?:squared)\b"), "**2"),
    (re.compile(r"\b(?:plus|und)\b|บวก|加上?"), "+"),
    (re.compile(r"\bminus\b|[−–]|ลบ|减去?"), "-"),
    (re.compile(r"\b(?:times|multiplied by|mal|fois|por)\b|[×·]|(?<=\d)\s*x\s*(?=\d)|คูณ|乘以?"), "*"),
    (re.compile(r"\b(?:divided by|over|geteilt durch|divisé par)\b|[÷]|หาร(?:ด้วย)?|除以"), "/"),
    (re.compile(r"\bmod(?:ulo)?\b"), "%"),
)
_EXPRESSION = re.compile(r"[\d\s.+\-*/%()]+")
# What looks like a task but names a date, a span of years, or an idiom.
_NOT_A_TASK = re.compile(r"\s*\d+\s*|9/11|24/7|50/50|\d{3,4}-\d{2,4}|\d+[/\-]\d+[/\-]\d+")

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def expression_in(question: str) -> str | None:
    """The arithmetic expression that a question is about, or None if it is about anything else.

    Args:
        question: The whole question; "what is 12% of 50?" is read, "what is 12 Monkeys?" is not.

    Returns:
        The expression in Python's notation.
    """
    if len(question) > _MAX_LENGTH:
        return None
    # Folding makes full-width digits and operators plain.
    text = fold(" ".join(question.split()))
    opening = _OPENING.match(text)
    asks = opening["asks"] if opening else None
    text = _CLOSING.sub("", text[opening.end() if opening else 0 :], count=1)
    if _NOT_A_TASK.fullmatch(text) and asks not in ("calculate", "compute", "evaluate", "work out", "how much is"):
        return None
    for pattern, replacement in _SPOKEN:
        text = pattern.sub(replacement, text)
    if not _EXPRESSION.fullmatch(text) or not re.search(r"\d", text) or not re.search(r"[+\-*/%]", text):
        return None
    try:
        ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return None
    return text.strip()


def evaluate(expression: str) -> int | float:
    """Work out an arithmetic expression of numbers, + - * / // % ** and parentheses.

    Args:
        expression: The expression in Python's notation.

    Returns:
        Its value; an integer where it is whole.

    Raises:
        ZeroDivisionError: If it divides by zero.
        OverflowError: If a value would be too large to work with.
        ValueError: If it is not such an expression, or has no real value.
    """
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{expression!r} is no arithmetic expression") from error
    value = _value(tree.body)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise OverflowError("the result is too large")
        # What decimal notation can say exactly should not show binary rounding, as 0.1 + 0.2 would.
        value = float(f"{value:.12g}")
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


def shown(value: int | float) -> str:
    """A value as people write it, without an exponent where it is short enough."""
    if isinstance(value, int):
        return str(value)
    return format(Decimal(repr(value)), "f") if 1e-9 < abs(value) < 1e15 else f"{value:g}"


def _value(node: ast.expr) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(type(op), _value(left), _value(right))
        case _:
            raise ValueError("only numbers, + - * / // % ** and parentheses can be worked out")


def _bounded(op: type[ast.operator], left: float, right: float) -> float:
    """One operation, refused before it is done where its result would be huge."""
    if op is ast.Pow and (
        abs(right) > _MAX_EXPONENT or (isinstance(left, int) and left.bit_length() * abs(right) > _MAX_BITS)
    ):
        raise OverflowError("the result is too large")
    if op is ast.Mult and isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > _MAX_BITS:
            raise OverflowError("the result is too large")
    result = _BINARY[op](left, right)
    if isinstance(result, complex):
        raise ValueError("it has no real value")
    return result

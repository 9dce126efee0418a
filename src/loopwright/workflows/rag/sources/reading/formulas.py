"""Formulas of Word and of MathML as a line of text: ``Q=V/t``, ``x_1^2``, ``√(a+b)``."""

from typing import Any

_LEAVES = frozenset({"t", "mi", "mn", "mo", "mtext", "ms"})
# What stands between the parts of each, in order.
_BETWEEN = {
    "f": "/", "mfrac": "/", "sSup": "^", "msup": "^", "mover": "^", "limUpp": "^", "sSub": "_", "msub": "_",
    "munder": "_", "limLow": "_", "sSubSup": "_^", "msubsup": "_^", "munderover": "_^", "nary": "_^ ",
}  # fmt: skip


def linear(element: Any) -> str:
    """A formula, or a part of one, in a line; its depth is bounded by lxml, which has parsed it."""
    name = element.tag.rpartition("}")[2]
    if name in _LEAVES:
        return " ".join("".join(element.itertext()).split())
    inner = [child for child in element if not str(child.tag).endswith(("Pr", "annotation", "annotation-xml"))]
    parts = [linear(child) for child in inner if isinstance(child.tag, str)]
    if name == "nary":
        parts = [*(element.xpath("*/*[local-name() = 'chr']/@*")[:1] or "∫"), *parts]
    if name in _BETWEEN:
        first, *others = map(_grouped, parts or [""])
        return first + "".join(sign + part for sign, part in zip(_BETWEEN[name], others, strict=False) if part)
    if name in ("rad", "mroot", "msqrt"):
        return f"√{_grouped({'rad': parts[-1:], 'mroot': parts[:1]}.get(name, parts))}"
    return f"({', '.join(parts)})" if name in ("d", "mfenced", "mr", "mtr") else "".join(parts)


def _grouped(part: str | list[str]) -> str:
    text = "".join(part)
    return text if len(text) < 2 or text.replace(".", "").isalnum() else f"({text})"

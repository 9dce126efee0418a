"""A place in an image in words: "in the left half", "near the top right corner", "spread over the image"."""

import numpy as np
from numpy.typing import NDArray

Fractions = tuple[float, float, float, float]
"""Left, top, width and height as shares of the image's sides."""

ALIKE = 0.5
"""Share of the area of both together that a place and a name must have in common for the name to fit."""
_WHOLE = 0.9
_GRID = 120
"""Cells a side in which a box is drawn."""

_DOWN, _ACROSS = ("top", "bottom"), ("left", "right")


def cell(down: int | None, across: int | None, share: float) -> Fractions:
    """A strip or cell of an image.

    Args:
        down: 0 at the top, 1 in the middle, 2 at the bottom; None for the whole height.
        across: 0 at the left, 1 in the middle, 2 at the right; None for the whole width.
        share: Of the sides that are not whole.
    """
    left, width = (0.0, 1.0) if across is None else ((1 - share) * across / 2, share)
    top, height = (0.0, 1.0) if down is None else ((1 - share) * down / 2, share)
    return left, top, width, height


NAMED: dict[str, Fractions] = {
    **{
        f"{side} {part}": cell(*place, share)
        for part, share in (("half", 1 / 2), ("third", 1 / 3))
        for side, place in (("top", (0, None)), ("bottom", (2, None)), ("left", (None, 0)), ("right", (None, 2)))
    },
    **{
        f"{_DOWN[down]} {_ACROSS[across]} {part}": cell(2 * down, 2 * across, share)
        for part, share in (("quarter", 1 / 2), ("corner", 1 / 3))
        for down in (0, 1)
        for across in (0, 1)
    },
    "centre": cell(1, 1, 1 / 2),
}
"""The names that places are given; a question may use the same ones."""


def place_words(place: Fractions) -> str:
    """Name the place of a box, in words as those of `mask_words`."""
    return mask_words(_drawn(place, (_GRID, _GRID)))


def mask_words(mask: NDArray[np.bool_]) -> str:
    """Name the place of a mask.

    Args:
        mask: Shape (rows, columns) over the whole image; at least one cell is set.

    Returns:
        Words such as "in the left half", "near the top right corner", "everywhere but in the centre" or, of almost all
        of the image, "nearly everywhere".
    """
    if mask.mean() >= _WHOLE:
        return "nearly everywhere"
    known = {f"in the {name}": _drawn(place, mask.shape) for name, place in NAMED.items()}
    known["everywhere but in the centre"] = ~_drawn(NAMED["centre"], mask.shape)
    common = {words: (mask & other).sum() / (mask | other).sum() for words, other in known.items()}
    best = max(common, key=lambda words: common[words])
    if common[best] >= ALIKE:
        return best
    rows, columns = np.nonzero(mask)
    across, down = (columns.mean() + 0.5) / mask.shape[1], (rows.mean() + 0.5) / mask.shape[0]
    return _towards(float(across), float(down), small=bool(mask.mean() < 0.15))


def _towards(across: float, down: float, *, small: bool) -> str:
    """Where a middle lies, given as shares of the image's sides."""
    vertical, horizontal = _side(down, _DOWN), _side(across, _ACROSS)
    if vertical and horizontal:
        return f"near the {vertical} {horizontal} corner" if small else f"towards the {vertical} {horizontal}"
    if vertical or horizontal:
        return f"towards the {vertical or horizontal}"
    return "near the centre" if small else "spread over the image"


def _side(middle: float, names: tuple[str, str]) -> str:
    """The name of the side that a middle is nearer to, or nothing for the centre."""
    return names[0] if middle < 0.42 else names[1] if middle > 0.58 else ""


def _drawn(place: Fractions, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    left, top, width, height = place
    mask = np.zeros(shape, bool)
    rows, columns = shape[0], shape[1]
    mask[round(top * rows) : round((top + height) * rows), round(left * columns) : round((left + width) * columns)] = 1
    return mask

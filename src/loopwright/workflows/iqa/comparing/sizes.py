"""What it means that images of different sizes are compared without a reference."""

from __future__ import annotations

from collections.abc import Sequence

from loopwright.workflows.iqa.comparing.results import Measured

ADVICE = (
    "Scores without a reference depend on the scale, for reducing an image hides its noise and blur and makes its "
    "texture finer: halving both sides moves the same photograph's score by up to 0.4 points, up or down. To compare "
    "what was done to one scene, bring both to one size, or give the pristine image with --reference"
)
"""The figure: BlindScore of 40 photographs of BIQ2021 before and after; eight of ten moved by -0.39 to +0.42."""


def size_warning(pairs: Sequence[tuple[Measured, Measured]]) -> str | None:
    """Warn of pairs whose images differ in size.

    Args:
        pairs: Images of A and B that were compared with each other, without a reference.

    Returns:
        What differs, what that means, and what to do; None if every pair has one size.
    """
    different = [(a, b) for a, b in pairs if (a.width, a.height) != (b.width, b.height)]
    if not different:
        return None
    a, b = different[0]
    sizes = f"A has {a.width} x {a.height} pixels and B {b.width} x {b.height}"
    if len(pairs) > 1:
        head = f"{len(different):,} of {len(pairs):,} pairs differ in size; in the first, {a.path}, {sizes}"
    else:
        times = max(a.width * a.height, b.width * b.height) / min(a.width * a.height, b.width * b.height)
        head = f"the sizes differ: {sizes}, {times:.3g} times as many" if times > 1 else f"the shapes differ: {sizes}"
    return f"{head}. {ADVICE}."

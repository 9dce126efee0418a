"""Which is better, in one sentence, and when that must not be said."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.comparing.results import (
    Interval,
    Letter,
    Measured,
    Rates,
    RateSummary,
    ToolDifference,
    ToolSummary,
    Verdict,
)

FEW = 6
"""With fewer groups, all lie on one side by chance in more than 5 % of cases, and a bootstrap would not notice."""

_SAME_RATE = 0.005
"""A change of the rate that is not worth telling."""

_ADVICE = (
    "Scores without a reference depend on the scale, for reducing an image hides its noise and blur and makes its "
    "texture finer: halving both sides moves the same photograph's score by up to 0.4 points, up or down. To compare "
    "what was done to one scene, bring both to one size, or give the pristine image with --reference"
)
"""The figure: BlindScore of 40 photographs of BIQ2021 before and after; eight of ten moved by -0.39 to +0.42."""


def images_verdict(tools: Sequence[ToolDifference], identical: str | None, blind: bool) -> Verdict:
    """The verdict on two images, by the first tool that scored both.

    A difference counts if it is larger than the root mean square error of the tool's score. Another tool contradicts
    if it prefers the other image by more than its own error.

    Args:
        tools: The tools, the primary one first.
        identical: "file" or "pixels" if there is nothing to tell apart, else None.
        blind: Whether there was no reference.
    """
    if identical:
        what = "the same file, byte for byte" if identical == "file" else "identical, pixel for pixel"
        return Verdict(better=None, text=f"A and B are {what}: no difference.")
    scored = [(tool, tool.difference) for tool in tools if tool.difference is not None]
    if not scored:
        return Verdict(better=None, text="No tool could score both images, so nothing can be said.")
    (first, difference), *others = scored
    values = f"A has {first.score_a:.2f} and B {first.score_b:.2f} of 5"
    doubt = f" its error is {first.error:.2f} points" + (", more than with a reference." if blind else ".")
    if abs(difference) <= first.error:
        text = f"No difference that {first.tool} can tell: {values}, {abs(difference):.2f} points apart;{doubt}"
        return Verdict(better=None, text=text)
    against = [(tool, other) for tool, other in others if other * difference < 0 and abs(other) > tool.error]
    better = _better(difference)
    if against:
        said = ", ".join(f"{tool.tool} that {_better(other)} is by {abs(other):.2f}" for tool, other in against)
        text = (
            f"No verdict, for the tools contradict each other: {first.tool} says that {better} is better by "
            f"{abs(difference):.2f} of 5 points, {said}."
        )
        return Verdict(better=None, text=text, contradicted_by=[tool.tool for tool, _ in against])
    text = f"{better} is better by {abs(difference):.2f} points on {first.tool}: {values};{doubt}"
    return Verdict(better=better, text=text)


def pairs_verdict(tools: Sequence[ToolSummary], rates: Rates, identical: int, pairs: int, blind: bool) -> Verdict:
    """The verdict on two folders whose images are compared pair by pair, by the first tool.

    A mean difference counts if its interval leaves out 0; with fewer than `FEW` groups it must also exceed the tool's
    error on one image. Another tool contradicts if its interval lies wholly on the other side of 0. Without intervals,
    each tool's error stands in.

    Args:
        tools: The tools, the primary one first.
        rates: What the files weigh.
        identical: Pairs with the same pixels.
        pairs: All pairs.
        blind: Whether there were no references.
    """
    if identical == pairs:
        said = f"All {pairs} pairs are" if pairs > 1 else "The only pair is"
        return Verdict(better=None, text=f"{said} identical, pixel for pixel: no difference.")
    if not tools:
        return Verdict(better=None, text="No tool could score both images of any pair, so nothing can be said.")
    first, *others = tools
    interval, lead = first.interval, abs(first.difference)
    shown = f"{first.difference:+.2f}{_interval(interval)} of 5 points on {first.tool}, {_over(first, blind)}"
    caveat = _caveat(first)
    beyond_chance = interval is None or bool(interval.side)
    if not beyond_chance or (first.groups < FEW and lead <= first.error):
        return Verdict(better=None, text=f"No difference that {first.tool} can tell: B - A is {shown}{caveat}.")
    against = [tool for tool in others if _side(tool) * first.difference < 0]
    if against:
        said = "; ".join(f"{tool.difference:+.2f}{_interval(tool.interval)} on {tool.tool}" for tool in against)
        text = f"No verdict, for the tools contradict each other: B - A is {shown}, but {said}."
        return Verdict(better=None, text=text, contradicted_by=[tool.tool for tool in against])
    better = _better(first.difference)
    sure = _interval(interval if interval is None or better == "B" else _negative(interval))
    text = f"{better} is better by {lead:.2f}{sure} of 5 points on {first.tool}{_at(rates, better)}, "
    return Verdict(better=better, text=f"{text}{_over(first, blind)}{caveat}.")


def _side(tool: ToolSummary) -> int:
    """Which way a tool's mean difference points, 0 if it could be nothing."""
    if tool.interval is not None:
        return tool.interval.side
    return (tool.difference > tool.error) - (tool.difference < -tool.error)


def _caveat(tool: ToolSummary) -> str:
    """What limits a mean difference, where something does."""
    error = f"the tool's error on one image is {tool.error:.2f}"
    if tool.interval is None:
        return f"; a single {'pair' if tool.pairs == 1 else 'reference'} gives no interval, and {error}"
    if tool.groups < FEW:
        return f"; {tool.groups} are few, so the interval is rough, and {error}"
    if tool.interval.side and abs(tool.difference) <= tool.error:
        return f"; on one image so small a difference would be lost, for {error}"
    return ""


def codecs_verdict(codecs: Sequence[RateSummary]) -> Verdict:
    """The verdict on two codecs at several rates, by the first tool's mean BD-rate.

    It counts if its interval leaves out 0. Another tool contradicts if its interval lies wholly on the other side. A
    single reference has no interval: there, the signs have to agree.

    Args:
        codecs: The tools, the primary one first.
    """
    usable = [item for item in codecs if item.bd_rate is not None]
    if not usable:
        return Verdict(better=None, text="No reference has curves that can be compared, so nothing can be said.")
    first, *others = usable
    rate = first.bd_rate or 0.0
    references = f"{first.references} reference{'s' if first.references > 1 else ''}"
    if first.left_out:
        references += f", {first.left_out} left out"
    shown = f"{rate:+.1%}{_interval(first.bd_rate_interval, '+.1%')} by BD-rate on {first.tool}, {references}"
    better: Letter = "B" if rate < 0 else "A"
    side = _rate_side(first)
    if not side:
        return Verdict(better=None, text=f"No difference that {first.tool} can tell: {shown}.")
    against = [item for item in others if _rate_side(item) == -side]
    if against:
        said = "; ".join(
            f"{item.bd_rate:+.1%}{_interval(item.bd_rate_interval, '+.1%')} on {item.tool}" for item in against
        )
        text = f"No verdict, for the tools contradict each other: {shown}, but {said}."
        return Verdict(better=None, text=text, contradicted_by=[item.tool for item in against])
    caveat = ""
    if first.references < FEW:
        caveat = "; so few make a rough interval" if first.bd_rate_interval else "; so there is no interval"
    text = f"{better} is better: B needs {_change(rate)} bits than A for the same {first.tool} score ({shown}{caveat})."
    return Verdict(better=better, text=text)


def _rate_side(item: RateSummary) -> int:
    """Which way a BD-rate points, 0 if it could be nothing; of one reference there is no telling but its sign."""
    if item.bd_rate_interval is not None:
        return item.bd_rate_interval.side
    rate = item.bd_rate or 0.0
    return (rate > 0) - (rate < 0)


def _better(difference: float) -> Letter:
    return "B" if difference > 0 else "A"


def _interval(interval: Interval | None, form: str = "+.2f") -> str:
    return "" if interval is None else f" [{interval.low:{form}}, {interval.high:{form}}]"


def _negative(interval: Interval) -> Interval:
    return Interval(low=-interval.high, high=-interval.low)


def _over(tool: ToolSummary, blind: bool) -> str:
    pairs = f"{tool.pairs} pair{'s' if tool.pairs > 1 else ''}"
    of = f" of {tool.groups} reference{'s' if tool.groups > 1 else ''}" if tool.groups != tool.pairs else ""
    return f"{pairs}{of}" + (" without a reference" if blind else "")


def _at(rates: Rates, better: Letter) -> str:
    """What the better one weighs."""
    change = rates.change if better == "B" else 1 / (1 + rates.change) - 1
    return " at the same bytes" if abs(change) < _SAME_RATE else f" at {_change(change)} bytes"


def _change(change: float) -> str:
    return f"{abs(change):.1%} {'fewer' if change < 0 else 'more'}"


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
    return f"{head}. {_ADVICE}."


CONFIDENCE = 0.95
"""The level of every interval."""

RESAMPLES = 5000
"""Resamples of one interval."""

_BCA_GROUPS = 500
"""Up to so many groups the interval is bias-corrected and accelerated; its cost grows with the square of their number,
and with more groups it is the percentile interval to within the noise of resampling."""

_AT_ONCE = 4_000_000
"""Drawn numbers that are held in memory at a time."""


class Chance(NamedTuple):
    """Probabilities of so large a difference by chance, two-sided."""

    sign: float | None
    """Of the sign test; None if every difference is 0."""
    wilcoxon: float | None
    """Of the Wilcoxon signed-rank test; None if every difference is 0."""


def mean_interval(differences: Sequence[float], groups: Sequence[Hashable], seed: int) -> Interval | None:
    """A 95 % bootstrap interval of a mean in which whole groups are resampled.

    Images of one reference are not independent of each other; drawing each alone would make the interval too narrow.
    The statistic is the mean over all images of the drawn groups (`scipy.stats.bootstrap` on the groups' sums and
    sizes, paired): BCa (Efron, 1987), or percentile for many groups.

    Args:
        differences: One number for each image or pair.
        groups: What each belongs to, in the same order.
        seed: What chance begins with; the same seed gives the same interval.

    Returns:
        The interval, of no width if all groups have the same mean; None for fewer than two groups.
    """
    from scipy.stats import bootstrap  # type: ignore[import-untyped]

    sums, sizes = _grouped(differences, groups)
    if len(sums) < 2:
        return None
    means = sums / sizes
    if np.ptp(means) < 1e-12:
        return Interval(low=float(means[0]), high=float(means[0]))

    def mean(drawn_sums: NDArray[Any], drawn_sizes: NDArray[Any], axis: int = -1) -> NDArray[Any]:
        return drawn_sums.sum(axis=axis) / drawn_sizes.sum(axis=axis)

    found: Any = bootstrap(
        (sums, sizes), mean, paired=True, vectorized=True, n_resamples=RESAMPLES, confidence_level=CONFIDENCE,
        batch=max(1, _AT_ONCE // len(sums)), method="BCa" if len(sums) <= _BCA_GROUPS else "percentile",
        rng=np.random.default_rng(seed),
    )  # fmt: skip
    return Interval(low=float(found.confidence_interval.low), high=float(found.confidence_interval.high))


def chance(differences: Sequence[float], groups: Sequence[Hashable]) -> Chance:
    """Whether differences could be chance: the sign test and Wilcoxon's signed-rank test over the groups' means.

    Args:
        differences: One number for each image or pair.
        groups: What each belongs to, in the same order.

    Returns:
        The probabilities; groups whose mean is 0 are left out of both.
    """
    from scipy.stats import binomtest, wilcoxon  # type: ignore[import-untyped]

    sums, sizes = _grouped(differences, groups)
    means = (sums / sizes)[np.abs(sums) > 1e-12]
    if not len(means):
        return Chance(None, None)
    signed: Any = binomtest(int((means > 0).sum()), len(means))
    ranked: Any = wilcoxon(means)
    return Chance(float(signed.pvalue), float(ranked.pvalue))


def _grouped(differences: Sequence[float], groups: Sequence[Hashable]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sum and size of each group, in order of first appearance."""
    place: dict[Hashable, int] = {}
    index = [place.setdefault(group, len(place)) for group in groups]
    sizes = np.bincount(index, minlength=len(place)).astype(float)
    return np.bincount(index, weights=differences, minlength=len(place)), sizes

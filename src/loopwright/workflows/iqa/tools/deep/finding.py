"""The tool for a name of pyiqa's, and what to say where there is none."""

from __future__ import annotations

import difflib
import functools
import math
import re

from loopwright.workflows.iqa.tools.deep.catalogue import (
    INSTALL,
    LICENCE,
    PREFIX,
    TERMS,
    DeepMetric,
    catalogue,
    installed_version,
)
from loopwright.workflows.iqa.tools.deep.metrics import Metric
from loopwright.workflows.iqa.tools.tool import Tool, plain


def find_tool(name: str) -> Tool | None:
    """The metric of pyiqa that a name means.

    Args:
        name: ``pyiqa:NAME`` or ``NAME`` as pyiqa writes it; in any case, and where that leaves one metric, with any
            punctuation.

    Returns:
        The tool; None if pyiqa is not installed, has no such metric, or it measures no single image.

    Raises:
        ConfigError: If pyiqa's registry cannot be read.
    """
    found = _metric(name)
    return None if found is None or found.unusable else _tool(found)


def spelt_out(word: str) -> Tool | None:
    """The metric that a word of a text spells as pyiqa does, if its digits or punctuation make it no ordinary word.

    Args:
        word: A word.
    """
    if not re.search(r"[\d_+-]", word):
        return None
    found = catalogue().get(word) or catalogue().get(word.lower())
    return None if found is None or found.unusable else _tool(found)


def deep_tools() -> tuple[tuple[Tool, DeepMetric], ...]:
    """Every metric of the installed pyiqa that measures one image, beside what its registry says.

    Raises:
        ConfigError: If pyiqa's registry cannot be read.
    """
    return tuple((_tool(metric), metric) for metric in catalogue().values() if not metric.unusable)


def hint(name: str) -> str:
    """What to do about a name that nobody knows: pyiqa may have it.

    Args:
        name: The name.
    """
    if installed_version() is None:
        return (
            f"pyiqa's metrics, such as LPIPS, DISTS, MUSIQ and CLIP-IQA, are tools as well once it is installed: "
            f"{INSTALL} (licence: {LICENCE})."
        )
    found = _metric(name)
    if found is not None:
        return f"{found.registered} {found.unusable}, so it is no tool for one image."
    wanted = _bare(name)
    near = difflib.get_close_matches(wanted, catalogue(), n=1, cutoff=0.6)
    guess = f"; did you mean {PREFIX}{near[0]}?" if near else "."
    return f"Nor has pyiqa a metric of that name (loopwright iqa tools --deep lists them){guess}"


def unscored(name: str, raw: float) -> str:
    """What the reader of a value without a score must know.

    Args:
        name: The tool's registered name.
        raw: Its value.
    """
    metric = catalogue()[name.removeprefix(PREFIX)]
    better = "higher" if metric.higher_is_better else "lower"
    span = f", {metric.range.replace(',', ' to').replace('~', 'about ')}" if metric.bounds != _OPEN else ""
    return (
        f"{name} measures {raw:.4g} ({better} is better{span}); it has no score of 1 to 5 until a curve is fitted: "
        f"loopwright iqa calibrate MANIFEST --tools {name} --out curves.json, then name that file in "
        "iqa.tools.calibration"
    )


_OPEN = (-math.inf, math.inf)


def _bare(name: str) -> str:
    return name.strip().casefold().removeprefix(PREFIX).strip()


def _metric(name: str) -> DeepMetric | None:
    wanted, metrics = _bare(name), catalogue().values()
    found = next((metric for metric in metrics if metric.name.casefold() == wanted), None)
    # "+" tells metrics apart, so what differs in it is another metric.
    alike = [metric for metric in metrics if _spelt(metric.name) == _spelt(wanted)]
    return found or (alike[0] if len(alike) == 1 else None)


@functools.cache
def _tool(metric: DeepMetric) -> Tool:
    function = Metric(metric.name)
    return Tool(
        name=metric.registered,
        reference=metric.reference,
        higher_is_better=metric.higher_is_better,
        strengths=frozenset(),
        cost_ms=math.inf,
        compute=function,
        source=f"pyiqa {installed_version()}: {TERMS}",
        bounds=metric.bounds,
        prepare=function.prepare,
        shipped_curve=False,
    )


def _spelt(name: str) -> str:
    return plain(name.replace("+", " plus "))

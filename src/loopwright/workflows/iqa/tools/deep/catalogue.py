"""What pyiqa's own registry says of its metrics, read without importing pyiqa and PyTorch, which takes seconds."""

from __future__ import annotations

import functools
import importlib.util
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from loopwright.errors import ConfigError
from loopwright.workflows.iqa.schemas import ReferenceMode

PREFIX = "pyiqa:"
"""Begins the registered name of every metric of pyiqa, so that none is taken for an embedded tool."""

INSTALL = "pip install 'loopwright[iqa-deep]'"
"""How pyiqa is installed."""

LICENCE = "PolyForm Noncommercial 1.0.0"
"""The licence of pyiqa itself."""

TERMS = (
    f"pyiqa is under {LICENCE}, and the weights of many of its metrics may be used for non-commercial purposes only; "
    "see each metric's own terms"
)
"""What whoever meets these metrics must know."""

_REGISTRY = "default_model_configs.py"
"""The file of pyiqa that holds its registry; it imports nothing but the standard library."""

_MODES = {"FR": ReferenceMode.FULL, "NR": ReferenceMode.NONE}

_UNUSABLE = {
    "FID": "compares two sets of images",
    "InceptionScore": "judges a set of images",
    "CLIPScore": "compares an image with a text",
    "fgresq_pair": "says which of two images is better and not how good one is",
}
"""Architecture or name -> why such a metric is no tool for one image."""


@dataclass(frozen=True, slots=True)
class DeepMetric:
    """One metric of pyiqa."""

    name: str
    """Its name in pyiqa."""
    reference: ReferenceMode
    """Whether it compares with a pristine image."""
    higher_is_better: bool
    """The direction of its value."""
    range: str
    """Its values as the registry states them, such as ``"~0, ~100"``; only roughly, pyiqa says."""
    unusable: str | None = None
    """Why it measures no single image; None if it does."""

    @property
    def registered(self) -> str:
        """The tool's registered name."""
        return PREFIX + self.name

    @property
    def bounds(self) -> tuple[float, float]:
        """The ends of `range` that are stated without a tilde; infinite where there is none."""
        parts = [part.strip() for part in self.range.split(",")]
        if len(parts) != 2:
            return -math.inf, math.inf
        low, high = (float(part) if re.fullmatch(r"-?\d+(\.\d+)?", part) else math.nan for part in parts)
        return -math.inf if math.isnan(low) else low, math.inf if math.isnan(high) else high


def installed_version() -> str | None:
    """The version of pyiqa that is installed, or None."""
    try:
        return version("pyiqa")
    except PackageNotFoundError:
        return None


@functools.cache
def catalogue() -> Mapping[str, DeepMetric]:
    """The metrics of the installed pyiqa by name, in its order; none where it is not installed.

    Raises:
        ConfigError: If its registry cannot be read, as in a version that keeps it elsewhere.
    """
    package = importlib.util.find_spec("pyiqa")
    if package is None or package.origin is None:
        return MappingProxyType({})
    path = Path(package.origin).parent / _REGISTRY
    spec = importlib.util.spec_from_file_location("_loopwright_pyiqa_registry", path)
    try:
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return MappingProxyType({name: _metric(name, entry) for name, entry in module.DEFAULT_CONFIGS.items()})
    except (OSError, ImportError, SyntaxError, AttributeError, KeyError, TypeError) as error:
        raise ConfigError(
            f"the registry of pyiqa {installed_version()} cannot be read ({type(error).__name__}: {error}); "
            f"install a version that is known here: {INSTALL}"
        ) from error


def _metric(name: str, entry: Mapping[str, Any]) -> DeepMetric:
    kind = entry["metric_opts"]["type"]
    return DeepMetric(
        name=name,
        reference=_MODES[entry["metric_mode"]],
        higher_is_better=not entry.get("lower_better", False),
        range=str(entry.get("score_range") or ""),
        unusable=_UNUSABLE.get(name) or _UNUSABLE.get(kind),
    )

"""A fusion: a weighted mean of several tools' scores that people agree with better than with the best of them.

There is one for a recognised kind of distortion only where ``loopwright iqa calibrate`` measured a gain with the types
and the references left out of the fit; `evaluating.fusing` is that gate, and a file with anything less is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from loopwright.workflows.iqa.distortions import Distortion

MINIMUM_GAIN = 0.01
"""SRCC by which a fusion must be ahead of the best single tool; set before the gate was first run."""

_ROUNDING = 1e-3
"""How far written weights may be from a sum of 1."""


class Fusion(BaseModel):
    """The fusion for one recognised kind of distortion, and what it gained."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Distortion
    """The recognised kind that it is for."""
    weights: dict[str, float] = Field(min_length=2)
    """Tool -> its share of the score; together 1, so that the score rises with each tool's and stays within 1..5."""
    alone: str
    """The tool that answers without the fusion."""
    gain: float = Field(ge=MINIMUM_GAIN)
    """SRCC with people less that of the best single tool, on types and references left out of the fit."""
    low: float = Field(gt=0)
    """Lower end of the gain's 95 % interval, from resampling whole references."""
    high: float
    """Upper end of that interval."""
    rows: int = Field(gt=0)
    """How many rows of that kind there were."""
    types: int = Field(ge=2)
    """How many true types these have."""
    dataset: str
    """What it was fitted on."""
    fitted_on: str
    """The day of the fit, YYYY-MM-DD."""

    @model_validator(mode="after")
    def _a_mean(self) -> Self:
        if not all(0 < weight < 1 for weight in self.weights.values()):
            raise ValueError(f"fusion for {self.kind.value}: each weight must lie between 0 and 1")
        total = math.fsum(self.weights.values())
        if abs(total - 1) > _ROUNDING:
            raise ValueError(f"fusion for {self.kind.value}: the weights sum to {total:g}; they must sum to 1")
        return self

    @property
    def name(self) -> str:
        """What it is called in an answer."""
        *others, last = self.weights
        return f"fusion of {', '.join(others)} and {last}"

    def score(self, scores: Mapping[str, float]) -> float | None:
        """The fused score.

        Args:
            scores: Tool -> its score, 1..5.

        Returns:
            The weighted mean, 1..5; None if one of its tools gave no score.
        """
        if not self.weights.keys() <= scores.keys():
            return None
        total = math.fsum(self.weights.values())
        mean = math.fsum(weight * scores[tool] for tool, weight in self.weights.items()) / total
        held = [scores[tool] for tool in self.weights]
        return min(max(mean, min(held)), max(held))

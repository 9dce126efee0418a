"""From a tool's own number to a score of 1 (bad) to 5 (excellent): one strictly monotone curve per tool.

The curves are piecewise linear, fitted by `scripts/fit_calibration.py` to human scores and shipped in
`data/calibration.json` with the data set, the date and the cross-validated error of each.
"""

import functools
import json
import math
from collections.abc import Mapping
from importlib import resources

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from loopwright.errors import InputError


class Calibration(BaseModel):
    """One tool's curve, and how far to trust it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: str
    """The tool's registered name."""
    knots: tuple[tuple[float, float], ...] = Field(min_length=2)
    """(raw value, score) in rising order of the raw value; linear between them, constant outside."""
    error: float = Field(gt=0)
    """Root mean square error against people's scores, on the scale of 1 to 5, on references left out of the fit."""
    errors: dict[str, float] = Field(default_factory=dict)
    """The same for each data set alone."""
    dataset: str
    """What the curve was fitted on."""
    rows: int = Field(gt=0)
    """How many scored images that was."""
    fitted_on: str
    """The day of the fit, YYYY-MM-DD."""

    def score(self, raw: float) -> float:
        """The score of a raw value, 1 (bad) to 5 (excellent).

        Args:
            raw: The tool's own number; infinities take the score of their end of the curve.

        Raises:
            InputError: If `raw` is NaN.
        """
        if math.isnan(raw):
            raise InputError(f"{self.tool} gave no number (NaN) for this image")
        raws, scores = zip(*self.knots, strict=True)
        return float(np.interp(raw, raws, scores))


@functools.cache
def calibrations() -> Mapping[str, Calibration]:
    """Every calibration, by the tool's registered name."""
    text = (resources.files("loopwright.workflows.iqa") / "data" / "calibration.json").read_text(encoding="utf-8")
    curves = map(Calibration.model_validate, json.loads(text)["calibrations"])
    return {curve.tool: curve for curve in curves}

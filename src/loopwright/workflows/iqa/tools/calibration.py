"""From a tool's own number to a score of 1 (bad) to 5 (excellent): one strictly monotone curve per tool.

The curves are piecewise linear, fitted by `scripts/fit_calibration.py` to human scores and shipped in
`data/calibration.json` with the data set, the date and the cross-validated error of each. A file of the same form that
``loopwright iqa calibrate`` wrote stands in for them, for the tools that it holds (``iqa.tools.calibration``).
"""

from __future__ import annotations

import bisect
import functools
import hashlib
import itertools
import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import resources
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from loopwright.errors import ConfigError, InputError, UnknownNameError

LOWEST, HIGHEST = 1.0, 5.0
"""The ends of the common scale."""


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

    @model_validator(mode="after")
    def _strictly_monotone(self) -> Self:
        raws, scores = zip(*self.knots, strict=True)
        if not all(map(math.isfinite, (*raws, *scores))):
            raise ValueError(f"calibration of {self.tool}: every knot must be finite")
        if any(low >= high for low, high in itertools.pairwise(raws)):
            raise ValueError(f"calibration of {self.tool}: the knots' raw values must rise")
        steps = [high - low for low, high in itertools.pairwise(scores)]
        if not (all(step > 0 for step in steps) or all(step < 0 for step in steps)):
            raise ValueError(f"calibration of {self.tool}: the knots' scores must all rise or all fall")
        if min(scores) < LOWEST or max(scores) > HIGHEST:
            raise ValueError(f"calibration of {self.tool}: scores must lie between {LOWEST:g} and {HIGHEST:g}")
        return self

    @property
    def higher_is_better(self) -> bool:
        """Whether the score rises with the raw value."""
        return self.knots[-1][1] > self.knots[0][1]

    def score(self, raw: float) -> float:
        """The score of a raw value.

        Args:
            raw: The tool's own number; infinities take the score of their end of the curve.

        Returns:
            1 (bad) to 5 (excellent).

        Raises:
            InputError: If `raw` is NaN.
        """
        if math.isnan(raw):
            raise InputError(f"{self.tool} gave no number (NaN) for this image")
        if raw <= self.knots[0][0]:
            return self.knots[0][1]
        if raw >= self.knots[-1][0]:
            return self.knots[-1][1]
        above = bisect.bisect_right(self.knots, raw, key=lambda knot: knot[0])
        (low, low_score), (high, high_score) = self.knots[above - 1], self.knots[above]
        return low_score + (high_score - low_score) * (raw - low) / (high - low)


class CalibrationFile(BaseModel):
    """What a file of curves holds."""

    model_config = ConfigDict(extra="forbid")

    note: str = ""
    """Where it comes from."""
    calibrations: list[Calibration] = Field(min_length=1)
    """One curve for each tool."""

    def by_tool(self) -> dict[str, Calibration]:
        """The curves by the tool's registered name."""
        return {curve.tool: curve for curve in self.calibrations}


_given: ContextVar[Mapping[str, Calibration]] = ContextVar("calibrations", default={})  # noqa: B039  # never changed
"""Curves that stand in for shipped ones, within `using_calibrations`."""


@functools.cache
def _shipped() -> CalibrationFile:
    text = (resources.files("loopwright.workflows.iqa") / "data" / "calibration.json").read_text(encoding="utf-8")
    return CalibrationFile.model_validate_json(text)


def shipped_calibrations() -> dict[str, Calibration]:
    """Every shipped calibration, by the tool's registered name."""
    return _shipped().by_tool()


def calibrations() -> dict[str, Calibration]:
    """Every calibration in use, by the tool's registered name: the shipped ones, or what stands in for them."""
    return {**shipped_calibrations(), **_given.get()}


def get_calibration(tool: str) -> Calibration:
    """The calibration of a tool.

    Args:
        tool: The tool's registered name, as in `Tool.name`.

    Returns:
        Its curve: of `using_calibrations`, or the shipped one.

    Raises:
        UnknownNameError: If there is none for that name.
    """
    known = calibrations()
    if tool not in known:
        raise UnknownNameError("calibrated tool", tool, known)
    return known[tool]


def load_calibrations(path: Path) -> dict[str, Calibration]:
    """The curves of a file that ``loopwright iqa calibrate`` wrote.

    Args:
        path: The file.

    Returns:
        The curves by the tool's name.

    Raises:
        ConfigError: If it cannot be read, or a curve is wrong.
    """
    try:
        return CalibrationFile.model_validate_json(path.read_bytes()).by_tool()
    except OSError as error:
        raise ConfigError(f"cannot read the calibration {str(path)!r}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        said = f"{where}: {first['msg']}" if where else first["msg"]
        raise ConfigError(
            f"{str(path)!r} is no calibration ({said}); write one with `loopwright iqa calibrate`"
        ) from error


@contextmanager
def using_calibrations(curves: Mapping[str, Calibration]) -> Generator[None, None, None]:
    """Score with other curves than the shipped ones, in this thread or task, until the block ends.

    Args:
        curves: Tool -> curve; tools that it does not hold keep the shipped one.
    """
    token = _given.set(curves)
    try:
        yield
    finally:
        _given.reset(token)


def calibration_digest(path: Path | None) -> str | None:
    """A hash of a calibration file's bytes, so that what was scored with other curves is not taken for the same.

    Args:
        path: The file, or None for the shipped curves.

    Returns:
        The hash; None for the shipped curves, which change with the package's version alone.

    Raises:
        ConfigError: If it cannot be read.
    """
    if path is None:
        return None
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise ConfigError(f"cannot read the calibration {str(path)!r}: {error.strerror}") from error

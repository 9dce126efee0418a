"""What a quality tool is, which there are, what each is good at, how its value becomes a score, and which to choose.

From a tool's own number to a score of 1 (bad) to 5 (excellent) leads one strictly monotone curve per tool. The curves
are piecewise linear, fitted by `scripts/fit_calibration.py` to human scores and shipped in `data/calibration.json` with
the data set, the date and the cross-validated error of each.
"""

import dataclasses
import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from loopwright.errors import InputError, UnknownNameError
from loopwright.workflows.iqa.distortions import Distortion, kind_of, parse_distortion
from loopwright.workflows.iqa.measuring.reference_planes import Pair
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.sources.images import LoadedImage
from loopwright.workflows.iqa.tools.full_reference import gmsd, haarpsi, mdsi, ms_ssim, psnr, ssim, vif, vsi
from loopwright.workflows.iqa.tools.no_reference import BLIND_SCORE, blind_score, brisque, niqe


@dataclasses.dataclass(frozen=True)
class Tool:
    """One quality tool."""

    name: str
    """The registered name."""
    reference: ReferenceMode
    """Whether it compares with a pristine image or looks at the image alone."""
    higher_is_better: bool
    """The direction of its raw value."""
    strengths: frozenset[Distortion]
    """The kinds of distortion within which its rank correlation with people is at least 0.8, as measured on TID2013, by
    a trained tool on references left out of the training (`docs/tools.md`); no tool reaches that on brightness and
    contrast, and sharpening was not measured."""
    cost_ms: float
    """Milliseconds for an image of 512 x 384 pixels on one thread; grows with the number of pixels."""
    compute: Callable[[Any], float]
    """The function: of a `Pair`, or without a reference of a uint8 RGB array; it says where it was published."""
    unit: str = dataclasses.field(default="", kw_only=True)
    """Unit of its raw value, or nothing."""
    primary: bool = dataclasses.field(default=False, kw_only=True)
    """Whether its score is the answer when nothing speaks for another tool; one per reference mode."""

    def measure(self, image: LoadedImage, pair: Pair | None = None) -> float:
        """The tool's raw value.

        Args:
            image: The image in question.
            pair: The image beside its reference; not looked at by a tool that needs none.

        Returns:
            A number in the tool's own unit and direction.

        Raises:
            InputError: If the tool needs a reference and there is none.
            ImageError: If the tool cannot measure this image.
        """
        if self.reference is ReferenceMode.NONE:
            return self.compute(image.rgb)
        if pair is None:
            raise InputError(
                f"{self.name} compares with a reference image, and there is none; give one or use {BLIND_SCORE}"
            )
        return self.compute(pair)


def plain(name: str) -> str:
    """A tool's name without case, spaces and punctuation."""
    return re.sub(r"[\W_]+", "", name).lower()


_ARTEFACTS = frozenset({Distortion.BLURS, Distortion.COMPRESSION, Distortion.SPATIAL})
_NOISE, _COLOR = {Distortion.NOISE}, {Distortion.COLOR}
_FULL, _NONE = ReferenceMode.FULL, ReferenceMode.NONE

# In order of measured agreement with people within each reference mode; the order breaks ties in `select_tools`. After
# the reference mode: whether a higher value is better, strengths, cost in ms.
_TOOLS = (
    Tool("MDSI", _FULL, False, _ARTEFACTS | _NOISE | _COLOR, 2.5, mdsi, primary=True),
    Tool("VSI", _FULL, True, _ARTEFACTS | _NOISE | _COLOR, 11.5, vsi),
    Tool("HaarPSI", _FULL, True, _ARTEFACTS | _NOISE, 5.0, haarpsi),
    Tool("GMSD", _FULL, False, _ARTEFACTS | _NOISE, 0.8, gmsd),
    Tool("MS-SSIM", _FULL, True, _ARTEFACTS, 4.0, ms_ssim),
    Tool("VIFp", _FULL, True, _ARTEFACTS | _NOISE, 7.0, vif),
    Tool("SSIM", _FULL, True, _ARTEFACTS, 1.0, ssim),
    Tool("PSNR", _FULL, True, _ARTEFACTS | _NOISE, 0.05, psnr, unit="dB"),
    Tool(BLIND_SCORE, _NONE, True, _ARTEFACTS - {Distortion.COMPRESSION} | _NOISE, 22.0, blind_score, primary=True),
    Tool("BRISQUE", _NONE, False, _ARTEFACTS, 7.0, brisque),
    Tool("NIQE", _NONE, False, _ARTEFACTS, 11.0, niqe),
)  # fmt: skip


def all_tools() -> tuple[Tool, ...]:
    """Every tool, those with a reference first, each group in order of measured agreement with people."""
    return _TOOLS


def get_tool(name: str) -> Tool:
    """The tool of a name.

    Args:
        name: Its name; case, spaces and punctuation do not matter.

    Raises:
        UnknownNameError: If there is none of that name.
    """
    tool = find_tool(name)
    if tool is None:
        raise UnknownNameError("tool", name, [tool.name for tool in _TOOLS])
    return tool


def find_tool(name: str) -> Tool | None:
    """The tool of a name, or None."""
    return next((tool for tool in _TOOLS if plain(tool.name) == plain(name)), None)


def select_tools(distortions: Iterable[str], reference_mode: ReferenceMode, *, limit: int = 3) -> list[Tool]:
    """The tools to run: the primary one first, then those that are good at the named distortions.

    Only tools of the given reference mode are chosen: with a reference, a tool that ignores it would be the poorer
    witness and could only contradict the better ones.

    Args:
        distortions: Kinds or sub-types, in any known spelling; naming one twice changes nothing.
        reference_mode: Whether there is a reference.
        limit: The most tools to choose.

    Raises:
        UnknownNameError: If a distortion is unknown.
    """
    kinds = {kind_of(parse_distortion(name)) for name in distortions}
    candidates = [tool for tool in _TOOLS if tool.reference is reference_mode]
    return sorted(candidates, key=lambda tool: (not tool.primary, -len(kinds & tool.strengths)))[:limit]


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

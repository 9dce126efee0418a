"""Measured features of an image (`measure`) and of an image beside its reference (`measure_pair`).

Everything is NumPy and OpenCV, deterministic, and fast enough for a hundred thousand images.
"""

from loopwright.workflows.iqa.measuring.features.model import ImageFeatures, PairFeatures, Rgb
from loopwright.workflows.iqa.measuring.features.pair import measure_pair
from loopwright.workflows.iqa.measuring.features.single import measure

__all__ = ["ImageFeatures", "PairFeatures", "Rgb", "measure", "measure_pair"]

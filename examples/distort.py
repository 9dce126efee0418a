"""Make a known distortion: for demonstrations, tests and generated questions.

Every kind has five levels, from barely visible (1) to gross (5), in steps like those of TID2013 (Ponomarenko et al.,
2015)
and KADID-10k (Lin et al., 2019). The result depends on nothing but the arguments.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from loopwright.errors import ImageError, InputError, UnknownNameError
from loopwright.workflows.iqa.distortions import Distortion, parse_distortion
from loopwright.workflows.iqa.measuring.features import Rgb

Recipe = Callable[[Rgb, float, np.random.Generator], Rgb]
"""Image, strength and source of chance -> distorted image."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The strengths of one kind of distortion."""

    parameter: str
    """What the strengths mean, with the unit."""
    strengths: tuple[float, float, float, float, float]
    """Strength of the levels 1 to 5."""
    recipe: Recipe
    """Applies one strength."""


def _rounded(values: NDArray[np.floating] | cv2.typing.MatLike) -> Rgb:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _gaussian_blur(rgb: Rgb, sigma: float, _: np.random.Generator) -> Rgb:
    return _rounded(cv2.GaussianBlur(rgb.astype(np.float32), (0, 0), sigma, borderType=cv2.BORDER_REFLECT_101))


def _motion_blur(rgb: Rgb, length: float, chance: np.random.Generator) -> Rgb:
    angle = float(chance.uniform(0, math.pi))
    reach = math.ceil(length / 2) + 1
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1), np.float64)
    # The line is summed up from points a quarter of a pixel apart, each shared among the four pixels around it.
    for along in np.linspace(-length / 2, length / 2, int(length * 4) + 1):
        x, y = reach + along * math.cos(angle), reach - along * math.sin(angle)
        column, row = int(x), int(y)
        right, below = x - column, y - row
        kernel[row : row + 2, column : column + 2] += np.outer([1 - below, below], [1 - right, right])
    kernel /= kernel.sum()
    return _rounded(cv2.filter2D(rgb.astype(np.float32), -1, kernel, borderType=cv2.BORDER_REFLECT_101))


def _gaussian_noise(rgb: Rgb, sigma: float, chance: np.random.Generator) -> Rgb:
    return _rounded(rgb + chance.normal(0, sigma, rgb.shape))


def _impulse_noise(rgb: Rgb, density: float, chance: np.random.Generator) -> Rgb:
    hit = chance.random(rgb.shape) < density
    return np.where(hit, np.where(chance.random(rgb.shape) < 0.5, 0, 255), rgb).astype(np.uint8)


def _coded(rgb: Rgb, form: str, **options: object) -> Rgb:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, form, **options)
    buffer.seek(0)
    return np.asarray(Image.open(buffer).convert("RGB"))


def _jpeg(rgb: Rgb, quality: float, _: np.random.Generator) -> Rgb:
    return _coded(rgb, "JPEG", quality=int(quality), subsampling=2)


def _jpeg2000(rgb: Rgb, ratio: float, _: np.random.Generator) -> Rgb:
    return _coded(rgb, "JPEG2000", quality_mode="rates", quality_layers=[ratio], irreversible=True)


def _exposure(rgb: Rgb, stops: float, _: np.random.Generator) -> Rgb:
    linear = (rgb / 255.0) ** 2.2 * 2.0**stops
    return _rounded(np.clip(linear, 0, 1) ** (1 / 2.2) * 255)


def _low_contrast(rgb: Rgb, gain: float, _: np.random.Generator) -> Rgb:
    mean = rgb.mean()
    return _rounded(mean + (rgb - mean) * gain)


def _color_cast(rgb: Rgb, shift: float, chance: np.random.Generator) -> Rgb:
    lab = cv2.cvtColor(rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    angle = float(chance.uniform(0, 2 * math.pi))
    lab[..., 1] += shift * math.cos(angle)
    lab[..., 2] += shift * math.sin(angle)
    return _rounded(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB) * 255)


def _saturation(rgb: Rgb, factor: float, _: np.random.Generator) -> Rgb:
    grey = (rgb @ np.array([0.299, 0.587, 0.114]))[..., None]
    return _rounded(grey + (rgb - grey) * factor)


def _oversharpening(rgb: Rgb, amount: float, _: np.random.Generator) -> Rgb:
    values = rgb.astype(np.float32)
    return _rounded(values + amount * (values - cv2.GaussianBlur(values, (0, 0), 1.5)))


def _banding(rgb: Rgb, levels: float, _: np.random.Generator) -> Rgb:
    steps = levels - 1
    return _rounded(np.rint(rgb / 255.0 * steps) / steps * 255)


def _pixelation(rgb: Rgb, size: float, _: np.random.Generator) -> Rgb:
    side = int(size)
    height, width = rgb.shape[:2]
    padded = np.pad(rgb, ((0, -height % side), (0, -width % side), (0, 0)), mode="edge")
    small = cv2.resize(padded, (padded.shape[1] // side, padded.shape[0] // side), interpolation=cv2.INTER_AREA)
    return _rounded(small.repeat(side, axis=0).repeat(side, axis=1)[:height, :width])


LEVELS: dict[str, Levels] = {
    "gaussian blur": Levels("standard deviation, pixels", (0.8, 1.3, 2.0, 3.2, 5.0), _gaussian_blur),
    "motion blur": Levels("length, pixels; direction by seed", (4, 7, 11, 17, 25), _motion_blur),
    "gaussian noise": Levels("standard deviation, grey levels", (4, 8, 14, 22, 34), _gaussian_noise),
    "impulse noise": Levels("share of samples", (0.003, 0.01, 0.025, 0.05, 0.1), _impulse_noise),
    "jpeg": Levels("quality of libjpeg, colour halved", (70, 45, 25, 12, 5), _jpeg),
    "jpeg2000": Levels("compression ratio", (16, 35, 70, 130, 220), _jpeg2000),
    "overexposure": Levels("stops", (0.4, 0.8, 1.3, 1.9, 2.6), _exposure),
    "underexposure": Levels("stops", (-0.6, -1.2, -2.0, -3.0, -4.0), _exposure),
    "low contrast": Levels("factor about the mean", (0.8, 0.62, 0.46, 0.32, 0.2), _low_contrast),
    "color cast": Levels("shift in CIELAB a, b; direction by seed", (6, 11, 17, 25, 35), _color_cast),
    "saturation change": Levels("factor of the colour differences", (0.75, 0.5, 0.3, 0.12, 0.0), _saturation),
    "oversharpening": Levels("amount of an unsharp mask of 1.5 pixels", (0.7, 1.5, 2.5, 4.0, 6.5), _oversharpening),
    "banding": Levels("levels per channel", (32, 18, 11, 7, 4), _banding),
    "pixelation": Levels("side of a square, pixels", (2, 3, 5, 8, 13), _pixelation),
}
"""The kinds of distortion that can be made, by canonical name."""


def distort(rgb: Rgb, kind: str, level: int, seed: int = 0) -> Rgb:
    """Distort an image by a known amount.

    Args:
        rgb: uint8, shape (height, width, 3); not changed.
        kind: A name of `LEVELS`, or any other word for it ("salt and pepper"); the kinds "blurs", "compression" and
            "noise" stand for Gaussian blur, JPEG and Gaussian noise.
        level: 1 (barely visible) to 5 (gross).
        seed: Where chance has a say: which samples, which direction.

    Returns:
        A new image of the same shape.

    Raises:
        UnknownNameError: If nobody knows the kind, or it cannot be made.
        InputError: If the level is not 1 to 5.
        ImageError: If the array is not uint8 RGB.
    """
    if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3:
        raise ImageError(
            f"cannot distort an array of {rgb.dtype} with shape {rgb.shape}: need uint8 RGB of shape (height, width, 3)"
        )
    name = parse_distortion(kind)
    name = _TYPICAL.get(name, name)
    if name not in LEVELS:
        raise UnknownNameError("distortion that can be made", kind, LEVELS)
    if level not in range(1, 6):
        raise InputError(f"unknown level {level!r} of {name!r}: the levels are 1 (barely visible) to 5 (gross)")
    table = LEVELS[name]
    return table.recipe(rgb, table.strengths[level - 1], np.random.default_rng(seed))


_TYPICAL: dict[str, str] = {
    Distortion.BLURS: "gaussian blur",
    Distortion.COMPRESSION: "jpeg",
    Distortion.NOISE: "gaussian noise",
}

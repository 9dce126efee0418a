"""Fixtures: eight real photographs that ship in scikit-image's wheel, and the level table of the acceptance test."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import cache

import cv2
import numpy as np
import pytest
from PIL import Image
from provider_server import DIALECTS, ProviderServer, providing
from skimage import data

from loopwright.models import allow_model_requests
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures, measure, measure_pair

NAMES = ("astronaut", "camera", "chelsea", "coffee", "rocket", "coins", "gravel", "stereo_motorcycle")
"""People, animals, objects, night, machines and texture; two with bokeh, three grey, two that were JPEG before."""

LEVELS = {
    "gaussian blur": (0.8, 1.3, 2.0, 3.2, 5.0),
    "gaussian noise": (4.0, 8.0, 14.0, 22.0, 34.0),
    "impulse noise": (0.003, 0.01, 0.025, 0.05, 0.1),
    "jpeg": (70, 45, 25, 12, 5),
}
"""Fixed here, apart from the product's table: sigma in pixels, sigma in grey levels, share of pixels, quality."""


@cache
def _photograph(name: str) -> np.ndarray:
    """One photograph as read-only uint8 RGB."""
    loaded = getattr(data, name)()
    image = loaded[0] if isinstance(loaded, tuple) else loaded
    if image.ndim == 2:
        image = np.repeat(image[..., None], 3, axis=2)
    image = np.ascontiguousarray(image[..., :3])
    image.flags.writeable = False
    return image


def _distorted(rgb: np.ndarray, kind: str, level: int, seed: int = 0) -> np.ndarray:
    """Apply a level of the table by means that owe nothing to the product's `distort`."""
    strength = LEVELS[kind][level - 1]
    rng = np.random.default_rng(seed)
    if kind == "gaussian blur":
        return cv2.GaussianBlur(rgb, (0, 0), strength)
    if kind == "gaussian noise":
        return np.clip(rgb + rng.normal(0, strength, rgb.shape), 0, 255).round().astype(np.uint8)
    if kind == "impulse noise":
        # Whole pixels, as a camera's dead cells look after development; `distort` hits single channels.
        out = rgb.copy()
        hit = rng.random(rgb.shape[:2]) < strength
        out[hit] = np.where(rng.random(int(hit.sum())) < 0.5, 0, 255)[:, None]
        return out
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "JPEG", quality=strength)
    return np.asarray(Image.open(buffer).convert("RGB"))


@pytest.fixture(params=DIALECTS)
def server(request, monkeypatch) -> Iterator[ProviderServer]:
    """A server on loopback that speaks the format of each provider in turn."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with allow_model_requests(), providing(request.param) as played:
        yield played


@pytest.fixture(scope="session")
def photograph() -> Callable[[str], np.ndarray]:
    """Name -> one photograph, read-only uint8 RGB."""
    return _photograph


@pytest.fixture(scope="session")
def photographs() -> dict[str, np.ndarray]:
    """The eight photographs by name."""
    return {name: _photograph(name) for name in NAMES}


@cache
def _measured(name: str, kind: str, level: int) -> tuple[ImageFeatures, PairFeatures]:
    rgb = _photograph(name)
    made = _distorted(rgb, kind, level)
    return measure(made), measure_pair(made, rgb)


@pytest.fixture(scope="session")
def measured() -> Callable[[str, str, int], tuple[ImageFeatures, PairFeatures]]:
    """(photograph, kind, level) -> features of the image by the fixed table, and of the pair; each measured once."""
    return _measured


@pytest.fixture(scope="session")
def main_four() -> tuple[str, ...]:
    """The four distortions of the acceptance test."""
    return tuple(LEVELS)

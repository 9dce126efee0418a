"""Fixtures: eight real photographs that ship in scikit-image's wheel, and the level table of the acceptance test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from provider_server import DIALECTS, ProviderServer, providing
from skimage import data

from loopwright.models import allow_model_requests

NAMES = ("astronaut", "camera", "chelsea", "coffee", "rocket", "coins", "gravel", "stereo_motorcycle")
"""People, animals, objects, night, machines and texture; two with bokeh, three grey, two that were JPEG before."""


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


@pytest.fixture(params=DIALECTS)
def server(request) -> Iterator[ProviderServer]:
    """A server on loopback that speaks the format of each provider in turn."""
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

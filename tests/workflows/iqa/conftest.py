"""Fixtures: eight real photographs that ship in scikit-image's wheel, and the level table of the acceptance test."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from provider_server import DIALECTS, ProviderServer, providing
from skimage import data

from loopwright.models import allow_model_requests
from loopwright.workflows.iqa import SummarizerOutput, passes, run_pipeline

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


_measured: dict[tuple[Any, ...], Any] = {}


@pytest.fixture(autouse=True)
def one_look_at_the_same_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures an image that an executor measured already no more; the tests of measuring call it by themselves."""

    def known(measure: Callable[..., Any], *images: np.ndarray) -> Any:
        key = measure, *((rgb.shape, rgb.dtype, blake2b(np.ascontiguousarray(rgb)).digest()) for rgb in images)
        if key not in _measured:
            _measured[key] = measure(*images)
        return _measured[key]

    for name in ("measure", "measure_pair"):
        monkeypatch.setattr(passes, name, partial(known, getattr(passes, name)))


@pytest.fixture(params=DIALECTS)
def server(request) -> Iterator[ProviderServer]:
    """A server on loopback that speaks the format of each provider in turn."""
    with allow_model_requests(), providing(request.param) as played:
        yield played


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., SummarizerOutput]:
    """Asks about an image as uint8 RGB, and about its reference if there is one."""

    def asked(query: str, *images: np.ndarray) -> SummarizerOutput:
        paths = [tmp_path / name for name, _ in zip(("image.png", "reference.png"), images, strict=False)]
        for path, rgb in zip(paths, images, strict=True):
            Image.fromarray(rgb).save(path)
        return run_pipeline(query, *paths)["summarizer_result"]

    return asked


@pytest.fixture(scope="session")
def photograph() -> Callable[[str], np.ndarray]:
    """Name -> one photograph, read-only uint8 RGB."""
    return _photograph


@pytest.fixture(scope="session")
def photographs() -> dict[str, np.ndarray]:
    """The eight photographs by name."""
    return {name: _photograph(name) for name in NAMES}

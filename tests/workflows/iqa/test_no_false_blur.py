"""Scenes that are soft, dark, bright, empty or drawn on purpose are not called blurred; blurred ones still are."""

import cv2
import numpy as np
import pytest

from loopwright.workflows.iqa.distortions import Distortion, kind_of
from loopwright.workflows.iqa.measuring.detection import SURE, detect
from loopwright.workflows.iqa.measuring.features import measure
from loopwright.workflows.iqa.sources.images import RGB


def _said(rgb: RGB) -> set[Distortion]:
    """The kinds that are stated with confidence."""
    return {kind_of(item.type) for item in detect(measure(rgb)).findings if item.confidence >= SURE}


def _blurred(rgb: np.ndarray, sigma: float) -> np.ndarray:
    return cv2.GaussianBlur(rgb, (0, 0), sigma)


def _rounded(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _grain(shape: tuple[int, ...], sigma: float = 1.0) -> np.ndarray:
    return np.random.default_rng(1).normal(0, sigma, shape)


def bokeh(rgb: np.ndarray) -> np.ndarray:
    """A third of the frame in focus, at the side, before a soft background."""
    height, width = rgb.shape[:2]
    y, x = np.mgrid[:height, :width]
    near = np.hypot((y - 0.5 * height) / height, (x - 0.33 * width) / width) < 0.28
    return np.where(near[..., None], rgb, _blurred(rgb, 8))


def night(rgb: np.ndarray) -> np.ndarray:
    """Four stops less light, with the noise that it brings."""
    return _rounded(255 * (rgb / 255) ** 1.6 * 0.18 + _grain(rgb.shape, 1.5))


def high_key(rgb: np.ndarray) -> np.ndarray:
    """Nearly white."""
    return _rounded(215 + 40 * (rgb / 255) ** 0.8 + _grain(rgb.shape, 0.8))


def fog(rgb: np.ndarray) -> np.ndarray:
    """Contrast falls with the distance, down to a seventh."""
    depth = np.linspace(0.15, 0.75, rgb.shape[0])[:, None, None]
    return _rounded(rgb * depth + 200 * (1 - depth) + _grain(rgb.shape, 0.8))


def minimal(rgb: np.ndarray) -> np.ndarray:
    """A small sharp subject under a clear sky."""
    height, width = rgb.shape[:2]
    sky = np.linspace(140, 215, height)[:, None, None] * [0.75, 0.9, 1.0] + np.zeros((1, width, 1))
    sky += _grain(sky.shape, 1.0)
    part = rgb[height // 3 : height // 3 + height // 6, width // 3 : width // 3 + width // 6]
    sky[-part.shape[0] :, : part.shape[1]] = part
    return _rounded(sky)


@pytest.mark.matrix(8)
@pytest.mark.parametrize("name", ["astronaut", "chelsea", "coffee", "rocket", "camera"])
@pytest.mark.parametrize("scene", [bokeh, night, high_key, fog, minimal])
def test_a_photograph_that_is_soft_on_purpose(photograph, scene, name) -> None:
    assert Distortion.BLURS not in _said(scene(photograph(name)))


def _text(scale: float = 0.6) -> np.ndarray:
    page = np.full((720, 1080, 3), 250, np.uint8)
    for row in range(24):
        line = "The quick brown fox jumps over the lazy dog, and 0123456789 times again."[row % 5 :]
        cv2.putText(page, line, (20, 30 + 29 * row), cv2.FONT_HERSHEY_SIMPLEX, scale, (20, 20, 20), 1, cv2.LINE_AA)
    return page


def _line_art() -> np.ndarray:
    page = np.full((700, 900, 3), 255, np.uint8)
    rng = np.random.default_rng(2)
    for _ in range(60):
        start, end = (tuple(int(v) for v in rng.integers(0, 700, 2)) for _ in "ab")
        cv2.line(page, start, end, (0, 0, 0), 2, cv2.LINE_AA)
        cv2.circle(page, start, int(rng.integers(10, 90)), (0, 0, 0), 2, cv2.LINE_AA)
    return page


def _gradient() -> np.ndarray:
    return np.repeat(np.tile(np.linspace(20, 235, 900), (600, 1))[..., None], 3, 2).round().astype(np.uint8)


def _flat_shapes() -> np.ndarray:
    page = np.full((600, 900, 3), (240, 180, 60), np.uint8)
    cv2.circle(page, (300, 300), 180, (30, 90, 200), -1)
    cv2.rectangle(page, (550, 150), (800, 450), (200, 40, 40), -1)
    return page


def _stars() -> np.ndarray:
    rng = np.random.default_rng(6)
    sky = 8 + rng.normal(0, 1.2, (800, 1200))
    for y, x, light in zip(
        rng.integers(5, 795, 400), rng.integers(5, 1195, 400), rng.exponential(120, 400), strict=True
    ):
        sky[y - 1 : y + 2, x - 1 : x + 2] += light * np.array([[0.2, 0.5, 0.2], [0.5, 1, 0.5], [0.2, 0.5, 0.2]])
    return _rounded(np.repeat(sky[..., None], 3, 2))


@pytest.mark.parametrize("draw", [_text, _line_art, _gradient, _flat_shapes, _stars])
def test_what_was_drawn_or_is_nearly_empty(draw) -> None:
    assert Distortion.BLURS not in _said(draw())


@pytest.mark.parametrize(("draw", "sigma"), [(_text, 2), (_line_art, 4), (_flat_shapes, 4)])
def test_a_blurred_drawing_is_called_so(draw, sigma) -> None:
    assert Distortion.BLURS in _said(_blurred(draw(), sigma))

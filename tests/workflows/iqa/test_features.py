from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from chances import examples
from distort import distort
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.workflows.iqa.measuring.features import measure, measure_pair

FLAT = np.full((256, 320, 3), 128, np.uint8)


@pytest.mark.parametrize("sigma", [4.0, 10.0, 25.0])
def test_noise_on_a_flat_field_is_measured(sigma):
    noisy = np.clip(FLAT + np.random.default_rng(1).normal(0, sigma, FLAT.shape), 0, 255).round().astype(np.uint8)
    features = measure(noisy)
    assert features.noise_sigma == pytest.approx(sigma, rel=0.06)
    assert features.noise_whiteness == pytest.approx(1.8, rel=0.15)


@pytest.mark.parametrize("angle", [0, 30, 75, 120])
def test_direction_of_motion_with_and_without_a_reference(photograph, angle):
    rgb = photograph("astronaut")
    kernel = np.zeros((21, 21), np.float32)
    reach = np.array([math.cos(math.radians(angle)), -math.sin(math.radians(angle))]) * 9
    start, end = (np.rint(10 + sign * reach).astype(int) for sign in (-1, 1))
    cv2.line(kernel, tuple(map(int, start)), tuple(map(int, end)), 1.0, 1)
    moved = cv2.filter2D(rgb, -1, kernel / kernel.sum())
    pair, features = measure_pair(moved, rgb), measure(moved)

    drawn = math.degrees(math.atan2(start[1] - end[1], end[0] - start[0]))

    def apart(direction: float) -> float:
        return min((direction - drawn) % 180, (drawn - direction) % 180)

    assert apart(pair.blur_direction) < 8
    assert apart(features.motion_direction) < 15
    assert pair.blur_sigma > 3 * pair.blur_sigma_minor
    assert features.motion_anisotropy > 3 * measure(rgb).motion_anisotropy


@pytest.mark.matrix(3)
@pytest.mark.parametrize("quality", [5, 10, 20, 35, 50, 65])
def test_jpeg_quality_is_read_from_the_pixels(photographs, quality):
    import io

    from PIL import Image

    for rgb in photographs.values():
        buffer = io.BytesIO()
        Image.fromarray(rgb).save(buffer, "JPEG", quality=quality)
        features = measure(np.asarray(Image.open(buffer).convert("RGB")))
        assert features.jpeg_quality == pytest.approx(quality, abs=2)


def test_point_operations_are_measured_exactly(photograph):
    rgb = photograph("chelsea")
    brighter = (rgb.astype(int) + 20).clip(0, 255).astype(np.uint8)
    pair = measure_pair(brighter, rgb)
    assert pair.mean_shift == pytest.approx(20, abs=0.2)
    assert pair.point_share > 0.99
    halved = distort(rgb, "low contrast", 3)
    assert measure_pair(halved, rgb).contrast_gain == pytest.approx(0.46, abs=0.01)
    pale = distort(rgb, "saturation change", 2)
    pair = measure_pair(pale, rgb)
    assert pair.saturation_ratio == pytest.approx(0.5, abs=0.02)
    assert pair.color_shift_rms < 1


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(32, 150), st.integers(32, 150), st.integers(0, 3))
def test_any_size_and_content_is_measured(height, width, content):
    rng = np.random.default_rng(height * 1000 + width)
    rgb = (
        rng.integers(0, 256, (height, width, 3), np.uint8),
        np.zeros((height, width, 3), np.uint8),
        np.full((height, width, 3), 255, np.uint8),
        np.linspace(0, 255, height * width * 3).reshape(height, width, 3).astype(np.uint8),
    )[content]
    assert math.isfinite(measure(rgb).noise_sigma)
    assert measure_pair(rgb, rgb).rms_error == 0
    assert measure_pair(255 - rgb, rgb).rms_error > 0

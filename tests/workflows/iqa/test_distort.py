from __future__ import annotations

import numpy as np
import pytest
from distort import LEVELS, distort

from loopwright.errors import ImageError, InputError, UnknownNameError
from loopwright.workflows.iqa.distortions import SUBTYPES


@pytest.mark.parametrize("kind", LEVELS)
def test_every_kind_is_canonical_deterministic_and_grows(photograph, kind):
    rgb = photograph("chelsea")
    assert kind in SUBTYPES
    errors = []
    for level in range(1, 6):
        made = distort(rgb, kind, level)
        assert made.dtype == np.uint8
        assert made.shape == rgb.shape
        assert np.array_equal(made, distort(rgb, kind, level))
        errors.append(float(((made.astype(float) - rgb) ** 2).mean()))
    assert errors == sorted(errors)
    assert errors[0] > 0


@pytest.mark.parametrize("kind", ["gaussian noise", "impulse noise", "motion blur", "color cast"])
def test_the_seed_decides_what_is_chance(photograph, kind):
    rgb = photograph("chelsea")
    assert not np.array_equal(distort(rgb, kind, 3, seed=1), distort(rgb, kind, 3, seed=2))


def test_published_parameters_are_met(photograph):
    rgb = np.full((300, 300, 3), 128, np.uint8)
    noise = distort(rgb, "gaussian noise", 3).astype(float) - 128
    assert noise.std() == pytest.approx(14, rel=0.02)
    assert (distort(rgb, "impulse noise", 5) != 128).mean() == pytest.approx(0.1, rel=0.05)
    assert len(np.unique(distort(photograph("camera"), "banding", 3))) <= 11
    # One stop is a factor of two in linear light: 128 -> 255 * (2 ** -2 * (128 / 255) ** 2.2) ** (1 / 2.2).
    assert distort(rgb, "underexposure", 3)[0, 0, 0] == round(128 * 2 ** (-2 / 2.2))


def test_input_is_left_alone_and_words_are_understood(photograph):
    rgb = photograph("chelsea").copy()
    before = rgb.copy()
    assert np.array_equal(distort(rgb, "Salt and Pepper", 2), distort(rgb, "impulse noise", 2))
    assert np.array_equal(distort(rgb, "blurry", 2), distort(rgb, "gaussian blur", 2))
    assert np.array_equal(rgb, before)


def test_what_cannot_be_made_is_said(photograph):
    rgb = photograph("chelsea")
    with pytest.raises(UnknownNameError, match=r"unknown distortion 'fog'.*Known:.*gaussian blur"):
        distort(rgb, "fog", 3)
    with pytest.raises(UnknownNameError, match=r"can be made 'aliasing'.*pixelation"):
        distort(rgb, "aliasing", 3)
    for level in (0, 6):
        with pytest.raises(InputError, match=rf"level {level}.*1 \(barely visible\) to 5"):
            distort(rgb, "jpeg", level)
    with pytest.raises(ImageError, match="uint8 RGB"):
        distort(rgb[..., 0], "jpeg", 3)

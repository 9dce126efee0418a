from __future__ import annotations

import io

import cv2
import numpy as np
from PIL import Image
from skimage import data

from loopwright.workflows.iqa.distortions import Distortion, Severity, kind_of
from loopwright.workflows.iqa.measuring.detection import SURE, detect
from loopwright.workflows.iqa.measuring.detection_blind import SHARPENED
from loopwright.workflows.iqa.measuring.features import measure, measure_pair
from loopwright.workflows.iqa.measuring.softness import soft_part, softened

SHARP = ("astronaut", "coffee", "chelsea", "rocket")


def rounded(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def disc(rgb: np.ndarray, radius: float) -> np.ndarray:
    """Out of focus: an aperture is a disc, not a Gaussian."""
    reach = int(np.ceil(radius))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    kernel = np.clip(radius + 0.5 - np.hypot(x, y), 0, 1)
    return rounded(cv2.filter2D(rgb.astype(np.float32), -1, kernel / kernel.sum(), borderType=cv2.BORDER_REFLECT_101))


def gaussian(rgb: np.ndarray, sigma: float) -> np.ndarray:
    return cv2.GaussianBlur(rgb, (0, 0), sigma)


def grain(rgb: np.ndarray, sigma: float) -> np.ndarray:
    """Noise as coarse as demosaicing leaves it."""
    noise = cv2.GaussianBlur(np.random.default_rng(3).normal(0, 1, rgb.shape), (0, 0), 0.8)
    return rounded(rgb + sigma * noise / noise.std())


def white(rgb: np.ndarray, sigma: float) -> np.ndarray:
    return rounded(rgb + np.random.default_rng(4).normal(0, sigma, rgb.shape))


def coded(rgb: np.ndarray, quality: float) -> np.ndarray:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "JPEG", quality=int(quality), subsampling=0)
    return np.asarray(Image.open(buffer).convert("RGB"))


MADE = {
    "disc": (disc, (3.0, 4.5, 8.0), Distortion.BLURS),
    "gaussian": (gaussian, (1.8, 2.8, 4.5), Distortion.BLURS),
    "grain": (grain, (12, 18, 28), Distortion.NOISE),
    "white": (white, (12, 20, 30), Distortion.NOISE),
    "coded": (coded, (24, 12, 6), Distortion.COMPRESSION),
}
"""Recipe, its levels 3 to 5, and what it is."""


def stated(image: np.ndarray) -> list[str]:
    return [finding.type for finding in detect(measure(image)).findings if finding.confidence >= SURE]


def test_blur_noise_and_jpeg_are_stated_and_what_is_stated_is_right(photograph, record_property):
    said, right, total, missed = 0, 0, 0, []
    for name in SHARP[::2]:
        rgb = photograph(name)
        for kind, (recipe, levels, truth) in MADE.items():
            for level in levels:
                main = next(iter(detect(measure(recipe(rgb, level))).findings), None)
                total += 1
                if main is None or main.confidence < SURE:
                    missed.append((name, kind, level))
                    continue
                said += 1
                right += kind_of(main.type) is truth
                if kind_of(main.type) is not truth:
                    missed.append((name, kind, level, main.type, main.confidence))
    record_property("said, right, total", (said, right, total))
    assert said >= 0.8 * total, missed
    assert right >= 0.85 * said, missed


def test_a_blur_is_seen_through_noise_and_noise_alone_is_no_blur(photograph):
    for name in SHARP[::2]:
        rgb = photograph(name)
        for noise in (8, 16, 28):
            for blur in (2.0, 3.0):
                kinds = {kind_of(found) for found in stated(white(gaussian(rgb, blur), noise))}
                assert kinds == {Distortion.BLURS, Distortion.NOISE}, (name, noise, blur)
            assert Distortion.BLURS not in {kind_of(found) for found in stated(white(rgb, noise))}, (name, noise)


def test_two_faults_at_once_beside_a_reference_are_told_apart_from_a_coder():
    for name in ("coffee", "chelsea"):
        reference = getattr(data, name)()[:288, :384]
        image = white(gaussian(reference, 2.5), 18)
        kinds = {kind_of(item.type) for item in detect(measure(image), measure_pair(image, reference)).findings}
        assert kinds == {Distortion.BLURS, Distortion.NOISE}


def test_light_that_a_coder_smeared_and_light_that_left_nothing_are_overexposure():
    bright = rounded(data.coffee()[:288, :384] * 1.9 + 20)
    assert "overexposure" in stated(coded(bright, 14))
    assert stated(np.full((300, 400, 3), 252, np.uint8)) == ["overexposure"]


def test_a_long_motion_is_none_of_a_coder():
    motion = np.full((1, 21), 1 / 21, np.float32)
    for name in ("coffee", "chelsea", "rocket"):
        image = cv2.filter2D(getattr(data, name)()[:288, :384], -1, motion)
        assert "jpeg2000" not in stated(image), name


def test_a_blurred_half_is_no_coders_work():
    for sigma, share in ((0.1, 0.7), (0.8, 0.5)):
        half = gaussian(data.astronaut(), sigma)
        blurred = slice(0, int(share * half.shape[1]))
        half[:, blurred] = gaussian(half, 3)[:, blurred]
        assert "jpeg2000" not in stated(half)


def test_the_strokes_of_a_page_are_a_guess_at_sharpening():
    page = np.full((400, 600), 255, np.uint8)
    for line in range(30, 390, 24):
        cv2.putText(page, "the quick brown fox jumps over it", (10, line), 0, 0.6, 0, 1, cv2.LINE_AA)
    features = measure(np.dstack([page] * 3))
    assert features.edge_ratio > SHARPENED
    assert "oversharpening" not in stated(np.dstack([page] * 3))


def test_soft_nearly_everywhere_is_a_slight_blur():
    image = gaussian(data.coffee()[:288, :384], 0.9)
    features = measure(image)
    part = soft_part(image, features)
    assert part is not None
    found = softened(features, part)
    assert found is not None
    assert found.severity is Severity.SLIGHT
    sharp = soft_part(data.coffee(), measure(data.coffee()))
    assert sharp is None or softened(measure(data.coffee()), sharp) is None

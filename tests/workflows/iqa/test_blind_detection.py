"""What is stated without a reference is right; what is soft, dark, bright, empty or drawn on purpose is not called blurred."""

import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from batch_images import recoded
from skimage import data

from loopwright.workflows.iqa.distortions import Distortion, Severity, kind_of
from loopwright.workflows.iqa.measuring import severity
from loopwright.workflows.iqa.measuring.detection import SURE, detect
from loopwright.workflows.iqa.measuring.detection_parts import detect_in_parts
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
    return recoded(rgb, int(quality), subsampling=0)


MADE = {
    "disc": (disc, (3.0, 4.5, 8.0), Distortion.BLURS), "gaussian": (gaussian, (1.8, 2.8, 4.5), Distortion.BLURS),
    "grain": (grain, (12, 18, 28), Distortion.NOISE), "white": (white, (12, 20, 30), Distortion.NOISE),
    "coded": (coded, (24, 12, 6), Distortion.COMPRESSION),
}  # fmt: skip
"""Recipe, its levels 3 to 5, and what it is."""


def stated(image: np.ndarray) -> list[str]:
    return [finding.type for finding in detect(measure(image)).findings if finding.confidence >= SURE]


def kinds(image: np.ndarray) -> set[Distortion]:
    return {kind_of(found) for found in stated(image)}


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
                found = kinds(white(gaussian(rgb, blur), noise))
                assert found == {Distortion.BLURS, Distortion.NOISE}, (name, noise, blur)
            assert Distortion.BLURS not in kinds(white(rgb, noise)), (name, noise)


def test_two_faults_at_once_beside_a_reference_are_told_apart_from_a_coder():
    for name in ("coffee", "chelsea"):
        reference = getattr(data, name)()[:288, :384]
        image = white(gaussian(reference, 2.5), 18)
        findings = detect(measure(image), measure_pair(image, reference)).findings
        assert {kind_of(item.type) for item in findings} == {Distortion.BLURS, Distortion.NOISE}
        beneath = white(coded(reference, 20), 8)
        assert "jpeg" in [item.type for item in detect(measure(beneath), measure_pair(beneath, reference)).findings]


def test_few_photons_leave_noise_and_no_bands_and_a_mark_laid_over_is_no_light(ask):
    photo = np.ascontiguousarray(data.astronaut()[:360, :480])
    grain = rounded(np.random.default_rng(2).poisson(photo / 255 * 30) / 30 * 255)
    assert stated(grain) == [detect(measure(grain), measure_pair(grain, photo)).findings[0].type] == ["gaussian noise"]
    bands = rounded(np.rint((photo + np.random.default_rng(2).normal(0, 7, photo.shape)) / 36.4) * 36.4)
    assert stated(bands) == ["banding"], "the grain is weaker than the step between two levels"
    ring = cv2.circle(np.zeros((360, 480, 1), np.float32), (240, 180), 58, 0.6, 28)
    assert "exposure" not in ask("What is wrong?", rounded(photo * (1 - ring) + 255 * ring), photo).final_answer
    lit = cv2.createCLAHE(4, (4, 4)).apply(np.ascontiguousarray(data.camera()[:288, :384]))[..., None].repeat(3, 2)
    grey = data.camera()[:288, :384, None].repeat(3, 2)
    assert "overexposure" in [item.type for item in detect(measure(lit), measure_pair(lit, grey)).findings], "all of it"


def test_a_page_blurred_beneath_its_grain_is_blurred_and_a_sharp_one_is_not():
    page = np.full((460, 320, 3), 236, np.uint8)
    for line in range(24, 450, 18):
        words = "".join(np.random.default_rng(line).choice(list("abc defgh ijk 0123.45"), 30))
        cv2.putText(page, words, (14, line), cv2.FONT_HERSHEY_PLAIN, 0.9, (60, 60, 60), 1, cv2.LINE_AA)
    grain = np.random.default_rng(1).normal(0, 1.2, page.shape)
    assert stated(rounded(cv2.GaussianBlur(page, (0, 0), 4) + grain)) == ["gaussian blur"], "and not of low contrast"
    assert stated(rounded(page + grain)) == []


def test_textures_and_drawings_are_not_noisy_coded_moved_or_full_of_specks():
    sharp = np.ascontiguousarray(data.coffee()[::2, ::2])
    assert not detect_in_parts(sharp, None, measure(sharp)).findings, "as white as noise, but alike in all channels"
    text = cv2.putText(np.full((43, 66), 255, np.uint8), "136", (2, 32), cv2.FONT_HERSHEY_SIMPLEX, 1, 0, 2)
    for drawn in (np.tri(240, 320, -60) * 255, np.linspace([0] * 100, [255] * 100, 100), np.where(text < 128, 0, 255)):
        assert not stated(rounded(drawn[..., None].repeat(3, 2)))


def test_light_that_a_coder_smeared_and_light_that_left_nothing_are_overexposure():
    assert "overexposure" in stated(coded(rounded(data.coffee()[:288, :384] * 1.9 + 20), 14))
    assert stated(np.full((300, 400, 3), 252, np.uint8)) == stated(rounded(data.astronaut() * 2.4)) == ["overexposure"]
    assert "overexposure" in stated(rounded(data.gravel()[..., None] * [0.306, 0.3, 0.294] + [208, 205, 202]))
    assert detect(measure(rounded(data.chelsea() * 3.2))).findings[0].type == "overexposure", "at least a guess"
    assert not kinds(rounded(data.gravel()[..., None] * [1.1, 0.35, 0.1])), "it may have that colour by itself"
    dark = rounded(data.coffee()[:144, :192] * 0.25).repeat(2, axis=0).repeat(2, axis=1)
    assert {"underexposure", "pixelation"} == set(stated(dark)), "pixels that are repeated hide no light"


def test_a_long_motion_and_a_blurred_half_are_no_coders_work():
    motion = np.full((1, 21), 1 / 21, np.float32)
    for name in ("coffee", "chelsea", "rocket"):
        assert "jpeg2000" not in stated(cv2.filter2D(getattr(data, name)()[:288, :384], -1, motion)), name
    for sigma, share in ((0.1, 0.7), (0.8, 0.5)):
        half = gaussian(data.astronaut(), sigma)
        blurred = slice(0, int(share * half.shape[1]))
        half[:, blurred] = gaussian(half, 3)[:, blurred]
        assert "jpeg2000" not in stated(half)


def test_every_limit_is_a_number_that_something_reads():
    code = "".join(path.read_text() for path in Path(severity.__file__).parents[1].rglob("*.py"))
    for name, section in re.findall(r'(\w+) = Limits\("(\w+)"\)', code):
        numbers = {key for key, each in vars(severity.Limits(section)).items() if type(each) in (int, float)}
        assert {*re.findall(rf"\b{name}\.(\w+)", code)} == numbers == {*vars(severity.Limits(section))}, section


def test_soft_nearly_everywhere_is_a_slight_blur():
    image = gaussian(data.coffee()[:288, :384], 0.9)
    features = measure(image)
    part = soft_part(image, features)
    assert part is not None
    found = softened(features, part)
    assert found is not None and found.severity is Severity.SLIGHT
    sharp = soft_part(data.coffee(), measure(data.coffee()))
    assert sharp is None or softened(measure(data.coffee()), sharp) is None


def _grain(shape: tuple[int, ...], sigma: float = 1.0) -> np.ndarray:
    return np.random.default_rng(1).normal(0, sigma, shape)


def bokeh(rgb: np.ndarray) -> np.ndarray:
    """A third of the frame in focus, at the side, before a soft background."""
    height, width = rgb.shape[:2]
    y, x = np.mgrid[:height, :width]
    near = np.hypot((y - 0.5 * height) / height, (x - 0.33 * width) / width) < 0.28
    return np.where(near[..., None], rgb, gaussian(rgb, 8))


def night(rgb: np.ndarray) -> np.ndarray:
    """Four stops less light, with the noise that it brings."""
    return rounded(255 * (rgb / 255) ** 1.6 * 0.18 + _grain(rgb.shape, 1.5))


def high_key(rgb: np.ndarray) -> np.ndarray:
    """Nearly white."""
    return rounded(215 + 40 * (rgb / 255) ** 0.8 + _grain(rgb.shape, 0.8))


def fog(rgb: np.ndarray) -> np.ndarray:
    """Contrast falls with the distance, down to a seventh."""
    depth = np.linspace(0.15, 0.75, rgb.shape[0])[:, None, None]
    return rounded(rgb * depth + 200 * (1 - depth) + _grain(rgb.shape, 0.8))


def minimal(rgb: np.ndarray) -> np.ndarray:
    """A small sharp subject under a clear sky."""
    height, width = rgb.shape[:2]
    sky = np.linspace(140, 215, height)[:, None, None] * [0.75, 0.9, 1.0] + np.zeros((1, width, 1))
    sky += _grain(sky.shape, 1.0)
    part = rgb[height // 3 : height // 3 + height // 6, width // 3 : width // 3 + width // 6]
    sky[-part.shape[0] :, : part.shape[1]] = part
    return rounded(sky)


@pytest.mark.matrix(8)
@pytest.mark.parametrize("name", ["astronaut", "chelsea", "coffee", "rocket", "camera"])
@pytest.mark.parametrize("scene", [bokeh, night, high_key, fog, minimal])
def test_a_photograph_that_is_soft_on_purpose(photograph, scene, name) -> None:
    assert Distortion.BLURS not in kinds(scene(photograph(name)))


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
    return rounded(np.repeat(sky[..., None], 3, 2))


def _note() -> np.ndarray:
    return np.pad(_line_art()[:90, :120], ((0, 600), (0, 800), (0, 0)), constant_values=255)


def _comic() -> np.ndarray:
    shade = np.linspace(0, 1, 900)[:, None] * [0, 40, 150] + _grain((700, 900, 3)) * [0, 1, 1]
    return np.minimum(_line_art(), rounded(255 - shade))


@pytest.mark.parametrize("draw", [_text, _line_art, _gradient, _flat_shapes, _stars, _note, _comic])
def test_what_was_drawn_or_is_nearly_empty(draw) -> None:
    assert not kinds(draw()) - ({Distortion.BRIGHTNESS} if draw is _stars else set())


@pytest.mark.parametrize(("draw", "sigma"), [(_text, 2), (_line_art, 4), (_flat_shapes, 4)])
def test_a_blurred_drawing_is_called_so(draw, sigma) -> None:
    assert Distortion.BLURS in kinds(gaussian(draw(), sigma))

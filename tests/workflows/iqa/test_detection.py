import csv
import subprocess
import sys
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest
from batch_images import recoded
from distort import LEVELS, distort
from PIL import Image

from loopwright.workflows.iqa.distortions import Severity, kind_of
from loopwright.workflows.iqa.measuring.detection import SURE, detect
from loopwright.workflows.iqa.measuring.detection_paired import misplaced, uneven
from loopwright.workflows.iqa.measuring.features import measure, measure_pair

TID = Path(__file__).parents[4] / "shared" / "data" / "iqa" / "tid_rebuilt"
TID_TYPES = {
    "awgn": "noise", "spatially_correlated_noise": "noise", "high_frequency_noise": "noise", "jpeg": "jpeg", "jpeg2000": "jpeg2000",
    "impulse_noise": "impulse noise", "quantization": "banding", "gaussian_blur": "blurs", "mean_shift": "brightness change",
    "contrast_change": "contrast", "saturation_change": "saturation change", "multiplicative_noise": "noise",
    "chromatic_aberration": "color distortions",
}  # fmt: skip


def is_right(found: str, expected: str) -> bool:
    if expected == "noise" and found == "impulse noise":
        return False
    return found == expected or kind_of(found) == expected


def test_clean_photographs_have_no_finding(photographs):
    for name, rgb in photographs.items():
        features = measure(rgb)
        assert detect(features).findings == [], name
        same = detect(features, measure_pair(rgb, rgb))
        assert same.findings == []
        assert same.abstained is None


def test_low_key_and_large_are_no_distortions(photograph):
    rgb = photograph("astronaut")
    low_key = np.zeros_like(rgb)
    low_key[180:330, 180:330] = rgb[180:330, 180:330]
    # A sensor of nine megapixels whose single pixels are soft, as they are: no step is narrower than two pixels.
    large = cv2.resize(np.tile(rgb, (3, 3, 1)), (3072, 3072), interpolation=cv2.INTER_LANCZOS4)
    for name, image in {"low-key": low_key, "large": large}.items():
        assert [finding for finding in detect(measure(image)).findings if finding.confidence >= SURE] == [], name


@pytest.mark.matrix(2)
@pytest.mark.parametrize("kind", LEVELS)
def test_every_kind_is_found_with_a_reference(photograph, kind):
    for name in ("astronaut", "coffee"):
        rgb = np.ascontiguousarray(photograph(name)[:384, :384])
        for level in (3, 5):
            made = distort(rgb, kind, level, seed=1)
            features, pair = measure(made), measure_pair(made, rgb)
            result = detect(features, pair)
            assert misplaced(pair) is None and result.otherwise is None
            assert result.findings
            assert result.findings[0].type == kind, (name, level)
            assert result.findings[0].confidence >= SURE
            assert result.findings[0].severity > Severity.NONE
            assert result.findings[0].measured


def test_brightness_and_noise_together_are_both_found(photograph):
    rgb = photograph("chelsea")
    made = distort((rgb.astype(int) + 25).clip(0, 255).astype(np.uint8), "gaussian noise", 4)
    found = {finding.type for finding in detect(measure(made), measure_pair(made, rgb)).findings}
    assert found == {"mean shift", "gaussian noise"}


def test_a_change_of_light_hides_neither_blur_nor_noise_nor_coding(photograph):
    rgb = photograph("coffee")
    grain = np.random.default_rng(1).normal(0, 12, rgb.shape)
    for changed, second in (
        (cv2.blur(rgb, (17, 1)) * 0.5, "motion blur"),
        (rgb * 0.5 + grain, "gaussian noise"),
        (recoded((rgb * 0.4).astype(np.uint8), 15), "jpeg"),
    ):
        image = np.clip(np.rint(changed), 0, 255).astype(np.uint8)
        found = [item.type for item in detect(measure(image), measure_pair(image, rgb)).findings]
        assert found == ["underexposure", second]
    brighter = np.clip(rgb * 1.7, 0, 255).astype(np.uint8)
    assert [item.type for item in detect(measure(brighter), measure_pair(brighter, rgb)).findings] == ["overexposure"]


def test_lost_contrast_and_fog_of_a_dark_scene_are_no_overexposure(photograph):
    dark = photograph("rocket")
    for gain, kept in ((0.62, 128), (0.32, 128), (0.6, 235)):
        grey = np.rint(kept + (dark.astype(float) - kept) * gain).astype(np.uint8)
        assert detect(measure(grey), measure_pair(grey, dark)).findings[0].type == "low contrast", gain
    night = np.rint(dark * 0.2).astype(np.uint8)
    darker = distort(night, "underexposure", 3)
    assert detect(measure(darker), measure_pair(darker, night)).findings[0].type == "underexposure"


def test_what_the_eye_cannot_tell_is_not_stated(photograph):
    result = detect(measure(distort(photograph("rocket"), "underexposure", 1)))
    assert not [finding for finding in result.findings if finding.confidence >= SURE]
    assert result.abstained is not None and "without a reference" in result.abstained
    assert "dark scene" in result.abstained
    grey = detect(measure(photograph("camera")))
    assert grey.findings == []
    assert grey.abstained is not None and "black-and-white photograph" in grey.abstained


def test_a_tiny_difference_is_an_abstention_with_its_size(photograph):
    rgb = photograph("astronaut")
    made = np.clip(rgb + np.random.default_rng(0).normal(0, 1.4, rgb.shape), 0, 255).round().astype(np.uint8)
    result = detect(measure(made), measure_pair(made, rgb))
    assert result.findings == []
    assert "differs from its reference by 1.4 grey levels" in str(result.abstained)


def test_a_displaced_pair_is_told_as_such(photograph, ask):
    pair = photograph("astronaut")[:, 3:], photograph("astronaut")[:, :-3]
    assert "the image is displaced by 3.0 pixels" in ask("Is it blurrier than the original?", *pair).final_answer
    assert ask("Is it identical to the original?", *pair).final_answer.startswith("No: the image is displaced by 3.0")
    track = cv2.filter2D(photograph("astronaut"), -1, np.ones((1, 6)) / 6, anchor=(0, 0))
    assert "motion blur" in ask("What is wrong with it?", track, photograph("astronaut")).final_answer
    rgb = photograph("coffee")[:256, :320]
    assert misplaced(measure_pair(cv2.pyrUp(distort(cv2.pyrDown(rgb), "gaussian noise", 5)), rgb)) is None
    assert misplaced(measure_pair(distort(turned(rgb), "jpeg", 2), rgb))
    assert misplaced(measure_pair(rgb[60:124, 163:99:-1].copy(), rgb[60:124, 100:164]))
    small, at = rgb[:128, :128] // 4, np.random.default_rng(0).random((128, 128, 1))
    assert misplaced(measure_pair(np.where(at < 0.4, 255 * (at < 0.2), small).astype(np.uint8), small)) is None
    assert measure_pair((rgb * np.array([1, 0.9, 0.5])).astype(np.uint8), rgb).color_shift == pytest.approx(10, abs=1)
    assert uneven(measure_pair(rgb // (1 + np.arange(256, dtype=np.uint8) % 2)[:, None, None], rgb)) is None


def turned(rgb: np.ndarray) -> np.ndarray:
    height, width = rgb.shape[:2]
    return cv2.warpAffine(rgb, cv2.getRotationMatrix2D((width / 2, height / 2), 2, 1), (width, height))


def shaded(rgb: np.ndarray) -> np.ndarray:
    x, y = (np.linspace(-1, 1, side) ** 2 for side in (rgb.shape[1], rgb.shape[0]))
    return np.rint(rgb * (1 - 0.3 * (y[:, None, None] + x[None, :, None]))).astype(np.uint8)


def pasted(rgb: np.ndarray) -> np.ndarray:
    made = rgb.copy()
    made[100:120, 150:170] = (255, 0, 0)
    return made


OTHER = "the image does not lie on its reference"


@pytest.mark.parametrize(
    ("change", "said", "visible"),
    [
        *((how, OTHER, f"Unable to determine: {OTHER}") for how in (turned, lambda rgb: np.ascontiguousarray(rgb[::-1]))),
        (shaded, "the light changed more in some places than in others", "Yes: "),
        (pasted, "a few places changed while the rest stayed as it was", "Yes: a few places changed"),
        (lambda rgb: np.asarray(Image.fromarray(rgb).quantize(24, dither=0).convert("RGB")), "found in the whole image, strongest first: slight banding", "Yes: slight banding"),
    ],
    ids=["turned", "upside down", "shaded", "pasted", "reduced"],
)  # fmt: skip
def test_a_difference_of_another_kind_is_none_of_the_known_ones(photograph, ask, change, said, visible):
    pair = change(photograph("chelsea")), photograph("chelsea")
    wrong = ask("What is wrong with it, and how good is it?", *pair)
    assert said in wrong.final_answer.lower()
    assert (wrong.quality_score is None) is (said is OTHER)
    for kind in ("noise", "compression"):
        assert ask(f"Is there any {kind}?", *pair).final_answer.startswith("No: "), kind
    assert ask("Is there any visible difference to the original?", *pair).final_answer.startswith(visible)


def test_which_way_the_light_changed(photograph, ask):
    rgb = photograph("chelsea")
    for shift, darker, brighter in ((-20, "Yes", "No"), (20, "No", "Yes")):
        pair = (rgb.astype(int) + shift).clip(0, 255).astype(np.uint8), rgb
        for query in ("Did it get {}?", "Is it {} than the original?", "Was it {}ened?", "Is it too {}?"):
            for word, said in (("dark", darker), ("bright", brighter)):
                asked = query.format(word if "en" in query or "too" in query else f"{word}er")
                answer = ask(asked, *pair).final_answer
                assert answer.startswith(said), (asked, shift, answer)
    tinted = (rgb.astype(int) + np.array([5, 0, -5])).clip(0, 255).astype(np.uint8)
    assert "slight color cast" in ask("Is there any visible difference to the original?", tinted, rgb).final_answer
    assert ask("Are the colours the same?", tinted, rgb).final_answer.startswith("No: this image has slight color cast")
    combed = np.where(np.arange(len(rgb))[:, None, None] % 2, np.roll(rgb, 9, axis=1), rgb)
    assert not detect(measure(combed), measure_pair(combed, rgb)).findings, "no coder leaves other detail"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not TID.exists(), reason="the data set is not beside the repository")
def test_types_of_tid_2013(tmp_path, record_property):
    subprocess.run([sys.executable, str(TID / "make_distorted.py"), str(tmp_path)], check=True, capture_output=True)
    references = {path.stem: np.asarray(Image.open(path).convert("RGB")) for path in (TID / "refs").glob("*.png")}
    counts: dict[str, Counter[str]] = {"with": Counter(), "without": Counter()}
    with (TID / "labels.csv").open() as table:
        # Every fourth image; the figures over all of them are those of benchmarks/iqa_accuracy.py.
        for row in list(csv.DictReader(table))[::4]:
            image = np.asarray(Image.open(tmp_path / "images" / f"{row['name']}.png").convert("RGB"))
            features, expected = measure(image), TID_TYPES[row["type_name"]]
            for mode, pair in (("with", measure_pair(image, references[row["ref"]])), ("without", None)):
                main = next(iter(detect(features, pair).findings), None)
                good = main is not None and is_right(main.type, expected)
                stated = main is not None and main.confidence >= SURE
                counts[mode].update(total=1, right=good, stated=stated, stated_right=stated and good)
                counts[mode].update({f"{row['type_name']} {'right' if good else 'wrong'}": 1})
    for mode, count in counts.items():
        record_property(mode, dict(count))
    assert counts["with"]["right"] / counts["with"]["total"] >= 0.95
    assert counts["without"]["stated_right"] / counts["without"]["stated"] >= 0.9
    assert counts["without"]["right"] / counts["without"]["total"] >= 0.48
    for name, image in references.items():
        assert not [finding for finding in detect(measure(image)).findings if finding.confidence >= SURE], name

"""Questions about numbers: a tool's own value, a threshold of it, and a grade for each of several things."""

from __future__ import annotations

import pytest
from distort import distort
from PIL import Image
from skimage.metrics import peak_signal_noise_ratio

from loopwright.workflows.iqa import run_pipeline


@pytest.fixture(scope="module")
def pair(tmp_path_factory, photograph):
    place = tmp_path_factory.mktemp("pair")
    rgb = photograph("astronaut")
    made = distort(rgb, "gaussian noise", 4)
    Image.fromarray(rgb).save(place / "reference.png")
    Image.fromarray(made).save(place / "image.png")
    return place / "image.png", place / "reference.png", peak_signal_noise_ratio(rgb, made)


def test_a_tools_own_value_comes_first_with_its_unit(pair):
    image, reference, psnr = pair
    result = run_pipeline("What is the PSNR?", image, reference)["summarizer_result"]
    assert result.final_answer.startswith(f"PSNR is {psnr:.4g} dB in the whole image: ")
    assert f"({result.quality_score:.1f} of 5)" in result.final_answer
    both = run_pipeline("What are PSNR and SSIM?", image, reference)["summarizer_result"].final_answer
    assert both.startswith(f"PSNR is {psnr:.4g} dB, SSIM is 0.")
    rated = run_pipeline("Rate the quality with PSNR", image, reference)["summarizer_result"].final_answer
    assert rated in ("Bad", "Poor", "Fair", "Good", "Excellent")


def test_a_tools_own_value_is_held_against_the_number(pair):
    image, reference, psnr = pair
    said = run_pipeline("Is the PSNR above 60?", image, reference)["summarizer_result"].final_answer
    assert said.startswith(f"No: PSNR is {psnr:.4g} dB, below 60")


def test_several_things_are_rated_each_for_itself(pair):
    said = run_pipeline("Rate sharpness and noise separately.", *pair[:2])["summarizer_result"].final_answer
    sharpness, _, noise = said.partition(" Noise: ")
    assert sharpness.startswith("Sharpness: ") and noise.split(".")[0] in ("Bad", "Poor", "Fair")

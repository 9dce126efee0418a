"""Without a reference: noise of one part is found and placed, white dots alone are specks, and a clean picture has neither."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from loopwright.workflows.iqa import run_pipeline
from loopwright.workflows.iqa.sources.sample import sample_path


def photograph() -> np.ndarray:
    return np.asarray(Image.open(sample_path("harbour")).convert("RGB")).astype(float)


def noisy(image: np.ndarray, rows: slice) -> np.ndarray:
    image[rows] += np.random.default_rng(7).normal(0, 20, image[rows].shape)
    return image


def answer(folder: Path, image: np.ndarray) -> str:
    path = folder / "given.png"
    Image.fromarray(image.clip(0, 255).astype(np.uint8)).save(path)
    return run_pipeline("What is wrong with it?", str(path))["summarizer_result"].final_answer


@pytest.mark.parametrize(("rows", "place"), [(slice(0, 95), "top"), (slice(-95, None), "bottom")])
def test_noise_of_one_part_is_found_and_placed(tmp_path, rows, place):
    said = answer(tmp_path, noisy(photograph(), rows))
    assert "gaussian noise" in said and place in said


def test_white_dots_alone_are_specks(tmp_path):
    image = photograph()
    image[np.random.default_rng(7).random(image.shape[:2]) < 0.02] = 255
    assert "impulse noise" in answer(tmp_path, image)


def test_a_clean_photograph_has_neither(tmp_path):
    assert "noise" not in answer(tmp_path, photograph())

"""The numbers behind a comparison: Bjøntegaard deltas, intervals, and matching by name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from loopwright.errors import InputError
from loopwright.workflows.iqa.comparing.curves import Delta, bjontegaard
from loopwright.workflows.iqa.comparing.matching import find_reference, match
from loopwright.workflows.iqa.comparing.winners import mean_interval

README_ANCHOR = [(9487.76, 40.037), (4593.60, 38.615), (2486.44, 36.845), (1358.24, 34.851)]
README_TEST = [(9787.80, 40.121), (4469.00, 38.651), (2451.52, 36.970), (1356.24, 34.987)]
"""Rate and PSNR, from the readme of the Python package `bjontegaard` (FAU Erlangen, BSD-3)."""

FIVE = [(0.21, 2.31), (0.34, 2.9), (0.52, 3.32), (0.81, 3.71), (1.35, 4.02)]
SIX = [(0.15, 2.2), (0.25, 2.87), (0.44, 3.45), (0.7, 3.83), (1.1, 4.11), (1.9, 4.4)]


def delta(a, b) -> Delta:
    found = bjontegaard(a, b)
    assert isinstance(found, Delta), found
    return found


@pytest.mark.parametrize(
    ("a", "b", "rate_percent", "quality"),
    [
        # bd_rate and bd_psnr of bjontegaard 1.3.0 with method="pchip" and SciPy 1.17.1.
        (README_ANCHOR, README_TEST, -4.417485350589045, 0.11969278542479489),
        (FIVE, SIX, -25.538110117053535, 0.2653596935169701),
    ],
)
def test_the_values_of_the_bjontegaard_package(a, b, rate_percent, quality):
    found = delta(a, b)
    assert 100 * math.expm1(found.log_rate) == pytest.approx(rate_percent, rel=1e-9)
    assert found.quality == pytest.approx(quality, rel=1e-9)


def test_curves_that_are_lines_over_the_logarithm_of_the_rate():
    # q = 2 + ln r against q = 2.5 + ln r: everywhere 0.5 better, or e^-0.5 of the rate.
    a = [(rate, 2 + math.log(rate)) for rate in (1, 2, 4, 8)]
    b = [(rate, 2.5 + math.log(rate)) for rate in (1.5, 3, 5, 10)]
    found = delta(a, b)
    assert found.log_rate == pytest.approx(-0.5, abs=1e-12)
    assert found.quality == pytest.approx(0.5, abs=1e-12)
    low_a, high_a, low_b, high_b = 2, 2 + math.log(8), 2.5 + math.log(1.5), 2.5 + math.log(10)
    assert found.overlap == pytest.approx((high_a - low_b) / (high_b - low_a), abs=1e-12)


@pytest.mark.parametrize(
    ("b", "said"),
    [
        (FIVE[:3], "the curve of B has 3 points, and 4 are needed"),
        ([], "the curve of B has 0 points"),
        ([*FIVE, (2.0, 4.01)], "the curve of B does not rise from rate 1.35 to 2 (4.02 to 4.01)"),
        ([*FIVE, (2.0, 4.02)], "does not rise"),
        ([*FIVE, (1.35, 4.3)], "has two points at the rate 1.35"),
        ([(rate, quality + 2) for rate, quality in FIVE], "do not overlap: A has qualities 2.31 to 4.02, B 4.31 to"),
    ],
)
def test_curves_that_cannot_be_compared(b, said):
    found = bjontegaard(FIVE, b)
    assert isinstance(found, str) and said in found


def test_an_interval_has_the_width_that_theory_gives():
    # 400 draws of a normal distribution: the 95 % interval of the mean is close to +-1.96 sigma / sqrt(n).
    values = np.random.default_rng(1).normal(0.3, 1.0, 400)
    found = mean_interval(list(values), range(400), seed=0)
    assert found is not None
    half = 1.96 * values.std() / 20
    assert found.low == pytest.approx(values.mean() - half, abs=0.01)
    assert found.high == pytest.approx(values.mean() + half, abs=0.01)


def test_images_of_one_reference_are_resampled_together():
    # Eight copies of each of ten numbers know no more than the ten.
    values = np.random.default_rng(2).normal(0, 1.0, 10)
    copied, groups = list(np.repeat(values, 8)), list(np.repeat(range(10), 8))
    of_ten = mean_interval(list(values), range(10), seed=0)
    assert mean_interval(copied, groups, seed=0) == of_ten
    alone = mean_interval(copied, range(80), seed=0)
    assert alone is not None and of_ten is not None
    assert alone.high - alone.low < 0.5 * (of_ten.high - of_ten.low)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("street", "street"),
        ("street_q30", "street"),
        ("street.q30", "street"),
        ("street-night_q30", "street-night"),
        ("street10_q30", None),
        ("streets", None),
        ("q30/street", "street"),
        ("q30/deep/street_2", "street"),
        ("town/street", "town/street"),
        ("town/street_q30", "town/street"),
        ("café_q30", "café"),
        ("other", None),
    ],
)
def test_the_reference_of_a_name(name, reference):
    assert find_reference(name, ["street", "street-night", "town/street", "café"]) == reference


def test_pairs_by_name_whatever_the_extension():
    found = match(["x/a.jpg", "b.v2.jpg", "only.jpg"], ["x/a.webp", "b.v2.avif", "extra.webp"], None)
    assert [(pair.name, pair.a, pair.b) for pair in found.pairs] == [
        ("b.v2", "b.v2.jpg", "b.v2.avif"),
        ("x/a", "x/a.jpg", "x/a.webp"),
    ]
    assert [(item.side, item.path, item.why) for item in found.left_out] == [
        ("A", "only.jpg", "no image of B has its name"),
        ("B", "extra.webp", "no image of A has its name"),
    ]


def test_one_image_of_a_reference_in_each_folder_is_a_pair():
    found = match(["a_jpeg.jpg", "b_jpeg.jpg"], ["a_webp.webp", "b_webp.webp"], ["a.png", "b.png"])
    assert [(pair.name, pair.a, pair.b) for pair in found.pairs] == [
        ("a", "a_jpeg.jpg", "a_webp.webp"),
        ("b", "b_jpeg.jpg", "b_webp.webp"),
    ]
    assert found.reference_of["B", "b_webp.webp"] == "b.png"
    assert not found.left_out


def test_curves_from_four_encodings_in_both_folders():
    a = [f"a_q{quality}.jpg" for quality in (10, 30, 50, 70)] + [f"b_q{quality}.jpg" for quality in (10, 30, 50, 70)]
    b = [f"a_c{level}.webp" for level in range(5)] + [f"b_c{level}.webp" for level in range(3)] + ["c_c1.webp"]
    found = match(a, b, ["a.png", "b.png"])
    assert [(item.reference, len(item.a), len(item.b)) for item in found.encodings] == [("a.png", 4, 5)]
    assert not found.pairs
    reasons = {(item.side, item.path): item.why for item in found.left_out}
    assert len(reasons) == 4 + 3 + 1
    assert "fewer than 4 images in A or in B" in reasons["A", "b_q10.jpg"]
    assert reasons["B", "c_c1.webp"] == "no reference has its name or begins it"


@pytest.mark.parametrize(
    ("a", "b", "references", "said"),
    [
        (["a.jpg"], ["b.jpg"], None, "A has 'a.jpg', B has 'b.jpg'"),
        (["a.jpg"], ["a.jpg"], ["z.png"], "no image of A has a reference, for example 'a.jpg'"),
        (["a.jpg", "a.png"], ["a.jpg"], None, "A has nothing"),
    ],
)
def test_nothing_that_matches(a, b, references, said):
    with pytest.raises(InputError) as caught:
        match(a, b, references)
    assert said in str(caught.value)

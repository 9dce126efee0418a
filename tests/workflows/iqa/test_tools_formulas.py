"""The formulas, held to independent implementations: scikit-image at test time, and recorded values of others."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
import skimage.data
from chances import examples
from hypothesis import given, settings
from hypothesis.extra import numpy as arrays
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from loopwright.workflows.iqa.measuring.reference_planes import Pair
from loopwright.workflows.iqa.tools.full_reference import PSNR_CAP, gmsd, haarpsi, mdsi, ms_ssim, psnr, ssim, vif, vsi
from loopwright.workflows.iqa.tools.no_reference import niqe

TID = Path(__file__).resolve().parents[3].parent / "shared/data/iqa/tid_rebuilt"


def _noisy(image, seed, amplitude):
    offsets = np.random.RandomState(seed).randint(-amplitude, amplitude + 1, image.shape)
    return np.clip(image.astype(int) + offsets, 0, 255).astype(np.uint8)


def _quantised(image, step):
    return (image.astype(int) // step * step + step // 2).clip(0, 255).astype(np.uint8)


def _blurred(image):
    padded = np.pad(image.astype(int), ((1, 1), (1, 1), (0, 0)), mode="edge")
    height, width = image.shape[:2]
    total = sum(padded[i : i + height, j : j + width] for i in range(3) for j in range(3))
    return ((total + 4) // 9).astype(np.uint8)


def _pairs():
    """(image, reference), made with whole numbers only, so that the pixels are the same everywhere."""
    astronaut, cat, coffee = skimage.data.astronaut(), skimage.data.chelsea(), skimage.data.coffee()
    enlarged = np.kron(astronaut[:350, :239], np.ones((2, 3, 1), np.uint8))
    return {
        "noise": (_noisy(astronaut, 1, 30), astronaut),
        "blur": (_blurred(_blurred(cat)), cat),
        "quantised": (_quantised(coffee, 48), coffee),
        "odd size, colours swapped": (_noisy(cat[:, :283], 2, 40)[..., ::-1].copy(), cat[:, :283]),
        "717 x 700": (_noisy(_quantised(enlarged, 24), 3, 12), enlarged),
    }


PAIRS = _pairs()

# Recorded once, from piq 0.8.0 (PyTorch 2.13.0, float64; GMSD, MS-SSIM and VIFp on the rounded grey image); NIQE from
# basicsr-fixed 1.4.2 with convert_to="gray".
_NAMES = ("gmsd", "haarpsi", "mdsi", "ms_ssim", "niqe", "vif", "vsi")
_VALUES = {
    "noise": (0.07206169, 0.80799777, 0.31583047, 0.93746742, 8.847134, 0.41916672, 0.98054638),
    "blur": (0.03454869, 0.92931513, 0.36495242, 0.97706352, 6.354478, 0.5820048, 0.97741616),
    "quantised": (0.10836992, 0.71357026, 0.35261036, 0.93300797, 11.023173, 0.42607424, 0.96726468),
    "odd size, colours swapped": (0.09037094, 0.66528897, 0.49348294, 0.90173774, 10.135866, 0.26265264, 0.88366523),
    "717 x 700": (0.06930237, 0.81360137, 0.27271993, 0.94499092, 8.149543, 0.44744929, 0.99030735),
}  # fmt: skip
RECORDED = {name: dict(zip(_NAMES, values, strict=True)) for name, values in _VALUES.items()}

COMPARING = (psnr, ssim, ms_ssim, gmsd, mdsi, haarpsi, vsi, vif)
RISING = (psnr, ssim, ms_ssim, haarpsi, vsi, vif)


def compared(tool, image, reference):
    return tool(Pair(image, reference))


@pytest.mark.parametrize("name", PAIRS)
def test_psnr_is_that_of_scikit_image(name):
    image, reference = PAIRS[name]
    assert compared(psnr, image, reference) == pytest.approx(peak_signal_noise_ratio(reference, image), abs=1e-9)


def _grey(image):
    return np.rint(image @ np.array([0.299, 0.587, 0.114]))


def _averaged(plane, block):
    """Means over blocks around every `block`-th pixel, the border mirrored, as MATLAB's imfilter has them."""
    before = (block - 1) // 2
    plane = np.pad(plane, ((before, block), (before, block)), mode="symmetric")
    height, width = (-(-(side - before - block) // block) for side in plane.shape)
    return plane[: height * block, : width * block].reshape(height, block, width, block).mean((1, 3))


def _their_ssim(first, second):
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 255}
    return structural_similarity(first, second, **options)


@pytest.mark.parametrize(("name", "block"), [*zip(PAIRS, (2, 1, 2, 1, 3), strict=True)])
def test_ssim_is_that_of_scikit_image(name, block):
    theirs = _their_ssim(*(_averaged(_grey(image), block) for image in PAIRS[name]))
    assert compared(ssim, *PAIRS[name]) == pytest.approx(theirs, abs=2e-5)


# piq divides GMSD's variance by n where the paper's code divides by n - 1. It pads MS-SSIM's odd sides and VSI's maps on
# both sides, where the papers' code does not; and its saliency map is scaled after it was enlarged.
EXACT = {gmsd: 4e-6, mdsi: 1e-6, haarpsi: 1e-6, vif: 2e-5, ms_ssim: 5e-6, vsi: 5e-4}
OTHER_BORDERS = {(ms_ssim, "blur"): 1e-4, (ms_ssim, "quantised"): 4e-4, (ms_ssim, "odd size, colours swapped"): 2e-3,
                 (ms_ssim, "717 x 700"): 8e-3}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("tool", EXACT)
def test_the_comparing_tools_are_those_of_piq(name, tool):
    tolerance = OTHER_BORDERS.get((tool, name), EXACT[tool])
    assert compared(tool, *PAIRS[name]) == pytest.approx(RECORDED[name][tool.__name__], abs=tolerance)


def test_tools_that_share_planes_measure_what_they_measure_alone():
    image, reference = PAIRS["noise"]
    shared = Pair(image, reference)
    together = [tool(shared) for tool in COMPARING]
    assert together == [compared(tool, image, reference) for tool in COMPARING]
    assert [tool(shared) for tool in reversed(COMPARING)] == together[::-1]


@pytest.mark.parametrize("name", PAIRS)
def test_niqe_is_that_of_basicsr(name):
    # Grey levels that are rounded the other way move NIQE by 0.01; the quantised image has flat areas, where basicsr
    # fits rounding noise and we count zero.
    assert niqe(PAIRS[name][0]) == pytest.approx(RECORDED[name]["niqe"], abs=0.1 if name == "quantised" else 0.015)


@pytest.mark.skipif(not TID.exists(), reason="the TID2013 rebuild is not on this disk")
def test_gmsd_is_the_value_published_with_tid2013():
    """Its mean-shift images are rebuilt exactly: one whole number is added to every pixel."""
    from PIL import Image

    checked = 0
    for row in csv.DictReader((TID / "labels.csv").open()):
        if row["type_name"] != "mean_shift" or row["exact"] != "True":
            continue
        with Image.open(TID / "refs" / f"{row['ref']}.png") as file:
            reference = np.array(file.convert("RGB"))
        image = np.clip(reference.astype(int) + (-6, 10, -20, 30, -40)[int(row["level"]) - 1], 0, 255).astype(np.uint8)
        assert compared(gmsd, image, reference) == pytest.approx(float(row["gmsd_pub"]), abs=1e-5)
        checked += 1
    assert checked > 20


@pytest.mark.parametrize("tool", COMPARING)
@pytest.mark.parametrize("level", [0, 128, 255])
def test_flat_images_give_finite_numbers(tool, level):
    flat = np.full((168, 176, 3), level, np.uint8)
    assert math.isfinite(compared(tool, flat, 255 - flat))
    assert compared(tool, flat, flat) == pytest.approx({psnr: PSNR_CAP}.get(tool, float(tool in RISING)), abs=1e-6)


@settings(max_examples=examples(25))
@given(arrays.arrays(np.uint8, (44, 51, 3)), arrays.arrays(np.uint8, (44, 51, 3)))
def test_values_are_finite_and_in_range(image, reference):
    pair, turned = Pair(image, reference), Pair(reference, image)
    assert 0 <= psnr(pair) <= PSNR_CAP
    assert -1 <= ssim(pair) <= 1 + 1e-6
    assert 0 <= gmsd(pair) < 1
    assert 0 <= mdsi(pair) < 1.5
    assert 0 <= haarpsi(pair) <= 1
    assert 0 <= vif(pair)
    assert -0.1 <= vsi(pair) <= 1 + 1e-6
    assert psnr(pair) == psnr(turned)
    for tool in (ssim, haarpsi, vsi):
        assert tool(pair) == pytest.approx(tool(turned), abs=1e-5)

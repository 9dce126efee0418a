"""The formulas, held to independent implementations: scikit-image at test time, and recorded values of others."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
import skimage.data
from hypothesis import given, settings
from hypothesis.extra import numpy as arrays
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from loopwright.errors import ImageError
from loopwright.workflows.iqa.tools.full_reference import PSNR_CAP, gmsd, mdsi, psnr, ssim
from loopwright.workflows.iqa.tools.niqe import niqe

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

# Recorded once: GMSD and MDSI from piq 0.8.0 (PyTorch 2.13.0, float64; GMSD on the rounded grey image), NIQE from
# basicsr-fixed 1.4.2 with convert_to="gray".
RECORDED = {
    "noise": {"gmsd": 0.07206169, "mdsi": 0.31583047, "niqe": 8.847134},
    "blur": {"gmsd": 0.03454869, "mdsi": 0.36495242, "niqe": 6.354478},
    "quantised": {"gmsd": 0.10836992, "mdsi": 0.35261036, "niqe": 11.023173},
    "odd size, colours swapped": {"gmsd": 0.09037094, "mdsi": 0.49348294, "niqe": 10.135866},
    "717 x 700": {"gmsd": 0.06930237, "mdsi": 0.27271993, "niqe": 8.149543},
}


@pytest.mark.parametrize("name", PAIRS)
def test_psnr_is_that_of_scikit_image(name):
    image, reference = PAIRS[name]
    assert psnr(image, reference) == pytest.approx(peak_signal_noise_ratio(reference, image), abs=1e-9)


@pytest.mark.parametrize("name", PAIRS)
def test_ssim_is_that_of_scikit_image(name):
    image, reference = PAIRS[name]
    grey = [np.rint(a @ np.array([0.299, 0.587, 0.114])) for a in (image, reference)]
    theirs = structural_similarity(*grey, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255)
    assert ssim(image, reference) == pytest.approx(theirs, abs=2e-5)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("tool", [gmsd, mdsi])
def test_gmsd_and_mdsi_are_those_of_piq(name, tool):
    # piq divides by n where the paper's code divides by n - 1: 2e-6 at these sizes.
    assert tool(*PAIRS[name]) == pytest.approx(RECORDED[name][tool.__name__], abs=4e-6)


@pytest.mark.parametrize("name", PAIRS)
def test_niqe_is_that_of_basicsr(name):
    # Grey levels that are rounded the other way move NIQE by 0.01; the quantised image has flat areas, where basicsr
    # fits rounding noise and we count zero.
    tolerance = 0.1 if name == "quantised" else 0.015
    assert niqe(PAIRS[name][0]) == pytest.approx(RECORDED[name]["niqe"], abs=tolerance)


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
        shift = (-6, 10, -20, 30, -40)[int(row["level"]) - 1]
        image = np.clip(reference.astype(int) + shift, 0, 255).astype(np.uint8)
        assert gmsd(image, reference) == pytest.approx(float(row["gmsd_pub"]), abs=1e-5)
        checked += 1
    assert checked > 20


@pytest.mark.parametrize(("tool", "perfect"), [(psnr, PSNR_CAP), (ssim, 1.0), (gmsd, 0.0), (mdsi, 0.0)])
def test_identical_images_get_the_perfect_value(tool, perfect):
    image = PAIRS["noise"][0]
    assert tool(image, image.copy()) == pytest.approx(perfect, abs=1e-6)


@pytest.mark.parametrize("tool", [psnr, ssim, gmsd, mdsi])
@pytest.mark.parametrize("level", [0, 128, 255])
def test_flat_images_give_finite_numbers(tool, level):
    flat = np.full((64, 64, 3), level, np.uint8)
    assert math.isfinite(tool(flat, 255 - flat))
    assert math.isfinite(tool(flat, flat))


@settings(max_examples=25, deadline=None)
@given(
    arrays.arrays(np.uint8, (24, 31, 3)),
    arrays.arrays(np.uint8, (24, 31, 3)),
)
def test_values_are_finite_and_in_range(image, reference):
    assert 0 <= psnr(image, reference) <= PSNR_CAP
    assert -1 <= ssim(image, reference) <= 1 + 1e-6
    assert 0 <= gmsd(image, reference) < 1
    assert 0 <= mdsi(image, reference) < 1.5
    assert psnr(image, reference) == psnr(reference, image)
    assert ssim(image, reference) == pytest.approx(ssim(reference, image), abs=1e-5)


@pytest.mark.parametrize("tool", [psnr, ssim, gmsd, mdsi])
def test_full_reference_tools_refuse_what_they_cannot_compare(tool):
    image = np.zeros((32, 40, 3), np.uint8)
    with pytest.raises(ImageError, match=r"40 x 32 .* 40 x 30"):
        tool(image, image[:30])
    with pytest.raises(ImageError, match="uint8"):
        tool(image.astype(float), image)
    with pytest.raises(ImageError, match="uint8"):
        tool(image[..., 0], image[..., 0])


@pytest.mark.parametrize(("tool", "side"), [(ssim, 10), (gmsd, 3), (mdsi, 3)])
def test_full_reference_tools_name_their_smallest_size(tool, side):
    tiny = np.zeros((side, side, 3), np.uint8)
    with pytest.raises(ImageError, match=f"at least {side + 1} pixels"):
        tool(tiny, tiny)


@pytest.mark.parametrize("shape", [(95, 500), (100, 100), (119, 96)])
def test_niqe_names_its_smallest_size(shape):
    with pytest.raises(ImageError, match=r"at least 96 x 120 pixels, not \d+ x \d+"):
        niqe(np.zeros((*shape, 3), np.uint8))


def test_niqe_refuses_a_flat_image():
    with pytest.raises(ImageError, match="flat"):
        niqe(np.full((200, 300, 3), 77, np.uint8))


@pytest.mark.parametrize("shape", [(96, 120), (150, 150), (191, 191), (100, 400)])
def test_niqe_measures_small_regions(shape):
    cat = skimage.data.chelsea()
    region = cat[40 : 40 + shape[0], 20 : 20 + shape[1]]
    assert 0 < niqe(region) < niqe(_noisy(region, 5, 60)) < 200


def test_niqe_does_not_depend_on_memory_layout():
    cat = skimage.data.chelsea()
    view = np.asfortranarray(cat)[:288]
    assert niqe(view) == niqe(np.ascontiguousarray(view))


@pytest.mark.parametrize("tool", [psnr, ssim, gmsd, mdsi, niqe])
def test_more_noise_is_worse(tool):
    cat = skimage.data.chelsea()
    values = []
    for amplitude in (4, 12, 36, 90):
        noisy = _noisy(cat, 7, amplitude)
        values.append(tool(noisy) if tool is niqe else tool(noisy, cat))
    falling = tool in (psnr, ssim)
    assert values == sorted(values, reverse=falling)
    assert len(set(values)) == 4

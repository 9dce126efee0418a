"""Every row of docs/bad-input.md, on real files made on the spot."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from loopwright.errors import ImageError
from loopwright.workflows.iqa.sources.images import MIN_SIDE, check_pair, load_image


def _picture(height=40, width=60, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)


def _ramp16(height=32, width=64):
    """0..65535 from left to right."""
    return np.tile(np.linspace(0, 65535, width).astype(np.uint16), (height, 1))


def _refusal(path, **kwargs):
    """The message, which must be one line and name the file."""
    with pytest.raises(ImageError) as caught:
        load_image(path, **kwargs)
    message = str(caught.value)
    assert "\n" not in message
    assert Path(path).name in message
    return message


def test_an_ordinary_image(tmp_path):
    picture = _picture()
    Image.fromarray(picture).save(tmp_path / "a.png")
    image = load_image(tmp_path / "a.png")
    assert np.array_equal(image.rgb, picture)
    assert image.rgb.dtype == np.uint8
    assert (image.width, image.height, image.notes) == (60, 40, ())
    assert image.path == tmp_path / "a.png"
    with pytest.raises(ValueError, match="read-only"):
        image.rgb[0, 0, 0] = 1


def test_a_folder(tmp_path):
    assert "folder" in _refusal(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_not_permitted(tmp_path):
    Image.fromarray(_picture()).save(tmp_path / "a.png")
    (tmp_path / "a.png").chmod(0)
    assert "Permission" in _refusal(tmp_path / "a.png")


def test_the_pixel_limit_can_be_set(tmp_path):
    Image.fromarray(_picture(40, 60)).save(tmp_path / "a.png")
    assert load_image(tmp_path / "a.png", max_pixels=2400).width == 60
    assert "2,400 pixels" in _refusal(tmp_path / "a.png", max_pixels=2399)


def test_sixteen_bit_tiff_with_orientation(tmp_path):
    ramp = _ramp16(20, 40)
    Image.fromarray(ramp).save(tmp_path / "a.tif", tiffinfo={0x0112: 6})
    image = load_image(tmp_path / "a.tif")
    assert (image.height, image.width) == (40, 20)
    assert np.array_equal(image.rgb[..., 0], np.rot90(np.rint(ramp / 257), -1))


def test_smallest_allowed(tmp_path):
    Image.fromarray(_picture(MIN_SIDE, MIN_SIDE)).save(tmp_path / "a.png")
    assert load_image(tmp_path / "a.png").width == MIN_SIDE


@pytest.fixture
def loaded(tmp_path):
    Image.fromarray(_picture(40, 60)).save(tmp_path / "a.png")
    return load_image(tmp_path / "a.png")


def test_crop(loaded):
    part = loaded.crop((10, 5, 20, 30))
    assert np.array_equal(part.rgb, _picture(40, 60)[5:35, 10:30])
    assert part.path == loaded.path
    assert np.array_equal(loaded.crop((0, 0, 60, 40)).rgb, loaded.rgb)


@pytest.mark.parametrize(
    ("box", "word"),
    [
        ((50, 0, 20, 20), "leaves"),
        ((-1, 0, 20, 20), "leaves"),
        ((0, 25, 20, 20), "leaves"),
        ((0, 0, 0, 20), "empty"),
        ((0, 0, 20, -5), "empty"),
        ((0, 0, 15, 20), "too small"),
    ],
)
def test_a_bad_crop_names_the_images_size(loaded, box, word):
    with pytest.raises(ImageError, match=word) as caught:
        loaded.crop(box)
    assert "60 x 40" in str(caught.value)


def test_check_pair(tmp_path, loaded):
    Image.fromarray(_picture(40, 61)).save(tmp_path / "b.png")
    other = load_image(tmp_path / "b.png")
    check_pair(loaded, loaded)
    with pytest.raises(ImageError, match=r"60 x 40 .* 61 x 40"):
        check_pair(loaded, other)


def test_32_bit_integers_are_refused_even_where_they_would_fit_16(tmp_path):
    Image.fromarray(np.full((40, 40), 200, np.int32)).save(tmp_path / "counts.tiff")
    with pytest.raises(ImageError, match="32-bit integer"):
        load_image(tmp_path / "counts.tiff")

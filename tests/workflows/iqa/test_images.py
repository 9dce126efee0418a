"""Every row of docs/bad-input.md, on real files made on the spot."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from loopwright.errors import ImageError
from loopwright.workflows.iqa.sources.images import load_image


def _picture(height=40, width=60, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)


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


@pytest.fixture
def loaded(tmp_path):
    Image.fromarray(_picture(40, 60)).save(tmp_path / "a.png")
    return load_image(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("box", "word"),
    [
        ((50, 0, 20, 20), "leaves"),
        ((0, 25, 20, 20), "leaves"),
        ((0, 0, 0, 20), "empty"),
        ((0, 0, 15, 20), "too small"),
    ],
)
def test_a_bad_crop_names_the_images_size(loaded, box, word):
    with pytest.raises(ImageError, match=word) as caught:
        loaded.crop(box)
    assert "60 x 40" in str(caught.value)

"""The bytes of an image as a chat model is sent them."""

import io

import numpy as np
import pytest
from odd_images import ODD, Odd
from PIL import Image, PngImagePlugin

from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.vision import MAX_BYTES, encode
from loopwright.workflows.iqa.workflow import sample_path


def decoded(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))


@pytest.fixture
def noise(tmp_path):
    """A PNG of 1300 x 1000 pixels that no compression makes smaller."""
    rgb = np.random.default_rng(1).integers(0, 256, (1000, 1300, 3), np.uint8)
    Image.fromarray(rgb).save(tmp_path / "noise.png", compress_level=1)
    return load_image(tmp_path / "noise.png")


def test_a_file_that_is_too_large_is_made_smaller_from_the_full_image(noise):
    assert noise.path.stat().st_size > MAX_BYTES
    content, kind, (width, height) = encode(noise, 1568)
    assert len(content) <= MAX_BYTES
    assert (kind, width, height) == ("image/png", 1040, 800)
    # Nothing but averages: no pixel is brighter or darker than those that it stands for could make it.
    assert decoded(content).std() < noise.rgb.std()
    assert abs(decoded(content).mean() - noise.rgb.mean()) < 0.5


@pytest.mark.parametrize("where", ["text", "exif", "comment"])
def test_what_a_file_tells_beside_its_pixels_is_not_sent(tmp_path, where):
    photograph, path = Image.open(sample_path("harbour")).convert("RGB"), tmp_path / "a.png"
    if where == "text":
        told = PngImagePlugin.PngInfo()
        told.add_text("Author", "Anna Muster")
        photograph.save(path, pnginfo=told)
    elif where == "exif":
        exif = Image.Exif()
        exif[0x013B] = "Anna Muster"
        photograph.save(path, exif=exif)
    else:
        photograph.save(path := tmp_path / "a.jpg", comment="Anna Muster")
    assert b"Anna Muster" in path.read_bytes()
    image = load_image(path)
    content, kind, _ = encode(image, 1568)
    assert b"Anna" not in content and kind == "image/png"
    assert np.array_equal(decoded(content), image.rgb)


@pytest.mark.parametrize("odd", [odd for odd in ODD if odd.error is None], ids=lambda odd: ascii(odd.name[:40]))
def test_whatever_it_is_the_very_pixels_that_are_measured_are_sent(tmp_path, odd: Odd):
    path = tmp_path / odd.name
    odd.make(path)
    image = load_image(path)
    content, kind, _ = encode(image, 1568)
    assert np.array_equal(decoded(content), image.rgb)
    sent = Image.open(io.BytesIO(content))
    assert sent.get_format_mimetype() == kind
    plain = kind == "image/jpeg" and sent.mode in ("RGB", "L") and content == path.read_bytes()
    assert plain or kind == "image/png"

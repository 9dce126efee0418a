"""Every row of docs/bad-input.md, on real files made on the spot."""

import io
import os
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from loopwright.errors import ImageError
from loopwright.workflows.iqa.images import MIN_SIDE, check_pair, load_image


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


def _png_header(width, height, bits=8, colour=2):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 64)) + chunk(b"IEND", b"")
    )


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


def test_the_digest_follows_the_content(tmp_path):
    Image.fromarray(_picture()).save(tmp_path / "a.png")
    Image.fromarray(_picture()).save(tmp_path / "b.png")
    Image.fromarray(_picture(seed=1)).save(tmp_path / "c.png")
    a, b, c = (load_image(str(tmp_path / name)) for name in ("a.png", "b.png", "c.png"))
    assert a.digest == b.digest != c.digest
    assert len(a.digest) == 64


def test_missing(tmp_path):
    assert "there is no file" in _refusal(tmp_path / "nothing.png")


def test_a_folder(tmp_path):
    assert "folder" in _refusal(tmp_path)


def test_empty(tmp_path):
    (tmp_path / "a.png").write_bytes(b"")
    assert "empty" in _refusal(tmp_path / "a.png")


def test_not_an_image(tmp_path):
    (tmp_path / "a.png").write_text("hello, I am a text file\n" * 50)
    assert "not an image" in _refusal(tmp_path / "a.png")


def test_not_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    assert "not a regular file" in _refusal(tmp_path / "pipe.png")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_not_permitted(tmp_path):
    Image.fromarray(_picture()).save(tmp_path / "a.png")
    (tmp_path / "a.png").chmod(0)
    assert "Permission" in _refusal(tmp_path / "a.png")


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "webp", "gif", "bmp", "jp2"])
def test_truncated(tmp_path, suffix):
    whole = tmp_path / f"whole.{suffix}"
    Image.fromarray(_picture(80, 90)).save(whole)
    part = tmp_path / f"part.{suffix}"
    part.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    message = _refusal(part)
    assert "damaged or truncated" in message or "not an image" in message or "broken header" in message


def test_pixel_bomb_is_refused_by_its_header(tmp_path):
    (tmp_path / "bomb.png").write_bytes(_png_header(12_000, 10_000))
    message = _refusal(tmp_path / "bomb.png")
    assert "12000 x 10000 = 120,000,000 pixels" in message
    assert "100,000,000" in message


def test_pixel_bomb_beyond_pillows_own_limit(tmp_path):
    (tmp_path / "bomb.png").write_bytes(_png_header(60_000, 60_000))
    assert "too many pixels" in _refusal(tmp_path / "bomb.png")


def test_the_pixel_limit_can_be_set(tmp_path):
    Image.fromarray(_picture(40, 60)).save(tmp_path / "a.png")
    assert load_image(tmp_path / "a.png", max_pixels=2400).width == 60
    assert "2,400 pixels" in _refusal(tmp_path / "a.png", max_pixels=2399)


@pytest.mark.parametrize("suffix", ["gif", "png", "tif", "webp"])
def test_animated_or_many_pages(tmp_path, suffix):
    frames = [Image.new("RGB", (32, 24), colour) for colour in ((255, 0, 0), (0, 255, 0), (0, 0, 255))]
    options = {"lossless": True} if suffix == "webp" else {}
    frames[0].save(tmp_path / f"a.{suffix}", save_all=True, append_images=frames[1:], **options)
    image = load_image(tmp_path / f"a.{suffix}")
    assert any("3 frames" in note for note in image.notes)
    assert np.array_equal(image.rgb, np.array(frames[0]))


def test_sixteen_bit_grey_png(tmp_path):
    cv2.imwrite(str(tmp_path / "a.png"), _ramp16())
    image = load_image(tmp_path / "a.png")
    assert any("16 bits" in note for note in image.notes)
    assert np.array_equal(image.rgb[..., 0], np.rint(_ramp16() / 257))
    assert image.rgb[0, 0, 0] == 0
    assert image.rgb[0, -1, 0] == 255


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bit_colour(tmp_path, suffix):
    ramp = _ramp16()
    deep = np.stack([ramp, ramp[:, ::-1], np.full_like(ramp, 200)], axis=2)  # blue, green, red
    cv2.imwrite(str(tmp_path / f"a.{suffix}"), deep)
    image = load_image(tmp_path / f"a.{suffix}")
    assert any("16 bits" in note for note in image.notes)
    assert np.array_equal(image.rgb, np.rint(deep[..., ::-1] / 257))


def test_sixteen_bit_colour_with_alpha(tmp_path):
    deep = np.full((20, 20, 4), 40_000, np.uint16)
    deep[:10, :, 3] = 0
    deep[10:, :, 3] = 65535
    cv2.imwrite(str(tmp_path / "a.png"), deep)
    image = load_image(tmp_path / "a.png")
    assert (image.rgb[:10] == 255).all()
    assert (image.rgb[10:] == round(40_000 / 257)).all()
    assert len(image.notes) == 2


def test_sixteen_bit_tiff_with_orientation(tmp_path):
    ramp = _ramp16(20, 40)
    Image.fromarray(ramp).save(tmp_path / "a.tif", tiffinfo={0x0112: 6})
    image = load_image(tmp_path / "a.tif")
    assert (image.height, image.width) == (40, 20)
    assert np.array_equal(image.rgb[..., 0], np.rot90(np.rint(ramp / 257), -1))


@pytest.mark.parametrize("mode", ["I", "F"])
def test_pixels_of_unknown_range(tmp_path, mode):
    Image.new(mode, (32, 32), 1_000_000).save(tmp_path / "a.tif")
    assert "no known range" in _refusal(tmp_path / "a.tif")


@pytest.mark.parametrize("suffix", ["jpg", "tif"])
def test_cmyk(tmp_path, suffix):
    Image.new("CMYK", (32, 32), (0, 255, 255, 0)).save(tmp_path / f"a.{suffix}")
    image = load_image(tmp_path / f"a.{suffix}")
    assert any("CMYK" in note for note in image.notes)
    assert image.rgb[16, 16, 0] > 240
    assert image.rgb[16, 16, 1] < 15


def test_alpha_is_laid_on_white(tmp_path):
    rgba = np.zeros((30, 30, 4), np.uint8)
    rgba[:10, :, 3] = 255  # black
    rgba[10:20, :, 3] = 128  # half black
    Image.fromarray(rgba).save(tmp_path / "a.png")
    image = load_image(tmp_path / "a.png")
    assert any("white" in note for note in image.notes)
    assert [int(image.rgb[row, 0, 0]) for row in (0, 15, 25)] == [0, 127, 255]


def test_opaque_alpha_needs_no_note(tmp_path):
    Image.fromarray(_picture()).convert("RGBA").save(tmp_path / "a.png")
    image = load_image(tmp_path / "a.png")
    assert image.notes == ()
    assert np.array_equal(image.rgb, _picture())


def test_grey_with_alpha(tmp_path):
    Image.new("LA", (32, 32), (0, 0)).save(tmp_path / "a.png")
    image = load_image(tmp_path / "a.png")
    assert (image.rgb == 255).all()
    assert len(image.notes) == 2


def test_palette(tmp_path):
    picture = Image.fromarray(_picture()).quantize(16)
    picture.save(tmp_path / "a.png")
    image = load_image(tmp_path / "a.png")
    assert any("palette" in note for note in image.notes)
    assert np.array_equal(image.rgb, np.array(picture.convert("RGB")))


def test_palette_with_a_transparent_entry(tmp_path):
    picture = Image.new("P", (32, 32), 1)
    picture.putpalette([255, 0, 0, 0, 0, 255])
    picture.paste(0, (0, 0, 16, 32))
    picture.save(tmp_path / "a.png", transparency=0)
    image = load_image(tmp_path / "a.png")
    assert tuple(image.rgb[0, 0]) == (255, 255, 255)
    assert tuple(image.rgb[0, 31]) == (0, 0, 255)


@pytest.mark.parametrize(("mode", "word"), [("L", "grey"), ("1", "1 bit")])
def test_grey_and_one_bit(tmp_path, mode, word):
    picture = Image.fromarray(_picture()).convert(mode)
    picture.save(tmp_path / "a.png")
    image = load_image(tmp_path / "a.png")
    assert any(word in note for note in image.notes)
    assert np.array_equal(image.rgb, np.array(picture.convert("RGB")))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["png", "jpg"])
def test_exif_rotation(tmp_path, orientation, suffix):
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(_picture(32, 48)).save(path, exif=exif, quality=95)
    image = load_image(path)
    with Image.open(path) as file:
        assert np.array_equal(image.rgb, np.array(ImageOps.exif_transpose(file)))
    assert bool(image.notes) == (orientation > 1)


@pytest.mark.parametrize("shape", [(15, 40), (40, 15), (1, 1)])
def test_too_small(tmp_path, shape):
    Image.fromarray(_picture(*shape)).save(tmp_path / "a.png")
    assert f"{shape[1]} x {shape[0]} pixels, too small" in _refusal(tmp_path / "a.png")


def test_smallest_allowed(tmp_path):
    Image.fromarray(_picture(MIN_SIDE, MIN_SIDE)).save(tmp_path / "a.png")
    assert load_image(tmp_path / "a.png").width == MIN_SIDE


def test_a_name_with_a_line_break_stays_one_line(tmp_path):
    with pytest.raises(ImageError) as caught:
        load_image(tmp_path / "a\nb.png")
    assert "\n" not in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_files_never_raise_anything_else(tmp_path_factory, data):
    kind = data.draw(st.sampled_from(["PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP"]))
    buffer = io.BytesIO()
    Image.fromarray(_picture(24, 24)).save(buffer, kind)
    content = bytearray(buffer.getvalue())
    for _ in range(data.draw(st.integers(1, 12))):
        content[data.draw(st.integers(0, min(len(content) - 1, 400)))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "a.bin"
    path.write_bytes(bytes(content))
    try:
        image = load_image(path, max_pixels=1_000_000)
    except ImageError as error:
        assert "\n" not in str(error)
    else:
        assert image.rgb.ndim == 3


@pytest.fixture
def loaded(tmp_path):
    Image.fromarray(_picture(40, 60)).save(tmp_path / "a.png")
    return load_image(tmp_path / "a.png")


def test_crop(loaded):
    part = loaded.crop((10, 5, 20, 30))
    assert np.array_equal(part.rgb, _picture(40, 60)[5:35, 10:30])
    assert part.path == loaded.path
    assert len({loaded.digest, part.digest, loaded.crop((10, 5, 20, 31)).digest}) == 3
    assert part == loaded.crop((10, 5, 20, 30))
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


def test_a_name_that_no_file_can_have_is_an_error_of_the_image():
    with pytest.raises(ImageError, match="name too long"):
        load_image("x" * 5000)

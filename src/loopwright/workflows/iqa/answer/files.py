"""Answers from the file: size, format, depth, colour, and what the camera wrote into it."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from loopwright.workflows.iqa.question.asked import Question

_FORMAT = re.compile(r"\b(jpe?g|png|webp|gif|tiff?|bmp|avif|heic)\b")
_PAPER = {f"a{n}": (33.1 / 2 ** (n / 2), 46.8 / 2 ** (n / 2)) for n in range(7)} | {"poster": (16.5, 23.4)}
"""Paper -> shorter and longer side, inches."""
_UNITS = {"k": 1e3, "kb": 1e3, "kilobyte": 1e3, "mb": 1e6, "megabyte": 1e6, "mp": 1, "megapixel": 1}
_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?) ?(k|kb|mb|kilobyte|megabyte|mp|megapixel)?s?\b")
_LESS = re.compile(r"\b(?:under|below|less|smaller|fewer|lower|at most|weniger|kleiner|höchstens|moins|menos|meno)\b")
_MORE = re.compile(
    r"\b(?:over|above|beyond|exceeds?|more|larger|bigger|greater|wider|higher|taller|at least|minimum|enough|mehr"
    r"|größer|mindestens|plus|más|più)\b"
)
_BEYOND = re.compile(r"\b(?:than|over|above|beyond|exceeds?|under|below|als|que)\b")


def tell(question: Question, file: Mapping[str, Any]) -> str:
    """Answer a question about the file, which is as `file_facts` gives it, in one or more sentences."""
    if not file:
        return "Unable to determine: the file was not read."
    if question.yes_no and "colour" in question.attributes and "or" not in question.text.split():
        grey = bool(re.search(r"gr[ae]y|black|mono|schwarz|grau|noir|gris|negro", question.text))
        return f"{'Yes' if grey is bool(file['grey']) else 'No'}: {_colour(question, file)}"
    asked = {{"jpg": "JPEG", "tif": "TIFF"}.get(each, each.upper()) for each in _FORMAT.findall(question.text)}
    if question.yes_no and question.attributes == ("format",) and len(asked) == 1:
        return f"{'Yes' if file['format'] in asked else 'No'}: the file is a {file['format']}."
    if question.yes_no and (held := _held_against(question, file)):
        return held
    said = dict.fromkeys(_TOLD[name](question, file) for name in question.attributes if name in _TOLD)
    return " ".join(said)


def _held_against(question: Question, file: Mapping[str, Any]) -> str:
    """Whether a size is a number, or beyond it: "is it at least 1920 pixels wide?"; empty if no number is named."""
    number, text = _NUMBER.search(question.text), question.text
    sizes = {
        "width": file["width"], "height": file["height"], "megapixels": file["width"] * file["height"] / 1e6,
        "bytes": file["bytes"], "depth": file["bits"],
    }  # fmt: skip
    name = next((name for name in question.attributes if name in sizes), None)
    if number is None or name is None:
        return ""
    figure = re.sub(r",(?=\d{3}(?!\d))", "", number[1])  # "1,920", and "1,5" for 1.5
    figure = figure.replace(",", "." if re.fullmatch(r"\d+,\d+", figure) else "")
    have, wanted = sizes[name], float(figure) * _UNITS.get(number[2], 1)
    less = _LESS.search(text)
    compared = less or _MORE.search(text)
    if compared and (have != wanted or _BEYOND.search(text)):
        negated = re.search(r"\b(?:not?|nicht) $", text[: compared.start()])  # "no more than"
        holds = (have < wanted if less else have > wanted) is not bool(negated)
    else:
        # A number with such a unit is a rounded one: "is it 12 megapixels?", "is it 4k wide?".
        holds = math.isclose(have, wanted, rel_tol=0.05 if number[2] else 0)
    return f"{'Yes' if holds else 'No'}: {_TOLD[name](question, file)}"


def _size(_: Question, file: Mapping[str, Any]) -> str:
    return f"It is {file['width']} x {file['height']} pixels (width x height)."


def _shape(_: Question, file: Mapping[str, Any]) -> str:
    width, height = file["width"], file["height"]
    form = "square" if width == height else "landscape" if width > height else "portrait"
    common = math.gcd(width, height)
    exact = (width // common, height // common)
    near = min(
        ((w, h) for w, h in ((1, 1), (5, 4), (4, 3), (3, 2), (16, 10), (16, 9), (2, 1), (21, 9))),
        key=lambda pair: abs(math.log(max(width, height) / min(width, height)) - math.log(pair[0] / pair[1])),
    )
    near = near if width >= height else near[::-1]
    about = "" if max(exact) <= 25 else f", about {near[0]}:{near[1]}"
    ratio = f"{exact[0]}:{exact[1]}" if max(exact) <= 25 else f"{width / height:.2f}:1"
    return f"It is {form}: {width} x {height} pixels, {ratio}{about}."


def _colour(_: Question, file: Mapping[str, Any]) -> str:
    return "It is black and white: no pixel has a colour." if file["grey"] else "It is in colour."


def _coder_quality(_: Question, file: Mapping[str, Any]) -> str:
    if setting := file.get("coder_quality"):
        return f"It was saved with a JPEG quality of about {setting} of 100, by its quantisation table."
    return f"That cannot be told: a {file['format']} file does not say with which setting it was saved."


def _bytes(_: Question, file: Mapping[str, Any]) -> str:
    size = file["bytes"]
    shown = f"{size / 1e6:.2f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
    return f"The file has {size:,} bytes ({shown})."


def _print(question: Question, file: Mapping[str, Any]) -> str:
    """Whether the pixels suffice for a paper and a density; which size they suffice for where no paper is named."""
    density = re.search(r"(\d{2,4}) ?(?:dpi|ppi|ppp)", question.text)
    dpi = int(density[1]) if density else 300
    sides = sorted((file["width"], file["height"]))
    given = re.search(r"(\d+(?:\.\d+)?) ?(?:x|by|×) ?(\d+(?:\.\d+)?) ?(inch|in\b|\"|cm\b)", question.text)
    named = next((paper for paper in _PAPER if re.search(rf"\b{paper}\b", question.text)), None)
    at_most = f"at {dpi} dpi it prints {sides[1] / dpi * 2.54:.1f} x {sides[0] / dpi * 2.54:.1f} cm"
    if not given and not named:
        return f"It is {file['width']} x {file['height']} pixels; {at_most}."
    unit = 2.54 if given and given[3] == "cm" else 1
    paper = sorted(float(side) / unit for side in given.groups()[:2]) if given else list(_PAPER[named or "a4"])
    needed = [round(side * dpi) for side in paper]
    enough = all(have >= need for have, need in zip(sides, needed, strict=True))
    for_what = "a poster" if named == "poster" else (named or "").upper() or "that size"
    small = bool(re.search(r"\btoo (?:small|low|few|little)\b", question.text))
    return (
        f"{'Yes' if enough is not small else 'No'}: {for_what} at {dpi} dpi takes {needed[1]} x {needed[0]} pixels, "
        f"and it has {sides[1]} x {sides[0]}; {at_most}."
    )


def _exif(*names: str) -> Callable[[Question, Mapping[str, Any]], str]:
    def told(_: Question, file: Mapping[str, Any]) -> str:
        found = ", ".join(f"{name} {file[name]}" for name in names if name in file)
        return f"By its EXIF data: {found}." if found else f"That cannot be told: the file names no {names[0]}."

    return told


_TOLD: Mapping[str, Callable[[Question, Mapping[str, Any]], str]] = {
    "width": _size, "height": _size, "dimensions": _size, "aspect": _shape, "orientation": _shape, "colour": _colour,
    "megapixels": lambda _, file: (
        f"It has {(pixels := file['width'] * file['height']):,} pixels, {pixels / 1e6:.2f} megapixels "
        f"({file['width']} x {file['height']})."
    ),
    "format": lambda _, file: f"The file is a {file['format']}.",
    "depth": lambda _, file: f"It has {file['bits']} bits per channel.",
    "alpha": lambda _, file: f"It has {'' if file['alpha'] else 'no '}transparency.",
    "profile": lambda _, file: (
        f"It has {file['profile']}." if "profile" in file else "It names no colour profile, so it is taken for sRGB."
    ),
    "frames": lambda _, file: (
        f"It has {file['frames']} frames." if file["frames"] > 1 else "It is a still image: one frame."
    ),
    "bytes": _bytes, "coder_quality": _coder_quality, "print": _print, "date": _exif("date"), "author": _exif("author"),
    "gps": _exif("place"), "camera": _exif("camera", "maker", "lens", "iso", "aperture", "exposure", "focal"),
    "software": _exif("software"),
}  # fmt: skip
"""What is asked of the file -> its answer."""

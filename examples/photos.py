"""Make pictures to try ``loopwright iqa`` on: ``python examples/photos.py`` writes them into ``photos``.

Four drawn pictures, each as it is (``originals``), as small JPEG and WebP files (``jpeg``, ``webp``), and with a fault
that is known (``faulty``); ``questions.jsonl`` asks about the faults.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
from distort import distort
from PIL import Image, ImageOps

FAULTS = {"town": "gaussian noise", "evening": "gaussian blur", "quay": "jpeg", "boats": "impulse noise"}
"""Picture -> the fault that its faulty version has."""


def pictures() -> dict[str, Image.Image]:
    """The sample that ships in the package, and three more made of it."""
    sample = files("loopwright.workflows.iqa") / "data/sample/harbour.png"
    with sample.open("rb") as file:
        town = Image.open(file).convert("RGB").resize((640, 480), Image.Resampling.LANCZOS)
    evening = Image.blend(town, Image.new("RGB", town.size, (60, 20, 80)), 0.4)
    return {"town": town, "evening": evening, "quay": ImageOps.mirror(town), "boats": ImageOps.flip(evening)}


def main(folder: Path = Path("photos")) -> None:
    """Write the pictures and the questions about them."""
    for name in ("originals", "jpeg", "webp", "faulty"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    rows: list[str] = []
    for name, picture in pictures().items():
        picture.save(folder / f"originals/{name}.png")
        picture.save(folder / f"jpeg/{name}.jpg", quality=12)
        picture.save(folder / f"webp/{name}.webp", quality=40)
        Image.fromarray(distort(np.asarray(picture), FAULTS[name], 4)).save(folder / f"faulty/{name}.png")
        asked = {"query": "What is wrong with it?", "expected": {"distortion": FAULTS[name]}}
        files_ = {"image": f"faulty/{name}.png", "reference": f"originals/{name}.png"}
        rows.append(json.dumps({"id": name, **files_, **asked}))
    (folder / "questions.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(f"{folder}: {', '.join(FAULTS)}, each in originals, jpeg, webp and faulty; questions.jsonl")


if __name__ == "__main__":
    main()

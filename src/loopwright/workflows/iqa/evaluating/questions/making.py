"""Making questions with known answers from pristine images, as JSON Lines beside PNG files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from PIL import Image

from loopwright.errors import ImageError, InputError
from loopwright.workflows.iqa.batch.folders import read_folder
from loopwright.workflows.iqa.evaluating.questions.asking import DISTORTION, KINDS, PLANNER, SUMMARIZER
from loopwright.workflows.iqa.evaluating.questions.forms import Question
from loopwright.workflows.iqa.evaluating.questions.images import distortion_question, tool_question
from loopwright.workflows.iqa.evaluating.questions.stages import planner_question, summarizer_question
from loopwright.workflows.iqa.images import load_image
from loopwright.workflows.iqa.measuring.features import Rgb
from loopwright.workflows.pages import write_page

MANIFEST = "manifest.jsonl"
"""The name of the file of questions."""


def make_questions(folder: Path, out: Path, *, count: int = 80, seed: int = 0) -> Path:
    """Make questions about distorted copies of pristine images, as many of each kind.

    Args:
        folder: The pristine images; one that cannot be read is passed over.
        out: Where the manifest, ``images/`` and ``references/`` go; it must not hold a manifest yet. What is left of
            an earlier try is written over.
        count: How many questions, at least one of each kind.
        seed: The same seed makes the same questions.

    Returns:
        The manifest.

    Raises:
        InputError: If the folder has no image that can be read, `out` has a manifest or cannot be written into, or
            `count` is too small.
    """
    if count < len(KINDS):
        raise InputError(f"the count is {count}: give at least {len(KINDS)}, one question of each kind")
    manifest = out / MANIFEST
    if manifest.exists():
        raise InputError(f"{str(manifest)!r} is there already; give another folder")
    sources = _Sources(folder, out)
    try:
        rows = [_row(number, sources, random.Random(f"{seed} {number}")) for number in range(count)]
        return write_page(manifest, [json.dumps(row, ensure_ascii=False) + "\n" for row in rows])
    except OSError as error:
        raise InputError(f"cannot write into {str(out)!r}: {error.strerror}") from error


class _Sources:
    """The pristine images in turn, each written as PNG when it first serves."""

    def __init__(self, folder: Path, out: Path) -> None:
        self._folder, self._out = folder, out
        self._paths = [sample.path for sample in read_folder(folder, "?")]
        self._saved: set[str] = set()

    def take(self, number: int) -> tuple[Rgb, str]:
        """An image, and the path of its PNG."""
        while self._paths:
            path = self._paths[number % len(self._paths)]
            try:
                rgb = load_image(self._folder / path).rgb
            except ImageError:
                self._paths.remove(path)
                continue
            return rgb, self.save(rgb, f"references/{path}.png")
        raise InputError(f"no image in {str(self._folder)!r} can be read")

    def save(self, rgb: Rgb, name: str) -> str:
        """Write an image, unless this has been done; its path relative to the manifest."""
        if name not in self._saved:
            self._saved.add(name)
            target = self._out / name
            target.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rgb).save(target)
        return name


def _row(number: int, sources: _Sources, chance: random.Random) -> dict[str, Any]:
    kind, turn = KINDS[number % len(KINDS)], number // len(KINDS)
    # Every image serves for every kind: the kinds change from row to row, the images from turn to turn.
    rgb, pristine = sources.take(turn)
    if kind in (PLANNER, SUMMARIZER):
        referenced = kind == SUMMARIZER or chance.random() < 0.5
        made = (
            summarizer_question(turn, chance)
            if kind == SUMMARIZER
            else planner_question(turn, chance, referenced=referenced)
        )
        return _written(number, made, pristine, pristine if referenced else None)
    make = distortion_question if kind == DISTORTION else tool_question
    illustrated = make(turn, rgb, chance)
    image = sources.save(illustrated.image, f"images/{number:05d}.png")
    return _written(number, illustrated.question, image, pristine if illustrated.referenced else None)


def _written(number: int, made: Question, image: str, reference: str | None) -> dict[str, Any]:
    row = {
        "sample_id": f"{made.kind}-{number:05d}",
        "kind": made.kind,
        "image_path": image,
        "reference_path": reference,
        "query": made.stem,
        "options": list(made.options),
        "answer": made.answer,
        "given": made.given,
        **made.notes,
    }
    return {key: value for key, value in row.items() if value is not None}

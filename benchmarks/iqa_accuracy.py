"""How far the quality tools agree with people on the data that is here, beside figures that others measured."""

from __future__ import annotations

import csv
import json
import multiprocessing
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import resources
from pathlib import Path

import cv2
import numpy as np
from scipy.stats import spearmanr

from loopwright.workflows.iqa.measuring.reference_planes import Pair
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.tools.registry import Tool, all_tools

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "iqa"
RESAMPLES = 1000
EXACT = 2e-5
"""Rows that are called exact have the published error to this share."""

ON_TID = {
    "MDSI": 0.874, "HaarPSI": 0.840, "GMSD": 0.739, "MS-SSIM": 0.689, "SSIM": 0.668, "VIFp": 0.657, "PSNR": 0.626,
    "NIQE": 0.432, "BRISQUE": 0.444,
}  # fmt: skip
"""SRCC on the rebuilt rows of all 24 references, as the data's README has it (BRISQUE on a part)."""
PUBLISHED = {
    "VSI": 0.895,
    "MDSI": 0.890,
    "HaarPSI": 0.873,
    "GMSD": 0.804,
    "MS-SSIM": 0.798,
    "PSNR": 0.687,
}
"""SRCC on the whole TID2013, with all of its 24 types of distortion and 25 references."""
ON_BIQ = {"NIQE": 0.377, "BRISQUE": 0.291}
"""SRCC on BIQ2021, as the data's README has it."""


def accuracy(tid: Path | None, every: int = 1) -> str:
    """Agreement with people's scores, as Markdown.

    Args:
        tid: A folder in which make_distorted.py has rebuilt TID2013's rows; None rebuilds them for a while.
        every: Only every row of such a number is measured.
    """
    if not DATA.is_dir():
        return f"Agreement with people was not measured: {DATA.name}'s data sets are not here."
    if tid is not None:
        return "\n\n".join((_on_tid(tid, every), _on_biq(every)))
    with tempfile.TemporaryDirectory() as folder:
        script = [sys.executable, str(DATA / "tid_rebuilt" / "make_distorted.py"), folder, "--usable", "--workers", "2"]
        subprocess.run(script, check=True, stdout=subprocess.DEVNULL)
        return "\n\n".join((_on_tid(Path(folder), every), _on_biq(every)))


def _rows(manifest: Path) -> list[dict]:
    return [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]


def _measure(image: Path, reference: Path | None) -> tuple[dict[str, float], float]:
    """The value of each tool, positive where higher is better; and the mean squared error."""
    cv2.setNumThreads(1)
    rgb = load_image(image).rgb
    pair = Pair(rgb, load_image(reference).rgb) if reference else None
    values = {tool.name: tool.compute(pair if tool.reference is ReferenceMode.FULL else rgb) for tool in _tools(pair)}
    error = float(((pair.image.astype(np.float64) - pair.reference) ** 2).mean()) if pair else 0.0
    return {tool.name: values[tool.name] * (1 if tool.higher_is_better else -1) for tool in _tools(pair)}, error


def _tools(pair: Pair | None) -> list[Tool]:
    """Those that can measure; BlindScore was trained on the rows that have a reference, so there it says nothing."""
    if pair:
        return [tool for tool in all_tools() if tool.name != "BlindScore"]
    return [tool for tool in all_tools() if tool.reference is ReferenceMode.NONE]


def _measured(images: Sequence[Path], references: Sequence[Path | None]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    # Not forked: OpenCV's threads of this process would be missing in the others, which then wait for them.
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(_measure, images, references, chunksize=8))
    return {name: np.array([values[name] for values, _ in found]) for name in found[0][0]}, np.array(
        [e for _, e in found]
    )


def _whole(values: np.ndarray, people: np.ndarray) -> float:
    return float(spearmanr(values, people).statistic)


def _figure(values: np.ndarray, people: np.ndarray, units: Sequence[str]) -> tuple[float, float, float]:
    """SRCC, and the ends of its interval; rows of one unit are drawn together."""
    rows = [np.flatnonzero(np.array(units) == unit) for unit in dict.fromkeys(units)]
    draws = np.random.default_rng(0).integers(0, len(rows), (RESAMPLES, len(rows)))
    places = (np.concatenate([rows[unit] for unit in draw]) for draw in draws)
    low, high = np.quantile([_whole(values[place], people[place]) for place in places], (0.025, 0.975))
    return _whole(values, people), float(low), float(high)


def _lines(
    values: dict[str, np.ndarray], people: np.ndarray, units: Sequence[str], *beside: dict[str, float]
) -> list[str]:
    lines: list[str] = []
    for name, own in values.items():
        found, low, high = _figure(own, people, units)
        others = " | ".join(f"{figures[name]:.3f}" if name in figures else "-" for figures in beside)
        lines.append(f"| {name} | {found:.3f} | {low:.3f} to {high:.3f} | {others} |")
    return lines


def _on_tid(folder: Path, every: int) -> str:
    labels = {row["name"]: row for row in csv.DictReader((DATA / "tid_rebuilt" / "labels.csv").open(encoding="utf-8"))}
    rows = [row for row in _rows(folder / "manifest.jsonl") if labels[row["sample_id"]]["usable"] == "True"][::every]
    images = [folder / row["image_path"] for row in rows]
    values, errors = _measured(images, [Path(row["reference_path"]) for row in rows])
    people = np.array([row["mos"] for row in rows])
    references = [Path(row["reference_path"]).stem for row in rows]
    exact = np.array([row["exact"] for row in rows])
    published = np.array([float(labels[row["sample_id"]]["mse_pub"]) for row in rows])
    apart = np.abs(errors / published - 1)[exact]
    table = [
        "| TID2013 (rebuilt) | SRCC | 95 % interval | on 24 references | published, all types |",
        "|---|--:|--:|--:|--:|",
        *_lines(values, people, references, ON_TID, PUBLISHED),
        "",
        f"{len(rows)} rows of {len(set(references))} references; references are drawn whole. The figures beside are of "
        "other rows: the same recipe on 24 references, and the original images of all types.",
        f"- MDSI at least .87: {'met' if _whole(values['MDSI'], people) >= 0.87 else 'missed'}",
        f"- exact rows: {int((apart <= EXACT).sum())} of {len(apart)} have the published pixel error to {EXACT:.0e}; "
        f"the largest difference is {apart.max():.1e}",
    ]
    trained = json.loads(
        (resources.files("loopwright.workflows.iqa") / "data" / "blind_score.json").read_text(encoding="utf-8")
    )
    left_out = [
        f"{part} {figure['srcc']:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"
        for part, figure in trained["agreement"].items()
    ]
    table.append(
        f"- BlindScore was trained on these rows and is left out; its record, by scripts/train_blind.py: "
        f"{'; '.join(left_out)}"
    )
    return "\n".join(table)


def _on_biq(every: int) -> str:
    folder = DATA / "biq2021"
    rows = [row for row in _rows(folder / "manifest.jsonl") if row["group"] == "test"][::every]
    values, _ = _measured([folder / row["image_path"] for row in rows], [None] * len(rows))
    people = np.array([row["mos"] for row in rows])
    names = [row["sample_id"] for row in rows]
    return "\n".join(
        [
            "| BIQ2021, test rows | SRCC | 95 % interval | the data's README |",
            "|---|--:|--:|--:|",
            *_lines(values, people, names, ON_BIQ),
            "",
            f"{len(rows)} photographs, which took no part in any training.",
        ]
    )

"""The image-quality tools beside pyiqa, piq, scikit-image and fast-ssim: time, value, and agreement with people.

    python benchmarks/iqa.py [--quick] [--write] [--tid FOLDER]

Speed and values: photographs of 512 x 384 pixels with four distortions. Each side has a process of its own, held to one
processor and one thread; all variants are measured in turn, again and again, so that a slow moment of the machine hits
them all alike. Ours, scikit-image and fast-ssim start from the pixels of both images; piq and pyiqa are given tensors,
and piq grey planes where it would not make them, all made beforehand. The others live in an environment of their own
(made once, in the user's cache folder, by pip as it is set up: without a CPU build of PyTorch, pip takes a large one).

Accuracy: all tools on the rebuilt TID2013 rows (made anew unless --tid names a folder in which make_distorted.py has
made them), those that need no reference on the test rows of BIQ2021.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from common import arguments, finish, machine
from iqa_accuracy import accuracy
from peers import CACHE, WORKERS, Unmeasured, Worker, last_line

TITLE = "Image-quality tools"
TORCH = "torch==2.13.0"
NEEDED = ("numpy", "opencv-python-headless", "pillow", "requests", "scipy", "scikit-image==0.26.0", "tqdm")
ALONE = ("fast-ssim==1.4.0", "piq==0.8.0", "pyiqa==0.1.16")
"""Installed without what they ask for, which includes a second build of PyTorch and a hundred other packages."""
LICENCES = {
    "pyiqa": "PolyForm-Noncommercial-1.0.0",
    "piq": "Apache-2.0",
    "scikit-image": "BSD-3-Clause",
    "fast-ssim": "MIT",
}
SAME = 1e-3
"""Values that differ by less than this share of the range are those of one measure; only such are compared in time.

fast-ssim's SSIM has another window than the paper's; BRISQUE and NIQE differ in what flat areas count for."""
RANGES = {"PSNR": 100.0, "GMSD": 0.35, "MDSI": 0.7, "NIQE": 20.0, "BRISQUE": 100.0}
"""Tool -> the range of its values, where that is not 1."""
TOGETHER = "all comparing tools together"
BLIND = "BlindScore"
SAMPLE_S = 0.002
"""Seconds of processor time that a sample takes at least; shorter calls are repeated."""


def peers_environment() -> Path:
    """The Python of an environment that holds the other packages, made once.

    Raises:
        Unmeasured: If it cannot be made.
    """
    place = CACHE / f"image-quality-py{sys.version_info.major}.{sys.version_info.minor}"
    python, whole = place / "bin" / "python", place / "installed"
    if whole.is_file() and whole.read_text(encoding="utf-8") == " ".join((TORCH, *NEEDED, *ALONE)):
        return python
    print("installing PyTorch, piq, pyiqa, scikit-image and fast-ssim (once) ...", file=sys.stderr)
    install = [str(python), "-m", "pip", "install", "--quiet"]
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(place)],
        [*install, TORCH, *NEEDED],
        [*install, "--no-deps", *ALONE],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unmeasured(f"could not be installed: {last_line(done.stderr)}")
    whole.write_text(" ".join((TORCH, *NEEDED, *ALONE)), encoding="utf-8")
    return python


def make_pairs(target: Path) -> None:
    """Write four pairs, and the figures of NIQE's and BRISQUE's models."""
    from skimage import data

    cup, cat, rocket, woman = (
        np.ascontiguousarray(cv2.resize(photograph()[..., :3], (512, 384), interpolation=cv2.INTER_AREA))
        for photograph in (data.coffee, data.chelsea, data.rocket, data.astronaut)
    )
    noise = np.random.default_rng(1).normal(0, 12, cat.shape)
    coded = cv2.imencode(".jpg", rocket[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 15])[1]
    images = (
        cv2.GaussianBlur(cup, (0, 0), 2),
        np.clip(cat + noise, 0, 255).astype(np.uint8),
        np.ascontiguousarray(cv2.imdecode(coded, cv2.IMREAD_COLOR)[..., ::-1]),
        np.clip(128 + 0.6 * (woman - 128.0), 0, 255).astype(np.uint8),
    )
    held = {f"image_{n}": image for n, image in enumerate(images)}
    held |= {f"reference_{n}": reference for n, reference in enumerate((cup, cat, rocket, woman))}
    models = resources.files("loopwright.workflows.iqa") / "data"
    with (models / "niqe_pris_params.npz").open("rb") as file, np.load(file) as niqe:
        held |= {"niqe_mean": niqe["mu_pris_param"], "niqe_covariance": niqe["cov_pris_param"]}
    with (models / "blind_brisque.npz").open("rb") as file, np.load(file) as brisque:
        held["brisque_weights"] = brisque["weights"].astype(np.float64)
        held["brisque_vectors"] = brisque["vectors"].astype(np.float64)
    np.savez(target, **held)


class Timed:
    """One variant of one worker, and its samples."""

    def __init__(self, worker: Worker, variant: str) -> None:
        """Warm up, and find out how many calls make a sample."""
        self.worker, self.variant = worker, variant
        self.seconds: list[float] = []
        self._calls = 1
        self.sample()
        self._calls = max(1, math.ceil(SAMPLE_S / max(self.seconds.pop(), 1e-6)))

    def sample(self) -> None:
        """One sample more."""
        self.seconds.append(float(self.worker.ask(f"run {self._calls} {self.variant}")))

    @property
    def values(self) -> list[float]:
        """The variant's value of each pair."""
        return self.worker.about["values"][self.variant]

    @property
    def least(self) -> float:
        """Milliseconds."""
        return min(self.seconds) * 1000

    @property
    def median(self) -> float:
        """Milliseconds."""
        return statistics.median(self.seconds) * 1000


def speed(repetitions: int) -> str:
    """Time and value of every tool, as Markdown.

    Raises:
        Unmeasured: If ours cannot be measured.
    """
    # Before any worker loads the libraries that look at it.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    missing: dict[str, str] = {}
    workers: list[Worker] = []
    with tempfile.TemporaryDirectory() as folder:
        pairs = Path(folder) / "pairs.npz"
        make_pairs(pairs)
        try:
            script = str(WORKERS / "image_quality_ours.py")
            workers.append(Worker.started("ours", [sys.executable, script, str(pairs)]))
            if workers[0].about["missing"]:
                raise Unmeasured(f"ours: {workers[0].about['missing']}")
            try:
                script = str(WORKERS / "image_quality.py")
                workers.append(Worker.started("others", [str(peers_environment()), script, str(pairs)]))
                missing |= workers[1].about["missing"]
            except Unmeasured as reason:
                missing["pyiqa, piq, scikit-image and fast-ssim"] = str(reason)
            timed = {name: Timed(worker, name) for worker in workers for name in worker.about["values"]}
            for _ in range(repetitions):
                for each in timed.values():
                    each.sample()
        finally:
            for worker in workers:
                worker.stop()
    ours = {name: timed[name] for name in workers[0].about["values"]}
    versions: dict[str, Any] = {name: v for worker in workers for name, v in worker.about["versions"].items()}
    sections = [_table(ours, timed), _verdicts(ours, timed)]
    if missing:
        sections.append("\n".join(f"- not measured: {name}: {why}" for name, why in missing.items()))
    named = ", ".join(f"{name} {v}{f' ({LICENCES[name]})' if name in LICENCES else ''}" for name, v in versions.items())
    sections.append(
        f"{machine()}; 512 x 384 pixels, one thread, milliseconds of processor time, least and median of {repetitions} "
        "samples in turn. Ratio and verdicts go by the median; a ratio is ours to the fastest other whose values "
        f"differ by less than {SAME:g}. Difference: the largest over four distorted photographs, as a share of the "
        f"range. Versions: {named}."
    )
    return "\n\n".join(sections)


def _others(tool: str, timed: dict[str, Timed]) -> dict[str, Timed]:
    return {package: timed[f"{package} {tool}"] for package in LICENCES if f"{package} {tool}" in timed}


def _difference(tool: str, ours: Timed, other: Timed) -> float:
    """The largest difference over the pairs, as a share of the range."""
    apart = max(abs(a - b) for a, b in zip(ours.values, other.values, strict=True))
    return apart / RANGES.get(tool.partition(",")[0], 1.0)


def _equal(tool: str, ours: Timed, others: dict[str, Timed]) -> dict[str, Timed]:
    return {name: other for name, other in others.items() if _difference(tool, ours, other) < SAME}


def _table(ours: dict[str, Timed], timed: dict[str, Timed]) -> str:
    rows = [
        "| tool | ours, least | median | value | others: least / median ms, value, difference | ratio |",
        "|---|--:|--:|--:|---|--:|",
    ]
    for tool, own in ours.items():
        others = _others(tool, timed)
        told = [
            f"{name} {other.least:.2f} / {other.median:.2f}, {other.values[0]:.5f}, {_difference(tool, own, other):.0e}"
            for name, other in others.items()
        ]
        fastest = min((other.median for other in _equal(tool, own, others).values()), default=None)
        ratio = f"{own.median / fastest:.3f}" if fastest else "-"
        mine = f"{own.least:.3f} | {own.median:.3f} | {own.values[0]:.5f}"
        rows.append(f"| {tool} | {mine} | {'; '.join(told) or '-'} | {ratio} |")
    return "\n".join(rows)


def _verdicts(ours: dict[str, Timed], timed: dict[str, Timed]) -> str:
    def verdict(what: str, met: bool) -> str:
        return f"- {what}: {'met' if met else 'missed'}"

    no_pair = (TOGETHER, BLIND, "NIQE", "BRISQUE")
    comparing = [tool for tool in ours if tool not in no_pair and _others(tool, timed)]
    slower: list[str] = []
    alone = [tool for tool in comparing if not _equal(tool, ours[tool], _others(tool, timed))]
    for tool in comparing:
        others = _others(tool, timed)
        slower += [f"{tool} than {name}'s" for name, other in others.items() if other.median <= ours[tool].median]
    lines = [
        verdict(f"every comparing tool faster than the fastest other{_but(slower)}", not slower),
        verdict(f"for each of them another's values differ by less than {SAME:g} of the range{_but(alone)}", not alone),
    ]
    return "\n".join(
        [
            *(lines if comparing else ()),
            verdict(f"{TOGETHER}: {ours[TOGETHER].median:.1f} ms against at most 40", ours[TOGETHER].median < 40),
            verdict(f"{BLIND}: {ours[BLIND].median:.1f} ms against at most 50", ours[BLIND].median < 50),
        ]
    )


def _but(exceptions: list[str]) -> str:
    return f" (not: {', '.join(exceptions)})" if exceptions else ""


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="few repetitions, and every tenth image of the data sets")
    parser.add_argument("--tid", type=Path, metavar="FOLDER", help="where make_distorted.py has rebuilt TID2013's rows")
    given = parser.parse_args()
    tables = f"{speed(3 if given.quick else 25)}\n\n{accuracy(given.tid, every=10 if given.quick else 1)}"
    finish(TITLE, tables, given.write)

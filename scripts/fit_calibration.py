"""Fit the curves from tool values to scores of 1 to 5, and measure how well each tool agrees with people.

    python scripts/fit_calibration.py --data ../shared/data/iqa

Writes src/loopwright/workflows/iqa/data/calibration.json and prints the agreement as a Markdown table.

Data: TID2013 (rebuilt) for every tool; the train split of BIQ2021 as well for the tools without a reference. People's
scores are mapped linearly to 1..5. TID2013's 0..9 counts the comparisons won out of nine, so a perfect image has 9.
Each curve is the least-squares piecewise-linear one that is strictly monotone, with knots at quantiles, 5 for a perfect
value and 1 for a hopeless one; data sets count equally. The error is cross-validated: twelve folds, each leaving one
reference of TID2013 and one twelfth of BIQ2021 out. Needs scipy, which comes with the development dependencies. Takes
about three minutes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from scipy.optimize import lsq_linear
from scipy.stats import spearmanr

from loopwright.errors import ImageError
from loopwright.workflows.iqa.images import load_image
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.tools.registry import all_tools

OUT = Path(__file__).resolve().parent.parent / "src/loopwright/workflows/iqa/data/calibration.json"
FOLDS = 12
INNER_KNOTS = 9
SMALLEST_STEP = 0.03
"""Least rise of the score from knot to knot, so that no stretch of a curve is flat."""
PERFECT = {
    "PSNR": 60.0, "SSIM": 1.0, "MS-SSIM": 1.0, "GMSD": 0.0, "MDSI": 0.0, "HaarPSI": 1.0, "VSI": 1.0, "FSIMc": 1.0,
    "VIFp": 1.0, "NIQE": 0.0,
}  # fmt: skip
"""The raw value that gets 5. Above 60 dB fewer than one sample in fifteen is off by one level: nobody sees that.
NIQE's 0 is no distance at all from pristine photographs."""


@dataclass
class Samples:
    """One tool's values on one data set."""

    dataset: str
    raw: np.ndarray
    score: np.ndarray
    fold: np.ndarray
    group: np.ndarray


def fit(tool, raw, score, weight, hopeless):
    """Knots [(raw, score), ...] of the weighted least-squares strictly monotone piecewise-linear curve.

    It ends at 5 for a perfect value and at 1 for a hopeless one (see `hopeless_value`).
    """
    sign = 1.0 if tool.higher_is_better else -1.0
    x, best, worst = sign * raw, sign * PERFECT[tool.name], sign * hopeless
    inner = np.unique(np.quantile(x, np.linspace(0.01, 0.99, INNER_KNOTS)))
    knots = np.r_[inner[(inner > worst) & (inner < best)], best]
    # Column k falls from 1 to 0 between knots k and k + 1; the curve is 5 less what is still to rise.
    design = 1 - np.clip((x[:, None] - knots[:-1]) / np.diff(knots), 0, 1)
    lower = np.full(design.shape[1], SMALLEST_STEP)
    root = np.sqrt(weight / weight.mean())
    steps = lsq_linear(design * root[:, None], (5 - score) * root, bounds=(lower, np.inf)).x
    levels = 5 - np.append(np.cumsum(steps[::-1])[::-1], 0)
    pairs = zip(np.r_[worst, knots], np.r_[1, levels], strict=True)
    return sorted((round(float(sign * k), 6), round(float(level), 4)) for k, level in pairs)


def hopeless_value(tool, references):
    """The raw value that gets 1: the median over pairs of unrelated photographs, or white noise without a reference."""
    if tool.reference is ReferenceMode.FULL:
        pairs = zip(references, references[1:] + references[:1], strict=True)
        return float(np.median([tool.measure(a, b) for a, b in pairs if a.rgb.shape == b.rgb.shape]))
    noise = np.random.default_rng(0).integers(0, 256, (384, 512, 3)).astype(np.uint8)
    return float(tool.compute(noise))


def predict(pairs, raw):
    """Scores by the curve."""
    return np.interp(raw, *zip(*pairs, strict=True))


def calibrate(tool, sets, hopeless, today):
    """The tool's entry of calibration.json."""
    raw, score, fold = (np.concatenate([getattr(s, name) for s in sets]) for name in ("raw", "score", "fold"))
    weight = np.concatenate([np.full(len(s.raw), 1 / len(s.raw)) for s in sets])
    predicted = np.empty_like(score)
    for left_out in range(FOLDS):
        inside = fold != left_out
        predicted[~inside] = predict(fit(tool, raw[inside], score[inside], weight[inside], hopeless), raw[~inside])
    square = (predicted - score) ** 2
    parts = np.split(square, np.cumsum([len(s.raw) for s in sets])[:-1])
    return {
        "tool": tool.name,
        "knots": fit(tool, raw, score, weight, hopeless),
        "error": round(float(np.sqrt(np.average(square, weights=weight))), 4),
        "errors": {s.dataset: round(float(np.sqrt(part.mean())), 4) for s, part in zip(sets, parts, strict=True)},
        "dataset": " + ".join(s.dataset for s in sets),
        "rows": len(raw),
        "fitted_on": today,
    }


def measure(rows, folder, tools, dataset, highest, fold_of):
    """Every tool's values on a manifest's rows; a row that a tool cannot measure is left out for that tool."""
    values = defaultdict(list)
    references = {}
    for index, row in enumerate(rows):
        image = load_image(folder / row["image_path"])
        path = row["reference_path"]
        if path and path not in references:
            references[path] = load_image(path)
        for tool in tools:
            try:
                raw = tool.measure(image, references.get(path))
            except ImageError as error:
                print(f"{row['sample_id']}: {error}", file=sys.stderr)
                continue
            values[tool.name].append((raw, 1 + 4 * row["mos"] / highest, fold_of(index, row), row["group"]))
    return {name: Samples(dataset, *map(np.array, zip(*v, strict=True))) for name, v in values.items()}


def agreement(tool, samples):
    """Rank correlation with people's scores, positive when the tool agrees."""
    sign = 1 if tool.higher_is_better else -1
    return sign * spearmanr(samples.raw, samples.score)[0]


def report(tools, tid, biq_test):
    """Print the agreement with people's scores: over all types, on BIQ2021's test split, and within each type."""
    groups = sorted(set(next(iter(tid.values())).group))
    print("| | " + " | ".join(tool.name for tool in tools) + " |\n|---|" + "--:|" * len(tools))
    print("| TID2013, all types | " + " | ".join(f"{agreement(t, tid[t.name]):.3f}" for t in tools) + " |")
    cells = (f"{agreement(t, biq_test[t.name]):.3f}" if t.name in biq_test else "" for t in tools)
    print("| BIQ2021, test split | " + " | ".join(cells) + " |")
    for group in groups:
        cells = []
        for tool in tools:
            s = tid[tool.name]
            inside = s.group == group
            part = Samples(group, s.raw[inside], s.score[inside], s.fold[inside], s.group[inside])
            cells.append(f"{agreement(tool, part):.2f}")
        print(f"| {group.replace('_', ' ')} | " + " | ".join(cells) + " |")


def main():
    """Rebuild, measure, fit, write, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder with tid_rebuilt and biq2021")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--rebuilt", type=Path, help="what make_distorted.py --usable wrote, to save the minute")
    args = parser.parse_args()
    cv2.setNumThreads(1)
    tools = all_tools()
    alone = [tool for tool in tools if tool.reference is ReferenceMode.NONE]
    with tempfile.TemporaryDirectory() as folder:
        rebuilt = args.rebuilt or Path(folder)
        maker = args.data / "tid_rebuilt" / "make_distorted.py"
        if not args.rebuilt:
            subprocess.run([sys.executable, str(maker), folder, "--usable"], check=True)
        rows = [json.loads(line) for line in (rebuilt / "manifest.jsonl").read_text().splitlines()]
        references = sorted({row["reference_path"] for row in rows})
        tid = measure(rows, rebuilt, tools, "TID2013 (rebuilt)", 9, lambda _, r: references.index(r["reference_path"]))
    pristine = [load_image(path) for path in references]
    biq_rows = [json.loads(line) for line in (args.data / "biq2021" / "manifest.jsonl").read_text().splitlines()]
    biq = {
        split: measure(
            [row for row in biq_rows if row["group"] == split],
            args.data / "biq2021",
            alone,
            f"BIQ2021 ({split})",
            1,
            lambda index, _: index % FOLDS,
        )
        for split in ("train", "test")
    }
    today = datetime.date.today().isoformat()
    entries = []
    for tool in tools:
        sets = [tid[tool.name]] + ([biq["train"][tool.name]] if tool.name in biq["train"] else [])
        entries.append(calibrate(tool, sets, hopeless_value(tool, pristine), today))
    note = "Fitted by scripts/fit_calibration.py; do not edit. The meaning of each key: class Calibration."
    args.out.write_text(json.dumps({"note": note, "calibrations": entries}, indent=1) + "\n")
    for entry in entries:
        print(f"{entry['tool']}: error {entry['error']}, {entry['errors']}, knots {entry['knots']}")
    report(tools, tid, biq["test"])


if __name__ == "__main__":
    main()

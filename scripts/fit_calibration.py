"""Fit the curves from tool values to scores of 1 to 5, and measure how well each tool agrees with people.

    python scripts/fit_calibration.py --data ../shared/data/iqa

Writes src/loopwright/workflows/iqa/data/calibration.json and prints the agreement as a Markdown table.

Data: TID2013 (rebuilt) for every tool; the train split of BIQ2021 as well for the tools without a reference. People's
scores are mapped linearly to 1..5. TID2013's 0..9 counts the comparisons won out of nine, so a perfect image has 9.
Each curve is the weighted least-squares strictly monotone piecewise-linear one. The error is cross-validated: twelve
folds, each leaving one reference of TID2013 and one twelfth of BIQ2021 out. Takes about five minutes.

BlindScore is a regression onto these same scores, so its values are scores already: its curve is the straight line, and
its error the one that scripts/train_blind.py cross-validated with the whole training inside the folds.
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
from loopwright.workflows.iqa.measuring.reference_planes import Pair
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.tools.no_reference import BLIND_SCORE
from loopwright.workflows.iqa.tools.registry import all_tools

OUT = Path(__file__).resolve().parent.parent / "src/loopwright/workflows/iqa/data/calibration.json"
TRAINED = OUT.parent / "blind_score.json"
FOLDS = 12
PERFECT = {
    "PSNR": 60.0, "SSIM": 1.0, "MS-SSIM": 1.0, "GMSD": 0.0, "MDSI": 0.0, "HaarPSI": 1.0, "VSI": 1.0,
    "VIFp": 1.0, "NIQE": 0.0, "BRISQUE": -25.0,
}  # fmt: skip
"""The raw value that gets 5. Above 60 dB fewer than one sample in fifteen is off by one level: nobody sees that.
NIQE's 0 is no distance at all from pristine photographs. BRISQUE's regression knows no best value; no photograph of
TID2013 or BIQ2021 has less."""
HOPELESS = {"BRISQUE": 125.0}
"""The raw value that gets 1 where white noise is not the worst: no image of TID2013 or BIQ2021 has more by BRISQUE."""


INNER_KNOTS = 9
SMALLEST_STEP = 0.03
"""Least rise of the score from knot to knot, so that no stretch of a curve is flat."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Where a curve begins and ends."""

    perfect: float
    """The raw value that gets 5."""
    hopeless: float
    """The raw value that gets 1."""


@dataclass(frozen=True, slots=True)
class Samples:
    """One tool's values on one data set."""

    dataset: str
    """The data set's name."""
    raw: np.ndarray
    """The tool's values."""
    score: np.ndarray
    """People's scores, 1 to 5."""
    fold: np.ndarray
    """The fold that each row is left out with, from 0."""


@dataclass(frozen=True, slots=True)
class FittedCurve:
    """A curve, and how far to trust it."""

    knots: list[tuple[float, float]]
    """(raw value, score) in rising order of the raw value."""
    error: float
    """Root mean square error on the rows left out of the fit; data sets count equally."""
    errors: dict[str, float]
    """The same for each data set alone."""
    rows: int
    """How many rows it was fitted to."""


def fit_curve(raw: np.ndarray, score: np.ndarray, weight: np.ndarray, ends: Ends) -> list[tuple[float, float]]:
    """The knots of the weighted least-squares strictly monotone piecewise-linear curve.

    Args:
        raw: A tool's values.
        score: People's scores, 1 to 5.
        weight: How much each row counts.
        ends: Where the curve begins and ends.

    Returns:
        (raw value, score) in rising order of the raw value.
    """
    sign = 1.0 if ends.perfect > ends.hopeless else -1.0
    x, best, worst = sign * raw, sign * ends.perfect, sign * ends.hopeless
    inner = np.unique(np.quantile(x, np.linspace(0.01, 0.99, INNER_KNOTS)))
    knots = np.append(inner[(inner > worst) & (inner < best)], best)
    if len(knots) == 1:
        # Every value lies beyond an end: nothing is between them to fit.
        return sorted([(float(ends.hopeless), 1.0), (float(ends.perfect), 5.0)])
    # Column k falls from 1 to 0 between knots k and k + 1; the curve is 5 less what is still to rise.
    design = 1 - np.clip((x[:, None] - knots[:-1]) / np.diff(knots), 0, 1)
    lower = np.full(design.shape[1], SMALLEST_STEP)
    root = np.sqrt(weight / weight.mean())
    steps = lsq_linear(design * root[:, None], (5 - score) * root, bounds=(lower, np.inf)).x
    levels = 5 - np.append(np.cumsum(steps[::-1])[::-1], 0)
    # Scores near 1 could bring the curve below its own end.
    levels = np.maximum(levels, 1 + SMALLEST_STEP * np.arange(1, len(levels) + 1))
    pairs = zip(np.append(worst, knots), np.append(1, levels), strict=True)
    return sorted((round(float(sign * k), 6), round(float(level), 4)) for k, level in pairs)


def cross_validate(sets: list[Samples], ends: Ends) -> FittedCurve:
    """Fit a curve to all rows, and measure its error on folds left out.

    Args:
        sets: One tool's values on each data set.
        ends: Where the curve begins and ends.

    Returns:
        The curve with its error.
    """
    raw, score = (np.concatenate([getattr(part, name) for part in sets]) for name in ("raw", "score"))
    fold = np.concatenate([part.fold for part in sets])
    weight = np.concatenate([np.full(len(part.raw), 1 / len(part.raw)) for part in sets])
    predicted = np.empty_like(score)
    for left_out in np.unique(fold):
        inside = fold != left_out
        knots = fit_curve(raw[inside], score[inside], weight[inside], ends)
        at, level = zip(*knots, strict=True)
        predicted[~inside] = np.interp(raw[~inside], at, level)
    square = (predicted - score) ** 2
    parts = np.split(square, np.cumsum([len(part.raw) for part in sets])[:-1])
    return FittedCurve(
        knots=fit_curve(raw, score, weight, ends),
        error=round(float(np.sqrt(np.average(square, weights=weight))), 4),
        errors={part.dataset: round(float(np.sqrt(held.mean())), 4) for part, held in zip(sets, parts, strict=True)},
        rows=len(raw),
    )


@dataclass(frozen=True, slots=True)
class Grouped(Samples):
    """One tool's values on one data set, and what each row belongs to."""

    group: np.ndarray
    """The type of distortion, or the split."""


def hopeless_value(tool, references):
    """The raw value that gets 1: the median over pairs of unrelated photographs, or white noise without a reference."""
    if tool.reference is ReferenceMode.FULL:
        pairs = zip(references, references[1:] + references[:1], strict=True)
        return float(np.median([tool.measure(a, Pair(a.rgb, b.rgb)) for a, b in pairs if a.rgb.shape == b.rgb.shape]))
    if tool.name in HOPELESS:
        return HOPELESS[tool.name]
    noise = np.random.default_rng(0).integers(0, 256, (384, 512, 3)).astype(np.uint8)
    return float(tool.compute(noise))


def calibrate(tool, sets, hopeless, today):
    """The tool's entry of calibration.json."""
    fitted = cross_validate(sets, Ends(PERFECT[tool.name], hopeless))
    return {
        "tool": tool.name,
        "knots": fitted.knots,
        "error": fitted.error,
        "errors": fitted.errors,
        "dataset": " + ".join(part.dataset for part in sets),
        "rows": fitted.rows,
        "fitted_on": today,
    }


def calibrate_trained():
    """The entry of calibration.json of the tool whose values are scores, from the report of its training."""
    told = json.loads(TRAINED.read_text())
    return {
        "tool": BLIND_SCORE,
        "knots": [(1.0, 1.0), (5.0, 5.0)],
        "error": told["cross_validated_error"],
        "errors": told["cross_validated_errors"],
        "dataset": " + ".join(told["cross_validated_errors"]),
        "rows": told["rows"],
        "fitted_on": told["trained_at"],
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
        reference = references.get(path)
        pair = Pair(image.rgb, reference.rgb) if reference else None
        for tool in tools:
            try:
                raw = tool.measure(image, pair)
            except ImageError as error:
                print(f"{row['sample_id']}: {error}", file=sys.stderr)
                continue
            values[tool.name].append((raw, 1 + 4 * row["mos"] / highest, fold_of(index, row), row["group"]))
    return {name: Grouped(dataset, *map(np.array, zip(*v, strict=True))) for name, v in values.items()}


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
            part = Grouped(group, s.raw[inside], s.score[inside], s.fold[inside], s.group[inside])
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
        if tool.name == BLIND_SCORE:
            entries.append(calibrate_trained())
            continue
        sets = [tid[tool.name]] + ([biq["train"][tool.name]] if tool.name in biq["train"] else [])
        entries.append(calibrate(tool, sets, hopeless_value(tool, pristine), today))
    note = "Fitted by scripts/fit_calibration.py; do not edit. The meaning of each key: class Calibration."
    args.out.write_text(json.dumps({"note": note, "calibrations": entries}, indent=1) + "\n")
    for entry in entries:
        print(f"{entry['tool']}: error {entry['error']}, {entry['errors']}, knots {entry['knots']}")
    report(tools, tid, biq["test"])


if __name__ == "__main__":
    main()

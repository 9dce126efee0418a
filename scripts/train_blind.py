"""Train BlindScore, the score without a reference, and measure how well it agrees with people.

    python scripts/train_blind.py --data ../shared/data/iqa

Writes src/loopwright/workflows/iqa/data/blind_score.npz (the model) and blind_score.json (where it comes from), and
prints the agreement as a Markdown table.

Data: the train split of BIQ2021 and all usable images of TID2013 (rebuilt). The test split of BIQ2021 is measured only
once the model is fixed. The two studies used their scales differently (TID2013's people compared with the reference),
so each one's scores are brought to mean 0 and standard deviation 1 for the fit, and one line through the
cross-validated predictions of both leads back to 1..5. Twelve folds, each leaving one reference of TID2013 and one
twelfth of BIQ2021 out. Emphasis, width and ridge were chosen by the same folds. Takes about two minutes, nearly all of
them to measure; nothing in it is random but the bootstrap, which has its seed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np
from scipy.stats import spearmanr

from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.tools.no_reference import STEPS, KernelModel, blind_features, in_steps, response

OUT = Path(__file__).resolve().parent.parent / "src/loopwright/workflows/iqa/data"
FOLDS = 12
EMPHASIS = {
    "shape 1": 2.0, "detail 1": 2.0, "shape 2": 1.0, "detail 2": 0.5, "shape 3": 0.5, "detail 3": 0.5,
    "texture 1": 1.0, "texture 2": 2.0, "texture 3": 1.0, "colour detail": 3.0, "grid": 3.0, "tone": 1.4, "middle": 0.5,
}  # fmt: skip
"""How much a difference in a group's numbers counts."""
GAMMA = 0.3
RIDGE = 0.05
BIQ_SHARE = 0.9
"""Weight of BIQ2021 in the fit; its opinions are the harder to predict."""
SEED = 0
REPEATS = 2000
"""Bootstrap samples."""


def measure(folder, rows):
    """Every group's numbers of every row's image: group -> shape (rows, numbers)."""
    found = [blind_features(load_image(folder / row["image_path"]).rgb) for row in rows]
    return {group: np.array([numbers[group] for numbers in found]) for group in found[0]}


def stacked(groups):
    """The numbers of all groups, and the emphasis of each; the squares of the latter sum to one."""
    emphasis = np.concatenate([np.full(groups[name].shape[1], EMPHASIS[name]) for name in groups])
    return np.hstack(list(groups.values())), emphasis / np.sqrt((emphasis**2).sum())


def fit(features, emphasis, target, weight):
    """A model of z-scores."""
    mean, spread = np.nanmean(features, axis=0), np.nanstd(features, axis=0) + 1e-6
    points = in_steps(features, mean, spread)
    placed = points * (emphasis / STEPS)
    squares = (placed**2).sum(axis=1)
    apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * placed @ placed.T, 0))
    weights = np.linalg.solve(np.exp(-GAMMA * apart) + RIDGE * np.diag(1 / weight), target)
    return KernelModel(mean, spread, emphasis, points, weights, GAMMA, 0.0)


def respond(model, features):
    """What the model says of each image."""
    return np.array([response(model, row) for row in features])


def agreement(predicted, score, unit, rng):
    """SRCC with its 95 % bootstrap interval; units (images, or references with all their images) are drawn."""
    units = [np.flatnonzero(unit == name) for name in np.unique(unit)]
    draws = (np.concatenate([units[i] for i in rng.integers(0, len(units), len(units))]) for _ in range(REPEATS))
    low, high = np.quantile([spearmanr(predicted[d], score[d])[0] for d in draws], (0.025, 0.975))
    return {key: round(float(v), 4) for key, v in
            zip(("srcc", "low", "high"), (spearmanr(predicted, score)[0], low, high), strict=True)}  # fmt: skip


def read(data, rebuilt):
    """Rows and numbers of both sets."""
    maker = data / "tid_rebuilt" / "make_distorted.py"
    with tempfile.TemporaryDirectory() as folder:
        if not rebuilt:
            rebuilt = Path(folder)
            subprocess.run([sys.executable, str(maker), folder, "--usable"], check=True)
        tid = [json.loads(line) for line in (rebuilt / "manifest.jsonl").read_text().splitlines()]
        biq = [json.loads(line) for line in (data / "biq2021" / "manifest.jsonl").read_text().splitlines()]
        return biq, measure(data / "biq2021", biq), tid, measure(rebuilt, tid)


def write(out, model, provenance):
    """The model and where it comes from."""
    small = {name: getattr(model, name).astype(np.float32) for name in ("mean", "spread", "emphasis")}
    rest = {"points": model.points, "gamma": model.gamma, "offset": model.offset}
    np.savez_compressed(out / "blind_score.npz", weights=model.weights, **small, **rest)
    (out / "blind_score.json").write_text(json.dumps(provenance, indent=1) + "\n")


def main():
    """Measure, cross-validate, fit, write, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder with tid_rebuilt and biq2021")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--rebuilt", type=Path, help="what make_distorted.py --usable wrote, to save the minutes")
    args = parser.parse_args()
    cv2.setNumThreads(1)
    biq, biq_groups, tid, tid_groups = read(args.data, args.rebuilt)
    biq_features, emphasis = stacked(biq_groups)
    tid_features, _ = stacked(tid_groups)
    train = np.array([row["group"] == "train" for row in biq])
    biq_score = np.array([1 + 4 * row["mos"] for row in biq])
    references = sorted({row["reference_path"] for row in tid})

    features = np.vstack([biq_features[train], tid_features])
    score = np.concatenate([biq_score[train], [1 + 4 * row["mos"] / 9 for row in tid]])
    of_tid = np.arange(len(score)) >= train.sum()
    fold = np.concatenate(
        [np.flatnonzero(train) % FOLDS, [references.index(row["reference_path"]) % FOLDS for row in tid]]
    )
    share = np.where(of_tid, (1 - BIQ_SHARE) / of_tid.sum(), BIQ_SHARE / (~of_tid).sum()) * len(score)
    even = np.where(of_tid, 1 / of_tid.sum(), 1 / (~of_tid).sum())
    target = np.empty_like(score)
    for inside in (of_tid, ~of_tid):
        target[inside] = (score[inside] - score[inside].mean()) / score[inside].std()

    unseen = np.empty_like(score)
    for left_out in range(FOLDS):
        rest = fold != left_out
        unseen[~rest] = respond(fit(features[rest], emphasis, target[rest], share[rest]), features[~rest])
    slope, offset = np.polyfit(unseen, score, 1, w=np.sqrt(even))
    model = fit(features, emphasis, target, share)
    model = model._replace(weights=slope * model.weights, offset=float(offset))
    tested = respond(model, biq_features[~train])

    rng = np.random.default_rng(SEED)
    agreements = {
        "BIQ2021 train, cross-validated": agreement(unseen[~of_tid], score[~of_tid], np.flatnonzero(~of_tid), rng),
        "TID2013, references left out": agreement(unseen[of_tid], score[of_tid], fold[of_tid], rng),
        "BIQ2021 test": agreement(tested, biq_score[~train], np.arange(len(tested)), rng),
    }
    square = (offset + slope * unseen - score) ** 2
    error = np.sqrt(np.average(square, weights=even))
    errors = {name: round(float(np.sqrt(square[inside].mean())), 4) for name, inside in
              (("TID2013 (rebuilt)", of_tid), ("BIQ2021 (train)", ~of_tid))}  # fmt: skip
    provenance = {
        "note": "Trained by scripts/train_blind.py; do not edit. The model is in blind_score.npz.",
        "trained_on": f"BIQ2021, train split ({train.sum()} images) + TID2013, rebuilt ({of_tid.sum()} images)",
        "rows": len(score),
        "trained_at": datetime.date.today().isoformat(),
        "features": {name: numbers.shape[1] for name, numbers in biq_groups.items()},
        "emphasis": EMPHASIS,
        "gamma": GAMMA,
        "ridge": RIDGE,
        "biq_share": BIQ_SHARE,
        "seed_of_the_bootstrap": SEED,
        "cross_validated_error": round(float(error), 4),
        "cross_validated_errors": errors,
        "agreement": agreements,
    }
    write(args.out, model, provenance)
    print("| | SRCC | 95 % interval |\n|---|--:|---|")
    for name, found in agreements.items():
        print(f"| {name} | {found['srcc']:.3f} | {found['low']:.3f} to {found['high']:.3f} |")


if __name__ == "__main__":
    main()

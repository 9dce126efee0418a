"""What a batch of images costs: its rate beside two processes that do the same by hand, and its memory.

    python benchmarks/iqa_batch.py [--quick] [--write]

By hand means: two processes, each with a graph of its own, each over every second image in a plain loop that writes its
answers to a file; no journal, no bookkeeping, no table. Both sides run in turn, on photographs of 512 x 384 pixels with
faults of several kinds; time counts from the first image, as imports are the same on both sides. Memory is that of the
processes during a batch of more images.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
from common import arguments, finish, machine

from loopwright.workflows.iqa.batch.running import DEFAULT_QUERY, Progress, run_batch

TITLE = "Batches of images"
WORKERS = 2
PHOTOGRAPHS = ("astronaut", "chelsea", "coffee", "rocket", "cat", "retina")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def make_images(folder: Path, count: int) -> None:
    """Some twenty different images, under as many names as asked for."""
    # Not above: each worker imports this file.
    from skimage import data

    made = [image for name in PHOTOGRAPHS for image in _faulty(getattr(data, name)())]
    folder.mkdir()
    for number in range(count):
        target = folder / f"{number:06}.jpg"
        if number < len(made):
            target.write_bytes(made[number])
        else:
            os.link(folder / f"{number % len(made):06}.jpg", target)


def _faulty(photograph: np.ndarray) -> list[bytes]:
    image = cv2.cvtColor(cv2.resize(photograph, (512, 384), interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2BGR)
    noise = np.random.default_rng(1).normal(0, 12, image.shape)
    noisy = np.clip(image + noise, 0, 255).astype(np.uint8)
    kinds = ((image, 92), (image, 12), (cv2.GaussianBlur(image, (0, 0), 2), 92), (noisy, 92))
    return [cv2.imencode(".jpg", shown, [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes() for shown, quality in kinds]


def by_hand(folder: Path, part: int, out: Path) -> None:
    """What one of the two processes does."""
    cv2.setNumThreads(1)
    from loopwright.engine import run
    from loopwright.workflows.iqa import IQAConfig, Services
    from loopwright.workflows.iqa.workflow import IQAInput, IQAWorkflow

    workflow = IQAWorkflow(Services.of(IQAConfig()))
    graph, given = workflow.graph(None), IQAInput(query=DEFAULT_QUERY, image="image")
    began = time.monotonic()
    with out.open("w", encoding="utf-8") as file:
        for path in sorted(folder.iterdir())[part::WORKERS]:
            state = run(graph, workflow.start(given, {"image": path}, "")).state
            answer, evidence = state["summarizer_result"], state["executor_evidence"]
            row = {"path": path.name, "answer": answer.model_dump(), "evidence": evidence.model_dump(mode="json")}
            file.write(json.dumps(row) + "\n")
    print(time.monotonic() - began)


def seconds_by_hand(folder: Path, target: Path) -> float:
    """Wall time of the slower of both processes."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    words = [[sys.executable, __file__, "--by-hand", folder, str(part), target / str(part)] for part in range(WORKERS)]
    processes = [subprocess.Popen(given, env=environment, stdout=subprocess.PIPE, text=True) for given in words]
    return max(float(process.communicate()[0]) for process in processes)


def seconds_of_batch(folder: Path, target: Path) -> float:
    """Wall time of a batch, with its journal."""
    done = run_batch(folder, target / f"{time.monotonic_ns()}.csv", workers=WORKERS)
    if done.failed:
        raise RuntimeError("an image failed")
    return done.seconds - done.starting


def memory(folder: Path, target: Path, count: int) -> list[tuple[int, float, float]]:
    """Images done, megabytes of the largest worker, megabytes of the parent; ten times over the batch."""
    seen: list[tuple[int, float, float]] = []

    def look(progress: Progress) -> None:
        if progress.done % max(1, count // 10) == 0:
            workers = [_resident(child.pid) for child in multiprocessing.active_children() if child.pid]
            seen.append((progress.done, max(workers, default=0.0), _resident(os.getpid())))

    run_batch(folder, target / "memory.csv", workers=WORKERS, on_progress=look)
    return seen


def _resident(process: int) -> float:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE / 1e6
    except OSError:
        return 0.0


def report(images: int, more: int, repetitions: int) -> str:
    """Measure, and show the figures as Markdown."""
    with tempfile.TemporaryDirectory() as place:
        target = Path(place)
        make_images(target / "some", images)
        make_images(target / "many", more)
        ours, theirs = [], []
        for _ in range(repetitions):
            theirs.append(seconds_by_hand(target / "some", target))
            ours.append(seconds_of_batch(target / "some", target))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        seen = memory(target / "many", target, more)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        journal = (target / "memory.csv.journal.sqlite").stat().st_size / more
        table = (target / "memory.csv").stat().st_size / more
    spent = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / more
    rates = [f"{images / statistics.median(side):.1f}" for side in (ours, theirs)]
    ratio = statistics.median(hand / batch for hand, batch in zip(theirs, ours, strict=True))
    rows = [
        f"| | `iqa batch`, {WORKERS} workers | {WORKERS} processes by hand | ratio |",
        "|---|---|---|---|",
        f"| images per second, {images} images | {rates[0]} | {rates[1]} | {ratio:.2f} |",
        "",
        "| images done | largest worker, MB | parent, MB |",
        "|---|---|---|",
        *(f"| {done:,} | {worker:.0f} | {parent:.0f} |" for done, worker, parent in seen),
        "",
        f"Per image: {spent:.3f} CPU seconds in the workers (their start shared by {more:,}), "
        f"{journal / 1000:.1f} kB of journal, {table / 1000:.1f} kB of CSV.",
        "",
        f"{machine()}; the ratio is the median of {repetitions} pairs in turn.",
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="few images")
    parser.add_argument("--by-hand", nargs=3, metavar=("FOLDER", "PART", "OUT"), help="be one of the two processes")
    given = parser.parse_args()
    if given.by_hand:
        by_hand(Path(given.by_hand[0]), int(given.by_hand[1]), Path(given.by_hand[2]))
    else:
        finish(TITLE, report(60, 200, 1) if given.quick else report(400, 10_000, 3), given.write)

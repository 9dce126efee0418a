"""What a batch of images costs on Ray, beside the local engine on the same processors of this machine.

    scripts/setup_ray.sh; python benchmarks/iqa_ray.py [--quick] [--write]

Both engines run in turn with two workers over the same photographs, those of `iqa_batch.py`, from Ray's environment.
The rate is that of the second half of the rows: by then every worker has started on both sides. What a driver takes is
measured with jobs that do nothing.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from common import arguments, finish, machine
from iqa_batch import make_images

TITLE = "Batches of images on Ray"
WORKERS = 2
MARK = f"LOOPWRIGHT_BENCHMARK={os.environ.get('LOOPWRIGHT_BENCHMARK', '')}".encode()
PYTHON = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loopwright" / "ray" / "bin" / "python"


def same(job: int) -> int:
    """A job that does nothing."""
    return job


def make_same():
    """For `over_ray`."""
    return same


def drive(engine: str, folder: Path, out: Path) -> dict[str, float]:
    """One batch in this process: its rate, its start, what it takes of processors, and its largest worker."""
    from loopwright.workflows.iqa.batch.running import Progress, run_batch

    seen: list[tuple[int, float]] = []
    spent: list[tuple[int, float, float]] = []

    def look(progress: Progress) -> None:
        seen.append((progress.done, time.monotonic()))
        if progress.done >= progress.total * (0.25 + 0.5 * len(spent)):  # at the end workers may be gone
            spent.append((progress.done, *_spent()))

    began = time.monotonic()
    run_batch(folder, out, engine=engine, workers=WORKERS, on_progress=look)  # pyright: ignore[reportArgumentType]
    first = next((done, at) for done, at in seen if done >= seen[-1][0] / 2)
    rate = (seen[-1][0] - first[0]) / (seen[-1][1] - first[1])
    cpu = (spent[1][1] - spent[0][1]) / (spent[1][0] - spent[0][0])
    return {"rate": rate, "start": seen[0][1] - began, "cpu": cpu, "largest": spent[1][2]}


def _spent() -> tuple[float, float]:
    """Processor seconds so far of the driver and of those that assess, and megabytes of the largest of these."""
    seconds, largest = 0.0, 0.0
    for process in Path("/proc").iterdir():
        try:
            if MARK in (process / "environ").read_bytes():
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                if b"spawn_main" in (process / "cmdline").read_bytes():
                    pages = int((process / "statm").read_text().split()[1])
                    largest = max(largest, pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
        except OSError:  # it has ended, or is no process
            continue
    return seconds, largest


def idle(jobs: int) -> dict[str, float]:
    """What the driver takes for a job, of processor and in all."""
    from iqa_ray import make_same as make

    from loopwright.workflows.iqa.batch.ray_engine import over_ray

    before, seen = resource.getrusage(resource.RUSAGE_SELF), []
    for _ in over_ray(make, (), range(jobs), WORKERS, None, lambda: False):
        seen.append(time.monotonic())
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu / jobs, "rate": (jobs - 1) / (seen[-1] - seen[0])}


def in_rays(*words: object) -> dict[str, float]:
    """What a process of Ray's environment measured."""
    here = Path(__file__).parent
    paths = os.pathsep.join(map(str, (here, here.parent / "src")))
    environment = os.environ | {"PYTHONPATH": paths, "LOOPWRIGHT_BENCHMARK": str(time.time_ns())}
    command = [PYTHON, __file__, "--drive", *map(str, words)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def report(images: int, pairs: int, jobs: int) -> str:
    """Measure, and show the figures as Markdown."""
    with tempfile.TemporaryDirectory() as place:
        target = Path(place)
        make_images(target / "images", images)
        local, rays = [], []
        for number in range(pairs):
            local.append(in_rays("local", target / "images", target / f"l{number}.csv"))
            rays.append(in_rays("ray", target / "images", target / f"r{number}.csv"))
    nothing = in_rays("idle", jobs)
    ratios = [ray["rate"] / here["rate"] for ray, here in zip(rays, local, strict=True)]

    def middle(side: list[dict[str, float]], name: str) -> float:
        return statistics.median(one[name] for one in side)

    rows = [
        f"| {images} images of 512 x 384, {WORKERS} workers | local | Ray | ratio |",
        "|---|---|---|---|",
        f"| images per second | {middle(local, 'rate'):.1f} | {middle(rays, 'rate'):.1f} "
        f"| {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |",
        f"| processor seconds for an image, driver and workers "
        f"| {middle(local, 'cpu'):.3f} | {middle(rays, 'cpu'):.3f} "
        f"| {middle(local, 'cpu') / middle(rays, 'cpu'):.2f} |",
        f"| seconds until the first row | {middle(local, 'start'):.0f} | {middle(rays, 'start'):.0f} | |",
        f"| largest worker, MB | {middle(local, 'largest'):.0f} | {middle(rays, 'largest'):.0f} | |",
        "",
        f"Jobs that do nothing, {jobs:,} of them: {nothing['rate']:,.0f} a second in all, "
        f"{nothing['cpu'] * 1000:.2f} ms of a processor each in the driver.",
        "",
        f"{machine()}; medians of {pairs} pairs in turn.",
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="few images")
    parser.add_argument("--drive", nargs="+", help="be one of the batches")
    given = parser.parse_args()
    if given.drive:
        what, *more = given.drive
        print(json.dumps(idle(int(more[0])) if what == "idle" else drive(what, Path(more[0]), Path(more[1]))))
    else:
        finish(TITLE, report(100, 1, 2_000) if given.quick else report(600, 3, 20_000), given.write)

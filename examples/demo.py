"""The main job on bundled input: bound a runaway agent, then assess photographs and what happens to them.

Run it with ``./run``. It needs no key, no network and no server. The photographs are those that scikit-image ships.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from pathlib import Path

import agent
import skimage
from distort import distort
from PIL import Image
from rich.console import Console
from rich.table import Table

from loopwright.engine import verify
from loopwright.workflows.iqa import IQAConfig, trace_pipeline
from loopwright.workflows.iqa.commands import path_taken
from loopwright.workflows.iqa.report import ReportRow, write_report
from loopwright.workflows.iqa.sources.images import load_image

PHOTOGRAPHS = Path(skimage.__file__).parent / "data"
RESULTS = Path("results")
SHORT = {"planner": "P", "executor": "E", "summarizer": "S"}


@dataclass(frozen=True)
class Case:
    """One question about one image."""

    photograph: str
    """The photograph's file name."""
    question: str
    """What is asked."""
    distortion: str | None = None
    """What is done to the photograph first."""
    level: int = 0
    """How strongly, 1 to 5."""
    with_reference: bool = False
    """Whether the untouched photograph is given for comparison."""


CASES = (
    Case("astronaut.png", "What is the quality of this photo?"),
    Case("astronaut.png", "Rate the quality of this photo.", "gaussian noise", 4, with_reference=True),
    Case("chelsea.png", "What is wrong with this image?", "jpeg", 5, with_reference=True),
    Case("chelsea.png", "Is it blurry?", "gaussian blur", 4),
    Case("coffee.png", "Is the cup sharp?"),
    Case(
        "coffee.png", "Which distortion is strongest? A) blur B) noise C) compression D) none", "impulse noise", 3, True
    ),
    Case("rocket.jpg", "How good is this picture? Use PSNR and SSIM.", "gaussian blur", 2, with_reference=True),
    Case("rocket.jpg", "Is the rocket noisy?", "gaussian noise", 3, with_reference=True),
)


def show_the_smallest_demonstration(console: Console) -> None:
    """An agent that would run for 10,007 steps, and the same agent bounded."""
    console.rule("1. An agent whose search never finds anything", align="left")
    certificate = verify(agent.app)
    cycle = certificate.unbounded_cycles[0]
    console.print(f"as written: the cycle {' -> '.join((*cycle, cycle[0]))} is [red]unbounded[/]: up to 10,007 steps")
    agent.main()


def assess(case: Case, folder: Path) -> tuple[ReportRow, list[str]]:
    """Make the image, run the pipeline on it, and keep what happened, with the nodes that it visited."""
    source = PHOTOGRAPHS / case.photograph
    image = source
    name = source.stem
    if case.distortion:
        name = f"{source.stem}, {case.distortion} {case.level}"
        image = folder / f"{source.stem}-{case.distortion.replace(' ', '-')}-{case.level}.png"
        Image.fromarray(distort(load_image(source).rgb, case.distortion, case.level)).save(image)
    reference = source if case.with_reference else None
    result = trace_pipeline(case.question, image, reference_path=reference, config=IQAConfig())
    row = ReportRow(
        name=name,
        image_path=image,
        reference_path=reference,
        query=case.question,
        state=result.state,
        seconds=result.seconds,
    )
    return row, path_taken(result.events).split(" > ")


def offer_the_page(console: Console) -> None:
    """Say how to open the DevTools, where the server's packages are installed and the page was built."""
    try:
        from loopwright.server.routes.page import BUILT
    except ModuleNotFoundError:
        return
    if (BUILT / "index.html").is_file():
        console.print("\nthe DevTools: every run on a page, live and step by step")
        console.print("  open them: ./run --serve  (or .venv/bin/loopwright serve --open)")


def main() -> None:
    """Show both parts, write the report and offer the page."""
    logging.getLogger("loopwright").setLevel(logging.ERROR)  # the table shows what the log would say
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 150)
    show_the_smallest_demonstration(console)
    console.print()
    console.rule("2. Photographs, and what can happen to them", align="left")
    images = RESULTS / "images"
    images.mkdir(parents=True, exist_ok=True)
    assessed = [assess(case, images) for case in CASES]
    rows = [row for row, _ in assessed]
    table = Table(box=None, padding=(0, 1))
    for heading in ("image", "question", "answer", "score", "path", "s"):
        table.add_column(heading, overflow="fold")
    for row, path in assessed:
        answer = row.state["summarizer_result"]
        score = f"{answer.quality_score:.1f}" if answer.quality_score else "-"
        short = " ".join(SHORT.get(step, step) for step in path)
        table.add_row(row.name, row.query, answer.final_answer, score, short, f"{row.seconds:.2f}")
    console.print(table)
    replanned = any(row.state["iteration_count"] for row in rows)
    passes = "; in brackets the loop's passes" if replanned else "; every first plan was enough, so no loop went round"
    console.print(f"P planner, E executor, S summarizer{passes}\n", style="dim")
    for row, path in assessed:
        if row.state["iteration_count"]:
            console.print(f"replanned: {row.name}: {row.state['replan_history'][0]}")
            console.print(f"  path: {' > '.join(path)}", style="dim")
            console.print(f"  new plan: {row.state['plan'].rationale}", style="dim")
    report = write_report(rows, RESULTS / "report.html", title="Loopwright: image quality")
    console.print(f"\nreport with pictures: {report}")
    offer_the_page(console)


if __name__ == "__main__":
    main()

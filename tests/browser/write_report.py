"""Write a report for the tests that open it in a browser: ``write_report.py FOLDER``.

Its rows have real pictures and maps, and hostile texts wherever a text can be.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

from distort import distort
from PIL import Image
from report_pages import make_row, rich_row

from loopwright.workflows.iqa import ExecutorOutput
from loopwright.workflows.iqa.report import Overview, ReportRow, write_report
from loopwright.workflows.iqa.schemas import DistortionFinding, ToolLog
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.workflow import sample_path

SET = "window.__ran=1"
HOSTILE = (
    f'</script></style></title><script>{SET}</script>"><img src=x onerror="{SET}">'
    f"<svg onload={SET}> ' onmouseover='{SET} \u202egnp.exe\u2066 \x00 {{{{ 7*7 }}}}"
)
NOT_UTF8 = os.fsdecode(b"caf\xe9.png")

# Name, kind, level, score, severity, scores of two tools; the browser test knows them.
CASES = (
    ("photo 10.png", "gaussian blur", 5, 1.2, "extreme", (1.5, 2.0)),
    ("photo 9.png", "jpeg", 4, 1.8, "severe", (2.4, 1.1)),
    ("photo 2.png", "gaussian noise", 3, 2.6, "moderate", (2.2, 3.0)),
    ("Ärger.png", "overexposure", 2, 3.3, "slight", (3.1, 3.4)),
    ("harbour.png", None, 0, 4.8, None, (4.9, 4.7)),
)


def row(folder: Path, case: tuple) -> ReportRow:
    name, kind, level, score, severity, tools = case
    source = sample_path("harbour")
    pixels = load_image(source).rgb
    path = folder / name
    Image.fromarray(distort(pixels, kind, level) if kind else pixels).save(path)
    found = []
    if kind:
        found = [DistortionFinding(type=kind, severity=severity, confidence=0.9, explanation=f"It has {kind}.")]
    evidence = ExecutorOutput(
        distortion_analysis={"Global": found},
        tool_logs=[
            ToolLog(tool=tool, raw=0.5, score=value, seconds=0.01)
            for tool, value in zip(("MDSI", "SSIM"), tools, strict=True)
        ],
        primary_tool="MDSI",
        regions={"boat": (30, 100, 60, 76)} if kind == "jpeg" else {},
    )
    made = make_row(name, score, path, executor_evidence=evidence)
    return ReportRow(made.name, made.image_path, source if level == 3 else None, made.query, made.state, 0.3)


def counted_row(number: int) -> ReportRow:
    """A row that the charts count."""
    kinds = {"gaussian blur": "slight", "jpeg": "severe"} if number % 7 == 0 else {}
    found = [
        DistortionFinding(type=kind, severity=severity, confidence=0.9, explanation=HOSTILE)
        for kind, severity in kinds.items()
    ]
    evidence = ExecutorOutput(distortion_analysis={HOSTILE: found})
    return make_row(HOSTILE, 1 + number % 397 / 100, executor_evidence=evidence, iteration_count=int(number % 90 == 0))


def main() -> None:
    folder = Path(sys.argv[1])
    rows = [row(folder, case) for case in CASES]
    rows += [rich_row(HOSTILE), make_row(NOT_UTF8, None, folder / NOT_UTF8, error="it broke")]
    overview = Overview()
    counted = [make_row(HOSTILE, None, error=HOSTILE)] + [counted_row(number) for number in range(1, 1000)]
    for each in counted * 100:
        overview.add(each)
    write_report(rows, folder / "small.html", title="Some images")
    write_report(rows * 2, folder / "large.html", title=HOSTILE, overview=overview)


if __name__ == "__main__":
    main()

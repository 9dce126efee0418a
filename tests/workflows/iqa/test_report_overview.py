"""The report's counts over all rows of a batch, its choices and the bounds of its size."""

from __future__ import annotations

from pathlib import Path

from report_pages import Element, make, make_row
from report_pages import rich_row as rich

from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.report import Overview, ReportRow
from loopwright.workflows.iqa.report.table_rows import BINS
from loopwright.workflows.iqa.report.writing import TEXT_LENGTH
from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput


def outcome(score: float | None = 3.0, error: str | None = None, **found: str) -> ReportRow:
    findings = [
        DistortionFinding(type=name, severity=Severity(severity), confidence=0.9, explanation="x")
        for name, severity in found.items()
    ]
    evidence = ExecutorOutput(distortion_analysis={"Global": findings})
    return make_row("x", score, executor_evidence=evidence, error=error)


def overview_of(*rows: ReportRow) -> Overview:
    overview = Overview()
    for each in rows:
        overview.add(each)
    return overview


def cells(table: Element) -> list[list[str]]:
    return [
        [cell.words for cell in line.children if isinstance(cell, Element)][:6] for line in table.one("tbody").all("tr")
    ]


def test_the_charts_say_their_numbers(tmp_path: Path):
    overview = overview_of(
        *[outcome(1.1, jpeg="extreme", **{"gaussian blur": "slight"})] * 1200, *[outcome(4.9)] * 3, outcome(None, "broke")
    )  # fmt: skip
    page = make(tmp_path / "report.html", [make_row("one", 1.1), make_row("two", 4.9)], overview=overview)
    columns = [column.words for column in page.one(".histogram").all("li")]
    assert columns[0] == "1,200 from 1.00 to 1.25 1"
    assert columns[-1] == "3 from 4.75 to 5.00 5" and len(columns) == BINS
    assert cells(page.one("table.distortions")) == [
        ["gaussian blur", "1,200", "0", "0", "0", "1,200"],
        ["JPEG compression", "0", "0", "0", "1,200", "1,200"],
    ]
    assert "Of 1,204 images, the worst 2 are shown; the charts count all." in page.one(".order").words
    assert page.one(".failures").words == "1 with an error x: broke"
    heights = [column.one("rect").attributes["height"] for column in page.one(".histogram").all("li")]
    assert heights[0] == "100.0" and heights[1] == "0.0"


def test_no_text_makes_the_page_large(tmp_path: Path):
    path = tmp_path / "report.html"
    make(path, [rich("plain")])
    small = path.stat().st_size
    page = make(path, [rich("long " * 1_000_000)])
    assert path.stat().st_size < small + 60 * (TEXT_LENGTH + 200)
    assert page.one(".reasoning").text.endswith(" … (4,990,005 more characters)")

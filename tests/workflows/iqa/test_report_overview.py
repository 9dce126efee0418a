"""The report's counts over all rows of a batch and the bounds of its size; it needs nothing but itself, and no text is markup in it."""

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import skimage
from chances import examples
from findings import evidence
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from report_pages import Element, make, make_row, rich_row

from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.batch.tables import row_of
from loopwright.workflows.iqa.report import BINS, TEXT_LENGTH, Overview, ReportRow
from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput


def outcome(score: float | None = 3.0, error: str | None = None, **found: str) -> ReportRow:
    return make_row("x", score, executor_evidence=evidence(*found.items(), score=None), error=error)


def test_a_guess_is_neither_counted_nor_the_distortion_of_its_row():
    guess = DistortionFinding(type="color cast", severity="severe", confidence=0.4, explanation="x")
    seen = DistortionFinding(type="jpeg", severity="slight", confidence=0.4, explanation="against the reference")
    for findings, told in (([guess], []), ([guess, seen], ["jpeg"])):
        row = make_row("x", 3.0, executor_evidence=ExecutorOutput(distortion_analysis={"Global": findings}))
        assert [item.type for item in row.stated] == told == [*overview_of(row).distortions]
        assert row_of(Sample(image_path="x", query="?"), {}, row)["distortion"] == (told[0] if told else None)


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
    make(path, [rich_row("plain")])
    small = path.stat().st_size
    page = make(path, [rich_row("long " * 1_000_000)])
    assert path.stat().st_size < small + 60 * (TEXT_LENGTH + 200)
    assert page.one(".reasoning").text.endswith(" … (4,990,005 more characters)")


CAT = Path(skimage.__file__).parent / "data" / "chelsea.png"


def test_the_page_needs_nothing_but_itself(tmp_path: Path):
    page = make(tmp_path / "report.html", [replace(make_row(image=CAT), reference_path=CAT), rich_row()])
    everything = page.all("")
    assert {element.tag for element in everything}.isdisjoint(
        {"script", "link", "iframe", "object", "form", "a", "base"}
    )
    names = {name for element in everything for name in element.attributes}
    assert names.isdisjoint({"href", "srcset", "style", "action", "xlink:href", "background"})
    assert not [name for name in names if name.startswith("on")]
    pictures = [element.attributes["src"] or "" for element in everything if "src" in element.attributes]
    assert len(pictures) == 3  # the image, its map, the reference
    assert all(re.fullmatch(r"data:image/(webp|png|svg\+xml);base64,[\w+/=]+", source) for source in pictures)
    style = page.one("style").text
    assert "url(" not in style and "@import" not in style
    policies = [meta.attributes["content"] for meta in page.all("meta") if "http-equiv" in meta.attributes]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policies == [
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    ]


def check_inert(text: str, folder: Path) -> None:
    shapes, pages = [], []
    for said in (text, "plain"):
        overview = Overview()
        for name in (said, "another"):
            overview.add(replace(rich_row(said, folder), name=name))
        rows = [rich_row(said, folder), make_row("second", 4.9)]
        page = make(folder / "report.html", rows[:1], title=said, overview=overview)
        shapes.append(make(folder / "two.html", rows, title=said).shape())
        shapes.append(page.shape())
        pages.append(page)
    assert shapes[0] == shapes[2] and shapes[1] == shapes[3]
    page = pages[0]
    assert page.one(".failures").all("bdi")[0].text == text
    article = page.one("article")
    said = text.strip() or "-"
    assert page.one("h1").text == page.one("title").text == text
    assert article.one("h2").one("bdi").text == text
    assert article.one(".query").text == f"Question: {text}"
    assert article.one(".answer").text == f"Answer: {said}"
    assert article.one(".reasoning").text == f"since {said}"
    assert article.one(".notes").one("li").text == text
    assert article.one(".error").text == f"Error: oh {text}"
    assert article.one("td.why").text == f"failed: broke: {text}"


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8") | st.sampled_from("<>&\"'`=/!-;#{}%"), min_size=1, max_size=40))
@example("\x85\xa0")
def test_no_text_becomes_markup(tmp_path: Path, text: str):
    # The word "plain" has no white space at its ends and is not "Global"; compare like with like.
    if text == "Global" or not text.strip():
        text = f"-{text}-"
    check_inert(text, tmp_path)

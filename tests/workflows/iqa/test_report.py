"""The report: what it shows, that it needs nothing but itself, and that no text can become markup."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import skimage
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image

from loopwright.cli.iqa import path_taken
from loopwright.engine.drawing import svg
from loopwright.errors import ImageError
from loopwright.workflows.iqa import (
    ExecutorOutput,
    IQAConfig,
    PlannerOutput,
    SummarizerOutput,
    build_graph,
    trace_pipeline,
)
from loopwright.workflows.iqa.distort import distort
from loopwright.workflows.iqa.images import load_image
from loopwright.workflows.iqa.report import OPEN_ROWS, THUMBNAIL_SIDE, ReportRow, write_report
from loopwright.workflows.iqa.schemas import DistortionFinding, ToolLog

PHOTOGRAPHS = Path(skimage.__file__).parent / "data"
CAT = PHOTOGRAPHS / "chelsea.png"
GONE = Path("nowhere") / "gone.png"
VOID = {"meta", "img", "input", "br", "link"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def words(self) -> str:
        return " ".join(self.text.split())

    def all(self, selector: str) -> list[Element]:
        """The elements below with a tag, a class or both: ``"li"``, ``".query"``, ``"p.query"``."""
        tag, _, name = selector.partition(".")
        found: list[Element] = []
        for child in self.children:
            if isinstance(child, Element):
                classes = (child.attributes.get("class") or "").split()
                if tag in ("", child.tag) and (not name or name in classes):
                    found.append(child)
                found += child.all(selector)
        return found

    def one(self, selector: str) -> Element:
        (found,) = self.all(selector)
        return found

    def shape(self) -> list[str]:
        """Every tag with the names of its attributes, in order: what no text may change."""
        own = [f"{self.tag} {sorted(self.attributes)}"]
        return own + [line for child in self.children if isinstance(child, Element) for line in child.shape()]


class Tree(HTMLParser):
    """Reads a page and refuses tags that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]
        self.feed(page)
        self.close()
        assert self.open == [self.root], "an element is not closed"

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), "an attribute is given twice"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"<{self.open[-1].tag}> is closed by </{tag}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def make(path: Path, rows: list[ReportRow], title: str = "A report", diagram: str | None = None) -> Element:
    assert write_report(rows, path, title=title, svg=diagram) == path
    return Tree(path.read_bytes().decode()).root  # read_text would change line ends


def make_row(name: str = "a row", score: float | None = 3.0, image: Path = GONE, **state: object) -> ReportRow:
    answer = SummarizerOutput(final_answer="Fair", quality_reasoning="Because it is.", quality_score=score)
    full = {
        "query": "How good is it?",
        "image_path": str(image),
        "iteration_count": 0,
        "summarizer_result": answer,
        **state,
    }
    return ReportRow(name, image, None, "How good is it?", full, ["planner", "executor", "summarizer"], 0.25)


def rich_row(text: str = "plain", folder: Path = Path("nowhere")) -> ReportRow:
    """A row with everything that a run can have, and a text wherever a person, a model or a file name can put one."""
    said = text.strip() or "-"
    finding = DistortionFinding(
        type="jpeg", severity="severe", confidence=0.9, explanation=f"quality {said}", measured={text: 11.5}
    )
    evidence = ExecutorOutput(
        distortion_set={text: ["jpeg"], f"other {text}": [text]},
        distortion_analysis={text: [finding]},
        selected_tools=[text],
        quality_scores={text: 2.0},
        tool_logs=[
            ToolLog(tool=text, region=text, raw=0.31, score=2.0, seconds=0.012, fallback_for=text),
            ToolLog(tool="other", error=f"broke: {text}", seconds=1.5),
        ],
        notes=[text],
        primary_tool=text,
    )
    stop = {"loop": text, "outcome": "exhausted", "limit": 1, "spent": 1, "reason": f"still {text}", "step": 7}
    state = {
        "query": text,
        "image_path": text,
        "region": (1, 2, 30, 40),
        "plan": PlannerOutput(
            query_scope=[said], distortions={text: ["jpeg"]}, required_tools=[text], rationale=f"so {text}"
        ),
        "executor_evidence": evidence,
        "summarizer_result": SummarizerOutput(final_answer=said, quality_reasoning=f"since {said}"),
        "iteration_count": 1,
        "replan_history": [f"[Iteration 1] {text}"],
        "stop_reason": stop,
        "error": f"oh {text}",
    }
    path = ["planner", "executor", "summarizer", "(replan 1/1)", f"planner {text}", f"({text} exhausted)"]
    # A path cannot hold a NUL or a slash in its last part.
    safe = re.sub(r"[/\0]", "_", text)[:60] or "_"
    return ReportRow(text, folder / safe, folder / f"{safe}.png", text, state, path, 0.5)


@pytest.fixture(scope="module")
def blurred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("images") / "cat-blurred.png"
    Image.fromarray(distort(load_image(CAT).rgb, "gaussian blur", 4)).save(path)
    return path


@pytest.fixture(scope="module")
def real(blurred: Path) -> ReportRow:
    """A run of the whole pipeline, with a reference, that asks for an object and so replans."""
    query = "Is the cat blurry?"
    result = trace_pipeline(query, blurred, reference_path=CAT, config=IQAConfig())
    return ReportRow("cat", blurred, CAT, query, result.state, path_taken(result.events).split(" > "), result.seconds)


def test_a_real_run_is_shown_whole(real: ReportRow, tmp_path: Path):
    page = make(tmp_path / "report.html", [real])
    article = page.one("article")
    state = real.state
    answer, evidence, plan = state["summarizer_result"], state["executor_evidence"], state["plan"]
    assert article.one("h2").words == "1 cat"
    assert article.one(".query").text == f"Question: {real.query}"
    assert article.one(".answer").text == f"Answer: {answer.final_answer}"
    assert article.one(".reasoning").text == answer.quality_reasoning
    assert evidence.tool_logs and evidence.distortion_analysis
    table = article.one("table")
    for log, line in zip(evidence.tool_logs, table.one("tbody").all("tr"), strict=True):
        assert log.score is not None and log.raw is not None
        assert line.one("th").words.startswith(log.tool)
        assert [cell.words for cell in line.all("td")][:2] == [f"{log.raw:.4g}", f"{log.score:.2f}"]
    findings = [item for items in evidence.distortion_analysis.values() for item in items]
    for item, shown in zip(findings, article.one(".findings").all("li"), strict=True):
        assert shown.one(".severity").text == item.severity.value
        assert item.type in shown.words and " ".join(item.explanation.split()) in shown.words
        assert [name.text for name in shown.all("dt")] == [name.replace("_", " ") for name in item.measured]
    assert plan.rationale in article.text
    assert state["iteration_count"] == 1
    assert [step.text for step in article.one(".path").all("li")] == [step.strip("()") for step in real.path]
    assert [step.text for step in article.one(".path").all("li.granted")] == ["replan 1/2"]
    assert [entry.text for entry in article.one(".history").all("li")] == state["replan_history"]


def test_everything_else_that_a_row_can_have(tmp_path: Path):
    article = make(tmp_path / "report.html", [rich_row()]).one("article")
    good, bad = article.one("tbody").all("tr")
    assert good.words == "plain primary on plain in place of plain 0.31 2.00 12"
    assert bad.words == "other failed: broke: plain 1,500"
    assert article.one(".score").words == "2.0 of 5, poor by plain"
    assert article.one(".findings").words == "severe jpeg in plain 90 % sure quality plain plain 11.5"
    assert "in other plain, without analysis: plain." in article.words
    assert [note.text for note in article.one(".notes").all("li")] == ["plain"]
    assert article.one(".error").words == "Error: oh plain"
    expected = "Stopped: loop plain exhausted after 1 of 1 passes. Another one was wanted: still plain"
    assert article.one(".stop").words == expected
    assert [step.text for step in article.one(".path").all("li.refused")] == ["plain exhausted"]
    assert "region 1, 2, 30, 40 (left, top, width, height)" in article.words
    assert "switched off nothing" not in article.words and "required tools plain" in article.words
    assert set((article.attributes["class"] or "").split()) == {"row", "replanned", "stopped", "failed"}


def test_two_loops_may_have_stopped(tmp_path: Path):
    stops = [{"loop": name, "outcome": "stalled", "limit": 3, "spent": 1, "reason": "", "step": 4} for name in "ab"]
    article = make(tmp_path / "report.html", [make_row(stop_reason=stops)]).one("article")
    assert [stop.words for stop in article.all(".stop")] == [
        "Stopped: loop a stalled after 1 of 3 passes.",
        "Stopped: loop b stalled after 1 of 3 passes.",
    ]


def test_worst_first_and_no_score_last(tmp_path: Path):
    measured = ExecutorOutput(quality_scores={"SSIM": 4.8, "MDSI": 1.4}, primary_tool="MDSI")
    rows = [
        make_row("none", score=None),
        make_row("good", score=4.4),
        ReportRow("failed", GONE, None, "q", {"query": "q", "image_path": "x", "error": "broke"}, [], 0.0),
        make_row("bad", score=1.2),
        make_row("also bad", score=1.2),
        make_row("by tool", score=None, executor_evidence=measured),
        make_row("own score counts", score=2.0, executor_evidence=measured),
        make_row("no such score", score=None, executor_evidence=ExecutorOutput(quality_scores={"X": 17.0})),
    ]
    page = make(tmp_path / "report.html", rows)
    names = [heading.one("bdi").text for heading in page.all("h2")]
    assert names[:5] == ["bad", "also bad", "by tool", "own score counts", "good"]
    assert names[5:] == ["none", "failed", "no such score"]
    scores = [line.words for line in page.all("p.score")]
    assert scores[2] == "1.4 of 5, bad by MDSI"
    assert scores[3] == "2.0 of 5, poor"
    assert scores[5:] == ["no score"] * 3


def test_the_header_counts(tmp_path: Path):
    stop = {"loop": "replan", "outcome": "exhausted", "limit": 2, "spent": 2, "reason": "r", "step": 9}
    rows = [
        make_row(score=1.2),
        make_row(score=1.49),
        make_row(score=1.5, iteration_count=2, stop_reason=stop),
        make_row(score=5.0, iteration_count=1),
        ReportRow("failed", GONE, None, "q", {"query": "q", "image_path": "x", "error": "broke"}, [], 1.5),
    ]
    page = make(tmp_path / "report.html", rows, title="Five runs")
    counts = {group.one("dt").text: group.one("dd").text for group in page.one(".counts").all("div")}
    assert counts == {
        "runs": "5", "answered": "4", "replanned": "2", "stopped at a bound": "1", "with an error": "1",
        "seconds in all": "2.5",
    }  # fmt: skip
    levels = [line.words for line in page.one("table.levels").all("tr")]
    assert levels == ["Bad 2", "Poor 1", "Fair 0", "Good 0", "Excellent 1"]
    assert [choice.words for choice in page.one(".filters").all("label")] == [
        "all 5", "replanned 2", "stopped at a bound 1", "with an error 1",
    ]  # fmt: skip
    assert page.one("h1").text == page.one("title").text == "Five runs"


def test_no_rows(tmp_path: Path):
    page = make(tmp_path / "new" / "folder" / "report.html", [])
    assert "There are no runs to show." in page.one("main").words
    assert not page.all("article") and not page.all(".filters")


def test_the_page_needs_nothing_but_itself(real: ReportRow, tmp_path: Path):
    page = make(tmp_path / "report.html", [real, rich_row()], diagram=svg(build_graph().topology()))
    everything = page.all("")
    assert {element.tag for element in everything}.isdisjoint(
        {"script", "link", "iframe", "object", "form", "a", "base"}
    )
    names = {name for element in everything for name in element.attributes}
    assert names.isdisjoint({"href", "srcset", "style", "action", "xlink:href", "background"})
    assert not [name for name in names if name.startswith("on")]
    pictures = [element.attributes["src"] or "" for element in everything if "src" in element.attributes]
    assert len(pictures) == 3
    assert all(re.fullmatch(r"data:image/(webp|svg\+xml);base64,[\w+/=]+", source) for source in pictures)
    style = page.one("style").text
    assert "url(" not in style and "@import" not in style
    policies = [meta.attributes["content"] for meta in page.all("meta") if "http-equiv" in meta.attributes]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policies == [
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    ]


def test_the_page_is_sound(real: ReportRow, tmp_path: Path):
    page = make(tmp_path / "report.html", [real, rich_row(), make_row()], diagram=svg(build_graph().topology()))
    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.lower().startswith("<!doctype html>")
    assert page.one("html").attributes == {"lang": "en"}
    for landmark in ("h1", "header", "main", "footer"):
        page.one(landmark)
    ids = [element.attributes["id"] for element in page.all("") if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    assert all(article.attributes["aria-labelledby"] in ids for article in page.all("article"))
    assert all(image.attributes["alt"] for image in page.all("img"))
    assert all(cell.attributes.get("scope") in ("row", "col") for cell in page.all("th"))
    assert all(len(folded.all("summary")) == 1 for folded in page.all("details"))
    assert all(table.all("caption") for table in page.all("table"))


def thumbnail(figure: Element) -> Image.Image:
    source = figure.one("img").attributes["src"] or ""
    image = Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2])))
    assert image.format == "WEBP"
    size = tuple(int(figure.one("img").attributes[side] or 0) for side in ("width", "height"))
    assert image.size == size
    return image.convert("RGB")


def test_thumbnails_look_like_their_images(blurred: Path, tmp_path: Path):
    row = replace(make_row(image=blurred), reference_path=CAT)
    figures = make(tmp_path / "report.html", [row]).all("figure")
    assert [figure.one("b").text for figure in figures] == ["Image", "Reference"]
    assert figures[0].one("bdi").text == f"…/{blurred.parent.name}/{blurred.name}"
    shown = [thumbnail(figure) for figure in figures]
    for path, small in zip((blurred, CAT), shown, strict=True):
        whole = Image.open(path).convert("RGB")
        assert max(small.size) == THUMBNAIL_SIDE
        assert abs(small.width / small.height - whole.width / whole.height) < 0.01
        expected = np.asarray(whole.resize(small.size, Image.Resampling.LANCZOS), float)
        assert np.abs(np.asarray(small, float) - expected).mean() < 4
    detail = [np.abs(np.diff(np.asarray(small.convert("L"), float))).mean() for small in shown]
    assert detail[0] < 0.8 * detail[1]


def test_a_small_image_is_not_enlarged_and_a_turned_one_is_upright(tmp_path: Path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (60, 20), "teal").save(tmp_path / "turned.jpg", exif=exif)
    (figure,) = make(tmp_path / "report.html", [make_row(image=tmp_path / "turned.jpg")]).all("figure")
    assert thumbnail(figure).size == (20, 60)


@pytest.mark.parametrize(
    ("region", "changes"),
    [
        ((100, 50, 200, 150), True),
        ((0, 0, 451, 300), True),
        ((5, 5, 1, 1), True),
        ((9, 9, 0, 0), False),
        ((9, 9, -9, 5), False),
    ],
)
def test_the_region_is_outlined(region: tuple[int, int, int, int], changes: bool, tmp_path: Path):
    plain, outlined = (
        np.asarray(thumbnail(make(tmp_path / "r.html", [make_row(image=CAT, **state)]).one("figure")), float)
        for state in ({}, {"region": region})
    )
    difference = np.abs(plain - outlined).max(axis=2) > 60
    assert difference.any() == changes
    if region[0] == 100:
        scale = THUMBNAIL_SIDE / 451
        rows, columns = np.nonzero(difference)
        found = (columns.min(), rows.min(), columns.max(), rows.max())
        assert np.allclose(found, [100 * scale, 50 * scale, 300 * scale, 200 * scale], atol=4)


def test_an_image_that_vanished_is_named(tmp_path: Path):
    row = replace(make_row(image=tmp_path / "was-here.png"), reference_path=tmp_path)
    figures = make(tmp_path / "report.html", [row]).all("figure")
    assert not any(figure.all("img") for figure in figures)
    with pytest.raises(ImageError) as caught:
        load_image(tmp_path / "was-here.png")
    assert figures[0].one(".missing").text == f"No thumbnail: {caught.value}"
    assert "is a folder" in figures[1].one(".missing").text


def test_a_run_without_anything(tmp_path: Path):
    row = ReportRow("x", GONE, None, "q", {"query": "q", "image_path": "x"}, [], 0.0)
    article = make(tmp_path / "report.html", [row]).one("article")
    assert article.one(".answer").text == "No answer"
    assert not article.all(".path") and not article.all("details")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [(float("inf"), "∞"), (float("-inf"), "−∞"), (float("nan"), "nan"), (0.000012345, "1.234e-05"), (12345.6, "12,346"), (-0.5, "-0.5"), (None, "–")],
)  # fmt: skip
def test_numbers(raw: float | None, shown: str, tmp_path: Path):
    evidence = ExecutorOutput(tool_logs=[ToolLog(tool="PSNR", raw=raw, score=5.0, seconds=0.0002)])
    line = make(tmp_path / "report.html", [make_row(executor_evidence=evidence)]).one("article").one("tbody").one("tr")
    assert [cell.words for cell in line.all("td")] == [shown, "5.00", "< 1"]


def test_many_rows_are_folded(tmp_path: Path):
    measured = ExecutorOutput(notes=["a note"])
    for number, unfolded in ((OPEN_ROWS, True), (OPEN_ROWS + 1, False)):
        page = make(tmp_path / "report.html", [make_row(executor_evidence=measured)] * number)
        assert len(page.all("details")) == number
        assert all(("open" in folded.attributes) is unfolded for folded in page.all("details"))


NASTY = [
    "<script>alert(1)</script>",
    "</style></title></script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<!-- --><![CDATA[ ]]>",
    "&lt;b&gt; &amp; &#60;i&#62; &notit;",
    "{{ 7 * 7 }}{% raw %}{# #}",
    "javascript:alert(1)",
    "</summary></details></article></main></body></html>",
    "\u202egnp.exe\u2066 \x00\x08\x1b[31m \ufffe",
    "line\nbreak\r\ttab",
    "\U0001f408 هل الصورة واضحة؟",
    "x" * 5000,
]


def check_inert(text: str, folder: Path) -> None:
    shapes, pages = [], []
    for said in (text, "plain"):
        page = make(folder / "report.html", [rich_row(said, folder)], title=said, diagram=f"<svg>{said}</svg>")
        shapes.append(page.shape())
        pages.append(page)
    assert shapes[0] == shapes[1]
    page = pages[0]
    article = page.one("article")
    said = text.strip() or "-"
    assert page.one("h1").text == page.one("title").text == text
    assert article.one("h2").one("bdi").text == text
    assert article.one(".query").text == f"Question: {text}"
    assert article.one(".answer").text == f"Answer: {said}"
    assert article.one(".reasoning").text == f"since {said}"
    assert article.one(".history").one("li").text == f"[Iteration 1] {text}"
    assert article.one(".notes").one("li").text == text
    assert article.one(".error").text == f"Error: oh {text}"
    assert article.one("td.why").text == f"failed: broke: {text}"
    assert [step.text for step in article.one(".path").all("li")][4:] == [f"planner {text}", f"{text} exhausted"]


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_no_nasty_text_becomes_markup(text: str, tmp_path: Path):
    check_inert(text, tmp_path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8") | st.sampled_from("<>&\"'`=/!-;#{}%"), min_size=1, max_size=40))
@example("\x85\xa0")
def test_no_text_becomes_markup(tmp_path: Path, text: str):
    # The word "plain" has no white space at its ends and is not "Global"; compare like with like.
    if text == "Global" or not text.strip():
        text = f"-{text}-"
    check_inert(text, tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="other systems have no file names in bytes")
def test_a_file_name_that_is_not_utf8(tmp_path: Path):
    name = os.fsdecode(b"caf\xe9<b>.png")
    row = make_row(name=name, image=tmp_path / name)
    article = make(tmp_path / "report.html", [row]).one("article")
    assert article.one("h2").one("bdi").text == "caf\\udce9<b>.png"


def test_the_diagram_is_only_a_picture(tmp_path: Path):
    drawn = svg(build_graph().topology())
    for diagram in (drawn, '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'):
        page = make(tmp_path / "report.html", [make_row()], diagram=diagram)
        source = page.one("figure.graph").one("img").attributes["src"] or ""
        media, _, content = source.partition(",")
        assert media == "data:image/svg+xml;base64"
        assert base64.b64decode(content).decode() == diagram
        assert not page.all("script")
    assert not make(tmp_path / "report.html", [make_row()]).all("figure.graph")


def test_a_report_that_fails_leaves_the_old_one(tmp_path: Path):
    path = tmp_path / "report.html"
    make(path, [make_row("old")])
    before = path.read_bytes()
    broken = make_row("new", score=1.0, replan_history=[object()], plan="no plan")
    with pytest.raises(Exception, match="rationale"):
        write_report([make_row("first", score=1.0), broken], path, title="new")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def luminance(colour: str) -> float:
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, "contrast ratio"."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_formula_gives_known_values():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(scheme: str, tmp_path: Path):
    style = make(tmp_path / "report.html", []).one("style").text
    blocks = re.findall(r":root \{\s*color-scheme: (\w+);(.*?)\}", style, re.DOTALL)
    colours = dict(re.findall(r"--([\w]+): (#\w{6});", dict(blocks)[scheme]))
    texts = ("text", "muted", "accent", "loop", "bad", *(f"s{rank}" for rank in range(5)))
    for text in texts:
        for ground in ("page", "card", "soft"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for rank in range(5):
        assert contrast(colours[f"s{rank}"], colours["line"]) >= 3

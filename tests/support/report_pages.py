"""Pages of the report, read back as trees of elements, and rows to put into them."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from PIL import Image

from loopwright.workflows.iqa import ExecutorOutput, SummarizerOutput
from loopwright.workflows.iqa.report import Overview, ReportRow, write_report
from loopwright.workflows.iqa.schemas import DistortionFinding, ToolLog

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


def make(path: Path, rows: list[ReportRow], title: str = "A report", overview: Overview | None = None) -> Element:
    assert write_report(rows, path, title=title, overview=overview) == path
    return Tree(path.read_bytes().decode()).root  # read_text would change line ends


def thumbnail(figure: Element) -> Image.Image:
    source = figure.all("img")[0].attributes["src"] or ""
    image = Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2])))
    assert image.format == "WEBP"
    assert image.size == tuple(int(figure.all("img")[0].attributes[side] or 0) for side in ("width", "height"))
    return image.convert("RGB")


def make_row(name: str = "a row", score: float | None = 3.0, image: Path = GONE, **state: object) -> ReportRow:
    answer = SummarizerOutput(final_answer="Fair", quality_reasoning="Because it is.", quality_score=score)
    full = {"query": "How good is it?", "image_path": str(image), "iteration_count": 0, "summarizer_result": answer}
    return ReportRow(name, image, None, "How good is it?", full | state, 0.25)


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
        "executor_evidence": evidence,
        "summarizer_result": SummarizerOutput(final_answer=said, quality_reasoning=f"since {said}"),
        "iteration_count": 1,
        "stop_reason": stop,
        "error": f"oh {text}",
    }
    # A path cannot hold a NUL or a slash in its last part.
    safe = re.sub(r"[/\0]", "_", text)[:60] or "_"
    return ReportRow(text, folder / safe, folder / f"{safe}.png", text, state, 0.5)

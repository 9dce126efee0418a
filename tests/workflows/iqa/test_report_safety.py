"""The report needs nothing but itself, and no text can become markup in it."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import skimage
from chances import examples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from report_pages import make, make_row, rich_row

from loopwright.workflows.iqa.report import Overview

CAT = Path(skimage.__file__).parent / "data" / "chelsea.png"


def test_the_page_needs_nothing_but_itself(tmp_path: Path):
    row = replace(make_row(image=CAT), reference_path=CAT)
    page = make(tmp_path / "report.html", [row, rich_row()])
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


@pytest.mark.skipif(os.name != "posix", reason="other systems have no file names in bytes")
def test_a_file_name_that_is_not_utf8(tmp_path: Path):
    name = os.fsdecode(b"caf\xe9<b>.png")
    row = make_row(name=name, image=tmp_path / name)
    article = make(tmp_path / "report.html", [row]).one("article")
    assert article.one("h2").one("bdi").text == "caf\\udce9<b>.png"

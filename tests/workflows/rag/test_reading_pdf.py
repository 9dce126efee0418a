"""PDF: pages, metadata, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from documents import CHINESE, INJECTION, make_pdf, refusal
from pypdf import PdfReader, PdfWriter

from loopwright.workflows.rag.sources.reading import ReadingLimits, passages_of, read_source

PAGES = ["Rivers flow into the sea.\nThey begin as springs.", "", "Mountains are high."]


def test_pages_and_metadata(tmp_path: Path):
    (document,) = read_source(make_pdf(tmp_path / "a.pdf", PAGES, title="On nature"))
    assert document.title == "On nature"
    assert document.text == "Rivers flow into the sea.\nThey begin as springs.\n\nMountains are high."
    texts = {section.page: document.text[section.start : section.end].strip() for section in document.sections}
    assert texts == {1: PAGES[0], 3: PAGES[2]}
    assert document.date is not None and document.date.utcoffset() is not None
    assert [(passage.page, passage.text) for passage in passages_of(document, size=5)] == [
        (1, "Rivers flow into the sea."),
        (1, "They begin as springs."),
        (3, "Mountains are high."),
    ]


def test_the_date_is_that_of_the_metadata(tmp_path: Path):
    path = make_pdf(tmp_path / "d.pdf", ["text"])
    writer = PdfWriter(clone_from=PdfReader(path))
    writer.add_metadata({"/ModDate": "D:20200102030405+07'00'"})
    writer.write(path)
    (document,) = read_source(path)
    assert document.date is not None and document.date.isoformat() == "2020-01-02T03:04:05+07:00"
    assert document.date.utcoffset() == timedelta(hours=7)
    writer.add_metadata({"/ModDate": "once", "/CreationDate": "upon a time"})
    writer.write(path)
    (undated,) = read_source(path)
    assert undated.date is not None and undated.date.timestamp() == pytest.approx(path.stat().st_mtime)


def test_chinese_and_injected_text(tmp_path: Path):
    (document,) = read_source(make_pdf(tmp_path / "c.pdf", [CHINESE[:40], INJECTION]))
    assert CHINESE[:40] in document.text and document.title == "c"
    assert INJECTION in document.text


def test_encrypted(tmp_path: Path):
    (document,) = read_source(make_pdf(tmp_path / "open.pdf", PAGES, password="owner", owner_only=True))
    assert "Rivers" in document.text
    assert "is encrypted" in refusal(make_pdf(tmp_path / "shut.pdf", PAGES, password="secret"))


def test_scans_need_ocr(tmp_path: Path):
    assert "no text: scanned pages need OCR" in refusal(make_pdf(tmp_path / "scan.pdf", ["", ""]))


def test_limits(tmp_path: Path):
    path = make_pdf(tmp_path / "long.pdf", [f"page {n}" for n in range(5)])
    assert "has 5 pages; at most 4" in refusal(path, ReadingLimits(pages=4))
    assert "the limit pdf_seconds" in refusal(path, ReadingLimits(pdf_seconds=0))
    assert len(list(read_source(path, limits=ReadingLimits(pages=5)))) == 1


def test_no_pdf_at_all(tmp_path: Path):
    path = tmp_path / "text.pdf"
    path.write_text("just text")
    assert "is no PDF" in refusal(path)
    path.write_bytes(make_pdf(tmp_path / "whole.pdf", PAGES).read_bytes()[:300])
    assert "damaged PDF" in refusal(path)
    path.write_text("%PDF-1.7\nnothing more")
    assert "damaged PDF" in refusal(path)

"""PDF and DOCX: pages, structure, metadata, and what is refused, zip bombs and XML bombs too."""

import struct
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from documents import CHINESE, INJECTION, THAI, make_docx, make_pdf, refusal, repack, written
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


def test_encrypted_and_scanned(tmp_path: Path):
    (document,) = read_source(make_pdf(tmp_path / "open.pdf", PAGES, password="owner", owner_only=True))
    assert "Rivers" in document.text
    assert "is encrypted" in refusal(make_pdf(tmp_path / "shut.pdf", PAGES, password="secret"))
    assert "no text: scanned pages need OCR" in refusal(make_pdf(tmp_path / "scan.pdf", ["", ""]))


def test_limits(tmp_path: Path):
    path = make_pdf(tmp_path / "long.pdf", [f"page {n}" for n in range(5)])
    assert "has 5 pages; at most 4" in refusal(path, ReadingLimits(pages=4))
    assert "the limit pdf_seconds" in refusal(path, ReadingLimits(pdf_seconds=0))
    assert len(list(read_source(path, limits=ReadingLimits(pages=5)))) == 1


def test_no_pdf_at_all(tmp_path: Path):
    assert "is no PDF" in refusal(written(tmp_path, "text.pdf", "just text"))
    for damaged in (make_pdf(tmp_path / "whole.pdf", PAGES).read_bytes()[:300], "%PDF-1.7\nnothing more"):
        assert "damaged PDF" in refusal(written(tmp_path, "text.pdf", damaged))


MAIN = "word/document.xml"


def member(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


def test_structure_in_order(tmp_path: Path):
    blocks = [
        "Before.",
        (1, "Cities"),
        THAI,
        [["City", "People"], ["กรุงเทพ", "8\nmillion"]],
        (2, "More"),
        CHINESE,
        (1, "End"),
        INJECTION,
    ]
    path = make_docx(
        tmp_path / "a.docx", blocks, title="Places", modified=datetime(2022, 5, 6, 7, 8), keywords="asia, cities; asia"
    )
    (document,) = read_source(path)
    assert document.text == "\n\n".join(
        ["Before.", "Cities", THAI, "City | People\nกรุงเทพ | 8 million", "More", CHINESE, "End", INJECTION]
    )
    assert [section.headings for section in document.sections] == [(), ("Cities",), ("Cities", "More"), ("End",)]
    assert document.title == "Places" and document.tags == ("asia", "cities")
    assert document.date == datetime(2022, 5, 6, 7, 8, tzinfo=UTC)
    assert {passage.heading for passage in passages_of(document, size=30)} == {"", "Cities", "Cities > More", "End"}


def test_controls_insertions_and_deletions(tmp_path: Path):
    path = make_docx(tmp_path / "t.docx", ["MARK"])
    changed = member(path, MAIN).replace(
        b"<w:t>MARK</w:t></w:r></w:p>",
        b"<w:t>10</w:t></w:r><w:r><w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:t>6</w:t><w:tab/><w:t>two</w:t></w:r><w:ins><w:r><w:t> added</w:t></w:r></w:ins>"
        b"<w:del><w:r><w:delText>gone</w:delText><w:t>gone too</w:t></w:r></w:del><w:moveFrom><w:r><w:t>moved</w:t></w:r>"
        b"</w:moveFrom><w:r><w:rPr><w:vanish/></w:rPr><w:t>unseen</w:t></w:r></w:p>"
        b"<w:sdt><w:sdtContent><w:p><w:r><w:t>control</w:t></w:r></w:p></w:sdtContent></w:sdt>",
    )
    links, kind = "word/_rels/document.xml.rels", "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    link = f'<Relationship Id="n" Type="{kind}/footnotes" Target="notes.xml"/></Relationships>'.encode()
    notes = changed.replace(b"<w:document ", b"<w:footnotes ").replace(b"</w:document>", b"</w:footnotes>")
    added = {links: member(path, links).replace(b"</Relationships>", link), "word/notes.xml": notes}
    (document,) = read_source(repack(path, {MAIN: changed, **added}))
    assert document.text.startswith("10^6\ttwo added\n\ncontrol\n\n10^6\ttwo added")
    for broken in (
        {"word/notes.xml": b"<broken"},
        {links: added[links].replace(b'"notes.xml"', b'"x:y" TargetMode="External"')},
    ):
        (document,) = read_source(repack(path, {MAIN: changed, **added, **broken}))
        assert document.text.startswith("10^6\ttwo added\n\ncontrol")


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path):
    path = repack(make_docx(tmp_path / "bomb.docx", ["x"]), {"word/media/zeros.bin": b"\x00" * 60_000_000})
    assert path.stat().st_size < 200_000
    assert "the limit unpacked_ratio" in refusal(path)
    assert "the limit unpacked_bytes" in refusal(path, ReadingLimits(unpacked_bytes=50_000_000))


def test_an_archive_that_lies_about_its_sizes_is_refused(tmp_path: Path):
    path = repack(make_docx(tmp_path / "liar.docx", ["x"]), {"word/media/zeros.bin": b"\x00" * 60_000_000})
    told, said = struct.pack("<L", 60_000_000), struct.pack("<L", 1000)
    data = path.read_bytes()
    assert data.count(told) == 2
    path.write_bytes(data.replace(told, said))
    assert "word/media/zeros.bin" in refusal(path)
    path.write_bytes(data.replace(told, struct.pack("<L", 60_000_001)))
    assert "unpacked_ratio" in refusal(path)
    assert "is not so; it is damaged" in refusal(path, ReadingLimits(unpacked_ratio=10_000))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_entities_are_refused(tmp_path: Path, encoding: str):
    path = make_docx(tmp_path / "lol.docx", ["MARK"])
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    xml = member(path, MAIN).decode().replace("MARK", "&l9;").split("?>", 1)[1]
    bomb = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE d [<!ENTITY l0 "lol">{laughs}]>{xml}'
    assert "declares XML entities in word/document.xml" in refusal(repack(path, {MAIN: bomb.encode(encoding)}))


def test_no_docx_at_all(tmp_path: Path):
    assert "is no DOCX" in refusal(written(tmp_path, "n.docx", "just text"))
    path = written(tmp_path, "n.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600)
    assert "is encrypted, or an old .doc" in refusal(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "hello")
    assert "is a damaged DOCX" in refusal(path)
    assert "has no text" in refusal(make_docx(path, [""]))

"""PDF and DOCX: pages, structure, metadata, and what is refused, zip bombs and XML bombs too."""

import os
import re
import struct
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import docx
import pytest
from documents import CHINESE, INJECTION, THAI, make_docx, make_pdf, refusal, repack, written
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NumberObject, TextStringObject
from reportlab.pdfgen.canvas import Canvas

from loopwright.workflows.rag.sources.reading import ReadingLimits, ReadingProblem, passages_of, read_source

PAGES = ["Rivers flow into the sea.\nThey begin as springs.", "", "Mountains are high."]


def test_pages_and_metadata_encrypted_and_scanned(tmp_path: Path):
    (document,) = read_source(make_pdf(tmp_path / "a.pdf", PAGES, title="On nature"))
    assert document.title == "On nature"
    assert document.text == "Rivers flow into the sea.\nThey begin as springs.\n\nMountains are high."
    assert document.date is not None and document.date.utcoffset() is not None
    assert [(passage.page, passage.text) for passage in passages_of(document, size=5)] == [
        (1, "Rivers flow into the sea."),
        (1, "They begin as springs."),
        (3, "Mountains are high."),
    ]
    assert "the limit pdf_seconds" in refusal(tmp_path / "a.pdf", ReadingLimits(pdf_seconds=0))
    pages = ["Rivers", CHINESE[:40], INJECTION]
    (document,) = read_source(make_pdf(tmp_path / "open.pdf", pages, password="owner", owner_only=True))
    assert document.text == "\n\n".join(pages) and document.title == "open"
    assert "is encrypted" in refusal(make_pdf(tmp_path / "shut.pdf", PAGES, password="secret"))
    assert "no text: scanned pages need OCR" in refusal(make_pdf(tmp_path / "scan.pdf", ["", ""]))


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


def test_scanned_pages_among_others_are_told_and_forms_are_read(tmp_path: Path):
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.drawString(60, 750, "Licence plate:")
    canvas.acroForm.textfield(name="plate", value="KX-4471", x=200, y=680)
    canvas.acroForm.textfield(name="word", value="hunter2", fieldFlags="password", x=200, y=640)
    canvas.acroForm.textfield(name="seen", value="no", annotationFlags="hidden", x=200, y=620)
    canvas.acroForm.checkbox(name="trailer", checked=False, x=200, y=600)
    for value in ("Weekly", "Monthly"):
        canvas.acroForm.radio(name="paid", value=value, selected=value == "Monthly", x=200, y=500)
    canvas.showPage()
    canvas.drawInlineImage(Image.new("RGB", (30, 40)), 0, 0)
    canvas.showPage()
    canvas.showPage()  # an empty one
    canvas.save()
    problems: list[ReadingProblem] = []
    (document,) = read_source(tmp_path / "a.pdf", on_problem=problems.append)
    assert document.text.split() == "Licence plate: plate: KX-4471 paid: Monthly".split()
    assert document.title == "a"  # and not "untitled"
    assert [str(each.error).rpartition(" page(s) ")[2] for each in problems] == [
        "are scans, which need OCR, or damaged: 2"
    ]


@pytest.mark.parametrize(
    ("pages", "texts"),
    [
        (["The fine is", "five euro a day.\nMore."], {1: "The fine is\nfive euro a day.", 2: "More."}),
        (["Fruit", "apples, page\npears, page"], {1: "Fruit", 2: "apples, page\npears, page"}),
        (["The fine is 5.", "five euro"], {1: "The fine is 5.", 2: "five euro"}),
        (["The fine is", "Five euro"], {1: "The fine is", 2: "Five euro"}),
        (["Fruit", words := "apples\n" * 99], {1: "Fruit", 2: words.strip()}),
    ],
)
def test_a_sentence_ends_on_the_page_that_it_begins_on(tmp_path: Path, pages: list[str], texts: dict[int, str]):
    (document,) = read_source(make_pdf(tmp_path / "p.pdf", pages))
    assert {each.page: document.text[each.start : each.end].strip() for each in document.sections} == texts


def test_a_broken_form_refuses_no_page_and_a_field_has_its_own_name(tmp_path: Path):
    name, words = NameObject, {"/T": "iban", "/V": "DE12"}
    for is_broken, text in ((False, "Rule.\niban: DE12"), (True, "Rule.")):
        writer = PdfWriter(clone_from=make_pdf(tmp_path / "a.pdf", ["Rule."]))
        field = DictionaryObject({name(key): TextStringObject(each) for key, each in words.items()})
        field |= {name("/FT"): name("/Tx"), name("/Subtype"): name("/Widget")}
        above = writer._add_object(DictionaryObject({name("/TU"): TextStringObject("Whole form")}))
        field[name("/Parent")], fields = above, ArrayObject([writer._add_object(field)])
        above.get_object()[name("/Kids")] = fields
        writer.pages[0][name("/Annots")] = NumberObject(9) if is_broken else fields
        writer.root_object[name("/AcroForm")] = DictionaryObject({name("/Fields"): ArrayObject([above])})
        writer.write(tmp_path / "a.pdf")
        assert [each.text for each in read_source(tmp_path / "a.pdf")] == [text]


@pytest.mark.parametrize("hyphen", ["-", "- ", "\u2010", "\u00ad"])
def test_a_word_that_was_parted_at_the_end_of_a_line_is_one(tmp_path: Path, hyphen: str, monkeypatch):
    monkeypatch.setattr(
        "loopwright.workflows.rag.sources.reading.pdf_file._lines",
        lambda page: [(f"The main{hyphen}\ntenance of a state-\nowned pay\u00ad\nload.", 9)],
    )
    (document,) = read_source(make_pdf(tmp_path / "h.pdf", ["x"]))
    assert document.text == "The maintenance of a state-owned payload."


WRITTEN = [
    (18, (60, "Hall"), (101, "hire")), (10, (60, "Each hall can be hired by all who live here, but for the days of the fair.")),
    (14, (60, "It is shut.")), (10, (115, "Seats"), (170, "Fee")), (10, (60, "Elm room"), (115, "7"), (170, "9")),
    (10, (60, "Ash"), (170, "12")), (10, (60, "Ashboards"), (115, "3")), (14, (60, "Prices")), (14, (60, "A | 3")),
    (10, (60, "-"), (78, "An"), (92, "hour:"), (140, "3.")), (14, (60, "Page 1")), (15, (60, "Rules")),
]  # fmt: skip


def test_pieces_of_a_line_are_one_large_lines_are_headings_and_a_damaged_page_costs_itself(tmp_path: Path):
    canvas, problems = Canvas(str(tmp_path / "a.pdf")), list[ReadingProblem]()
    for row, (size, *pieces) in enumerate(WRITTEN):
        for left, words in pieces:
            piece = canvas.beginText(left, 800 - 20 * row)
            for word in re.split("( )", words):  # each on its own, as Word writes them
                piece.setFont("Helvetica", size)
                piece.textOut(word)
            piece.textLine()  # a move to the next line, which the cells of a table end with
            canvas.drawText(piece)
    canvas.setFont("Helvetica", 10)
    for left in (60, 60.4):  # bold, as some write it
        canvas.drawString(left, 500, "Twice")
    power = canvas.beginText(60, 480)
    for rise, size, words in ((0, 10, "Fee 45"), (4, 6, "12"), (0, 10, " in hall"), (4, 6, "3 205"), (0, 10, ".")):
        power.setRise(rise)
        power.setFont("Helvetica", size)
        power.textOut(words)
    canvas.drawText(power)
    canvas.rotate(10)  # what is turned is no heading
    for place, letter in enumerate("DRAFT"):
        canvas.drawString(300 + 7 * place, 300, letter)
    canvas.save()
    writer = PdfWriter(clone_from=tmp_path / "a.pdf")
    writer.add_blank_page(9, 9)[NameObject("/Type")] = NameObject("/None")
    writer.write(tmp_path / "a.pdf")
    (document,) = read_source(tmp_path / "a.pdf", on_problem=problems.append)
    told = f"Hall hire\n\n{WRITTEN[1][1][1]}\nIt is shut.\nSeats | Fee\nElm room | 7 | 9\nAsh |  | 12\nAshboards | 3\n\nPrices\n\nA | 3\n- An hour: 3.\nPage 1\n\nRules\n\nTwice\nFee 45^12 in hall^3 205.\nDRAFT"
    assert (document.text, document.title) == (told, "Hall hire") and "damaged: 2" in str(problems[0].error)
    assert {each.headings[-1]: each.page for each in document.sections} == {"Hall hire": 1, "Prices": 1, "Rules": 1}


MAIN = "word/document.xml"


def member(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


def test_structure_in_order(tmp_path: Path):
    blocks = [
        "Before.", (1, "Cities"), THAI, [["City", "People"], ["กรุงเทพ", "8\nmillion"]],
        (2, "More"), CHINESE, (1, "End"), INJECTION,
    ]  # fmt: skip
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


def test_headings_are_those_of_ones_own_style_or_by_their_outline(tmp_path: Path):
    document = docx.Document()
    for name, base in (("Corporate", "Heading 1"), ("Corporate 2", "Corporate"), ("Circle", "Circle")):
        style = document.styles.add_style(name, 1)
        style.base_style = document.styles[base]
    for text, style in (("Leave", "Corporate 2"), ("Sick", "Normal"), ("Plain", "Circle"), ("Contents", "TOC Heading")):
        document.add_paragraph(text, style=style)
    document.styles.add_style("toc 1", 1)
    document.add_paragraph("Sick\t2", style="toc 1")
    document.paragraphs[1]._p.get_or_add_pPr().append(parse_xml(f'<w:outlineLvl {nsdecls("w")} w:val="1"/>'))
    document.sections[0].footer.paragraphs[0].text = "Call 555."
    document.sections[0].first_page_footer.paragraphs[0].text = "Call 555."
    document.save(str(tmp_path / "h.docx"))
    (read,) = read_source(tmp_path / "h.docx")
    assert "2" not in read.text and read.text.endswith("\n\nPlain\n\nCall 555.") and read.text.count("555") == 1
    assert [section.headings for section in read.sections] == [("Leave", "Sick")]


def test_a_formula_stands_in_its_line(tmp_path: Path):
    document, space = docx.Document(), "http://schemas.openxmlformats.org/officeDocument/2006/math"
    formulas = {
        "<m:f><m:num>{Q+1}</m:num><m:den>{2.5}</m:den></m:f>": "(Q+1)/2.5",
        "<m:sSubSup><m:e>{x}</m:e><m:sub>{i}</m:sub><m:sup>{2}</m:sup></m:sSubSup>": "x_i^2",
        "<m:rad><m:radPr/><m:deg/><m:e>{a+b}</m:e></m:rad><m:d><m:dPr/><m:e>{x}</m:e></m:d>": "√(a+b)(x)",
        "<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{i}</m:sub><m:sup/><m:e>{x}</m:e></m:nary>": "∑_i x",
    }
    for formula in formulas:
        math = re.sub("{(.*?)}", r"<m:r><m:t>\1</m:t></m:r>", formula)
        document.add_paragraph("It is ")._p.append(parse_xml(f'<m:oMath xmlns:m="{space}">{math}</m:oMath>'))
    document.save(str(tmp_path / "f.docx"))
    (read,) = read_source(tmp_path / "f.docx")
    assert read.text.split("\n\n") == [f"It is {text}" for text in formulas.values()]


def test_a_document_without_properties_has_no_made_up_ones(tmp_path: Path):
    path = make_docx(tmp_path / "rules.docx", ["It opens at six."])
    links = re.sub(rb"<Relationship [^>]*core-properties[^>]*/>", b"", member(path, "_rels/.rels"))
    os.utime(repack(path, {"_rels/.rels": links}), (1_577_880_000, 1_577_880_000))
    (document,) = read_source(path)
    assert (document.title, document.date) == ("rules", datetime(2020, 1, 1, 12, tzinfo=UTC))


def test_controls_insertions_and_deletions(tmp_path: Path):
    path = make_docx(tmp_path / "t.docx", ["MARK"])
    changed = member(path, MAIN).replace(
        b"<w:t>MARK</w:t></w:r></w:p>",
        b"<w:t>10</w:t></w:r>\n <w:r>\n <w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:t>6</w:t><w:tab/><w:t>two</w:t></w:r><w:ins><w:r><w:t> added</w:t></w:r></w:ins>"
        b"<w:del><w:r><w:delText>gone</w:delText><w:t>gone too</w:t></w:r></w:del><w:moveFrom><w:r><w:t>moved</w:t></w:r>"
        b"</w:moveFrom><w:r><w:rPr><w:vanish/></w:rPr><w:t>unseen</w:t></w:r></w:p>"
        b"<w:sdt><w:sdtContent><w:p><w:r><w:t>control</w:t></w:r></w:p></w:sdtContent></w:sdt>",
    )
    links, kind = "word/_rels/document.xml.rels", "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    link = f'<Relationship Id="n" Type="{kind}/footnotes" Target="notes.xml"/></Relationships>'.encode()
    notes = changed.replace(b"<w:document ", b"<w:footnotes ").replace(b"</w:document>", b"</w:footnotes>")
    added = {links: member(path, links).replace(b"</Relationships>", link), "word/notes.xml": notes}
    (document,) = read_source(repack(path, {MAIN: changed, **added}))
    assert document.text.startswith("10^6 two added\n\ncontrol\n\n10^6 two added")
    for broken in (
        {"word/notes.xml": b"<broken"},
        {links: added[links].replace(b'"notes.xml"', b'"x:y" TargetMode="External"')},
    ):
        (document,) = read_source(repack(path, {MAIN: changed, **added, **broken}))
        assert document.text.startswith("10^6 two added\n\ncontrol")


def test_a_zip_bomb_is_refused_before_it_is_unpacked_and_an_archive_that_lies_about_its_sizes(tmp_path: Path):
    path = repack(make_docx(tmp_path / "bomb.docx", ["x"]), {"word/media/zeros.bin": b"\x00" * 60_000_000})
    assert path.stat().st_size < 200_000
    assert "200-fold" in refusal(path) and "than 9 MB" in refusal(path, ReadingLimits(unpacked_bytes=10**7))
    padded = member(path, MAIN).replace(b"<w:body>", b"<w:body>" + b" " * (9_000_000 - len(member(path, MAIN))))
    data, told = repack(path, {MAIN: padded, "word/media/zeros.bin": b""}).read_bytes(), struct.pack("<L", 9_000_000)
    assert data.count(told) == 2
    path.write_bytes(data.replace(told, struct.pack("<L", 1000)))
    assert "is a damaged DOCX: BadZipFile" in refusal(path)


def test_xml_entities_are_refused(tmp_path: Path):
    path = make_docx(tmp_path / "lol.docx", ["MARK"])
    xml = member(path, MAIN).decode().split("?>", 1)[1]
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    for encoding, told in (("utf-8", "&l9;"), ("utf-16", "&l9;"), ("utf-16", '</w:t></w:r><w:r w:rsidR="&l9;"><w:t>')):
        bomb = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE d [<!ENTITY l0 "lol">{laughs}]>{xml}'
        assert "is a damaged DOCX" in refusal(repack(path, {MAIN: bomb.replace("MARK", told).encode(encoding)}))


def test_no_pdf_or_docx_at_all(tmp_path: Path):
    assert "is no PDF" in refusal(written(tmp_path, "text.pdf", "just text"))
    for damaged in (make_pdf(tmp_path / "whole.pdf", PAGES).read_bytes()[:300], "%PDF-1.7\nnothing more"):
        assert "damaged PDF" in refusal(written(tmp_path, "text.pdf", damaged))
    assert "is no DOCX" in refusal(written(tmp_path, "n.docx", "just text"))
    path = written(tmp_path, "n.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600)
    assert "is encrypted, or an old .doc" in refusal(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "hello")
    assert "is a damaged DOCX" in refusal(path) and "has no text" in refusal(make_docx(path, [""]))
